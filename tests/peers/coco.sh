#!/usr/bin/env bash
# mAP against pycocotools to 1e-6: on random boxes, and, with the shared data, on FastestDet's detections before and after quantization.
# exit 77: pycocotools cannot be had here.
# usage: tests/peers/coco.sh UNIT_EVAL DUMP_DETECTIONS QUASAR SOURCE_FOLDER
set -euo pipefail
unit_eval=$1 dump=$2 quasar=$3 source=$4
. "$source/tests/peers/python.sh"
python=$(peers_python pycocotools-2 "numpy, pycocotools" "numpy pycocotools") || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/cases"
for seed in 1 2 3; do "$python" -B "$source/tests/peers/coco_map.py" "$folder/cases/random$seed.json" $seed; done

data=$source/../shared/data
if [ -d "$data/imagenet" ]; then
  cat > "$folder/photos.yaml" <<YAML
{reader: images, path: $(realpath "$data")/imagenet/eval, limit: 40, color: BGR, antialias: false, scale: 0.00392156862745098}
YAML
  "$quasar" quantize "$data/models/fastestdet.onnx" -o "$folder/int8.onnx" --scheme A8W8_CHANNEL --calib "$folder/photos.yaml" > /dev/null
  "$dump" "$data/models/fastestdet.onnx" "$folder/photos.yaml" fastestdet > "$folder/float.json"
  "$dump" "$folder/int8.onnx" "$folder/photos.yaml" fastestdet > "$folder/int8.json"
  "$python" -B "$source/tests/peers/coco_real.py" "$folder/float.json" "$folder/int8.json" "$folder/cases/real.json" > "$folder/expected"
  "$quasar" evaluate "$folder/int8.onnx" --reference "$data/models/fastestdet.onnx" --data "$folder/photos.yaml" --decoder fastestdet \
    --metric 'mAP(truth=float)' --metric 'mAP(truth=float,iou=0.5)' --json > "$folder/found.json"
  "$python" - "$folder/expected" "$folder/found.json" <<PYTHON
import json, sys
expected = json.load(open(sys.argv[1]))
found = {name: score["value"] for name, score in json.load(open(sys.argv[2]))["metrics"].items()}
print("expected", expected, "found", found)
assert abs(expected["coco"] - found["mAP(truth=float)"]) < 1e-6
assert abs(expected["coco_50"] - found["mAP(truth=float,iou=0.5)"]) < 1e-6
PYTHON
fi
QUASAR_BOXES=$folder/cases "$unit_eval" --gtest_filter='AveragePrecision.*'
