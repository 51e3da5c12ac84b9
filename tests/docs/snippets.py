"""Runs the blocks of a document, in their order, in one folder, as a reader would. What a block is stands behind its language:
    ```sh run                what stands there is typed into a shell; it must end with 0
    ```sh run exit=2         ... with 2
    ```yaml file=NAME        becomes the file NAME
    ```yaml search           is a search's configuration, or a part of one: laid over the demo's, it passes `quasar search --dry-run`
    ```yaml search=space     ... a part of its search_space
    ```yaml search=goal      ... without the demo's search_space, for strategies that make one of their own
    ```python run            is run by Python; needs the package quasar
    ```cpp same=FILE         stands word for word in that file of the repository, which a test builds and runs
    ```python run-by=TEST    runs in that test
    ```sh not-run: REASON    cannot run here
    ```text                  is output, a formula or a drawing
All else is an error: a block that nobody runs goes stale. `needs=shared` at a block, or as <!-- needs: shared --> anywhere in the
document for all of its blocks: passed over without the shared data. In the folder: the demo's model.onnx, calibration.npz,
evaluation.npz, holdout.npz and search.yaml, some of the samples as folders arrays (.npy) and test_data (.pb), the folder examples, and score.py; with the shared data also fastestdet.onnx, mobilenet.onnx
and photos (a folder of 100 photographs).
usage: snippets.py QUASAR SOURCE_FOLDER DOCUMENT
"""
import ast
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

BLOCK = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.M | re.S)
KINDS = re.compile(r"(?P<kind>run-by|run|file|search|same|not-run)\b(?:[=:] ?(?P<value>\S+))?")


def split_samples(archive, folder):
    """A few samples of the archive's `image` as .npy files, one each, and as ONNX's test data."""
    stored = zipfile.ZipFile(archive).read("image.npy")
    start = 10 + int.from_bytes(stored[8:10], "little")
    header = ast.literal_eval(stored[10:start].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    shape = (1, *header["shape"][1:])
    size = 4 * math.prod(shape)
    (folder / "arrays").mkdir()
    for i in range(8):
        values = stored[start + i * size : start + (i + 1) * size]
        text = repr({"descr": "<f4", "fortran_order": False, "shape": shape[1:]}).encode().ljust(117) + b"\n"
        (folder / "arrays" / f"{i}.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values)
        (folder / f"test_data/test_data_set_{i}").mkdir(parents=True)
        # TensorProto: dims (1), data_type (2) = float, raw_data (9)
        message = b"".join(b"\x08" + varint(one) for one in shape) + b"\x10\x01" + b"\x4a" + varint(size) + values
        (folder / f"test_data/test_data_set_{i}/input_0.pb").write_bytes(message)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def fill(folder, source):
    """-> whether the shared data are there."""
    digits, data = source / "examples/digits", source.parent / "shared/data"
    for name in ("calibration.npz", "evaluation.npz", "holdout.npz"):
        shutil.copy(digits / name, folder)
    shutil.copy(digits / "digits.onnx", folder / "model.onnx")
    shutil.copy(digits / "search.yaml", folder / "demo.yaml")
    shutil.copytree(source / "examples", folder / "examples")
    (folder / "score.py").write_text("print(0.5)\n")
    split_samples(digits / "calibration.npz", folder)
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


def configuration(content, part):
    """A block laid over the demo's configuration: a key of the block takes the place of the demo's, samples those of the demo's samples."""
    if "model_input:" in content:
        return content
    demo = {"model_input": "model.onnx", "calib_data_reader": "{reader: npz, path: calibration.npz, labels: label}",
            "eval_data_reader": "{reader: npz, path: evaluation.npz, labels: label}", "search_metric": "L2",
            "search_space": "{activation: [UInt8Spec], weight: [Int8Spec], weight_params: {quant_granularity: [Tensor, Channel], only_if: weight}}"}
    if part == "space":
        content = "search_space:\n  activation: [UInt8Spec]\n  weight: [Int8Spec]\n" + re.sub(r"^(?=.)", "  ", content, flags=re.M)
        content = re.sub(r"adaquant_params: \{(?!.*only_if)", "adaquant_params: {only_if: algorithms, ", content)
    given = set(re.findall(r"^(\w+):", content, re.M))
    if "models" in given:
        given.add("model_input")
    if part == "goal":
        given.add("search_space")
    if "data_reader" in given:
        given |= {"calib_data_reader", "eval_data_reader"}
    return content + "".join(f"{key}: {value}\n" for key, value in demo.items() if key not in given)


class Runner:
    def __init__(self, program, source, document, folder):
        self.program, self.source, self.document, self.folder = program, source, document, folder
        self.shared, self.package = fill(folder, source), has_package()
        self.ran, self.skipped, self.checked = 0, 0, 0

    def shell(self, command, wanted=0):
        environment = {**os.environ, "PATH": f"{self.program.parent}:{os.environ['PATH']}"}
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        self.ran += 1
        if done.returncode == wanted:
            return ""
        return f"ended with {done.returncode}, not {wanted}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"

    def block(self, language, marks, content, everywhere):
        """-> what is wrong with it"""
        known = KINDS.match(marks.strip())
        if language == "text":
            return ""
        if not known:
            return f"nobody runs this block: '{language}{marks}' says neither run nor why not (tests/docs/snippets.py)"
        kind, value = known["kind"], known["value"]
        self.checked += 1
        if kind == "not-run":
            return "" if value else "not-run needs a reason"
        if kind == "run-by":
            return "" if value == "python.package" else f"there is no test {value}"
        if kind == "same":
            return "" if content.strip() in (self.source / value).read_text() else f"is not what {value} says"
        if ("needs=shared" in marks or everywhere) and not self.shared or language == "python" and not self.package:
            self.skipped += 1
            return ""
        if kind == "file":
            (self.folder / value).write_text(content)
            return ""
        if kind == "search":
            (self.folder / "block.yaml").write_text(configuration(content, value))
            return self.shell(["quasar", "search", "block.yaml", "--dry-run", "--output-dir", "never"])
        wanted = int((re.search(r"exit=(\d+)", marks) or [0, 0])[1])
        return self.shell(["bash", "-eu", "-c", content] if language == "sh" else [sys.executable, "-c", content], wanted)


def main(program, source, document):
    text = document.read_text()
    with tempfile.TemporaryDirectory() as name:
        runner = Runner(program, source, document, pathlib.Path(name))
        for match in BLOCK.finditer(text):
            wrong = runner.block(match[1], match[2], match[3], "<!-- needs: shared -->" in text)
            if wrong:
                print(f"{document.name}:{text[:match.start()].count(chr(10)) + 1}: {wrong}\n{match[3]}")
                return 1
    print(f"{document.name}: {runner.ran} blocks ran, {runner.skipped} were passed over, {runner.checked} have their mark")
    return 77 if runner.skipped and not runner.ran else 0


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(word).resolve() for word in sys.argv[1:4])))
