#!/usr/bin/env bash
# Time and peak memory of one quantization with 100 and with 5000 random samples: memory must not grow.
# usage: bench/memory.sh QUASAR MODEL
set -euo pipefail
quasar=$1 model=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for count in 100 5000; do
  printf '{"reader": "random", "count": %d}\n' "$count" > "$folder/random.json"
  /usr/bin/time -f "$count samples: %e s, %M KiB at most" \
    "$quasar" quantize "$model" -o "$folder/q.onnx" --scheme U8S8_CHANNEL --set activation_params.calibration_method=Percentile \
    --calib "$folder/random.json" > /dev/null
done
