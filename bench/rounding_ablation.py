"""What every ingredient of rounding gives: each one off, or set otherwise, the rest as it is; distance on both halves of the evaluation samples.
usage: PYTHON bench/rounding_ablation.py QUASAR SHARED [MINILM_FOLDER] [--models mobilenet,resnet8] [--schemes A8W8,XINT8]
PYTHON: numpy, pillow, onnx, onnxruntime. A row is marked + where it is better than the first on both halves by more than 1 %, - where it is worse on both."""
import argparse
import pathlib
import tempfile

from rounding_table import figures, jobs, outputs, quantize, save

# name: (settings, schemes that it can matter for; None: all)
ROWS = {
    "adaquant, as it is": ([], None),
    "damping 0": (["damping=0"], None),
    "damping 0.5": (["damping=0.5"], None),
    "damping 2": (["damping=2"], None),
    "update_bias: false": (["update_bias=false"], None),
    "scale_search: false": (["scale_search=false"], None),
    "end_loss_guidance 0": (["end_loss_guidance=0"], None),
    "end_loss_guidance 0.5": (["end_loss_guidance=0.5"], None),
    "refine_activations: false": (["refine_activations=false"], None),
    "num_iterations: 1": (["num_iterations=1"], None),
}
SCHEMES = {
    "A8W8": ["--scheme", "A8W8", "--set", "activation_params.symmetric=false", "--set", "activation_params.calibration_method=MinMax"],
    "XINT8": ["--scheme", "XINT8", "--target", "ort_cpu"],
    "XINT8 for NPUs": ["--scheme", "XINT8", "--target", "xint8"],
    "W4A8_CHANNEL": ["--scheme", "W4A8_CHANNEL"],
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("minilm", type=pathlib.Path, nargs="?")
    parser.add_argument("--models", default="mobilenet,resnet8")
    parser.add_argument("--schemes", default=",".join(SCHEMES))
    options = parser.parse_args()
    wanted_models, schemes = options.models.split(","), options.schemes.split(",")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, model, calibration, parts, labels, second in jobs(options.shared.resolve(), options.minilm):
            if name not in wanted_models:
                continue
            wanted = [outputs(model, part) for part in parts]
            save(folder / "c.npz", calibration)
            print(f"\n| {name}: distance, {second}; both halves | " + " | ".join(schemes) + " |\n" + "| --- " * (1 + len(schemes)) + "|", flush=True)
            first = {}
            rows = {"nearest": (None, None), "gptq": ("gptq", None), "gptq, act_order: false": ("gptq act_order=false", None), "adaround": ("adaround", None), **ROWS}
            for row, (settings, only) in sorted(rows.items(), key=lambda item: item[0] != "adaquant, as it is"):
                cells = []
                for scheme in schemes:
                    if only is not None and scheme not in only:
                        cells.append("")
                        continue
                    words = list(SCHEMES[scheme])
                    if isinstance(settings, str):
                        method, *more = settings.split()
                    else:
                        method, more = ("adaquant" if settings is not None else None), settings or []
                    if method:
                        words += ["--set", f"algorithms={method}"] + [word for item in more for word in ("--set", f"{method}_params.{item}")]
                    seconds = quantize(options.quasar, model, folder / "q.onnx", folder / "c.npz", words)
                    if seconds is None:
                        cells.append("fails")
                        continue
                    scored = [figures(wanted[i], outputs(folder / "q.onnx", parts[i]), labels[i] if labels else None, second) for i in range(2)]
                    distances = [float(text.split(",")[0]) for text in scored]
                    first.setdefault(scheme, distances)
                    better = all(d < 0.99 * f for d, f in zip(distances, first[scheme]))
                    worse = all(d > 1.01 * f for d, f in zip(distances, first[scheme]))
                    cells.append(" / ".join(scored) + (" +" if better else " -" if worse else ""))
                print(f"| {row} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
