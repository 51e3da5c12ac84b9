#!/usr/bin/env bash
# Installs the wheel of `make wheel-arm64` on a bare Debian 12 for 64-bit Arm, which QEMU plays, works with it there, and compares the answers
# with those of this machine's program. Exit 77: that cannot be done here.
# usage: tests/packages/wheel_arm64.sh BUILD_FOLDER SOURCE_FOLDER VERSION
set -euo pipefail
build=$1 source=$2 version=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/root.sh"
machine=$build/packages/arm64
trial=$build/packages/arm64-trial
site=$trial/venv/lib/python3.11/site-packages
fail() { echo "$*"; exit 1; }

wheel=$(find "$source/build/wheels" -name 'quasar-*-cp311-*_aarch64.whl' 2> /dev/null | head -1)
[[ -n $wheel ]] || { echo "no wheel for 64-bit Arm and Debian 12's Python 3.11 here: make wheel-arm64 makes it"; exit 77; }
command -v qemu-aarch64 > /dev/null || { echo "no qemu-aarch64 here: scripts/setup.sh --arm64 brings it"; exit 77; }
python3 -B "$here/rules.py" "$source/build/wheels" "$source"
"$source/scripts/arm64.sh" --bare "$machine" || { echo "no packages for arm64 can be had here"; exit 77; }
alien=$(find "$machine" -name 'lib*.so*' | grep -E '/lib(onnx|protobuf|soci|pq|yaml-cpp|zip|jpeg|png|spdlog|fmt|xxhash)' || true)
[[ -z $alien ]] || fail "the machine is not bare: $alien"
rm -rf "$trial"
mkdir -p "$trial"/{wheels,bin}
cp "$wheel" "$trial/wheels"
numpy_wheel "$trial/wheels" aarch64
cp -r "$source/examples/digits" "$trial/digits"
cp -r "$source/examples/digits" "$trial/here"

# Programs for Arm are started by name: commands are scripts in a folder of PATH. The machine's settings stay out.
arm() { env -i HOME="$trial" PATH="$trial/bin:/usr/bin:/bin" "$@"; }
emulate=(qemu-aarch64 -L "$machine")
printf '#!/bin/sh\nexec %s "$@"\n' "${emulate[*]} $trial/venv/bin/python3" > "$trial/bin/python3"
printf '#!/bin/sh\nexec %s "$@"\n' "python3 $trial/venv/bin/quasar" > "$trial/bin/quasar"
chmod +x "$trial"/bin/*
arm "${emulate[@]}" "$machine/usr/bin/python3.11" -m venv --without-pip "$trial/venv"
time arm python3 "$(find "$machine/usr/share/python-wheels" -name 'pip-*.whl')/pip" install --quiet --no-index --find-links "$trial/wheels" quasar
for file in bash-completion/completions/quasar zsh/site-functions/_quasar fish/vendor_completions.d/quasar.fish man/man1/quasar.1; do
  [[ -s $trial/venv/share/$file ]] || fail "share/$file is not installed"
done
# What QEMU does not find on the Arm machine it looks for on this one: every library must be of the wheel's or of that machine's.
arm "${emulate[@]}" "$machine/lib/ld-linux-aarch64.so.1" --list "$(find "$site/quasar" -name '_core*.so')" | awk '$2 == "=>" { print $3 }' |
  xargs realpath --canonicalize-missing --no-symlinks > "$trial/libraries"
grep -q "^$site/quasar.libs/libonnxruntime" "$trial/libraries" || fail "the wheel's ONNX Runtime is not found"
while read -r library; do
  [[ $library == "$site"/* || -e $machine$library ]] || fail "$library is neither the wheel's nor the machine's"
done < "$trial/libraries"

(cd "$trial/digits" && arm sh "$here/tour.sh" "$version" && arm python3 "$here/first_search.py")
(cd "$trial/here" && PATH=$build:$PATH sh "$here/tour.sh" "$version" && cp scores.json python_scores.json)
python3 -B "$here/same_answers.py" "$trial/digits" "$trial/here"
rm -rf "$trial"
