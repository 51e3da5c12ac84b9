"""Large jobs on one machine: a model of 5000 nodes, 10 000 trials, 100 000 samples. Seconds, processor seconds and peak memory of each, and the budget
3 × model + 256 MiB + memory_limit (1 GiB) beside it. `big_model.py` does the same for a model of more than 2 GB.
usage: PYTHON_WITH_ONNX bench/scale.py build/quasar REPOSITORY [nodes] [trials] [samples]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MIB = 2**20
GENERATOR = np.random.default_rng(1)
GRID = {"activation": ["UInt8Spec"], "weight": ["Int8Spec"], "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"},
        "activation_params": {"calibration_method": ["MinMax", "Percentile", "MinMSE"], "only_if": "activation"}}


def deep_model(path, blocks, channels=8):
    """Residual blocks of five nodes (Conv, Relu, Conv, Add, Relu) on 16 × 16 pixels; -> nodes"""
    nodes, tensors, value = [], [], "input"

    def convolution(name, source, gain):
        weight = GENERATOR.standard_normal((channels, channels, 3, 3)) * gain / np.sqrt(9 * channels)
        tensors.append(numpy_helper.from_array(weight.astype(np.float32), name + ".weight"))
        tensors.append(numpy_helper.from_array(GENERATOR.standard_normal(channels).astype(np.float32) * 0.01, name + ".bias"))
        nodes.append(helper.make_node("Conv", [source, name + ".weight", name + ".bias"], [name], name, pads=[1, 1, 1, 1]))
        return name

    def node(kind, sources, name):
        nodes.append(helper.make_node(kind, sources, [name], name))
        return name

    for k in range(blocks):
        first = node("Relu", [convolution(f"b{k}.conv1", value, 1.4)], f"b{k}.relu1")
        added = node("Add", [convolution(f"b{k}.conv2", first, 0.05), value], f"b{k}.add")
        value = node("Relu", [added], f"b{k}.relu2")
    shape = ["batch", channels, 16, 16]
    graph = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("input", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return len(nodes)


def measure(what, command, model, memory_limit=1024):
    """Runs the command and prints a row of the table; exits with what it said when it fails"""
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(part) for part in command], stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            said.seek(0)
            sys.exit(f"{what}: exit {code}\n{said.read().decode()[-2000:]}")
    seconds, peak, budget = time.perf_counter() - start, usage.ru_maxrss / 1024, 3 * model.stat().st_size / MIB + 256 + memory_limit
    print(f"| {what} | {seconds:.1f} | {usage.ru_utime + usage.ru_stime:.1f} | {peak:.0f} | {budget:.0f} {'kept' if peak <= budget else 'MISSED'} |", flush=True)


def job(folder, name, **keys):
    path = folder / f"{name}.json"
    path.write_text(json.dumps(keys))
    return path


def nodes(quasar, repository, folder):
    model = folder / "deep.onnx"
    count = deep_model(model, 1000)
    for name, samples in (("calibration", 8), ("evaluation", 16)):
        np.savez(folder / f"{name}.npz", input=GENERATOR.standard_normal((samples, 8, 16, 16), dtype=np.float32))
    calibration, evaluation = folder / "calibration.npz", folder / "evaluation.npz"
    label = f"{count} nodes, {model.stat().st_size / MIB:.1f} MiB"
    for scheme in ("A8W8", "XINT8"):
        measure(f"{label}: quantize {scheme}", [quasar, "quantize", model, "-o", folder / "q.onnx", "--scheme", scheme, "--target", "ort_cpu", "--calib", calibration], model)
    measure(f"{label}: quantize A8W8 with adaround",
            [quasar, "quantize", model, "-o", folder / "q.onnx", "--scheme", "A8W8", "--calib", calibration, "--set", "algorithms=adaround"], model)
    data = {"calib_data_reader": str(calibration), "eval_data_reader": str(evaluation)}
    grid = job(folder, "grid", model_input=str(model), **data, search_algo="Grid",
               search_space=GRID)
    measure(f"{label}: search, 6 trials", [quasar, "search", grid, "--output-dir", folder / "grid"], model)
    tuned = job(folder, "tuned", model_input=str(model), **data, search_metric="cos", accuracy_criterion={"tolerable_loss": 0.01})
    measure(f"{label}: repair to 1 %", [quasar, "search", tuned, "--output-dir", folder / "tuned"], model)


def digits(repository, name, **keys):
    return {"reader": "npz", "path": str(repository / "examples/digits" / f"{name}.npz"), "labels": "label", **keys}


def trials(quasar, repository, folder):
    """Ten thousand different models of the demo's network, 50 digits each, and what reads the study afterwards"""
    model = repository / "examples/digits/digits.onnx"
    space = {"activation": ["UInt8Spec"], "weight": ["Int8Spec"], "percentile_options": {"Percentile": {"type": "float", "low": 95, "high": 100}, "only_if": {"activation_params_calibration_method": "Percentile"}},
             "activation_params": {"calibration_method": ["Percentile"], "symmetric": [False, True], "only_if": "activation"},
             "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"}}
    calibration = job(folder, "calibration", **digits(repository, "calibration"))
    for sampler in ("Random", "TPE"):
        made = job(folder, sampler, model_input=str(model), calib_data_reader=digits(repository, "calibration"), pruner="none",
                   eval_data_reader=digits(repository, "evaluation", limit=50), search_space=space, search_algo=sampler, n_trials=10000)
        out = folder / f"out-{sampler}"
        measure(f"10 000 trials, {sampler}", [quasar, "search", made, "--output-dir", out], model)
        sizes = ", ".join(f"{name} {(out / name).stat().st_size / MIB:.1f} MiB" for name in ("auto_search.db", "result.json", "report.html"))
        measure(f"the same study resumed, nothing left to do ({sizes})", [quasar, "search", made, "--output-dir", out, "--resume"], model)
        measure("one of its models made again", 
                [quasar, "quantize", model, "--from-study", out, "--trial", "9000", "-o", folder / "again.onnx", "--calib", calibration], model)


def samples(quasar, repository, folder):
    """A hundred thousand digits (noise added): statistics of all, one search scored on all"""
    model = repository / "examples/digits/digits.onnx"
    with np.load(repository / "examples/digits/evaluation.npz") as data:
        many = GENERATOR.integers(0, len(data["label"]), 100000)
        image = next(name for name in data.files if name != "label")
        noise = GENERATOR.standard_normal((len(many), *data[image].shape[1:]), dtype=np.float32) * 0.02
        np.savez(folder / "many.npz", **{image: data[image][many].astype(np.float32) + noise, "label": data["label"][many]})
    many = {"reader": "npz", "path": str(folder / "many.npz"), "labels": "label"}
    reader = job(folder, "reader", **many)
    measure("100 000 samples: quantize A8W8, Percentile",
            [quasar, "quantize", model, "-o", folder / "q.onnx", "--scheme", "A8W8", "--set", "activation_params.calibration_method=Percentile", "--calib", reader], model)
    measure("100 000 samples: evaluate", [quasar, "evaluate", folder / "q.onnx", "--reference", model, "--data", reader], model)
    made = job(folder, "search", model_input=str(model), calib_data_reader=digits(repository, "calibration"), eval_data_reader=many,
               search_metric=["L2", "top1"], search_algo="Grid",
               search_space=GRID)
    measure("100 000 samples: search, 6 trials scored on all", [quasar, "search", made, "--output-dir", folder / "out"], model)


def main():
    quasar, repository = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    parts = {"nodes": nodes, "trials": trials, "samples": samples}
    print("| job | seconds | processor seconds | peak, MiB | budget, MiB |\n| --- | ---: | ---: | ---: | --- |", flush=True)
    for name in sys.argv[3:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            parts[name](quasar, repository, pathlib.Path(folder))


if __name__ == "__main__":
    main()
