"""Accuracy goals on MobileNet: Intel Neural Compressor's basic to 1 % relative, NNCF's accuracy control to 0.5 points, and Quasar's repair to
the same goals, one after the other in one run. SECONDS: the peer's own call, Quasar's search to the end of its report; PROCESS: with the start of the program (imports);
MODEL: from the start of Quasar's process until best.onnx lies in the folder, after which it measures for the report what peers do not.
CPU: processor seconds of the whole process, which other work on the machine changes little.
FLOAT: nodes in float among all in the graph that ONNX Runtime makes of the model (level extended), counted alike for everybody.
With --holdout tuning sees every second photograph of the 400 only; the others have been seen by nobody, and all models are scored on both halves.
usage: PYTHON bench/tuners.py QUASAR SHARED PYTHON_OF_INC PYTHON_OF_NNCF [--holdout]; PYTHON has onnx and onnxruntime"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from jobs import READER, mobilenet


def cpu():
    """Processor seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Runs a peer's script with the first half of the photographs: every second one.
HALVED = """import runpy, sys
sys.path.insert(0, sys.argv[1])
import inputs
whole = inputs.load
inputs.load = lambda split: tuple(part[::2] for part in whole(split)) if split == "eval" else whole(split)
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
PASSED_ON = {"Reshape", "Transpose", "Flatten", "Squeeze", "Unsqueeze", "MaxPool", "Concat", "Slice", "Gather", "Split", "Identity", "ReorderInput", "ReorderOutput"}


def kernels(model, folder):
    """-> (nodes in float, all nodes) of the graph that ONNX Runtime runs: a node runs in integers when it reads codes. Q, DQ and Cast, and what
    only moves values, are not counted."""
    import onnx
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(folder / "optimized.onnx").graph
    integers = {onnx.TensorProto.UINT8, onnx.TensorProto.INT8, onnx.TensorProto.UINT16, onnx.TensorProto.INT16, onnx.TensorProto.UINT4, onnx.TensorProto.INT4}
    codes = {tensor.name for tensor in graph.initializer if tensor.data_type in integers}
    floats = total = 0
    for node in graph.node:
        reads = any(name in codes for name in node.input)
        moves = node.op_type in PASSED_ON
        if node.op_type == "QuantizeLinear" or node.op_type.startswith("QLinear") or (moves and node.input[0] in codes):
            codes.update(node.output)
        if node.op_type == "QGemm" and len(node.input) > 7 and node.input[7]:
            codes.update(node.output)
        if moves or node.op_type in ("QuantizeLinear", "DequantizeLinear", "Cast", "Constant"):
            continue
        total += 1
        floats += not reads
    return floats, total


def judged(model, folder, halves):
    """Prints what is counted alike for every tuner."""
    import inputs
    floats, total = kernels(model, folder)
    scores = {name: inputs.top1(str(model), x, y) for name, (x, y) in halves.items()}
    print(f"   FLOAT {floats} of {total} nodes;", " ".join(f"{name} {score:.4f}" for name, score in scores.items()), flush=True)


def peer(python, script, arguments, folder, holdout):
    before, start = cpu(), time.time()
    command = ["-c", HALVED, str(script.parent), str(script)] if holdout else [str(script)]
    out = subprocess.run([python, "-B", *command, *arguments], cwd=folder, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        if any(word in line for word in ("SECONDS", "TOP1", "QuantizeLinear")):
            print("  ", line, flush=True)
    print(f"   PROCESS {time.time() - start:.2f} CPU {cpu() - before:.2f} (imports included)", flush=True)


def ours(quasar, folder, model, criterion):
    seconds, searching, until_model, before = [], [], [], cpu()
    for i in range(3):
        name = f"ours_{criterion['criterion']}_{i}"
        config = {"model_input": model, "calib_data_reader": {**READER, "path": "calib.npz"}, "eval_data_reader": {**READER, "path": "eval.npz"},
                  "search_metric": "top1", "accuracy_criterion": criterion, "output_dir": name}
        file = folder / f"{name}.json"
        file.write_text(json.dumps(config))
        start = time.time()
        subprocess.run([quasar, "search", str(file), "--quiet"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.time() - start)
        result = json.loads((folder / name / "result.json").read_text())
        searching.append(result["seconds"])
        until_model.append((folder / name / "best.onnx").stat().st_mtime - start)
    best = result["best"]
    print(f"   PROCESS {sorted(seconds)[1]:.2f} SECONDS {sorted(searching)[1]:.2f} MODEL {sorted(until_model)[1]:.2f} CPU {(cpu() - before) / 3:.2f} TRIALS {result['trials']['executed']} TOP1 {best['metrics']['top1']['value']} "
          f"operators {best['operators']} status {result['status']}", flush=True)
    return folder / name / "best.onnx"


def evaluation(folder, holdout):
    """-> name -> (x, y) to score the models on; with a hold-out, eval.npz keeps every second photograph only."""
    import numpy as np
    with np.load(folder / "eval.npz") as file:
        x, y = file["x"], file["y"]
    if not holdout:
        return {"evaluation": (x, y)}
    np.savez(folder / "eval.npz", x=x[::2], y=y[::2])
    return {"evaluation": (x[::2], y[::2]), "hold-out": (x[1::2], y[1::2])}


def main():
    quasar, shared, inc, nncf = sys.argv[1:5]
    holdout = "--holdout" in sys.argv[5:]
    peers = pathlib.Path(shared) / "peers"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = mobilenet(shared, folder)
        halves = evaluation(folder, holdout)
        print("float")
        judged(model, folder, halves)
        print("INC basic, 1 % relative")
        peer(inc, peers / "inc_tune.py", ["basic", "100", "0.01"], folder, holdout)
        judged(folder / "inc_best.onnx", folder, halves)
        print("Quasar repair, 1 % relative")
        judged(ours(quasar, folder, model, {"criterion": "relative", "tolerable_loss": 0.01}), folder, halves)
        print("NNCF accuracy control, 0.5 points")
        peer(nncf, peers / "nncf_control.py", ["0.005"], folder, holdout)
        judged(folder / "nncf_ac.onnx", folder, halves)
        print("Quasar repair, 0.5 points")
        judged(ours(quasar, folder, model, {"criterion": "absolute", "tolerable_loss": 0.005}), folder, halves)


if __name__ == "__main__":
    main()
