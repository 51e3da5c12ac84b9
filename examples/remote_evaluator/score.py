"""On the board: top-1 and the time of one run, as a line of JSON.   usage: score.py MODEL.onnx IMAGES.npz
Needs numpy and onnxruntime with the board's execution provider."""
import json
import sys
import time

import numpy
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=onnxruntime.get_available_providers())
name = session.get_inputs()[0].name
data = numpy.load(sys.argv[2])
times, right = [], 0
for image, label in zip(data["image"], data["label"]):
    start = time.perf_counter()
    scores = session.run(None, {name: image[None]})[0]
    times.append(time.perf_counter() - start)
    right += int(scores.argmax() == label)
print(json.dumps({"board_top1": right / len(times), "board_ms": 1000 * float(numpy.median(times))}))
