#!/usr/bin/env bash
# How often a pruner loses the winner that the search without pruning finds, and what it saves: the demo's grid under many seeds (the
# seed orders the samples of the race).
# usage: bench/racing.sh QUASAR SOURCE_FOLDER [SEEDS=20] [PRUNER…]      default pruners: confidence halving median
set -euo pipefail
quasar=$1 source=$2 seeds=${3:-20}
shift $(($# < 3 ? $# : 3))
pruners=("$@")
[ ${#pruners[@]} -gt 0 ] || pruners=(confidence halving median)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
search() { # PRUNER SEED -> "hash of best.onnx, pruned, seconds of the trials"
  "$quasar" search "$source/examples/digits/search.yaml" --set pruner="$1" --set seed="$2" --set n_jobs=1 --quiet --output-dir "$folder/$1-$2" > /dev/null 2>&1
  python3 - "$folder/$1-$2" <<'PYTHON'
import hashlib, json, sys
result = json.load(open(sys.argv[1] + "/result.json"))
print(hashlib.sha256(open(sys.argv[1] + "/best.onnx", "rb").read()).hexdigest(), result["trials"]["pruned"], result["phases"]["trials_s"])
PYTHON
  rm -rf "$folder/$1-$2"
}
# In turn, so that other work on the machine falls on all of them.
for ((seed = 0; seed < seeds; ++seed)); do
  for pruner in none "${pruners[@]}"; do search "$pruner" "$seed" >> "$folder/$pruner"; done
done
for pruner in "${pruners[@]}"; do
  paste -d' ' "$folder/none" "$folder/$pruner" | awk -v name="$pruner" '
    { lost += $1 != $4; pruned += $5; without += $3; with += $6 }
    END { printf "%-12s lost the winner in %d of %d searches; %.1f of 20 trials pruned; %.2f of the time\n", name, lost, NR, pruned / NR, with / without }'
done
