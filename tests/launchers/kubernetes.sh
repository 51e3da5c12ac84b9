#!/usr/bin/env bash
# Kubernetes' files against its schemas. Exit 77: PyPI's kubernetes-validate cannot be had here, so nothing was tested.
# usage: tests/launchers/kubernetes.sh QUASAR SOURCE_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/peers/python.sh
. "$here/../peers/python.sh"
python=$(peers_python kubernetes "kubernetes_validate, yaml" "kubernetes-validate==1.37.0 pyyaml") || exit $?
"$python" -B "$here/kubernetes.py" "$1" "$2"
