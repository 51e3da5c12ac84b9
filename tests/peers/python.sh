# To be sourced: `peers_python NAME MODULES PACKAGES` prints a Python that has the modules: python3 itself, or one of a virtual environment in the
# cache into which the packages were installed. Ends the script with 77 (nothing was tested) where neither is to be had.
peers_python() {
  local name=$1 modules=$2 packages=$3 venv=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/$1
  for python in ${QUASAR_PEERS_PYTHON:-python3} "$venv/bin/python"; do
    if "$python" -c "import $modules" 2>/dev/null; then echo "$python"; return; fi
  done
  rm -rf "$venv"
  # shellcheck disable=SC2086
  if python3 -m venv "$venv" >/dev/null 2>&1 && "$venv/bin/pip" install --quiet $packages >/dev/null 2>&1; then echo "$venv/bin/python"; return; fi
  rm -rf "$venv"
  echo "$packages cannot be had here" >&2
  return 77
}
