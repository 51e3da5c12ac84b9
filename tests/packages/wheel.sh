#!/usr/bin/env bash
# Installs the wheel of `make wheel` into a bare Debian 12 and works with it there. Exit 77: that cannot be done here.
# usage: tests/packages/wheel.sh BUILD_FOLDER SOURCE_FOLDER VERSION
set -euo pipefail
build=$1 source=$2 version=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/root.sh"
work=$build/packages
wheel=$(find "$source/build/wheels" -name "quasar-*-cp311-*_$(uname -m).whl" 2> /dev/null | head -1)
[[ -n $wheel ]] || { echo "no wheel for Debian 12's Python 3.11 here: make wheel makes it"; exit 77; }
python3 -B "$here/rules.py" "$source/build/wheels" "$source"
mkdir -p "$work"
bare_root "$work/debian" "$work/wheel-root"
trial=$work/wheel-root/trial

mkdir "$trial/wheels"
cp "$wheel" "$trial/wheels"
numpy_wheel "$trial/wheels" "$(uname -m)"
cp -r "$source/examples/digits" "$here/tour.sh" "$here/first_search.py" "$trial/"

in_root "$work/wheel-root" python3 -m venv /trial/venv
in_root "$work/wheel-root" bash -c 'time pip install --quiet --no-index --find-links /trial/wheels quasar'
in_root "$work/wheel-root" bash -c "cd /trial/digits && sh ../tour.sh $version && python3 ../first_search.py"
for file in bash-completion/completions/quasar zsh/site-functions/_quasar fish/vendor_completions.d/quasar.fish man/man1/quasar.1; do
  [[ -s $trial/venv/share/$file ]] || { echo "share/$file is not installed"; exit 1; }
done
rm -rf "$work/wheel-root"
