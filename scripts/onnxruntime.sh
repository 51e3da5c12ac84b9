#!/usr/bin/env bash
# ONNX Runtime for machines whose distribution has no package of it: keeps a copy in the user's cache.
#   library   from the npm package onnxruntime-node, packed without its install scripts
#   headers   from libonnxruntime-dev of Debian 13, unpacked, not installed; older than the library on purpose: the C API is versioned
#   LICENSE   from the same package; npm's has none
# usage: scripts/onnxruntime.sh            fetch the copy unless it is there
#        scripts/onnxruntime.sh --where    print its folder
#        scripts/onnxruntime.sh --found    succeed when a build will find ONNX Runtime: this copy, or an installed one
#        scripts/onnxruntime.sh --for MACHINE [--where]    the same for builds for another processor: x86_64, aarch64
set -euo pipefail
version=1.30.0
revision=2                # counts changes of what the folder holds
header_suite=trixie
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/onnxruntime-$version-$revision
machine=$(uname -m)

fail() { echo "onnxruntime: $*" >&2; exit 1; }

if [[ ${1:-} == --for ]]; then
  [[ ${2:-} == "$machine" ]] || copy=$copy-${2:-}
  machine=${2:-}
  shift 2 || fail "--for needs a machine: x86_64, aarch64"
fi

# Would CMake find an installed one?
installed() {
  command -v cmake > /dev/null || return 1
  local probe found=1
  probe=$(mktemp -d)
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(probe CXX)\nfind_package(onnxruntime CONFIG REQUIRED)\n' > "$probe/CMakeLists.txt"
  cmake -S "$probe" -B "$probe/build" > /dev/null 2>&1 && found=0
  rm -rf "$probe"
  return $found
}

case ${1:-} in
  --where) echo "$copy"; exit ;;
  --found) [[ -d $copy ]] || installed; exit ;;
  "") [[ ! -d $copy ]] || exit 0 ;;
  *) fail "unknown option $1; usage: scripts/onnxruntime.sh [--for MACHINE] [--where | --found]" ;;
esac

case $machine in
  x86_64) folder=x64 ;;
  aarch64) folder=arm64 ;;
  *) fail "no prebuilt library for $machine; install ONNX Runtime with its CMake package, or point CMAKE_PREFIX_PATH at one" ;;
esac

mkdir -p "$(dirname "$copy")"
work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{copy/{include,lib},npm,deb}

. "$here/other_release.sh"

headers() {
  (cd "$work/deb" && from_release "$header_suite" download libonnxruntime-dev) || fail "libonnxruntime-dev of Debian $header_suite cannot be had here"
  dpkg -x "$work"/deb/libonnxruntime-dev_*.deb "$work/deb"
  cp "$work"/deb/usr/include/onnxruntime/onnxruntime_*.h "$work/copy/include/"
  cp "$work"/deb/usr/share/doc/libonnxruntime-dev/copyright "$work/copy/LICENSE"
}

library() {
  (cd "$work/npm" && npm pack --loglevel=error "onnxruntime-node@$version" > /dev/null) || fail "npm could not fetch onnxruntime-node@$version"
  tar -xzf "$work/npm/onnxruntime-node-$version.tgz" -C "$work/npm" "package/bin/napi-v6/linux/$folder/libonnxruntime.so.1"
  cp "$work/npm/package/bin/napi-v6/linux/$folder/libonnxruntime.so.1" "$work/copy/lib/"
}

# Keeps exactly the files whose hash is on the list.
verify() {
  local hash file only
  while read -r hash file only; do
    [[ $hash != \#* && ( -z $only || $only == "$machine" ) ]] || continue
    echo "$hash  $work/copy/$file" | sha256sum --check --status || fail "$file is not the one that scripts/onnxruntime.sha256 names"
    mkdir -p "$work/verified/$(dirname "$file")"
    mv "$work/copy/$file" "$work/verified/$file"
  done < "$here/onnxruntime.sha256"
  mv "$work/copy/LICENSE" "$work/verified/LICENSE"   # text of a package that Debian has signed
}

echo "onnxruntime: fetching $version into $copy"
headers
library
verify
mv -T "$work/verified" "$copy" 2> /dev/null || [[ -d $copy ]] || fail "cannot write $copy"   # another run may have been quicker
