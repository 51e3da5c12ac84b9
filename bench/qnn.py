"""Target qnn_htp beside ONNX Runtime's own flow (qnn_preprocess_model, get_qnn_qdq_config, quantize) on the same samples, in the simulator of HTP.
Distances are ‖y − ŷ‖ / ‖y‖ over evaluation samples and outputs; y is the float model's in ONNX Runtime on the CPU.
The last column: the same model without its pairs on values, so that weights are codes and all else is float, in ONNX Runtime
(Quasar's: their flow takes out Clip and Relu, which the pairs stand for).
usage: PYTHON_WITH_ONNXRUNTIME_QNN_ONNX bench/qnn.py QUASAR [--samples N] NAME=MODEL,CALIBRATION.npz,EVALUATION.npz[,SHAPES] …
SHAPES: what FixShapes gets, for models with open shapes (image:[1,1,8,8])."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import onnxruntime_qnn
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config, qnn_preprocess_model

PROVIDER = onnxruntime_qnn.get_ep_name()
onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
DEVICES = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER][:1]
CASES = {"w8a8": [], "w8a8, adaround": ["--set", "algorithms=adaround"], "w8a16": [], "w8a16, adaround": ["--set", "algorithms=adaround"]}
THEIRS = {"uint8 values, uint8 weights": (QuantType.QUInt8, QuantType.QUInt8, False), "uint8 values, int8 weights per channel": (QuantType.QUInt8, QuantType.QInt8, True),
          "uint16 values, uint8 weights": (QuantType.QUInt16, QuantType.QUInt8, False),
          "uint16 values, int8 weights per channel": (QuantType.QUInt16, QuantType.QInt8, True)}
CALIBRATION = 60


def session(model, there):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if there:
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        options.add_provider_for_devices(DEVICES, {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
        return onnxruntime.InferenceSession(str(model), options)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # Q, DQ and the operators between them, in float
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def feeds_of(model, file, most):
    data = np.load(file)
    ranks = {i.name: len(i.shape) for i in session(model, False).get_inputs()}
    count = min(most, len(data[next(iter(ranks))]))
    return [{n: data[n][i:i + 1] if data[n].ndim == rank else data[n][i] for n, rank in ranks.items()} for i in range(count)]


def answers(opened, feeds):
    return [[np.float64(value) for value in opened.run(None, feed)] for feed in feeds]


def distance(expected, found):
    pairs = [(y, z) for ys, zs in zip(expected, found) for y, z in zip(ys, zs)]
    return (sum(((y - z)**2).sum() for y, z in pairs) / sum((y**2).sum() for y, _ in pairs))**0.5


def mean_distance(expected, found):
    """As Quasar's metric L2."""
    return np.mean([sum(((y - z)**2).sum() for y, z in zip(ys, zs))**0.5 for ys, zs in zip(expected, found)])


def float_values(made, out):
    """The model without the pairs on values: readers of a pair read what it quantizes. Pairs on constants stay."""
    loaded = onnx.load(made)
    writers = {value: node for node in loaded.graph.node for value in node.output}
    instead = {}
    for node in loaded.graph.node:
        before = writers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if before is not None and before.op_type == "QuantizeLinear": instead[node.output[0]] = before.input[0]

    def source(value):
        while value in instead: value = instead[value]
        return value

    for node in loaded.graph.node:
        for k, value in enumerate(node.input): node.input[k] = source(value)
    for value in loaded.graph.output:  # a pair stood on it
        if value.name in instead: loaded.graph.node.append(onnx.helper.make_node("Identity", [source(value.name)], [value.name + "_plain"]))
    for value in loaded.graph.output:
        if value.name in instead: value.name += "_plain"
    onnx.save(loaded, out)
    return out


def operators(part):
    return [node.name for node in part.get_nodes() if node.op_type not in ("QuantizeLinear", "DequantizeLinear")]


def row(name, made_by, made, feeds, expected, more=""):
    try:
        opened = session(made, True)
    except Exception as error:
        print(f"| {name} | {made_by} | does not compile: {' '.join(str(error).split())[-90:]} | | | {more} | |", flush=True)
        return
    parts = opened.get_provider_graph_assignment_info()
    there = [part for part in parts if part.ep_name == PROVIDER]
    fallen = [node for part in parts if part not in there for node in operators(part)]
    found = answers(opened, feeds)
    by_hand = f"{mean_distance(expected, found):.4g}" if more else ""
    weights_only = f"{distance(expected, answers(session(float_values(made, made.with_name('weights.onnx')), False), feeds)):.3g}" if more else ""
    print(f"| {name} | {made_by} | {len(there)} | {sum(len(operators(part)) for part in there)}, {len(fallen)} | "
          f"{distance(expected, found):.3g}, {distance(expected, answers(session(made, False), feeds)):.3g} | {more}{', ' if more else ''}{by_hand} | {weights_only} |",
          flush=True)


def quasar(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env={**os.environ, "QUASAR_QNN": sys.executable})
    if done.returncode not in (0, 2): raise RuntimeError(done.stderr)
    return done.stdout


class Reader(CalibrationDataReader):
    def __init__(self, feeds): self.feeds = iter(feeds)
    def get_next(self): return next(self.feeds, None)


def theirs(model, feeds, types, out):
    values, weights, per_channel = types
    prepared = out.with_name("prepared.onnx")
    used = prepared if qnn_preprocess_model(str(model), str(prepared)) else model
    quantize(str(used), str(out), get_qnn_qdq_config(str(used), Reader(feeds), activation_type=values, weight_type=weights, per_channel=per_channel))


def with_shapes(model, words, out):
    """The float model with the shapes fixed, which their flow needs."""
    loaded = onnx.load(model)
    del loaded.graph.value_info[:]
    symbols = {}
    for part in words.split(";"):
        name, sizes = part.rsplit(":", 1)
        value = next(i for i in loaded.graph.input if i.name == name)
        for dim, size in zip(value.type.tensor_type.shape.dim, json.loads(sizes)):
            if dim.dim_param: symbols[dim.dim_param] = size
            dim.dim_value = size
    for value in loaded.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in symbols: dim.dim_value = symbols[dim.dim_param]
    onnx.save(loaded, out)
    return out


def main():
    program, words = sys.argv[1], sys.argv[2:]
    samples = int(words.pop(words.index("--samples") + 1)) if "--samples" in words else 40
    models = dict(word.split("=", 1) for word in words if word != "--samples")
    print(f"onnxruntime-qnn {onnxruntime_qnn.__version__}, ONNX Runtime {onnxruntime.__version__}, {samples} samples\n")
    print("| model | made by | partitions | operators on HTP, on the CPU | distance in the simulator, in ONNX Runtime | L2 there by Quasar, by hand | with float values |\n|" + " --- |" * 7)
    for name, case in models.items():
        model, calibration, evaluation, *shapes = case.split(",", 3)
        with tempfile.TemporaryDirectory() as scratch:
            made, plain, data = (pathlib.Path(scratch) / f for f in ("q.onnx", "float.onnx", "evaluation.npz"))
            fixed = with_shapes(model, shapes[0], plain) if shapes else model
            feeds = feeds_of(fixed, evaluation, samples)
            loaded = np.load(evaluation)
            np.savez(data, **{key: loaded[key][:samples] for key in feeds[0]})
            expected = answers(session(fixed, False), feeds)
            for made_by, more in CASES.items():
                quasar(program, "quantize", model, "-o", made, "--scheme", made_by.split(",")[0], "--target", "qnn_htp", "--calib", calibration, *more,
                       *(["--set", f"FixShapes={shapes[0]}"] if shapes else []))
                said = json.loads(quasar(program, "evaluate", made, "--reference", model, "--data", data, "--metric", "L2", "--runtime", "qnn_htp", "--json"))
                row(name, "Quasar, " + made_by, made, feeds, expected, f"{said['metrics']['L2']['value']:.4g}")
            calibrating = feeds_of(fixed, calibration, CALIBRATION)
            for made_by, types in THEIRS.items():
                theirs(fixed, calibrating, types, made)
                row(name, "ONNX Runtime, " + made_by, made, feeds, expected)


main()
