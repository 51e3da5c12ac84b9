"""What `saturation: avoid` costs in exact arithmetic, and whether that is more than chance: each model is quantized with avoid and
with ignore on several draws of the calibration samples. Printed is the ratio of distances avoid / ignore, its geometric mean
over the draws, and in brackets the factor by which it scatters between them (one standard deviation).
usage: ORT_PYTHON bench/saturation.py QUASAR SHARED [--models digits resnet8 mobilenet …] [--draws 6] [--samples 200]"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "processors"))
import processors  # noqa: E402

SCHEMES = ["A8W8", "A8W8_CHANNEL", "U8S8_CHANNEL"]
ROUNDING = ["nearest", "adaround", "adaquant", "gptq"]


def outputs(model, data):
    """Q/DQ pairs in float: without graph optimizations -> one vector a sample"""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options)
    names = [i.name for i in session.get_inputs()]
    return [np.concatenate([x.ravel() for x in session.run(None, {n: data[n][i:i + 1] for n in names})]) for i in range(len(data[names[0]]))]


def draws(folder, calibration, count):
    """Two thirds of the samples each, at most 64"""
    size = len(next(iter(calibration.values())))
    for k in range(count):
        chosen = np.random.default_rng(k).permutation(size)[:min(64, size * 2 // 3)]
        file = folder / f"draw{k}.npz"
        np.savez(file, **{name: values[chosen] for name, values in calibration.items()})
        yield file


def distance(quasar, model, calibration, words, data, reference, folder):
    out = folder / "quantized.onnx"
    subprocess.run([quasar, "quantize", model, "-o", out, "--calib", calibration, *words], check=True, capture_output=True)
    return np.mean([np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in zip(outputs(out, data), reference)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quasar")
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=["digits", "resnet8", "mobilenet"])
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--samples", type=int, default=200)
    options = parser.parse_args()
    print("| model, scheme | " + " | ".join(ROUNDING) + " |\n" + "| --- " * (1 + len(ROUNDING)) + "|", flush=True)
    optimized, own = [], []  # logarithms: ratios of single draws by row; the scatter of `ignore` itself
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model_name in options.models:
            model, calibration, data = processors.data(model_name, options.shared, options.samples)
            reference, files = outputs(model, data), list(draws(folder, calibration, options.draws))
            for scheme in SCHEMES:
                cells = []
                for rounding in ROUNDING:
                    words = ["--scheme", scheme, *([] if rounding == "nearest" else ["--set", f"algorithms={rounding}"]), "--set"]
                    ignore, avoid = (np.log([distance(options.quasar, model, file, [*words, f"saturation={how}"], data, reference, folder)
                                             for file in files]) for how in ("ignore", "avoid"))
                    ratio = avoid - ignore
                    cells.append(f"{np.exp(ratio.mean()):.2f} ({np.exp(ratio.std(ddof=1)):.2f})")
                    own.append(ignore.std(ddof=1))
                    if rounding != "nearest":
                        optimized.append(ratio)
                print(f"| {model_name} {scheme} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nOptimized rounding: mean ratio {np.exp(np.mean(optimized)):.3f} over {len(optimized)} rows, single draws {np.exp(np.min(optimized)):.2f} to "
          f"{np.exp(np.max(optimized)):.2f}; `ignore` itself scatters by {np.exp(min(own)):.2f} to {np.exp(max(own)):.2f}")


if __name__ == "__main__":
    main()
