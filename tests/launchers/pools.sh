#!/usr/bin/env bash
# quasar.search(workers=…) on clusters of Dask and Ray. Exit 77: they cannot be had here, or the package is not installed yet (ctest python.package).
# usage: tests/launchers/pools.sh BUILD_FOLDER PROGRAM SOURCE_FOLDER dask|ray
set -euo pipefail
build=$1 program=$2 source=$3 kind=$4
package=$("$build/python-venv/bin/python" -c 'import quasar, os; print(os.path.dirname(os.path.dirname(quasar.__file__)))' 2> /dev/null) ||
  { echo "the package is not installed: ctest --preset release -R python.package first" >&2; exit 77; }
venv=$build/pools-venv
module=distributed
[ "$kind" = dask ] || module=ray
if ! "$venv/bin/python" -c "import $module" 2> /dev/null; then
  python3 -m venv "$venv" > /dev/null && "$venv/bin/pip" install --quiet numpy $module > "$build/pools-venv.log" 2>&1 ||
    { echo "no $module from PyPI here" >&2; exit 77; }
fi
echo "$package" > "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/quasar.pth"
QUASAR_PROGRAM=$program PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" "$source/tests/launchers/pools.py" "$source" "$kind"
