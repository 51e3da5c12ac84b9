"""What corrected biases (BiasCorrection) bring beside each `saturation`, and what each takes: scheme U8S8_CHANNEL with nearest codes.
Distances ‖y − ŷ‖ / ‖y‖ over 24 evaluation samples; times with corrected biases, one thread, medians of ratios to float in turns.
FOLDER is that of bench/zoo.py, with its models and samples (`--models` makes them).
usage: ORT_PYTHON bench/biases.py QUASAR FOLDER NAME [...]"""
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime

CASES = [(saturation, corrected) for saturation in ("ignore", "avoid", "raise_scales") for corrected in ("false", "true")]
SECONDS, RUNS, SAMPLES = 8, 300, 24


def opened(model):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def distance(expected, found):
    pairs = [(np.float64(y), np.float64(z)) for ys, zs in zip(expected, found) for y, z in zip(ys, zs)]
    return (sum(((y - z)**2).sum() for y, z in pairs) / sum((y**2).sum() for y, _ in pairs))**0.5


def ratios(sessions, feed):
    """Of each to the first"""
    times, end = [[] for _ in sessions], time.monotonic() + SECONDS
    while time.monotonic() < end and len(times[0]) < RUNS:
        for session, of_it in zip(sessions, times):
            started = time.perf_counter()
            session.run(None, feed)
            of_it.append(time.perf_counter() - started)
    return [np.median(np.divide(of_it, times[0])) for of_it in times]


def main():
    quasar, folder, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    print("| model | " + " | ".join(saturation + (", corrected" if corrected == "true" else "") for saturation, corrected in CASES) +
          " | times of float: ignore, avoid, raise_scales |\n|" + " --- |" * (len(CASES) + 2))
    for name in names:
        at = folder / name
        data, original = np.load(at / "eval.npz"), opened(at / "model.onnx")
        ranks = {i.name: len(i.shape) for i in original.get_inputs()}
        count = min(SAMPLES, len(data[next(iter(ranks))]))
        feeds = [{n: data[n][i:i + 1] if data[n].ndim == rank else data[n][i] for n, rank in ranks.items()} for i in range(count)]
        expected, shown, timed = [original.run(None, feed) for feed in feeds], [], [original]
        with tempfile.TemporaryDirectory() as scratch:
            for saturation, corrected in CASES:
                out = pathlib.Path(scratch) / f"{saturation}-{corrected}.onnx"
                subprocess.run([quasar, "quantize", at / "model.onnx", "-o", out, "--scheme", "U8S8_CHANNEL", "--calib", at / "calib.npz", "--set",
                                f"saturation={saturation}", "--set", f"BiasCorrection={corrected}"], check=True, capture_output=True)
                session = opened(out)
                shown.append(f"{distance(expected, [session.run(None, feed) for feed in feeds]):.3g}")
                if corrected == "true": timed.append(session)
            times = ", ".join(f"{ratio:.2f}" for ratio in ratios(timed, feeds[0])[1:])
        print(f"| {name} | {' | '.join(shown)} | {times} |", flush=True)


if __name__ == "__main__":
    main()
