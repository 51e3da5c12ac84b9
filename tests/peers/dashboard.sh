#!/usr/bin/env bash
# optuna-dashboard serves a study that the program wrote: its HTTP interface must give every trial with state, values and parameters,
# also those that wait because the search was interrupted. Exit 77: there is no optuna-dashboard (QUASAR_DASHBOARD or PATH), so nothing
# was tested; `pip install optuna-dashboard` in a virtual environment gives it.
# usage: tests/peers/dashboard.sh QUASAR SOURCE_FOLDER [PORT]     with PORT: stays up for a look, until a key is pressed
set -euo pipefail
quasar=$1 source=$2 port=${3:-}
dashboard=${QUASAR_DASHBOARD:-$(command -v optuna-dashboard || true)}
[ -x "$dashboard" ] || { echo "no optuna-dashboard"; exit 77; }
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

"$quasar" search "$source/examples/digits/search.yaml" --set search_algo=TPE --set n_trials=12 --output-dir "$folder/out" --quiet > /dev/null
# One trial that was cut off: its row waits, as the next --resume would find it.
python3 - "$folder/out/auto_search.db" <<'PYTHON'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as db:
    db.execute("INSERT INTO trials (number, study_id, state) SELECT MAX(number) + 1, study_id, 'WAITING' FROM trials")
    db.execute("INSERT INTO trial_params (trial_id, param_name, param_value, distribution_json) SELECT (SELECT MAX(trial_id) FROM trials), "
               "param_name, param_value, distribution_json FROM trial_params WHERE trial_id = (SELECT MIN(trial_id) FROM trials)")
PYTHON
where=${port:-$(free_port)}
"$dashboard" "sqlite:///$folder/out/auto_search.db" --host 127.0.0.1 --port "$where" > "$folder/log" 2>&1 &
server=$!
python3 "$source/tests/peers/dashboard.py" "http://127.0.0.1:$where" "$folder/out/result.json" || { tail -20 "$folder/log"; exit 1; }
[ -z "$port" ] || read -rsn1
