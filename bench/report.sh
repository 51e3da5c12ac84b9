#!/usr/bin/env bash
# Size of report.html, what writing it during a search costs, and how long a browser takes to show it.
# usage: bench/report.sh QUASAR SOURCE_FOLDER [TRIALS...]
set -euo pipefail
quasar=$1 source=$2
shift 2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$source"/examples/digits/*.onnx "$source"/examples/digits/*.npz "$folder"
cat > "$folder/search.yaml" << 'YAML'
model_input: digits.onnx
calib_data_reader: {reader: npz, path: calibration.npz, labels: label}
eval_data_reader: {reader: npz, path: evaluation.npz, labels: label}
search_metric: [L2, agreement, top1]
search_algo: Random
pruner: none
search_space:
  activation: [UInt8Spec]
  activation_params: {symmetric: [false], calibration_method: [MinMax, Percentile], only_if: activation}
  weight: [Int8Spec]
  weight_params: {symmetric: [true], calibration_method: [MinMax, MinMSE], quant_granularity: [Tensor, Channel], only_if: weight}
  algorithms: [adaround]
  adaround_params: {learning_rate: {type: float, low: 0.001, high: 1, log: true}, num_iterations: {type: int, low: 1, high: 1000}, only_if: algorithms}
YAML
[[ $# -gt 0 ]] || set -- 20 1000
for trials; do
  "$quasar" search "$folder/search.yaml" --set n_trials="$trials" --output-dir "$folder/$trials" --quiet > /dev/null
  seconds=$(python3 -c "import json; print(json.load(open('$folder/$trials/result.json'))['seconds'])")
  spent=$(sed -n 's/.*report.html was written during the search in \([0-9.e-]*\) s.*/\1/p' "$folder/$trials/auto_search.log" | tail -1)
  echo "$trials trials: report.html $(stat -c %s "$folder/$trials/report.html") bytes, gzip $(gzip -9c "$folder/$trials/report.html" | wc -c); search $seconds s, of which writing the report $spent s"
done
# How long the browser takes from opening the file until the page stands, and until all its plots are drawn too (it draws them when they
# come into view): median of 5, where there is a browser.
browser=$(command -v chromium || command -v google-chrome || true)
[[ -n $browser ]] || exit 0
for trials; do
  page="$folder/$trials/timed.html"
  python3 - "$folder/$trials/report.html" "$page" << 'PYTHON'
import sys
probe = b"<script>{ const built = performance.now(); drawAll(false); document.title = `stands ${Math.round(built)} drawn ${Math.round(performance.now())}`; }</script>"
head, _, tail = open(sys.argv[1], "rb").read().rpartition(b"</body>")
open(sys.argv[2], "wb").write(head + probe + b"</body>" + tail)
PYTHON
  for _ in 1 2 3 4 5; do
    "$browser" --headless=new --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --window-size=1280,1000 --dump-dom "file://$page" 2> /dev/null |
      grep -ao '<title>stands [0-9]* drawn [0-9]*' | tr -dc '0-9 \n'
  done | sort -n | sed -n "3s/^ *\([0-9]*\) *\([0-9]*\).*/$trials trials: the page stands after \1 ms, all plots are drawn after \2 ms/p"
done
