#!/usr/bin/env bash
# Zig, whose C++ compiler (clang) brings the C and C++ libraries' headers of macOS and Windows along: PyPI's package ziglang, in the user's
# cache. scripts/portable.py compiles Quasar's sources with it.
# usage: scripts/zig.sh            fetch the copy unless it is there
#        scripts/zig.sh --where    print its folder
#        scripts/zig.sh --found    succeed when it is there
set -euo pipefail
version=0.17.1
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/zig-$version

fail() { echo "zig: $*" >&2; exit 1; }

case ${1:-} in
  --where) echo "$copy/ziglang"; exit ;;
  --found) [[ -x $copy/ziglang/zig ]]; exit ;;
  "") [[ ! -x $copy/ziglang/zig ]] || exit 0 ;;
  *) fail "unknown option $1; usage: scripts/zig.sh [--where | --found]" ;;
esac

mkdir -p "$(dirname "$copy")"
work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "zig: fetching $version into $copy"
python3 -m venv "$work/venv" > /dev/null 2>&1 || fail "no Python with venv"
"$work/venv/bin/python" -m pip install --quiet --no-deps --only-binary :all: --target "$work/copy" "ziglang==$version" ||
  fail "pip could not fetch ziglang==$version"
mv -T "$work/copy" "$copy" 2> /dev/null || [[ -d $copy ]] || fail "cannot write $copy" # another run may have been quicker
