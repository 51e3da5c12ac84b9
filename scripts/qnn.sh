#!/usr/bin/env bash
# QNN HTP for key runtime: qnn_htp: a virtual environment with the wheels of PyPI in the user's cache, where Quasar looks for it.
# usage: scripts/qnn.sh            fetch it unless it is there
#        scripts/qnn.sh --where    print its folder
set -euo pipefail
versions=(onnxruntime==1.32.0 onnxruntime-qnn==2.7.0)
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/qnn

fail() { echo "qnn: $*" >&2; exit 1; }

case ${1:-} in
  --where) echo "$copy"; exit ;;
  "") [[ ! -f $copy/complete ]] || exit 0 ;;
  *) fail "unknown option $1; usage: scripts/qnn.sh [--where]" ;;
esac

mkdir -p "$(dirname "$copy")"
rm -rf "$copy" # one that was interrupted; an environment cannot be moved
trap '[[ -f $copy/complete ]] || rm -rf "$copy"' EXIT
python3 -m venv "$copy" > /dev/null 2>&1 || fail "no Python with venv"
"$copy/bin/python" -m pip install --quiet --only-binary :all: "${versions[@]}" ||
  fail "pip could not fetch ${versions[*]}; name a Python that has onnxruntime 1.32 or newer and onnxruntime-qnn in QUASAR_QNN"
touch "$copy/complete"
