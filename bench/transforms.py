"""What transforms of the float graph are worth: distance to float, top-1 or cosine, with and without each of them.
usage: PYTHON bench/transforms.py QUASAR SHARED [MINILM_FOLDER]      (PYTHON: numpy, pillow, onnxruntime, onnx; see ort_static.py)
MINILM_FOLDER is what export_minilm.py wrote; ONNX Runtime's quantize_static is run on the same samples beside MiniLM."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from jobs import READER, mobilenet
from ort_static import photographs

RELU, CLE = ["ReplaceClip6Relu=true"], ["include_cle=true", "cle_steps=-1"]
SETTINGS = {
    "mobilenet": {"as it is": [], "Clip(0,6) as Relu": RELU, "the same, CLE, 1 step": RELU + ["include_cle=true"], "the same, CLE, converged": RELU + CLE,
                  "the same, bias correction": RELU + CLE + ["BiasCorrection=true"], "bias correction": ["BiasCorrection=true"]},
    "fastestdet": {"as it is": [], "CLE, 1 step": ["include_cle=true"], "CLE, converged": CLE, "bias correction": ["BiasCorrection=true"],
                   "both": CLE + ["BiasCorrection=true"]},
    "resnet8": {"as it is": [], "CLE, converged": CLE, "bias correction": ["BiasCorrection=true"], "both": CLE + ["BiasCorrection=true"]},
    "minilm": {"as it is": [], **{f"SmoothQuant {alpha}": ["include_sq=true", f"SmoothAlpha={alpha}"] for alpha in (0.3, 0.5, 0.7)},
               "bias correction": ["BiasCorrection=true"], "SmoothQuant 0.5, bias correction": ["include_sq=true", "BiasCorrection=true"]},
}


def reader(folder, name, split, more):
    file = folder / f"{name}.{split}.yaml"
    file.write_text("\n".join(["reader: npz"] + [f"{key}: {value}" for key, value in more.items() if key != "reader"]).replace("'", "") + "\n")
    return str(file)


def jobs(shared, folder, minilm):
    """-> (name, model, calibration, evaluation, metrics)"""
    model = mobilenet(shared, folder)
    files = [reader(folder, "mobilenet", split, {**READER, "path": folder / f"{split}.npz"}) for split in ("calib", "eval")]
    yield "mobilenet", model, *files, ["L2", "top1"]
    for name, file, *how in (("fastestdet", "fastestdet.onnx", 352, 0, 1 / 255, True), ("resnet8", "resnet8_cifar.onnx", 32, 0, 1, False)):
        model = str(shared / "data" / "models" / file)
        import onnxruntime
        value = onnxruntime.InferenceSession(model).get_inputs()[0].name
        for split in ("calib", "eval"):
            np.savez(folder / f"{name}_{split}.npz", **{value: photographs(shared, split, *how)[:60]})
        yield name, model, *(str(folder / f"{name}_{split}.npz") for split in ("calib", "eval")), ["L2", "agreement"] if name == "resnet8" else ["L2", "cos"]
    if minilm:
        yield "minilm", *(str(minilm / file) for file in ("minilm.onnx", "calib.npz", "eval.npz")), ["L2", "cos"]


def scores(quasar, model, reference, data, metrics):
    text = subprocess.run([quasar, "evaluate", model, "--reference", reference, "--data", data] + [f"--metric={m}" for m in metrics],
                          check=True, capture_output=True, text=True).stdout
    found = {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if line.split()[:1] and line.split()[0] in metrics}
    return [found[metric] for metric in metrics]


def static(model, out, calibration, channel):
    """ONNX Runtime's own quantizer, uint8 activations and int8 weights."""
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
    from ort_static import Samples
    arrays = np.load(calibration)
    samples = Samples("", [])
    samples.items = iter([{name: arrays[name][i:i + 1] for name in arrays.files} for i in range(len(arrays[arrays.files[0]]))])
    quantize_static(model, out, samples, quant_format=QuantFormat.QDQ, per_channel=channel, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)


def main():
    quasar, shared = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    minilm = pathlib.Path(sys.argv[3]).resolve() if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, model, calibration, evaluation, metrics in jobs(shared, folder, minilm):
            for scheme in ("A8W8", "A8W8_CHANNEL"):
                print(f"\n{name}, {scheme}: {', '.join(metrics)}")
                out = str(folder / "out.onnx")
                for label, settings in SETTINGS[name].items():
                    subprocess.run([quasar, "quantize", model, "-o", out, "--scheme", scheme, "--calib", calibration] +
                                   [word for setting in settings for word in ("--set", setting)], check=True, stdout=subprocess.DEVNULL)
                    print(f"  {label:36}", *(f"{score:10.4f}" for score in scores(quasar, out, model, evaluation, metrics)), flush=True)
                if name == "minilm":
                    static(model, out, calibration, scheme.endswith("CHANNEL"))
                    print(f"  {'ONNX Runtime quantize_static':36}", *(f"{score:10.4f}" for score in scores(quasar, out, model, evaluation, metrics)), flush=True)


if __name__ == "__main__":
    main()
