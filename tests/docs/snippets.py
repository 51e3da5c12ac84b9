"""Runs the blocks of a document that are marked for it, in their order, in one folder, as a reader would.

A block is marked by its first line:
    ```sh run                what stands there is typed into a shell; it must end with 0
    ```sh run exit=2         ... with 2
    ```yaml file=NAME        becomes the file NAME
    ```python run            is run by Python; needs the package quasar
`needs=shared` at a block, or as <!-- needs: shared --> anywhere in the document for all of its blocks: passed over without the
shared data. In the folder: the demo's model.onnx, calibration.npz, evaluation.npz, holdout.npz and search.yaml; with the shared data
also fastestdet.onnx, mobilenet.onnx and photos (a folder of 100 photographs).
usage: snippets.py QUASAR SOURCE_FOLDER DOCUMENT      exit 77: nothing could be run
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

block = re.compile(r"^```(sh run|python run|yaml file=\S+)([^\n]*)\n(.*?)^```$", re.M | re.S)


def fill(folder, source):
    """-> whether the shared data are there."""
    digits, data = source / "examples/digits", source.parent / "shared/data"
    for name in ("calibration.npz", "evaluation.npz", "holdout.npz"):
        shutil.copy(digits / name, folder)
    shutil.copy(digits / "digits.onnx", folder / "model.onnx")
    if not (data / "imagenet").is_dir():
        return False
    os.symlink((data / "models/fastestdet.onnx").resolve(), folder / "fastestdet.onnx")
    os.symlink((data / "models/mobilenet_v1_025_128.onnx").resolve(), folder / "mobilenet.onnx")
    (folder / "photos").mkdir()
    for photo in sorted((data / "imagenet/eval").glob("*.jpg"))[:100]:
        os.symlink(photo.resolve(), folder / "photos" / photo.name)
    shutil.copy(data / "imagenet/eval.csv", folder / "photos.csv")
    return True


def has_package():
    return subprocess.run([sys.executable, "-c", "import quasar"], capture_output=True).returncode == 0


def main(program, source, document):
    text, ran, skipped = document.read_text(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shared, package = fill(folder, source), has_package()
        everywhere = "needs=shared" if "<!-- needs: shared -->" in text else ""
        environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
        for match in block.finditer(text):
            kind, more, content = match[1], match[2] + everywhere, match[3]
            where = f"{document.name}:{text[:match.start()].count(chr(10)) + 1}"
            if ("needs=shared" in more and not shared) or (kind.startswith("python") and not package):
                skipped += 1
                continue
            if kind.startswith("yaml"):
                (folder / kind.split("=", 1)[1]).write_text(content)
                continue
            command = ["bash", "-eu", "-c", content] if kind.startswith("sh") else [sys.executable, "-c", content]
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
            wanted = int((re.search(r"exit=(\d+)", more) or [0, 0])[1])
            if done.returncode != wanted:
                print(f"{where}: ended with {done.returncode}, not {wanted}:\n{content}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
                return 1
            ran += 1
    print(f"{document.name}: {ran} blocks ran, {skipped} were passed over")
    return 0 if ran else 77


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(word).resolve() for word in sys.argv[1:4])))
