"""Whether cheap scores before the first trial help TPE: 32 random configurations are scored on 16 samples, and the best 7 different ones are
tried first. Best distance after 20 trials, with and without, and after 24 trials without (about what the proxies cost), on the demo.
usage: python3 bench/proxies.py QUASAR SOURCE_FOLDER [SEEDS=12]"""
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

SPACE = {
    "activation": ["Int8Spec", "UInt8Spec"],
    "activation_params": {"symmetric": [True, False], "scale_type": ["Float32", "PowerOf2"], "only_if": "activation",
                          "calibration_method": ["MinMax", "Percentile", "LayerwisePercentile", "Entropy", "MinMSE", "Distribution"]},
    "weight": ["Int8Spec"],
    "weight_params": {"symmetric": [True], "calibration_method": ["MinMax", "MinMSE"], "quant_granularity": ["Tensor", "Channel"],
                      "scale_type": ["Float32", "PowerOf2"], "only_if": "weight"},
    "include_cle": [False, True], "BiasCorrection": [False, True], "Percentile": [99.9, 99.99, 99.999], "CalibDataSize": [20, 200],
    "ReplaceClip6Relu": [False, True]}


def search(quasar, digits, folder, samples=None, **keys):
    reader = {"reader": "npz", "labels": "label"}
    words = {"model_input": str(digits / "digits.onnx"), "search_space": SPACE, "n_jobs": 1, "output_dir": str(folder),
             "calib_data_reader": {**reader, "path": str(digits / "calibration.npz")},
             "eval_data_reader": {**reader, "path": str(digits / "evaluation.npz"), **({"limit": samples} if samples else {})}, **keys}
    file = folder.with_suffix(".json")
    file.write_text(json.dumps(words))
    subprocess.run([quasar, "search", str(file), "--quiet"], check=True, capture_output=True)
    return json.loads((folder / "result.json").read_text())["best"]["metrics"]["L2"]["value"]


def configurations(folder, most):
    """The best different ones of a study."""
    db = sqlite3.connect(folder / "auto_search.db")
    out, seen = [], set()
    for trial, value in db.execute("SELECT t.trial_id, value FROM trials t JOIN trial_values v ON v.trial_id = t.trial_id "
                                   "WHERE state = 'COMPLETE' ORDER BY value").fetchall():
        if value in seen:
            continue
        seen.add(value)
        rows = db.execute("SELECT param_name, param_value, distribution_json FROM trial_params WHERE trial_id = ?", (trial,))
        out.append({name: json.loads(text)["attributes"]["choices"][int(place)] for name, place, text in rows})
    return out[:most]


def main():
    quasar, digits = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / "examples" / "digits"
    found = {"20 trials": [], "proxies + 20": [], "24 trials": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(int(sys.argv[3]) if len(sys.argv) > 3 else 12):
            place = folder / str(seed)
            found["20 trials"].append(search(quasar, digits, place.with_name(f"a{seed}"), seed=seed, search_algo="TPE", n_trials=20))
            found["24 trials"].append(search(quasar, digits, place.with_name(f"b{seed}"), seed=seed, search_algo="TPE", n_trials=24))
            cheap = place.with_name(f"c{seed}")
            search(quasar, digits, cheap, 16, seed=seed + 1000, search_algo="Random", n_trials=32, pruner="none")
            found["proxies + 20"].append(search(quasar, digits, place.with_name(f"d{seed}"), seed=seed, search_algo="TPE", n_trials=20,
                                                enqueue=configurations(cheap, 7)))
    for kind, values in found.items():
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        print(f"{kind:13} {middle:.5f} ({low:.5f}–{high:.5f})")


main()
