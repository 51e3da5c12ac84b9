#!/usr/bin/env bash
# The library of ONNX Runtime for aarch64, for run_model under an emulator: keeps a copy in the user's cache and prints its folder.
# It is the version of scripts/onnxruntime.sh, from the same npm package, and must have the hash that scripts/onnxruntime.sha256 names.
# usage: tests/processors/library.sh
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
machine=aarch64
version=$(sed -n 's/^version=//p' "$scripts/onnxruntime.sh")
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/onnxruntime-$version-$machine

fail() { echo "library: $*" >&2; exit 1; }

if [[ ! -d $copy ]]; then
  read -r hash file < <(awk -v machine=$machine '$3 == machine { print $1, $2 }' "$scripts/onnxruntime.sha256") || fail "scripts/onnxruntime.sha256 names no library for $machine"
  mkdir -p "$(dirname "$copy")"
  work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  (cd "$work" && npm pack --loglevel=error "onnxruntime-node@$version" > /dev/null) || fail "npm could not fetch onnxruntime-node@$version"
  tar -xzf "$work/onnxruntime-node-$version.tgz" -C "$work" package/bin/napi-v6/linux/arm64/libonnxruntime.so.1
  mkdir "$work/copy"
  mv "$work/package/bin/napi-v6/linux/arm64/libonnxruntime.so.1" "$work/copy/"
  echo "$hash  $work/copy/$(basename "$file")" | sha256sum --check --status || fail "the library is not the one that scripts/onnxruntime.sha256 names"
  mv -T "$work/copy" "$copy" 2> /dev/null || [[ -d $copy ]] || fail "cannot write $copy"   # another run may have been quicker
fi
echo "$copy"
