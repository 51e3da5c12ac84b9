"""Boxes with what pycocotools (COCO) and a plain NumPy transcription of PASCAL VOC's rules say of them.
usage: coco_map.py OUT.json [SEED]
Makes random images with objects, crowds, near misses and repeated detections, and writes them with the expected values, for
tests/unit/eval/detection_test.cpp. Needs NumPy and pycocotools.
"""
import contextlib
import io
import json
import sys

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def random_images(seed, count, classes, most):
    rng = np.random.default_rng(seed)
    images = []
    for _ in range(count):
        objects, detections = [], []
        for _ in range(rng.integers(0, most)):
            x, y, w, h = rng.uniform(0, 200), rng.uniform(0, 200), rng.uniform(5, 120), rng.uniform(5, 120)
            label = int(rng.integers(classes))
            objects.append([x, y, x + w, y + h, label, int(rng.random() < 0.1)])
            for _ in range(rng.choice([0, 1, 1, 1, 2])):  # missed, found, found twice
                shift = rng.normal(0, 0.08, 4) * [w, h, w, h]
                box = np.array([x, y, x + w, y + h]) + shift
                detections.append([*np.minimum(box[:2], box[2:] - 1), *box[2:], float(rng.random()),
                                   label if rng.random() < 0.9 else int(rng.integers(classes))])
        for _ in range(rng.integers(0, 4)):  # out of nothing
            x, y = rng.uniform(0, 200, 2)
            detections.append([x, y, x + rng.uniform(5, 90), y + rng.uniform(5, 90), float(rng.random()), int(rng.integers(classes))])
        images.append({"objects": objects, "detections": [[float(v) for v in d[:5]] + [d[5]] for d in detections]})
    return images


def coco(images, thresholds=None):
    """Mean average precision at COCO's ten thresholds of overlap, or at the given ones."""
    labels = {int(o[4]) for i in images for o in i["objects"]} | {int(d[5]) for i in images for d in i["detections"]}
    truth = {"images": [{"id": k + 1} for k in range(len(images))], "categories": [{"id": c} for c in sorted(labels)], "annotations": []}
    found = []
    for k, image in enumerate(images):
        for l, t, r, b, label, crowd in image["objects"]:
            truth["annotations"].append({"id": len(truth["annotations"]) + 1, "image_id": k + 1, "category_id": label,
                                         "bbox": [l, t, r - l, b - t], "area": (r - l) * (b - t), "iscrowd": crowd})
        for l, t, r, b, score, label in image["detections"]:
            found.append({"image_id": k + 1, "category_id": label, "bbox": [l, t, r - l, b - t], "score": score})
    with contextlib.redirect_stdout(io.StringIO()):
        data = COCO()
        data.dataset = truth
        data.createIndex()
        evaluation = COCOeval(data, data.loadRes(found), "bbox")
        if thresholds is not None:
            evaluation.params.iouThrs = np.array(thresholds)
        evaluation.evaluate()
        evaluation.accumulate()
    precision = evaluation.eval["precision"][:, :, :, 0, 2]  # thresholds, recalls, classes; all areas, 100 detections
    return float(precision[precision > -1].mean())


def voc(images, eleven):
    """VOC's average precision at an overlap of 0.5, without its extra pixel: of the object of greatest overlap, found once."""
    values = []
    for label in sorted({int(o[4]) for i in images for o in i["objects"] if not o[5]}):
        rows = sorted(((-d[4], k, n) for k, i in enumerate(images) for n, d in enumerate(i["detections"]) if d[5] == label))
        objects = [[o for o in i["objects"] if o[4] == label and not o[5]] for i in images]
        taken = [set() for _ in images]
        right = []
        for _, k, n in rows:
            l, t, r, b = images[k]["detections"][n][:4]
            best, at = 0.5, None
            for g, o in enumerate(objects[k]):
                both = max(0, min(r, o[2]) - max(l, o[0])) * max(0, min(b, o[3]) - max(t, o[1]))
                overlap = both / ((r - l) * (b - t) + (o[2] - o[0]) * (o[3] - o[1]) - both)
                if overlap > best:
                    best, at = overlap, g
            right.append(at is not None and at not in taken[k])
            taken[k].add(at)
        recall = np.cumsum(right) / sum(map(len, objects))
        precision = np.cumsum(right) / np.arange(1, len(right) + 1)
        if eleven:
            values.append(np.mean([max(precision[recall >= r], default=0) for r in np.arange(11) / 10]))
        else:
            envelope = np.maximum.accumulate(precision[::-1])[::-1]
            values.append(float(np.sum(np.diff(recall, prepend=0) * envelope)))
    return float(np.mean(values))


def case(images):
    plain = [{"objects": [o for o in i["objects"] if not o[5]], "detections": i["detections"]} for i in images]  # VOC knows no crowds
    return {"images": images, "plain": plain,
            "expected": {"coco": coco(images), "coco_50": coco(images, [0.5]), "coco_75": coco(images, [0.75]),
                         "voc": voc(plain, False), "voc07": voc(plain, True)}}


if __name__ == "__main__":
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    size = (12, 3, 6) if seed == 0 else (200, 9, 14)
    result = case(random_images(seed, *size))
    if seed == 0:  # the committed case is small
        for image in result["images"]:
            image["detections"] = [[round(v, 4) for v in d] for d in image["detections"]]
            image["objects"] = [[round(v, 4) for v in o] for o in image["objects"]]
        result = case(result["images"])
    del result["plain"]
    with open(sys.argv[1], "w") as file:
        json.dump(result, file)
    print(result["expected"])
