"""Target openvino beside NNCF's `quantize` on the same samples: nodes promised and found in 8 bits, distance in OpenVINO and in ONNX Runtime,
time of float in OpenVINO (one thread, medians of ratios in turns).
Distances are ‖y − ŷ‖ / ‖y‖ over all evaluation samples and outputs; float and quantized model run in the same library.
usage: PYTHON_WITH_OPENVINO_NNCF_ONNX bench/openvino.py QUASAR NAME=MODEL,CALIBRATION.npz,EVALUATION.npz …
Quasar finds the library through QUASAR_OPENVINO, or where scripts/setup.sh --openvino brought it."""
import contextlib
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.pop(0)  # this folder, whose openvino.py is not the package

import numpy as np
import onnx
import onnxruntime
import openvino as ov

CORE = ov.Core()
ROUNDED = ["--set", "algorithms=adaround"]
SMOOTHED = ["--set", "include_sq=true", "--set", "SmoothFunctions=true", "--set", "SmoothAlpha=0.8"]
CASES = {"U8S8_CHANNEL": [], "U8S8_CHANNEL, adaround": ROUNDED}
OF_TRANSFORMERS = {"U8S8_CHANNEL, SmoothQuant": SMOOTHED, "U8S8_CHANNEL, SmoothQuant, adaround": SMOOTHED + ROUNDED}
PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
SECONDS, RUNS, SAMPLES, CALIBRATION = 4, 300, 100, 100


def feeds_of(model, file, most):
    data, ranks = np.load(file), {i.name: len(i.shape) for i in opened(model).get_inputs()}
    count = min(most, len(data[next(iter(ranks))]))
    return [{n: data[n][i:i + 1] if data[n].ndim == rank else data[n][i] for n, rank in ranks.items()} for i in range(count)]


def opened(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    options.add_session_config_entry("session.x64quantprecision", "1")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def compiled(model):
    model = CORE.read_model(str(model)) if isinstance(model, (str, pathlib.Path)) else model
    return CORE.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": 1, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"})


def answers(model, feeds):
    return [[np.float64(value) for value in model(feed).values()] for feed in feeds]


def in_onnxruntime(model, feeds):
    session = opened(model)
    return [[np.float64(value) for value in session.run(None, feed)] for feed in feeds]


def distance(expected, found):
    pairs = [(y, z) for ys, zs in zip(expected, found) for y, z in zip(ys, zs)]
    return (sum(((y - z)**2).sum() for y, z in pairs) / sum((y**2).sum() for y, _ in pairs))**0.5


def mean_distance(expected, found):
    """As Quasar's metric L2."""
    return np.mean([sum(((y - z)**2).sum() for y, z in zip(ys, zs))**0.5 for ys, zs in zip(expected, found)])


def precisions(model):
    out = {}
    for operation in model.get_runtime_model().get_ordered_ops():
        facts = operation.get_rt_info()
        layer, precision, names = (facts[key].astype(str) if key in facts else "" for key in ("layerType", "runtimePrecision", "originalLayersNames"))
        if layer == "FullyConnected": precision = operation.input(0).get_element_type().get_type_name()  # not that of compressed weights
        for name in names.split(",") if layer not in ("Const", "Reorder") else []:
            out.setdefault(name, set()).add(precision)
    return out


def stands_for(name, node):
    """A convolution with a bias is two operations there."""
    return name in (node, node + "/WithoutBiases")


def kept(promised, model):
    """How many of these nodes OpenVINO computes in 8 bits, or has taken into others that it does, and the rest."""
    found = precisions(model)
    broken = [n for n in promised if any(p not in ("u8", "i8") for name, ps in found.items() if stands_for(name, n) for p in ps)]
    return len(promised) - len(broken), broken


def ratios(models, feed):
    times, end = [[] for _ in models], time.monotonic() + SECONDS
    while time.monotonic() < end and len(times[0]) < RUNS:
        for model, of_it in zip(models, times):
            started = time.perf_counter()
            model(feed)
            of_it.append(time.perf_counter() - started)
    return [float(np.median(np.divide(of_it, times[0]))) for of_it in times[1:]]


def quasar(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode not in (0, 2): raise RuntimeError(done.stderr)
    return done.stdout


def reported(program, made, model, evaluation):
    said = json.loads(quasar(program, "evaluate", made, "--reference", model, "--data", evaluation, "--metric", "L2", "--runtime", "openvino", "--json"))
    return said["metrics"]["L2"]["value"]


def attends(model):
    return any(n.op_type == "LayerNormalization" for n in onnx.load(model, load_external_data=False).graph.node)


def by_nncf(model, feeds):
    import nncf
    nncf.set_log_level(logging.ERROR)
    with contextlib.redirect_stdout(sys.stderr):  # its bars
        return nncf.quantize(CORE.read_model(str(model)), nncf.Dataset(feeds), subset_size=len(feeds),
                             model_type=nncf.ModelType.TRANSFORMER if attends(model) else None)


def main():
    program, models = sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])
    print(f"OpenVINO {ov.get_version().split('-')[0]}, ONNX Runtime {onnxruntime.__version__}, {CORE.get_property('CPU', 'FULL_DEVICE_NAME').strip()}, "
          f"{os.cpu_count()} cores\n")
    print("| model | made by | products in 8 bits, of all | nodes promised, found | distance in OpenVINO, in ONNX Runtime (exact sums) | L2 in OpenVINO by Quasar, by hand | time of float |\n|" +
          " --- |" * 7)
    for name, words in models.items():
        model, calibration, evaluation = words.split(",")
        feeds, in_float = feeds_of(model, evaluation, 10**6), compiled(model)
        expected, expected_there = answers(in_float, feeds[:SAMPLES]), in_onnxruntime(model, feeds[:SAMPLES])
        products = [n.name for n in onnx.load(model).graph.node if n.op_type in PRODUCTS]
        with tempfile.TemporaryDirectory() as scratch:
            for case, more in (CASES | (OF_TRANSFORMERS if attends(model) else {})).items():
                made = pathlib.Path(scratch) / "q.onnx"
                quasar(program, "quantize", model, "-o", made, "--scheme", "U8S8_CHANNEL", "--target", "openvino", "--calib", calibration, *more)
                nodes = {n["name"]: n for n in json.loads(quasar(program, "inspect", model, "--target", "openvino", "--json"))["nodes"]}
                there = {n.name for n in onnx.load(made, load_external_data=False).graph.node}
                promised = [n for n, facts in nodes.items() if facts["quantized"] and n in there]
                sums = [n for n in promised if nodes[n]["type"] in PRODUCTS]
                quantized = compiled(made)
                found, broken = kept(promised, quantized)
                values = answers(quantized, feeds)
                by_hand = mean_distance(answers(in_float, feeds), values)
                print(f"| {name} | Quasar, {case} | {kept(sums, quantized)[0]}, {len(products)} | {len(promised)}, {found} | "
                      f"{distance(expected, values):.3g}, {distance(expected_there, in_onnxruntime(made, feeds[:SAMPLES])):.3g} | "
                      f"{reported(program, made, model, evaluation):.4g}, "
                      f"{by_hand:.4g} | {ratios([in_float, quantized], feeds[0])[0]:.2f} |", flush=True)
                for node in broken: print(f"  not in 8 bits: {node}", file=sys.stderr)
        theirs = compiled(by_nncf(model, feeds_of(model, calibration, CALIBRATION)))
        eight = [n for n, ps in precisions(theirs).items() if ps <= {"u8", "i8"} and any(stands_for(n, p) for p in products)]
        eight = {p for p in products if any(stands_for(n, p) for n in eight)}
        print(f"| {name} | NNCF | {len(eight)}, {len(products)} | | {distance(expected, answers(theirs, feeds[:SAMPLES])):.3g} | | "
              f"{ratios([in_float, theirs], feeds[0])[0]:.2f} |", flush=True)


main()
