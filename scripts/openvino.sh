#!/usr/bin/env bash
# OpenVINO for key runtime: openvino: the wheel of PyPI, without what it depends on, in the user's cache, where Quasar looks for it.
# usage: scripts/openvino.sh            fetch the copy unless it is there
#        scripts/openvino.sh --where    print its folder
set -euo pipefail
version=2026.4.1
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/openvino

fail() { echo "openvino: $*" >&2; exit 1; }

case ${1:-} in
  --where) echo "$copy"; exit ;;
  "") [[ ! -d $copy ]] || exit 0 ;;
  *) fail "unknown option $1; usage: scripts/openvino.sh [--where]" ;;
esac

mkdir -p "$(dirname "$copy")"
work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv" > /dev/null 2>&1 || fail "no Python with venv"
"$work/venv/bin/python" -m pip install --quiet --no-deps --only-binary :all: --target "$work/copy" "openvino==$version" ||
  fail "pip could not fetch openvino==$version; any OpenVINO from 2022.1 on will do: name its folder in QUASAR_OPENVINO"
mv "$work/copy" "$copy"
