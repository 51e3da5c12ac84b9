"""A short search from Python, in a folder that holds the digits; and the model of tour.sh, made and scored from Python."""
import json
from pathlib import Path

import numpy

import quasar

calibration = numpy.load("calibration.npz")["image"]
evaluation = numpy.load("evaluation.npz")
found = quasar.search("digits.onnx", calib=calibration, eval=(evaluation["image"], evaluation["label"]), preset="cpu_int8_search",
                      metric=["L2", "top1"], n_trials=4, output_dir="from_python")
print(found.status, found.metrics)
assert found.status == "ok" and found.metrics["top1"] > 0.95
assert quasar.Session(str(found.best_model))(calibration[:1])[0].shape == (1, 10)

quantized = quasar.quantize("digits.onnx", scheme="A8W8_CHANNEL", calib="calibration.npz")
scores = quasar.evaluate(quantized.model, "evaluation.npz", reference="digits.onnx", metric=["L2", "top1"], latency=False)
for score in scores["metrics"].values():
    del score["per_sample"]
Path("python_scores.json").write_text(json.dumps(scores))
