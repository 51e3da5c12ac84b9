"""What an evaluator written in Python costs beside the built-in metric: the same search, scored by top1, by a function of the outputs, of an
inference callable and of the model's path, with n_jobs 1 and 2.
usage: python_evaluator.py MODEL.onnx CALIBRATION.npz EVALUATION.npz INPUT_ARRAY LABEL_ARRAY [REPETITIONS]     (with the package installed)
"""
import statistics
import sys
import tempfile

import numpy

import quasar

model, calibration, evaluation, image, label = sys.argv[1:6]
repetitions = int(sys.argv[6]) if len(sys.argv) > 6 else 3
images, labels = numpy.load(evaluation)[image], numpy.load(evaluation)[label]
calib = numpy.load(calibration)[image]
space = {
    "activation": ["UInt8Spec", "Int8Spec"],
    "activation_params": {"calibration_method": ["MinMax", "Percentile", "Entropy"], "only_if": "activation"},
    "weight": ["Int8Spec"],
    "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"},
}


def accuracy(scores):
    return float((numpy.asarray(scores).reshape(len(labels), -1).argmax(axis=1) == labels).mean())


def outputs(reference, quantized, given):
    return accuracy(quantized)


def inference(infer):
    return accuracy([infer(one[None])[0] for one in images])


def path(file):
    session = quasar.Session(file)
    return accuracy([session(one[None])[0] for one in images])


def trial_seconds(n_jobs, **scoring):
    """Median over the executed trials of the seconds of scoring; seconds of all trials."""
    with tempfile.TemporaryDirectory() as folder:
        found = quasar.search(model, calib, (images, labels), space, sampler="Grid", pruner="none", n_jobs=n_jobs, output_dir=folder, **scoring)
        scores = [t.attributes["score_s"] for t in found.trials if t.state == "complete" and "duplicate_of" not in t.attributes]
        return statistics.median(scores), found.result["phases"]["trials_s"], found.metrics


print("| scored by | n_jobs | one trial, ms | beside built-in | all trials, s | beside built-in |\n| --- | --- | --- | --- | --- | --- |")
for n_jobs in (1, 2):
    base = None
    for name, scoring in [("built-in top1", {"metric": "top1"}), ("function of outputs", {"evaluator": outputs}),
                          ("function of an inference callable", {"evaluator": inference}), ("function of the path", {"evaluator": path})]:
        runs = [trial_seconds(n_jobs, **scoring) for _ in range(repetitions)]
        one, whole = min(run[0] for run in runs), min(run[1] for run in runs)
        base = base or (one, whole)
        print(f"| {name} | {n_jobs} | {1000 * one:.1f} | {one / base[0]:.2f} | {whole:.2f} | {whole / base[1]:.2f} |", flush=True)
