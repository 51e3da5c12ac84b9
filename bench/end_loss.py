"""What end_loss_guidance is worth: every model under every scheme with each strength, distance (mean 2-norm to float) on the even and on the odd evaluation samples.
usage: PYTHON bench/end_loss.py QUASAR NAME=MODEL,CALIBRATION.npz,EVALUATION.npz … [--schemes XINT8,GPTQ_G32ASYM] [--strengths 0,0.25]
PYTHON: numpy, onnxruntime. The last line is the geometric mean of each strength's distances over those of the first, and how many rows are better by more than
1 % on both halves, how many worse. Seconds: the whole `quasar quantize`."""
import argparse
import pathlib
import subprocess
import tempfile
import time

import numpy as np
import onnxruntime as ort

RANGES = ["--set", "activation_params.symmetric=false", "--set", "activation_params.calibration_method=MinMax"]


def samples(path):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return [{name: array[i:i + 1] for name, array in arrays.items()} for i in range(len(next(iter(arrays.values()))))]


def outputs(path, inputs):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [np.concatenate([value.ravel() for value in session.run(None, sample)]) for sample in inputs]


def words_of(scheme, strength):
    """of `quasar quantize`"""
    if scheme.startswith("GPTQ"):
        return ["--scheme", scheme, "--set", f"gptq_params.end_loss_guidance={strength}"]
    more = RANGES if scheme == "A8W8" else []
    return ["--scheme", scheme, "--target", "ort_cpu", *more, "--set", "algorithms=adaquant", "--set", f"adaquant_params.end_loss_guidance={strength}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--schemes", default="A8W8,XINT8,U8S8_CHANNEL,W4A8_CHANNEL")
    parser.add_argument("--strengths", default="0,0.25,0.5")
    options = parser.parse_args()
    strengths = options.strengths.split(",")
    ratios = {strength: [] for strength in strengths}
    print("| model | scheme | " + " | ".join(f"{strength}" for strength in strengths) + " |\n| --- | --- |" + " --- |" * len(strengths), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.onnx"
        for text in options.models:
            name, files = text.split("=", 1)
            model, calibration, evaluation = files.split(",")
            inputs = samples(evaluation)
            wanted = outputs(model, inputs)
            for scheme in options.schemes.split(","):
                cells, first = [], None
                for strength in strengths:
                    start = time.time()
                    done = subprocess.run([options.quasar, "quantize", model, "-o", str(out), "--calib", calibration, *words_of(scheme, strength)], capture_output=True,
                                          text=True)
                    seconds = time.time() - start
                    if done.returncode != 0:
                        cells.append("fails: " + done.stderr.strip().splitlines()[-1][:80])
                        continue
                    distances = np.array([np.linalg.norm(a - b) for a, b in zip(wanted, outputs(out, inputs))])
                    halves = np.array([distances[::2].mean(), distances[1::2].mean()])
                    first = halves if first is None else first
                    ratios[strength].append(halves / first)
                    cells.append(f"{halves[0]:.4g} / {halves[1]:.4g}, {seconds:.1f} s")
                print(f"| {name} | {scheme} | " + " | ".join(cells) + " |", flush=True)
    for strength in strengths:
        rows = np.array(ratios[strength])
        print(f"{strength}: × {np.exp(np.log(rows).mean()):.3f}, better {(rows < 0.99).all(1).sum()}, worse {(rows > 1.01).all(1).sum()} of {len(rows)}")


if __name__ == "__main__":
    main()
