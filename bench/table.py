"""Models × specifications: does the file run, how far from float, how good, how large, how fast; onnxruntime's own tools beside it.
usage: PYTHON_WITH_ONNXRUNTIME bench/table.py QUASAR SHARED [MINILM_FOLDER] [--quark PYTHON_OF_QUARK] [--only MODEL] [--samples N]
MINILM_FOLDER is what bench/export_minilm.py made. Figures come from one run; latency is the median of single runs, one thread."""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnxruntime.quantization import QuantFormat, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from ort_static import Samples, models

SCHEMES = ["A8W8", "A8W8_CHANNEL", "U8S8_CHANNEL", "A16W8", "XINT8", "BF16", "FP16", "W4", "W4A8_CHANNEL", "DYNAMIC"]
# name: scheme and settings. Quark's Int8Spec takes percentiles, and its named configurations equalize: these are the rows to be compared with them.
SPECIFICATIONS = {**{scheme: (scheme, []) for scheme in SCHEMES},
                  **{f"{scheme} as Quark's": (scheme, ["activation_params.calibration_method=Percentile"]) for scheme in ("A8W8", "A8W8_CHANNEL")},
                  **{f"{scheme} as Quark's": (scheme, ["include_cle=true"]) for scheme in ("A16W8", "XINT8")}}


QUARKS = ["A8W8", "A8W8_CHANNEL", "A16W8", "XINT8", "BF16"]


def minilm(folder):
    """-> (model, calibration, evaluation), samples as dictionaries"""
    def load(split):
        arrays = dict(np.load(folder / f"{split}.npz"))
        inputs = {i.name for i in onnx.load(folder / "minilm.onnx", load_external_data=False).graph.input}
        count = len(next(iter(arrays.values())))
        return [{k: v[i:i + 1] for k, v in arrays.items() if k in inputs} for i in range(count)]
    return str(folder / "minilm.onnx"), load("calib"), load("eval")


def session(path, operators=None):
    def opened(libraries):
        options = ort.SessionOptions()
        for library in libraries:
            options.register_custom_ops_library(library)
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    try:
        return opened([])
    except Exception:
        if not operators:
            raise
    return opened([operators])


def outputs(path, samples, operators=None):
    """-> one vector per sample, median milliseconds"""
    runner, found, times = session(path, operators), [], []
    for sample in samples:
        start = time.perf_counter()
        results = runner.run(None, sample)
        times.append(time.perf_counter() - start)
        found.append(np.concatenate([y.ravel() for y in results]))
    return found, 1000 * float(np.median(times))


def figures(path, wanted, float_ms, samples, labels, operators=None):
    got, ms = outputs(str(path), samples, operators)
    distance = float(np.mean([np.linalg.norm(a - b) for a, b in zip(wanted, got)]))
    agreement = float(np.mean([a.argmax() == b.argmax() for a, b in zip(wanted, got)]))
    cosine = float(np.mean([a @ b / (np.linalg.norm(a) * np.linalg.norm(b) + 1e-30) for a, b in zip(wanted, got)]))
    top1 = "" if labels is None else f"{100 * np.mean([b.argmax() - 1 == y for b, y in zip(got, labels)]):.1f}"
    size = pathlib.Path(path).stat().st_size
    return [f"{distance:.4g}", f"{cosine:.4f}", f"{100 * agreement:.1f}", top1, f"{size / 1e6:.2f}", f"{float_ms / ms:.2f}"]


def peers(model, calibration, folder, quark):
    """-> (name, function that writes the model and gives the library of operators that it needs)"""
    def by_quark(configuration):
        def write(path):
            done = subprocess.run([quark, "-B", str(pathlib.Path(__file__).with_name("quark_quantize.py")), model, path, str(folder / "calib.npz"), configuration],
                                  capture_output=True, text=True, cwd=folder)
            if done.returncode != 0:
                raise RuntimeError(done.stderr.strip().split("\n")[-1])
            return done.stdout.split("OPERATORS")[-1].strip()
        return write
    def static(per_channel):
        def write(path):
            reader = Samples("", [])
            reader.items = iter(calibration)
            quantize_static(model, path, reader, quant_format=QuantFormat.QDQ, per_channel=per_channel,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
        return write
    def dynamic(path):
        quantize_dynamic(model, path, per_channel=True, weight_type=QuantType.QInt8)
    def nbits(path):
        tool = MatMulNBitsQuantizer(onnx.load(model), block_size=32, is_symmetric=False)
        tool.process()
        tool.model.save_model_to_file(path, False)
    quarks = [(f"Quark {name}", by_quark(name)) for name in QUARKS] if quark else []
    return quarks + [("ort static tensor", static(False)), ("ort static channel", static(True)), ("ort dynamic", dynamic), ("ort nbits", nbits)]


def row(*cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def measure(quasar, quark, name, model, calibration, evaluation, labels):
    wanted, float_ms = outputs(model, evaluation)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        np.savez(folder / "calib.npz", **{k: np.concatenate([s[k] for s in calibration]) for k in calibration[0]})
        row(name, "float", "0", "1", "100", *figures(model, wanted, float_ms, evaluation, labels)[3:], "")
        for specification, (scheme, settings) in SPECIFICATIONS.items():
            path, start = folder / "ours.onnx", time.perf_counter()
            words = ["--scheme", scheme, "--target", "ort_cpu", "--calib", str(folder / "calib.npz"), *(f"--set={setting}" for setting in settings)]
            done = subprocess.run([quasar, "quantize", model, "-o", str(path), *words], capture_output=True, text=True)
            seconds = time.perf_counter() - start
            if done.returncode != 0:
                row(name, specification, done.stderr.strip().split("\n")[-1][:80], "", "", "", "", "", f"{seconds:.1f}")
                continue
            try:
                row(name, specification, *figures(path, wanted, float_ms, evaluation, labels), f"{seconds:.1f}")
            except Exception as error:
                row(name, specification, "does not run: " + str(error)[:80], "", "", "", "", "", f"{seconds:.1f}")
        for tool, write in peers(model, calibration, folder, quark):
            path, start = folder / "peer.onnx", time.perf_counter()
            try:
                operators = write(str(path))
                row(name, tool, *figures(path, wanted, float_ms, evaluation, labels, operators), f"{time.perf_counter() - start:.1f}")
            except Exception as error:
                row(name, tool, "fails: " + str(error)[:80], "", "", "", "", "", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar")
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("minilm", type=pathlib.Path, nargs="?")
    parser.add_argument("--quark", help="the Python that has Quark; its seconds count its imports")
    parser.add_argument("--only")
    parser.add_argument("--samples", type=int, default=400)
    options = parser.parse_args()
    row("model", "specification", "L2", "cosine", "agreement %", "top-1 %", "MB", "speed / float", "s")
    row(*["---"] * 9)
    for name, model, calibration, evaluation in models(options.shared.resolve()):
        if options.only not in (None, name):
            continue
        key = onnx.load(model).graph.input[0].name
        labels = None
        if name == "mobilenet":
            import inputs
            labels = inputs.load("eval")[1][:options.samples]
        wrap = lambda samples: [{key: s[None]} for s in samples]
        measure(options.quasar, options.quark, name, model, wrap(calibration), wrap(evaluation[:options.samples]), labels)
    if options.minilm and options.only in (None, "minilm"):
        model, calibration, evaluation = minilm(options.minilm)
        measure(options.quasar, options.quark, "minilm", model, calibration, evaluation[:options.samples], None)


if __name__ == "__main__":
    main()
