"""A case for detection_test.cpp from two models' detections: the first one's of at least 0.3 are the truth.
usage: coco_real.py TRUTH.json FOUND.json OUT.json
"""
import json
import sys

from coco_map import case

truth, found = (json.load(open(name)) for name in sys.argv[1:3])
images = [{"objects": [d[:4] + [d[5], 0] for d in t if d[4] >= 0.3], "detections": f} for t, f in zip(truth, found)]
result = case(images)
del result["plain"]
json.dump(result, open(sys.argv[3], "w"))
print(json.dumps(result["expected"]))
