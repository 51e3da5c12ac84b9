#!/usr/bin/env bash
# The main path under valgrind: the demo's model is quantized, a search of four trials on two threads writes its best model and its
# report, and goes on for one more. Any error, and any memory that nothing points to any more, ends it with 1.
# usage: tests/sanitizers/valgrind.sh QUASAR
set -euo pipefail
program=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
digits=$(realpath "$here/../../examples/digits")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

checked() {
  echo "valgrind: quasar $*"
  valgrind --quiet --error-exitcode=99 --leak-check=full --show-leak-kinds=definite,indirect,possible \
    --errors-for-leak-kinds=definite,indirect,possible --num-callers=30 --suppressions="$here/valgrind.supp" "$program" "$@" > "$folder/out" 2> "$folder/err" ||
    { cat "$folder/err"; echo "valgrind: the command above is not clean, or failed"; exit 1; }
}

checked quantize "$digits/digits.onnx" --scheme A8W8 --calib "$digits/calibration.npz" -o "$folder/a8w8.onnx"
checked search "$digits/search.yaml" --output-dir "$folder/search" --set n_trials=4
checked search "$digits/search.yaml" --output-dir "$folder/search" --set n_trials=5 --resume
echo "valgrind: nothing was found"
