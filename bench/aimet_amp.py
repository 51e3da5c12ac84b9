"""Strategy budget beside AIMET's automatic mixed precision (aimet-onnx): distances for the same bytes.
AIMET gives groups of operators W8A8, W4A8 or float16, one after the other, and keeps a list of what each step costs. Each row takes one step of it, and
gives Quasar the bytes that its weights have then, and what a file has besides weights. Both tune on the same samples; distances are ‖y − ŷ‖ / ‖y‖ on others.
usage: PYTHON_WITH_AIMET_ONNX bench/aimet_amp.py QUASAR [--tune N] NAME=MODEL,CALIBRATION.npz,EVALUATION.npz …
The first N evaluation samples tune, the rest scores."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import aimet_onnx
import numpy as np
import onnx
import onnxruntime
from aimet_onnx.common.defs import CallbackFunc, QuantizationDataType
from aimet_onnx.mixed_precision import choose_mixed_precision
from aimet_onnx.quantsim import QuantizationSimModel

WHOLE, HALF = QuantizationDataType.int, QuantizationDataType.float
CANDIDATES = [((16, HALF), (16, HALF)), ((8, WHOLE), (8, WHOLE)), ((8, WHOLE), (4, WHOLE))]
CONFIGURATION = pathlib.Path(aimet_onnx.__file__).parent / "common/quantsim_config/default_config_per_channel.json"
PLACES = (.25, .5, .75)  # between the least bytes and the most


def feeds_of(session, data):
    ranks = {i.name: len(i.shape) for i in session.get_inputs()}
    count = len(data[next(iter(ranks))])
    return [{name: data[name][i:i + 1] if data[name].ndim == rank else data[name][i] for name, rank in ranks.items()} for i in range(count)]


def answers(session, feeds): return [np.concatenate([np.ravel(y).astype(np.float64) for y in session.run(None, feed)]) for feed in feeds]


def distance(expected, found):
    return (sum(((y - z)**2).sum() for y, z in zip(expected, found)) / sum((y**2).sum() for y in expected))**.5


def weight_bytes(sim, sizes):
    total = 0
    for name, size in sizes.items():
        quantizer = sim.qc_quantize_op_dict.get(name)
        total += size * (quantizer.bitwidth if quantizer is not None and quantizer.enabled else 32) / 8
    return total


def simulated(model, calibration):
    sim = QuantizationSimModel(copy.deepcopy(model), config_file=str(CONFIGURATION))
    sim.compute_encodings(lambda session: [session.run(None, feed) for feed in calibration])
    return sim


def aimet(model, calibration, tune, expected, folder):
    """(bytes of weights, the simulation) after each step, and seconds."""
    score = CallbackFunc(lambda session, _: -distance(expected, answers(session, tune)), None)
    observe = CallbackFunc(lambda session, _: [session.run(None, feed) for feed in calibration], None)
    begin = time.monotonic()
    steps = choose_mixed_precision(simulated(model, calibration), CANDIDATES, score, score, None, str(folder), True, observe)
    return [(group, candidate) for _, _, group, candidate in steps], time.monotonic() - begin


def quasar(program, words, folder):
    path = folder / "job.json"
    path.write_text(json.dumps({**words, "output_dir": str(folder / "out")}))
    begin = time.monotonic()
    done = subprocess.run([program, "search", str(path)], capture_output=True, text=True)
    if done.returncode not in (0, 2, 3): raise RuntimeError(done.stderr)
    return folder / "out/best.onnx", time.monotonic() - begin


def compare(program, name, case, count):
    path, calibration_file, evaluation_file = case.split(",")
    model = onnx.load(path)
    plain = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    evaluation = dict(np.load(evaluation_file))
    calibration, everything = feeds_of(plain, np.load(calibration_file)), feeds_of(plain, evaluation)
    tune, others = everything[:count], everything[count:]
    expected, wanted = answers(plain, tune), answers(plain, others)
    sizes = {tensor.name: int(np.prod(tensor.dims)) for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        np.savez(folder / "tune.npz", **{k: v[:count] for k, v in evaluation.items() if len(v) == len(everything)})
        subprocess.run([program, "quantize", path, "-o", str(folder / "whole.onnx"), "--scheme", "U8S8_CHANNEL", "--calib", calibration_file], check=True, capture_output=True)
        base = {"model_input": path, "calib_data_reader": {"reader": "npz", "path": calibration_file},
                "eval_data_reader": {"reader": "npz", "path": str(folder / "tune.npz")}, "search_metric": "relative"}
        space = {"scheme": ["U8S8_CHANNEL"]}
        steps, seconds = aimet(model, calibration, tune, expected, folder)
        sim = simulated(model, calibration)
        whole = weight_bytes(sim, sizes)
        besides = (folder / "whole.onnx").stat().st_size - whole
        for quantizer in sim.qc_quantize_op_dict.values(): quantizer.enabled and (quantizer.set_bitwidth(16), setattr(quantizer, "data_type", HALF))
        made = []
        for group, candidate in steps:
            group.set_quantizers_to_candidate(sim.qc_quantize_op_dict, candidate)
            made.append((weight_bytes(sim, sizes), {key: (q.bitwidth, q.data_type) for key, q in sim.qc_quantize_op_dict.items()}))
        least, most = min(size for size, _ in made), max(size for size, _ in made)
        for share in PLACES:
            size, bits = min(made, key=lambda one: abs(one[0] - least - share * (most - least)))
            there = simulated(model, calibration)
            for key, (width, kind) in bits.items():
                there.qc_quantize_op_dict[key].set_bitwidth(width)
                there.qc_quantize_op_dict[key].data_type = kind
            there.compute_encodings(lambda session: [session.run(None, feed) for feed in calibration])
            row = [f"{distance(wanted, answers(there.session, others)):.4g}", f"{seconds:.0f}"]
            budget = {"bytes": f"{int(size + besides)} bytes", "precisions": ["int4", "quantized", "float16"]}
            for extra in ({}, {"algorithms": [None, "adaround"]}):
                with tempfile.TemporaryDirectory() as inner:
                    best, took = quasar(program, {**base, "search_space": {**space, **extra}, "budget": budget}, pathlib.Path(inner))
                    found = onnxruntime.InferenceSession(str(best), providers=["CPUExecutionProvider"])
                    row += [f"{distance(wanted, answers(found, others)):.4g}", f"{took:.0f}", str(best.stat().st_size)]
            print(f"| {name} | {int(size + besides)} | {row[0]}, {row[1]} s | {row[2]}, {row[3]} s, {row[4]} | {row[5]}, {row[6]} s, {row[7]} |", flush=True)


def main():
    program, words = sys.argv[1], sys.argv[2:]
    count = int(words.pop(words.index("--tune") + 1)) if "--tune" in words else 20
    print(f"aimet-onnx {aimet_onnx.__version__}, {count} samples tune\n\n| model | bytes | AIMET | Quasar, nearest codes: distance, time, bytes | Quasar, optimized rounding |\n| --- | --- | --- | --- | --- |")
    for word in words:
        if word != "--tune": compare(program, *word.split("=", 1), count)


if __name__ == "__main__":
    main()
