#!/usr/bin/env bash
# The parameter importance of a report beside Optuna's fANOVA and PED-ANOVA: on the demo's grid, and on a random search with numbers,
# choices, and a part of the space that only some trials have. PYTHON: one with optuna and scikit-learn.
# usage: bench/importance.sh QUASAR SOURCE_FOLDER PYTHON [TRIALS]
set -euo pipefail
quasar=$1 source=$2 python=$3 trials=${4:-200}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
compare() {
  "$quasar" search "$@" --set pruner=none --set n_jobs=1 --output-dir "$folder/out" --quiet > /dev/null
  "$python" "$source/tests/peers/importance.py" "$folder/out/report.html" "$folder/out/auto_search.db" AutoSearch
  rm -rf "$folder/out"
}
echo "demo's grid"
compare "$source/examples/digits/search.yaml"
cat > "$folder/space.json" << 'JSON'
{"activation": ["UInt8Spec"], "activation_params": {"symmetric": [false, true], "calibration_method": ["MinMax", "Percentile"], "only_if": "activation"},
 "weight": ["Int8Spec"], "weight_params": {"symmetric": [true], "calibration_method": ["MinMax", "MinMSE"], "quant_granularity": ["Tensor"], "only_if": "weight"},
 "algorithms": ["adaround", "adaquant"], "adaround_params": {"damping": {"type": "float", "low": 0.001, "high": 100, "log": true}, "data_size": {"type": "int", "low": 2, "high": 60}, "update_bias": [true, false], "only_if": {"algorithms": "adaround"}},
 "adaquant_params": {"damping": {"type": "float", "low": 0.001, "high": 100, "log": true}, "only_if": {"algorithms": "adaquant"}}}
JSON
echo "a random search"
compare "$source/examples/digits/search.yaml" --set "search_space=$(tr -d '\n' < "$folder/space.json")" --set search_algo=Random --set n_trials="$trials"
