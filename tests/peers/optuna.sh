#!/usr/bin/env bash
# Optuna itself opens a study that the program wrote, and its importances are compared with the report's. Optuna comes from PyPI into a virtual environment in the cache; exit 77: it
# cannot be had here (no Python, no network), so nothing was tested.
# usage: tests/peers/optuna.sh QUASAR SOURCE_FOLDER
set -euo pipefail
quasar=$1 source=$2
venv=${XDG_CACHE_HOME:-$HOME/.cache}/quasar/optuna-5.0.0
if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import optuna, sklearn' 2>/dev/null; then
  rm -rf "$venv"
  python3 -m venv "$venv" >/dev/null 2>&1 || { echo "no Python with venv"; exit 77; }
  "$venv/bin/pip" install --quiet optuna==5.0.0 scikit-learn >/dev/null 2>&1 || { rm -rf "$venv"; echo "Optuna cannot be installed here"; exit 77; }
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$quasar" search "$source/examples/digits/search.yaml" --output-dir "$folder/out" --quiet > /dev/null
read -r trials best < <("$venv/bin/python" -c "
import json
result = json.load(open('$folder/out/result.json'))
print(result['trials']['requested'], result['best']['metrics']['L2']['value'])")
"$venv/bin/python" "$source/tests/peers/optuna_study.py" "$folder/out/auto_search.db" AutoSearch "$trials" "$best"

"$quasar" search "$source/examples/digits/search.yaml" --set search_algo=NSGAII --set 'objectives=[{metric: top1}, {metric: bytes}, {metric: latency}]' \
  --set 'constraints=[{metric: top1, max_drop: 0.02}]' --set n_jobs=2 --output-dir "$folder/front" --quiet > /dev/null
"$venv/bin/python" "$source/tests/peers/optuna_objectives.py" "$folder/front/auto_search.db" AutoSearch "$folder/front/result.json"
# Which trials are pruned depends on the other thread; importances are compared on a study that is the same every time.
"$quasar" search "$source/examples/digits/search.yaml" --set pruner=none --set n_jobs=1 --output-dir "$folder/whole" --quiet > /dev/null
"$venv/bin/python" "$source/tests/peers/importance.py" "$folder/whole/report.html" "$folder/whole/auto_search.db" AutoSearch
# NaN and Infinity, which Python's JSON knows.
"$venv/bin/python" "$source/tests/peers/optuna_attributes.py" "$folder/whole/auto_search.db" AutoSearch store
"$quasar" search "$source/examples/digits/search.yaml" --set pruner=none --set n_jobs=1 --output-dir "$folder/whole" --resume --set n_trials=24 --quiet > /dev/null
"$quasar" report "$folder/whole" > /dev/null
"$venv/bin/python" "$source/tests/peers/optuna_attributes.py" "$folder/whole/auto_search.db" AutoSearch check
# What Optuna enqueues runs.
"$venv/bin/python" "$source/tests/peers/optuna_enqueued.py" "sqlite:///$folder/whole/auto_search.db" AutoSearch enqueue
"$quasar" search "$source/examples/digits/search.yaml" --set pruner=none --set n_jobs=1 --output-dir "$folder/whole" --resume --set n_trials=30 --quiet > /dev/null 2> "$folder/said"
grep -q "enqueued by another program, did not run" "$folder/said"
"$venv/bin/python" "$source/tests/peers/optuna_enqueued.py" "sqlite:///$folder/whole/auto_search.db" AutoSearch check
