"""Two goals of static A8W8 after `repair`: PP-OCR's recognizer loses at most 1 % of its lines, a ViT-B/16 with made-up weights is within a cosine of 0.99.
usage: PYTHON bench/static_goals.py QUASAR FOLDER_OF_THE_ZOO SHARED [recognizer] [vit] [--limit SECONDS]
PYTHON: numpy, onnx, onnxruntime, pillow; torch and torchvision for the ViT. Lines are rendered as those of bench/zoo.py: 100 calibrate, 200 decide, 300 others
are held out. Lines read alike are counted here, by ONNX Runtime: both the float model's and the other's. Integers: products (MatMul, Gemm, Conv) in 8 bits."""
import argparse
import json
import pathlib
import shutil
import subprocess

import numpy as np
import onnx
from zoo import made, real, samples, tasks, work

PRODUCTS = {"MatMul", "Gemm", "Conv", "MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul", "QGemm"}
SCHEMES = ("U8S8_CHANNEL", "DYNAMIC")


def products(path):
    """-> how many of a file's products read codes, and how many there are"""
    model = onnx.load(path, load_external_data=False)
    inner = {node.output[0]: node for node in model.graph.node if node.op_type == "DequantizeLinear"}
    found = [node for node in model.graph.node if node.op_type in PRODUCTS]
    integer = [node for node in found if "Integer" in node.op_type or node.op_type.startswith("QLinear") or all(name in inner for name in node.input[:2])]
    return len(integer), len(found)


def recognizer(place):
    at = place.folder / "goals_recognizer"
    at.mkdir(parents=True, exist_ok=True)
    model = real.package(place, *real.RAPID) / "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"
    draw = real.lines_of("x", 48, 320)
    for split, count in (("calib", 100), ("eval", 500)):
        if not list(at.glob(f"{split}*")):
            work.save(draw(place, split, count), at / split)
    lines = np.load(at / "eval.npz")["x"]
    np.savez(at / "decides.npz", x=lines[:200])
    np.savez(at / "holdout.npz", x=lines[200:])
    return at, model, {"name": "sequence_accuracy", "truth": "float", "blank": 0}, tasks.lines()[1]


def vit(place):
    at = place.folder / "goals_vit"
    at.mkdir(parents=True, exist_ok=True)
    known = next(model for model in made.models() if model.name == "vit_b_16")
    if not (at / "model.onnx").exists():
        onnx.save(known.make(place), at / "model.onnx")
    for name, split, at_first, count in (("calib", "calib", 0, 12), ("decides", "eval", 0, 12), ("holdout", "eval", 12, 24)):
        if not (at / f"{name}.npz").exists():
            work.save(known.samples(place, split, at_first + count)[at_first:], at / name)
    return at, at / "model.onnx", {"name": "cos"}, tasks.cosine()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quasar", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("only", nargs="*", default=["recognizer", "vit"])
    parser.add_argument("--limit", type=int, default=600)
    options = parser.parse_args()
    place = real.Place(options.folder.absolute(), options.shared.absolute())
    for name in options.only:
        at, model, metric, alike = {"recognizer": recognizer, "vit": vit}[name](place)
        held = work.load(at / "holdout.npz")
        runner = work.opened(model, 2)
        wanted = [runner.run(None, sample) for sample in held]
        print(f"\n| {name} | task, held out | distance | products in integers | MB | time, × float |\n| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)

        def row(what, path):
            own = work.opened(path, 2)
            got = [own.run(None, sample) for sample in held]
            times = work.in_turns({"float": work.opened(model, 1), "own": work.opened(path, 1)}, held, 10)
            count, of = products(path)
            print(f"| {what} | {alike(wanted, got):.4f} | {tasks.relative(wanted, got):.3f} | {count} of {of} | {pathlib.Path(path).stat().st_size / 1e6:.1f} | "
                  f"{np.median(np.array(times['own']) / times['float']):.2f} |", flush=True)

        config = {"model_input": str(model), "calib_data_reader": {"reader": "npz", "path": str(at / "calib.npz")},
                  "eval_data_reader": {"reader": "npz", "path": str(at / "decides.npz")}, "search_metric": metric, "strategy": "repair",
                  "accuracy_criterion": {"criterion": "absolute", "tolerable_loss": 0.01}, "search_stop_condition": {"time_limit": options.limit},
                  "output_dir": str(at / "repair")}
        (at / "repair.yaml").write_text(json.dumps(config))
        shutil.rmtree(at / "repair", ignore_errors=True)
        done = subprocess.run([options.quasar, "search", at / "repair.yaml", "--quiet"], capture_output=True, text=True)
        found = json.loads((at / "repair/result.json").read_text())
        row("repair", at / "repair/best.onnx")
        for scheme in SCHEMES:
            out = at / f"{scheme}.onnx"
            subprocess.run([options.quasar, "quantize", model, "-o", out, "--scheme", scheme, "--calib", at / "calib.npz"], check=True, capture_output=True)
            row(scheme, out)
        print(f"\nrepair: exit code {done.returncode}, {found['status']}: {found['reason']}; {json.dumps(found['trials'])}, in float: "
              f"{json.dumps((found.get('best') or {}).get('operators'))}", flush=True)


if __name__ == "__main__":
    main()
