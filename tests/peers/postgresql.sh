#!/usr/bin/env bash
# Optuna itself opens a study that Quasar wrote into PostgreSQL, goes on with it, and makes tables that Quasar uses. Exit 77: Optuna or a server cannot be
# had here, so nothing was tested.
# usage: tests/peers/postgresql.sh QUASAR SOURCE_FOLDER
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/peers/python.sh
. "$here/python.sh"
python=$(peers_python optuna-postgresql "optuna, psycopg2" "optuna==5.0.0 psycopg2-binary") || exit $?
"$python" -B "$here/postgresql.py" "$1" "$2"
