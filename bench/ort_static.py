"""Distances of Quasar's models beside ONNX Runtime's own quantize_static, per tensor and per channel, on the same samples.
usage: PYTHON_WITH_ONNXRUNTIME bench/ort_static.py QUASAR SHARED"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.version_converter
import onnxruntime as ort
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from jobs import mobilenet

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Samples(CalibrationDataReader):
    def __init__(self, name, samples):
        self.items = iter([{name: sample[None]} for sample in samples])

    def get_next(self):
        return next(self.items, None)


def photographs(shared, split, size, mean, scale, bgr):
    """-> float32 [n,3,size,size]"""
    from PIL import Image
    images = []
    for path in sorted((shared / "data" / "imagenet" / split).glob("*.jpg"))[:100]:
        x = np.asarray(Image.open(path).convert("RGB").resize((size, size), Image.BILINEAR), np.float32)
        images.append(((x[..., ::-1] if bgr else x) - mean).transpose(2, 0, 1) * scale)
    return np.ascontiguousarray(images, np.float32)


def models(shared):
    """-> (name, model, calibration samples, evaluation samples)"""
    sys.path.insert(0, str(shared / "peers"))
    sys.dont_write_bytecode = True
    import inputs
    folder = shared / "data" / "models"
    cut = lambda split: inputs.load(split)[0].transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
    yield "mobilenet", inputs.MODEL, cut("calib"), cut("eval")
    yield "resnet8", str(folder / "resnet8_cifar.onnx"), *(photographs(shared, s, 32, 0, 1, False) for s in ("calib", "eval"))
    yield "fastestdet", str(folder / "fastestdet.onnx"), *(photographs(shared, s, 352, 0, 1 / 255, True) for s in ("calib", "eval"))
    digits = ROOT / "examples" / "digits"
    yield "digits", str(digits / "digits.onnx"), *(np.load(digits / f"{s}.npz")["image"].astype(np.float32) for s in ("calibration", "evaluation"))


def outputs(path, samples):
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return [np.concatenate([y.ravel() for y in session.run(None, {name: x[None]})]) for x in samples]


def main():
    quasar, shared = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    print(f"{'model':12}{'granularity':12}{'quantize_static':>18}{'quasar':>12}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, model, calibration, evaluation in models(shared):
            input_name = ort.InferenceSession(model).get_inputs()[0].name
            np.savez(folder / "c.npz", **{input_name: calibration})
            float_outputs = outputs(model, evaluation)
            distance = lambda path: np.mean([np.linalg.norm(f - q) for f, q in zip(float_outputs, outputs(path, evaluation))])
            for channel in (False, True):
                prepared, theirs, ours = (str(folder / f) for f in ("prepared.onnx", "theirs.onnx", "ours.onnx"))
                raised = onnx.load(model)
                if next(o.version for o in raised.opset_import if o.domain == "") < 13:     # per-channel QuantizeLinear
                    raised = onnx.version_converter.convert_version(raised, 13)
                quant_pre_process(raised, prepared)
                quantize_static(prepared, theirs, Samples(input_name, calibration), quant_format=QuantFormat.QDQ, per_channel=channel,
                                activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
                config = {"activation": "UInt8Spec", "activation_params": {"symmetric": False, "calibration_method": "MinMax"}, "weight": "Int8Spec",
                          "weight_params": {"symmetric": True, "quant_granularity": "Channel" if channel else "Tensor"}}
                (folder / "config.json").write_text(json.dumps(config))
                subprocess.run([quasar, "quantize", model, "-o", ours, "--config", str(folder / "config.json"), "--calib", str(folder / "c.npz")],
                               check=True, stdout=subprocess.DEVNULL)
                print(f"{name:12}{'channel' if channel else 'tensor':12}{distance(theirs):18.4f}{distance(ours):12.4f}", flush=True)


if __name__ == "__main__":
    main()
