"""Where the time of one trial goes: building and scoring, against session creation plus pure inference of the same model on one core.
usage: PYTHON_WITH_ONNXRUNTIME bench/trial_cost.py QUASAR SHARED [MINILM_FOLDER] [--repetitions N] [--networks FOLDER]
MobileNet, and MiniLM when the folder that export_minilm.py made is named; all evaluation samples. --networks: whole searches of the
same grid instead, on MobileNet and on the SqueezeNet of networks.py. Their floor is plain inference of what had to be run: calibration and
evaluation samples in float, and the evaluation samples in each model that was tried, divided by two cores."""
import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime as ort

from jobs import mobilenet, search
from quark_a8w8 import SPACE

MINILM_SPACE = {**SPACE, "activation": ["UInt8Spec"], "activation_params": {"symmetric": [False], "calibration_method": ["MinMax", "Percentile"], "only_if": "activation"},
                "weight_params": {**SPACE["weight_params"], "quant_granularity": ["Tensor", "Channel"]}, "PercentileCandidates": [[99.9, 99.99]]}


def pure(model, samples):
    """Session creation plus inference, one thread -> seconds."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    start = time.time()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    for sample in samples:
        session.run(None, sample)
    return time.time() - start


def measure(name, quasar, folder, model, space, samples, repetitions, **more):
    build, score, floor = [], [], []
    for i in range(repetitions):
        search(quasar, folder, model, space, f"{name}{i}", n_jobs=2, **more)    # two trials at a time, one core each
        db = sqlite3.connect(folder / f"{name}{i}" / "auto_search.db")
        read = lambda key: [json.loads(v) for (v,) in db.execute("select value_json from trial_user_attributes where key = ?", (key,))]
        build.append(statistics.median(read("build_s")))
        score.append(statistics.median(read("score_s")))
        floor.append(pure(str(folder / f"{name}{i}" / "best.onnx"), samples))
    b, s, f = (statistics.median(x) for x in (build, score, floor))
    print(f"{name}, {len(samples)} samples: build {b * 1e3:.1f} ms, score {s * 1e3:.1f} ms; session + inference alone {f * 1e3:.1f} ms (medians of {repetitions})")
    print(f"  trial / floor: {(b + s) / f:.2f}   build / score: {b / s:.4f}", flush=True)


def whole(name, quasar, folder, model, calibration, evaluation, repetitions, **more):
    jobs, floors, winners = [], [], []
    for i in range(repetitions):
        seconds, result = search(quasar, folder, model, SPACE, f"{name}{i}", n_jobs=2, **more)
        study = folder / f"{name}{i}"
        db = sqlite3.connect(study / "auto_search.db")
        numbers = lambda key: {n for (n,) in db.execute("select number from trials join trial_user_attributes using (trial_id) where key = ?", (key,))}
        tried = numbers("score_s") - numbers("duplicate_of")
        floor = pure(model, calibration) + pure(model, evaluation)
        for number in tried:
            file = folder / "tried.onnx"
            subprocess.run([quasar, "quantize", "--from-study", study, "--trial", str(number), "-o", file], check=True, stdout=subprocess.DEVNULL)
            floor += pure(str(file), evaluation)
        jobs.append(seconds)
        winners.append(result["phases"]["winner_s"])
        floors.append(floor / 2)
    job, floor, winner = (statistics.median(x) for x in (jobs, floors, winners))
    print(f"{name}, {len(calibration)} and {len(evaluation)} samples, {len(tried)} models: {job:.2f} s, of which {winner:.2f} s measure the winner's speed and write the report; "
          f"inference alone {floor:.2f} s (medians of {repetitions})")
    print(f"  job / floor: {job / floor:.2f}   without the winner's part: {(job - winner) / floor:.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("minilm", type=pathlib.Path, nargs="?")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--networks", type=pathlib.Path, help="the folder of networks.py")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = mobilenet(options.shared.resolve(), folder)
        samples = [{"input": x.transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1} for x in np.load(folder / "eval.npz")["x"]]
        if options.networks:
            calibration = [{"input": x.transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1} for x in np.load(folder / "calib.npz")["x"]]
            whole("mobilenet", options.quasar, folder, model, calibration, samples, options.repetitions)
            pictures = np.load(options.networks / "squeezenet.npz")["image"]
            readers = {}
            for split, some in (("calib", pictures[:50]), ("eval", pictures[50:])):
                np.savez(folder / f"squeezenet_{split}.npz", image=some)
                readers[f"{split}_data_reader"] = {"reader": "npz", "path": f"squeezenet_{split}.npz"}
            calibration, samples = ([{"image": x[None]} for x in some] for some in (pictures[:50], pictures[50:]))
            whole("squeezenet", options.quasar, folder, str(options.networks.resolve() / "squeezenet.onnx"), calibration, samples, options.repetitions,
                  search_metric=["L2"], **readers)
            return
        measure("mobilenet", options.quasar, folder, model, SPACE, samples, options.repetitions)
        if options.minilm:
            model = str(options.minilm.resolve() / "minilm.onnx")
            inputs = [i.name for i in ort.InferenceSession(model, providers=["CPUExecutionProvider"]).get_inputs()]
            arrays = np.load(options.minilm / "eval.npz")
            samples = [{k: arrays[k][i:i + 1] for k in inputs} for i in range(len(arrays[inputs[0]]))]
            readers = {f"{split}_data_reader": {"reader": "npz", "path": str(options.minilm.resolve() / f"{split}.npz")} for split in ("calib", "eval")}
            measure("minilm", options.quasar, folder, model, MINILM_SPACE, samples, options.repetitions, search_metric=["L2", "cos"], **readers)


if __name__ == "__main__":
    main()
