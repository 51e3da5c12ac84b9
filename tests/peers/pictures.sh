#!/usr/bin/env bash
# The images reader against PIL and NumPy on the photographs of the shared data. exit 77: no Pillow, or no photographs.
# usage: tests/peers/pictures.sh DUMP_SAMPLES SOURCE_FOLDER
set -euo pipefail
dump=$1 source=$2
data=$source/../shared/data/imagenet
[ -d "$data" ] || { echo "no photographs at $data"; exit 77; }
. "$source/tests/peers/python.sh"
python=$(peers_python pillow "numpy, PIL" "numpy pillow") || exit 77
"$python" -B "$source/tests/peers/pictures.py" "$dump" "$(realpath "$data")"
