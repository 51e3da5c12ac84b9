#!/usr/bin/env bash
# An interpreter that this Debian has no package of, with its headers, for wheels: unpacked from packages of another release into the
# user's cache, not installed. Its C library comes with it.
# usage: scripts/python.sh VERSION     3.13 (of Debian 13) or 3.14 (of the release after it); prints the interpreter's path
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fail() { echo "python: $*" >&2; exit 1; }

version=${1:-}
case $version in
  3.13) suite=trixie ;;
  3.14) suite=forky ;;
  *) fail "no release of Debian is known here that has Python '$version'; usage: scripts/python.sh 3.13|3.14" ;;
esac
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/python-$version-1
interpreter=$copy/usr/bin/python$version
[[ ! -x $interpreter ]] || { echo "$interpreter"; exit; }
command -v patchelf > /dev/null || fail "no patchelf here: make packages-setup brings it"

mkdir -p "$(dirname "$copy")"
work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$here/other_release.sh"
touch "$work/none-installed"
from_release "$suite" -o Dir::State::status="$work/none-installed" --no-install-recommends --download-only --yes \
  install "libpython$version-dev" "python$version-venv" ca-certificates > /dev/null || fail "Python $version cannot be had here"
mkdir "$work/copy"
for package in "$work"/apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/copy" --exclude=./usr/share/doc --exclude=./usr/share/man; done
# The C library is another one than the machine's: the interpreter names its own, by paths that hold once the folder has its place.
loader=$(find "$work/copy" -name 'ld-linux-*.so.*' | head -1)
libraries=$(dirname "$(find "$work/copy" -name 'libc.so.6' | head -1)")
patchelf --set-interpreter "$copy${loader#"$work/copy"}" --force-rpath --set-rpath "$copy${libraries#"$work/copy"}" "$work/copy/usr/bin/python$version"
# Debian's pyconfig.h includes that of the machine from a folder which compilers search for installed packages only.
cp "$work/copy/usr/include/$(uname -m)-linux-gnu/python$version/pyconfig.h" "$work/copy/usr/include/python$version/pyconfig.h"
# pip for virtual environments lies in the folder as well.
grep -rlF --include='_sysconfig*' /usr/share/python-wheels "$work/copy/usr/lib" | xargs sed -i "s#/usr/share/python-wheels#$copy&#"
mv -T "$work/copy" "$copy" 2> /dev/null || [[ -d $copy ]] || fail "cannot write $copy"    # another run may have been quicker
"$interpreter" -c pass || fail "the interpreter of $copy does not start here"
echo "$interpreter"
