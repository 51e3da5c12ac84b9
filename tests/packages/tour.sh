#!/bin/sh
# What a new user does first, in a bare root, in a folder that holds the digits: the demo's search, a model without a search, its scores.
# usage: tour.sh VERSION
set -eu
quasar --version
quasar --version | grep -q "^quasar $1, ONNX Runtime "
quasar search demo.yaml --output-dir out
test -s out/best.onnx -a -s out/report.html -a -s out/result.json
quasar quantize digits.onnx -o int8.onnx --scheme A8W8_CHANNEL --calib calibration.npz
quasar evaluate int8.onnx --reference digits.onnx --data evaluation.npz --metric L2 --metric top1 --json > scores.json
cat scores.json
