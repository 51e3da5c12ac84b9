#!/usr/bin/env bash
# Perplexity against transformers' own loss, on a Llama that transformers makes and PyTorch exports.
# exit 77: no Python here has torch, transformers and onnxscript (QUASAR_PEERS_PYTHON names one; nothing is installed, as they take a gigabyte).
# usage: tests/peers/perplexity.sh QUASAR SOURCE_FOLDER
set -euo pipefail
quasar=$1 source=$2
for candidate in ${QUASAR_PEERS_PYTHON:-} python3; do
  if "$candidate" -c "import numpy, torch, transformers, onnxscript" 2>/dev/null; then python=$candidate; break; fi
done
[ -n "${python:-}" ] || { echo "torch, transformers and onnxscript are not here"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -B "$source/tests/peers/perplexity.py" "$folder" > "$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$quasar" evaluate "$folder/model.onnx" --data "$folder/samples.npz" --metric perplexity --json > "$folder/inputs.json"
"$quasar" evaluate "$folder/model.onnx" --data "$folder/labels.npz" --metric 'perplexity(ids=labels,shift=1)' --json > "$folder/labels.json"
"$python" - "$folder" <<'PYTHON'
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}.json"))
expected = read("expected")["perplexity"]
found = [score["value"] for name in ("inputs", "labels") for score in read(name)["metrics"].values()]
print("transformers", expected, "Quasar", found)
assert len(found) == 2 and all(abs(value / expected - 1) < 1e-5 for value in found)
PYTHON
