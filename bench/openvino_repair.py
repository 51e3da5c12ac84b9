"""Strategy repair on target openvino beside NNCF's `quantize_with_accuracy_control`: seconds to a goal, the operators left in float, and the score
found. Both get the same samples, the same metric and the same goal; the float model's score is 1, and 1 % may be lost.
Two pairs of times: until the model is found (Quasar's phases up to the end of its trials; NNCF's one call, with its calibration), and whole
programs (Quasar's with what it measures of the winner and the report; NNCF's with the import of its package, in a process of its own).
Metrics: agreement (share of samples with the float model's class) and cos (mean cosine of quantized and float outputs, all outputs of a sample
as one vector). Scores are computed here by OpenVINO for both.
usage: PYTHON_WITH_OPENVINO_NNCF_ONNX bench/openvino_repair.py QUASAR NAME=MODEL,CALIBRATION.npz,EVALUATION.npz,METRIC[,LOSS] …   (LOSS: 0.01)
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

import nncf
import numpy as np
import onnx
import openvino as ov

CORE = ov.Core()


def feeds_of(model, file):
    """Samples with a batch of one, for inputs by name."""
    inputs = {i.any_name: len(i.partial_shape) for i in CORE.read_model(str(model)).inputs}
    data = np.load(file)
    count = len(data[next(iter(inputs))])
    return [{n: data[n][i:i + 1] if data[n].ndim == rank else data[n][i] for n, rank in inputs.items()} for i in range(count)]


def compiled(model):
    model = CORE.read_model(str(model)) if isinstance(model, (str, pathlib.Path)) else model
    return CORE.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def outputs(model, feed):
    return np.concatenate([np.float64(value).ravel() for value in model(feed).values()])


def score(metric, expected, found):
    if metric == "agreement":
        return float(expected.argmax() == found.argmax())
    return float(expected @ found / max(np.linalg.norm(expected) * np.linalg.norm(found), 1e-30))


def products_in_8_bits(model):
    """Of the convolutions and matrix products of OpenVINO's runtime model: how many compute in 8 bits."""
    out = []
    for operation in model.get_runtime_model().get_ordered_ops():
        facts = operation.get_rt_info()
        layer, precision = (facts[key].astype(str) if key in facts else "" for key in ("layerType", "runtimePrecision"))
        if layer not in ("Convolution", "Deconvolution", "FullyConnected", "MatMul"): continue
        if layer == "FullyConnected": precision = operation.input(0).get_element_type().get_type_name()  # not that of compressed weights
        out.append(precision in ("u8", "i8"))
    return f"{sum(out)} of {len(out)}"


def mean_score(metric, model, feeds, expected):
    return float(np.mean([score(metric, y, outputs(model, feed)) for feed, y in zip(feeds, expected)]))


def by_nncf(model, calibration, evaluation, expected, metric, loss):
    nncf.set_log_level(logging.ERROR)
    attends = any(n.op_type == "LayerNormalization" for n in onnx.load(model, load_external_data=False).graph.node)
    places = {id(feed): i for i, feed in enumerate(evaluation)}

    def validate(candidate, feeds):
        scores = [score(metric, expected[places[id(feed)]], outputs(candidate, feed)) for feed in feeds]
        return float(np.mean(scores)), scores

    started = time.monotonic()
    with contextlib.redirect_stdout(sys.stderr):
        made = nncf.quantize_with_accuracy_control(
            CORE.read_model(str(model)), nncf.Dataset(calibration), nncf.Dataset(evaluation), validate, max_drop=loss, drop_type=nncf.DropType.ABSOLUTE,
            subset_size=len(calibration), model_type=nncf.ModelType.TRANSFORMER if attends else None)
    return made, time.monotonic() - started


def by_quasar(program, model, calibration, evaluation, metric, loss, folder):
    words = {"model_input": model, "calib_data_reader": {"reader": "npz", "path": calibration}, "eval_data_reader": {"reader": "npz", "path": evaluation},
             "target": "openvino", "strategy": "repair", "search_metric": metric, "output_dir": str(folder),
             "accuracy_criterion": {"criterion": "absolute", "tolerable_loss": loss}}
    job = pathlib.Path(folder).with_suffix(".json")
    job.write_text(json.dumps(words))
    started = time.monotonic()
    done = subprocess.run([program, "search", str(job)], capture_output=True, text=True)
    seconds = time.monotonic() - started
    if done.returncode not in (0, 2): raise RuntimeError(done.stderr)
    result = json.loads((pathlib.Path(folder) / "result.json").read_text())
    found = sum(result["phases"][phase] for phase in ("prepare_s", "float_s", "calibrate_s", "trials_s"))
    return pathlib.Path(folder) / "best.onnx", found, seconds, result


def seconds_to_import():
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "import nncf, openvino"], check=True, capture_output=True)
    return time.monotonic() - started


def main():
    program = sys.argv[1]
    print(f"OpenVINO {ov.get_version().split('-')[0]}, NNCF {nncf.__version__}, {CORE.get_property('CPU', 'FULL_DEVICE_NAME').strip()}, {os.cpu_count()} cores\n")
    print("| model | metric, samples | Quasar: score, given up, products in 8 bits | seconds until found, in all | NNCF: score, products in 8 bits | seconds, with the import | times as fast |\n"
          "| --- | --- | --- | --- | --- | --- | --- |")
    for word in sys.argv[2:]:
        name, rest = word.split("=", 1)
        model, calibration, evaluation, metric, *more = rest.split(",")
        loss = float(more[0]) if more else 0.01
        feeds, in_float = feeds_of(model, evaluation), compiled(model)
        expected = [outputs(in_float, feed) for feed in feeds]
        with tempfile.TemporaryDirectory() as scratch:
            made, found, seconds, result = by_quasar(program, model, calibration, evaluation, metric, loss, pathlib.Path(scratch) / "out")
            ours, our_products = mean_score(metric, compiled(made), feeds, expected), products_in_8_bits(compiled(made))
        theirs_model, their_seconds = by_nncf(model, feeds_of(model, calibration), feeds, expected, metric, loss)
        theirs = mean_score(metric, compiled(theirs_model), feeds, expected)
        their_all = their_seconds + seconds_to_import()
        given_up = len(result["tuning"]["float"])
        print(f"| {name} | {metric}, {len(feeds)}, goal {1 - loss:g} | {ours:.4f} ({result['status']}), {given_up}, {our_products} | {found:.1f}, {seconds:.1f} | "
              f"{theirs:.4f}, {products_in_8_bits(compiled(theirs_model))} | {their_seconds:.1f}, {their_all:.1f} | {their_seconds / found:.1f}, {their_all / seconds:.1f} |", flush=True)


main()
