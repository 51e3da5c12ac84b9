#!/usr/bin/env bash
# What a build for 64-bit Arm on another processor needs, in the user's cache: Debian's packages for arm64 of this machine's release, unpacked
# and not installed, with Python. ONNX Runtime's library for arm64 is brought by onnxruntime.sh.
# usage: scripts/arm64.sh                  fetch it unless it is there
#        scripts/arm64.sh --where          print its folder
#        scripts/arm64.sh --bare FOLDER    make FOLDER a machine for arm64 with Python and nothing that Quasar is built with
set -euo pipefail
revision=1                # counts changes of what the folder holds
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
copy=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/arm64-$release-$revision

fail() { echo "arm64: $*" >&2; exit 1; }

# The libraries of packages.txt's first list, and what compilers and the package are built and tried with.
mapfile -t packages < <(sed '/^\[/,$d' "$here/packages.txt" | grep -E '^(lib|nlohmann).*-dev$')
packages+=(libc6-dev libstdc++-12-dev libpython3-dev python3)

case ${1:-} in
  --where) echo "$copy"; exit ;;
  --bare) packages=(python3-venv libstdc++6) copy=${2:?--bare needs a folder} ;;
  "") ;;
  *) fail "unknown option $1; usage: scripts/arm64.sh [--where | --bare FOLDER]" ;;
esac
[[ ! -d $copy ]] || exit 0

mkdir -p "$(dirname "$copy")"
work=$(mktemp -d "$(dirname "$copy")/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT
. "$here/other_release.sh"

echo "arm64: fetching Debian's packages into $copy"
touch "$work/none-installed"
printf 'APT::Architecture "arm64";\nAPT::Architectures "arm64";\nDir::State::status "%s";\n' "$work/none-installed" > "$work/apt.conf"
export APT_CONFIG=$work/apt.conf
from_release "$release" \
  --no-install-recommends --download-only --yes install "${packages[@]}" > /dev/null ||
  fail "the packages for arm64 cannot be had here"
mkdir "$work/copy"
for package in "$work"/apt/archives/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/copy"; done
# A folder that is no system's root: absolute links would lead out of it. /lib, /bin and /sbin are links to folders below /usr in Debian.
for folder in bin lib sbin; do
  [[ ! -d $work/copy/$folder || -L $work/copy/$folder ]] || { cp -a "$work/copy/$folder/." "$work/copy/usr/$folder/" && rm -rf "${work:?}/copy/$folder"; }
  [[ -e $work/copy/$folder ]] || ln -s "usr/$folder" "$work/copy/$folder"
done
find "$work/copy" -type l -lname '/*' | while read -r link; do ln -sfn "$(realpath -m --relative-to "$(dirname "$link")" "$work/copy$(readlink "$link")")" "$link"; done
# ONNX Runtime on Arm reads the processor's caches from Linux, does not understand those of an x86 machine, and crashes under QEMU; so it
# finds one processor without a description of caches.
mkdir -p "$work/copy"/{proc,sys/devices/system/cpu}
for name in possible present online kernel_max; do echo 0 > "$work/copy/sys/devices/system/cpu/$name"; done
printf '%s\t: %s\n' processor 0 Features 'fp asimd' 'CPU implementer' 0x41 'CPU architecture' 8 'CPU variant' 0x0 'CPU part' 0xd03 'CPU revision' 4 > "$work/copy/proc/cpuinfo"
mv -T "$work/copy" "$copy" 2> /dev/null || [[ -d $copy ]] || fail "cannot write $copy"    # another run may have been quicker
