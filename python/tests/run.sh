#!/usr/bin/env bash
# Installs the package into a virtual environment as a user does, with the library of a build folder, and runs its tests. Exit 77: what that
# needs cannot be had here, so nothing was tested.
# usage: python/tests/run.sh BUILD_FOLDER PROGRAM
set -euo pipefail
build=$1 program=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
venv=$build/python-venv
python=$venv/bin/python
python3 -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || { echo "no headers of Python"; exit 77; }
if ! "$python" -c 'import numpy, pybind11, scikit_build_core' 2> /dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" > /dev/null 2>&1 || { echo "no Python with venv"; exit 77; }
  "$python" -m pip install --quiet 'scikit-build-core>=0.10' 'pybind11>=2.13' numpy > "$build/python-venv.log" 2>&1 ||
    { rm -rf "$venv"; echo "no packages from PyPI here"; exit 77; }
  # For tests beside them; those are skipped without.
  "$python" -m pip install --quiet onnx onnxruntime >> "$build/python-venv.log" 2>&1 || echo "without onnx and onnxruntime"
fi
"$python" -c 'import mcp' 2> /dev/null || "$python" -m pip install --quiet mcp >> "$build/python-venv.log" 2>&1 || echo "without mcp"
"$python" -c 'import tokenizers' 2> /dev/null || "$python" -m pip install --quiet tokenizers >> "$build/python-venv.log" 2>&1 || echo "without tokenizers"
launcher=$(command -v ccache || true)
"$python" -m pip install --quiet --no-build-isolation --no-deps "$source" -C "cmake.define.quasar_DIR=$build" -C "build-dir=$build/python-wheel" \
  -C "cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=$launcher"
cd "$source/python/tests"
QUASAR_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1 exec "$python" -W error::ResourceWarning -m unittest discover --start-directory . --verbose
