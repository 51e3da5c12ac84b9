"""One tuning run of Intel Neural Compressor 2.6, for strategies.py.
usage: PYTHON_OF_INC bench/inc_strategy.py JOB.json
JOB: model, input, calibration and evaluation (npz with `x`, and `y` where labels count), label_offset, goal (Neural Compressor's
AccuracyCriterion), strategy (`auto`: its quant_level), max_trials, out. Prints one line of JSON: seconds, evaluations, whether it ended with a model."""
import json
import pathlib
import sys
import time

import numpy as np
import onnxruntime as ort
from neural_compressor import PostTrainingQuantConfig, quantization
from neural_compressor.config import AccuracyCriterion, TuningCriterion


class Loader:
    batch_size = 1

    def __init__(self, name, samples):
        self.name, self.samples = name, samples

    def __iter__(self):
        for x in self.samples:
            yield {self.name: x[None]}, 0


def answers(model, name, samples):
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    return [np.concatenate([y.ravel() for y in session.run(None, {name: x[None]})]) for x in samples]


def main():
    job = json.loads(pathlib.Path(sys.argv[1]).read_text())
    calibration, evaluation = np.load(job["calibration"]), np.load(job["evaluation"])
    samples = evaluation["x"]
    float_answers = answers(job["model"], job["input"], samples)
    evaluations = 0

    def score(model):
        nonlocal evaluations
        evaluations += 1
        given = answers(model.SerializeToString(), job["input"], samples)
        if "y" in evaluation:
            return float(np.mean([y.argmax() - job["label_offset"] == label for y, label in zip(given, evaluation["y"])]))
        return float(np.mean([np.linalg.norm(y - reference) for y, reference in zip(given, float_answers)]))

    tuning = {"max_trials": job["max_trials"]}
    if job["strategy"] not in ("auto", "conservative"):  # those two are levels there
        tuning["strategy"] = job["strategy"]
    config = PostTrainingQuantConfig(approach="static", calibration_sampling_size=[len(calibration["x"])], quant_level={"auto": "auto", "conservative": 0}.get(job["strategy"], 1),
                                     tuning_criterion=TuningCriterion(**tuning), accuracy_criterion=AccuracyCriterion(**job["goal"]))
    start = time.time()
    model = quantization.fit(job["model"], config, calib_dataloader=Loader(job["input"], calibration["x"]), eval_func=score)
    seconds = time.time() - start
    if model:
        model.save(job["out"])
    print("RESULT " + json.dumps({"seconds": seconds, "evaluations": evaluations, "model": bool(model)}), flush=True)


if __name__ == "__main__":
    main()
