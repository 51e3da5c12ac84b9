#!/usr/bin/env bash
# Spectra of recordings against those of transformers' WhisperFeatureExtractor.
# exit 77: no Python here has transformers (QUASAR_PEERS_PYTHON names one; nothing is installed).
# usage: tests/peers/speech.sh SOURCE_FOLDER
set -euo pipefail
source=$1
for candidate in ${QUASAR_PEERS_PYTHON:-} python3; do
  if "$candidate" -c "import numpy, transformers" 2>/dev/null; then python=$candidate; break; fi
done
[ -n "${python:-}" ] || { echo "transformers is not here"; exit 77; }
"$python" -B "$source/tests/peers/speech.py" "$source/python/quasar/_speech.py"
