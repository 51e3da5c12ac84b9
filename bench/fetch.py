#!/usr/bin/env python3
"""Brings what the benchmarks and docs/tutorial.md need into FOLDER, laid out as the scripts of bench/ expect their SHARED:
    data/models/fastestdet.onnx   FastestDet, from its repository
    data/imagenet/calib, eval     500 photographs with classes (calib.csv, eval.csv), from a public repository of samples

usage: bench/fetch.py FOLDER [fastestdet] [photographs]      without names: both. Needs git; photographs need Pillow.
What cannot be had so is listed at the end, and in bench/README.md. Models of packages: bench/zoo.py QUASAR ZOO FOLDER --models.
"""
import csv
import hashlib
import io
import pathlib
import subprocess
import sys
import tempfile

DETECTOR = ("dog-qiuqiu/FastestDet", "50473cd155cb088aa4a99e64ff6a4b3c24fa07e1", "example/onnx-runtime/FastestDet.onnx",
            "31cb14c017fce347cb4c846ec62fdf00d76bb3beecdf4be21e7116ac67feb880")
PHOTOGRAPHS = ("EliSchwartz/imagenet-sample-images", "bc69043e2862758a1906c6a24a792bb28c6bb2ff")
# A photograph of each class of ImageNet-1k, sorted by class: every tenth calibrates, the odd ones up to 799 are scored.
SPLITS = {"calib": range(0, 1000, 10), "eval": range(1, 800, 2)}
ABSENT = {
    "data/models/mobilenet_v1_025_128.onnx": "MobileNetV1 0.25 for 128 pixels; we know of no package or repository with this file",
    "data/models/resnet8_cifar.onnx": "ResNet-8 for CIFAR-10; we know of no package or repository with this file",
    "peers/inputs.py": "reads the photographs for MobileNet, alike for Quasar and its peers",
}


def clone(name, commit, folder):
    """That commit of a public repository of GitHub, without its history."""
    run = lambda *words: subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True)
    run("init", "--quiet")
    run("fetch", "--quiet", "--depth", "1", f"https://github.com/{name}", commit)
    run("checkout", "--quiet", "FETCH_HEAD")
    return folder


def fastestdet(out):
    name, commit, file, digest = DETECTOR
    with tempfile.TemporaryDirectory() as folder:
        model = (clone(name, commit, pathlib.Path(folder)) / file).read_bytes()
    if hashlib.sha256(model).hexdigest() != digest:
        raise SystemExit(f"{name}: {file} is not the file that the tables were made with")
    (out / "data/models").mkdir(parents=True, exist_ok=True)
    (out / "data/models/fastestdet.onnx").write_bytes(model)


def photographs(out):
    from PIL import Image
    with tempfile.TemporaryDirectory() as folder:
        files = sorted(clone(*PHOTOGRAPHS, pathlib.Path(folder)).glob("*.JPEG"))
        if len(files) != 1000:
            raise SystemExit(f"{PHOTOGRAPHS[0]} has {len(files)} photographs, not one for each of 1000 classes")
        for split, classes in SPLITS.items():
            at = out / "data/imagenet" / split
            at.mkdir(parents=True, exist_ok=True)
            for label in classes:
                picture = Image.open(files[label]).convert("RGB")
                factor = 256 / min(picture.size)
                shrunk = io.BytesIO()
                picture.resize([round(side * factor) for side in picture.size], Image.BICUBIC).save(shrunk, "JPEG", quality=90)
                (at / f"{label:04}.jpg").write_bytes(shrunk.getvalue())
            with open(f"{at}.csv", "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([("file", "label"), *((f"{label:04}.jpg", label) for label in classes)])


def main(words):
    known = {"fastestdet": fastestdet, "photographs": photographs}
    wrong = [word for word in words[1:] if word not in known]
    if not words or words[0].startswith("-") or wrong:
        raise SystemExit(__doc__ + (f"\nunknown: {', '.join(wrong)}" if wrong else ""))
    out = pathlib.Path(words[0])
    for name in words[1:] or known:
        known[name](out)
        print(f"{name} is in {out / 'data'}")
    print("\n".join(["not to be had so:", *(f"  {file}: {why}" for file, why in ABSENT.items() if not (out / file).exists())]))


if __name__ == "__main__":
    main(sys.argv[1:])
