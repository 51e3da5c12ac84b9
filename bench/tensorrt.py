"""Target tensorrt beside ModelOpt's ONNX quantization (int8, method max, on the CPU): which inputs of each node have a pair in one and not in the other.
No engine is built. ModelOpt may write into the model that it is given, so it gets a copy.
usage: PYTHON_WITH_NVIDIA_MODELOPT_ONNX bench/tensorrt.py QUASAR NAME=MODEL,CALIBRATION.npz …"""
import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from modelopt.onnx.quantization.quantize import quantize
from onnxruntime.quantization.calibrate import CalibrationDataReader

SAMPLES = 20


class Reader(CalibrationDataReader):
    def __init__(self, feeds):
        self.feeds = feeds
        self.rewind()

    def get_next(self): return next(self.left, None)
    def get_first(self): return self.feeds[0]
    def rewind(self): self.left = iter(self.feeds)


def feeds_of(model, file):
    data = np.load(file)
    ranks = {i.name: len(i.shape) for i in onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"]).get_inputs()}
    return [{n: data[n][k:k + 1] if data[n].ndim == rank else data[n][k] for n, rank in ranks.items()}
            for k in range(min(SAMPLES, len(data[next(iter(ranks))])))]


def placed(path):
    """{node: (type, which inputs have a pair)}, of nodes without what carries codes itself."""
    graph = onnx.load(path).graph
    writers = {value: node for node in graph.node for value in node.output}
    has_pair = lambda value: value in writers and writers[value].op_type == "DequantizeLinear"
    return {node.output[0] if not node.name else node.name: (node.op_type, "".join("Q" if has_pair(value) else "-" for value in node.input).rstrip("-"))
            for node in graph.node if not node.op_type.endswith("quantizeLinear") and node.op_type not in ("QuantizeLinear", "DequantizeLinear", "Constant", "Shape")}


def main():
    quasar, *cases = sys.argv[1:]
    print("| model | weighted sums, of these quantized alike | other nodes quantized alike | Quasar's alone | ModelOpt's alone | rules broken: Quasar's, ModelOpt's |")
    print("| --- | --- | --- | --- | --- | --- |")
    for case in cases:
        name, files = case.split("=", 1)
        model, calibration = files.split(",")
        with tempfile.TemporaryDirectory() as there:
            copy, theirs, ours = (pathlib.Path(there) / one for one in ("copy.onnx", "theirs.onnx", "ours.onnx"))
            shutil.copy(model, copy)
            copy.chmod(0o644)
            quantize(str(copy), quantize_mode="int8", calibration_data_reader=Reader(feeds_of(copy, calibration)), calibration_method="max", calibration_eps=["cpu"],
                     output_path=str(theirs), high_precision_dtype="fp32", log_level="ERROR")
            subprocess.run([quasar, "quantize", model, "-o", ours, "--scheme", "s8s8_tensorrt", "--target", "tensorrt", "--calib", calibration], check=True, capture_output=True)
            broken = [subprocess.run([quasar, "inspect", one, "--target", "tensorrt", "--json"], capture_output=True, text=True) for one in (ours, theirs)]
            a, b = placed(ours), placed(theirs)
            sums = [n for n in a if n in b and a[n][0] in ("Conv", "ConvTranspose", "Gemm", "MatMul")]
            others = [n for n in a if n in b and n not in sums and "Q" in a[n][1] + b[n][1]]
            only = lambda mine, other: collections.Counter(f"{kind} {pairs}" for n, (kind, pairs) in mine.items() if "Q" in pairs and other.get(n, ("", ""))[1] != pairs)
            words = lambda counts: ", ".join(f"{count} × {what}" for what, count in sorted(counts.items())) or "none"
            alike = lambda names: f"{len(names)}, {sum(a[n] == b[n] for n in names)}"
            rules = [str(one.stdout.count('"rule"')) for one in broken]
            print(f"| {name} | {alike(sums)} | {alike(others)} | {words(only(a, b))} | {words(only(b, a))} | {', '.join(rules)} |", flush=True)


main()
