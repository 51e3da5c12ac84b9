#!/usr/bin/env bash
# Brings in what a build needs and the machine lacks: Debian packages (packages.txt), ONNX Runtime (onnxruntime.sh) and Apache ECharts
# (echarts.sh).
# usage: scripts/setup.sh [--developer | --test | --valgrind | --packages | --arm64 | --portable | --openvino | --qnn]
#   --developer: clang-format, clang-tidy, chromium and mkdocs too
#   --test:      a PostgreSQL server, mpirun and QEMU, which tests start, too
#   --valgrind:  valgrind too
#   --packages:  what makes wheels and Debian packages and tries them, too
#   --arm64:     a compiler and libraries for 64-bit Arm, and QEMU, too (arm64.sh): `cmake --preset arm64` builds with them
#   --portable:  Zig too (zig.sh), whose compiler portable.py tries the sources for macOS and Windows with
#   --openvino:  OpenVINO too (openvino.sh), in which candidates for target openvino are scored
#   --qnn:       the simulator of Qualcomm's HTP too (qnn.sh), in which candidates for target qnn_htp are scored
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
more=${1:-}
[[ $more =~ ^(|--developer|--test|--valgrind|--packages|--arm64|--portable|--openvino|--qnn)$ ]] || { echo "usage: scripts/setup.sh [--developer | --test | --valgrind | --packages | --arm64 | --portable | --openvino | --qnn]" >&2; exit 1; }

# The packages of packages.txt that this machine needs: a "program=package" line counts when the program is missing.
needed() {
  local line wanted=yes
  while read -r line; do
    case $line in
      "" | \#*) ;;
      "["*"]")
        wanted=
        if [[ $more == "--${line//[\[\]]/}" ]]; then wanted=yes; fi
        ;;
      *=*) [[ -z $wanted ]] || command -v "${line%%=*}" > /dev/null || echo "${line#*=}" ;;
      *) [[ -z $wanted ]] || echo "$line" ;;
    esac
  done < "$here/packages.txt"
}

not_installed() {
  [[ $# -gt 0 ]] || return 0
  command -v dpkg-query > /dev/null || { printf '%s\n' "$@"; return; }
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2> /dev/null | sed -n 's/^installed //p' || true)
  grep -vxF -f <(echo "${installed:-.}") < <(printf '%s\n' "$@") || true
}

install() {
  local root=()
  if ! command -v apt-get > /dev/null; then
    echo "setup: this machine has no apt-get. Please install what these Debian packages hold, then try again: $*" >&2
    return 1
  fi
  if [[ $EUID -ne 0 ]]; then
    # With a terminal sudo may ask for the password; without one it must work without.
    if command -v sudo > /dev/null && { sudo -n true 2> /dev/null || [[ -t 0 ]]; }; then
      root=(sudo)
    else
      printf 'setup: packages are missing, and neither root nor sudo is at hand. As root, please run\n  apt-get install --no-install-recommends %s\nand try again.\n' "$*" >&2
      return 1
    fi
  fi
  echo "setup: installing $*"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
  "${apt[@]}" update
  "${apt[@]}" install --yes --no-install-recommends "$@" > /dev/null
}

mapfile -t packages < <(needed)
mapfile -t missing < <(not_installed "${packages[@]}")
[[ ${#missing[@]} -eq 0 ]] || install "${missing[@]}"

for library in onnxruntime echarts; do
  "$here/$library.sh" --found && continue
  # npm fetches the library; Debian's own npm is large, so it comes only when it is needed.
  command -v npm > /dev/null || install npm
  "$here/$library.sh"
done

[[ $more != --arm64 ]] || { "$here/arm64.sh" && "$here/onnxruntime.sh" --for aarch64; }
[[ $more != --portable ]] || "$here/zig.sh"
[[ $more != --openvino ]] || "$here/openvino.sh"
[[ $more != --qnn ]] || "$here/qnn.sh"
