#!/usr/bin/env bash
# Quantized models under other processors against exact arithmetic (processors.py), with the Python of ctest python.package.
# usage: models.sh BUILD QUASAR SOURCE [options of processors.py]      exit 77: what it needs is not here
# A sum that overflows in the demo's model is 15 times as far from float; rounding alone moves the figures of few samples by some
# per cent.
set -euo pipefail
build=$1 quasar=$2 source=$3
shift 3
python=$build/python-venv/bin/python
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy: ctest python.package installs it"; exit 77; }
command -v qemu-x86_64 >/dev/null || { echo "no qemu-x86_64 (Debian's package qemu-user)"; exit 77; }
shared=$source/../shared
models=(digits)
if [ $# -eq 0 ] && "$python" -c 'import PIL' 2>/dev/null && [ -d "$shared/data/models" ]; then models=(digits mobilenet resnet8); fi
exec "$python" -B "$source/tests/processors/processors.py" "$quasar" "$shared" --models "${models[@]}" --limit 1.5 "$@"
