#!/usr/bin/env bash
# Character and word error rates against jiwer's, on made-up transcripts with mistakes, written as CTC does.
# exit 77: jiwer cannot be had here.
# usage: tests/peers/error_rate.sh QUASAR SOURCE_FOLDER
set -euo pipefail
quasar=$1 source=$2
. "$source/tests/peers/python.sh"
python=$(peers_python jiwer-4 "numpy, onnx, jiwer" "numpy onnx jiwer") || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -B "$source/tests/peers/error_rate.py" "$folder"
"$quasar" evaluate "$folder/model.onnx" --data "$folder/samples.npz" --metric 'token_error_rate(blank=0)' --metric 'wer(blank=0,space=1)' \
  --json > "$folder/found.json"
"$python" - "$folder" <<'PYTHON'
import json, sys
expected = json.load(open(f"{sys.argv[1]}/expected.json"))
found = {name: score["value"] for name, score in json.load(open(f"{sys.argv[1]}/found.json"))["metrics"].items()}
print("jiwer", expected, "Quasar", found)
assert 0.1 < expected["cer"] < expected["wer"] < 1
assert abs(expected["cer"] - found["token_error_rate(blank=0)"]) < 1e-9
assert abs(expected["wer"] - found["word_error_rate(blank=0,space=1)"]) < 1e-9
PYTHON
