#!/usr/bin/env bash
# Scores a model on another machine over ssh, for example on a board with an NPU: copies it there, runs a command there, and hands on
# what that writes: a number, or a JSON object of metrics.
# usage: evaluate_on_board.sh MODEL.onnx USER@BOARD 'COMMAND with {}'      {} stands for the model's file on the board
set -euo pipefail
model=$1 board=$2 command=$3
# A file of its own, so that trials that run at the same time do not meet.
there=quasar-$$-$RANDOM.onnx
trap 'ssh -o BatchMode=yes "$board" "rm -f $there"' EXIT
scp -q -o BatchMode=yes "$model" "$board:$there"
ssh -o BatchMode=yes "$board" "${command//\{\}/$there}"
