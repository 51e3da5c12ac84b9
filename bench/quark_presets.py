"""Quark's presets by name, the first stage alone and complete, on MobileNet; Quark's own first stage of A8W8_SEARCH in the same run.
usage: PYTHON bench/quark_presets.py QUASAR SHARED [PYTHON_OF_QUARK]"""
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from jobs import READER, mobilenet

PRESETS = ("A8W8_SEARCH", "XINT8_SEARCH", "A16W8_SEARCH", "ADVANCED_SEARCH", "cpu_int8_search", "npu_int8_search")
REPETITIONS = 5  # of ours: the median counts


def run(quasar, folder, model, preset, complete, **more):
    """-> (seconds, result.json)"""
    name = f"{preset}_{'complete' if complete else 'stage1'}_{len(list(folder.iterdir()))}"
    config = {"model_input": model, "calib_data_reader": {**READER, "path": "calib.npz"}, "eval_data_reader": {**READER, "path": "eval.npz"},
              "preset": preset, "target": "ort_cpu", "search_metric": ["L2", "top1"], "n_jobs": 2, "output_dir": name, **more}
    if not complete:  # `algorithms: [null]` switches the second stage off; the first is a grid
        config.update(search_space={"algorithms": [None]}, search_algo="Grid", n_trials=0)
    file = folder / f"{name}.json"
    file.write_text(json.dumps(config))
    seconds = []
    for _ in range(REPETITIONS):
        shutil.rmtree(folder / name, ignore_errors=True)
        start = time.time()
        subprocess.run([quasar, "search", str(file), "--quiet"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.time() - start)
    return statistics.median(seconds), json.loads((folder / name / "result.json").read_text())


def main():
    quasar, shared = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = mobilenet(shared, folder)
        known = {p["name"].lower() for p in json.loads(subprocess.run([quasar, "list", "presets", "--json"], capture_output=True, check=True).stdout)}
        print(f"{'preset':18} {'stages':9} {'seconds':>8} {'executed':>9} {'duplicates':>11} {'best L2':>8} {'top-1':>6}")
        seconds = {}
        for preset in PRESETS:
            if preset.lower() not in known:
                continue
            for complete in (False, True):
                took, result = run(quasar, folder, model, preset, complete)
                seconds[preset, complete] = took
                metrics, trials = result["best"]["metrics"], result["trials"]
                print(f"{preset:18} {'both' if complete else 'first':9} {took:8.2f} {trials['executed']:9} {trials['duplicate']:11} "
                      f"{metrics['L2']['value']:8.4f} {metrics['top1']['value']:6.3f}", flush=True)
        took, result = run(quasar, folder, model, "A8W8_SEARCH", False, pruner="none")
        print(f"{'A8W8_SEARCH':18} {'no racing':9} {took:8.2f} {result['trials']['executed']:9} {result['trials']['duplicate']:11} "
              f"{result['best']['metrics']['L2']['value']:8.4f} {result['best']['metrics']['top1']['value']:6.3f}", flush=True)
        if len(sys.argv) > 3:
            peer = shared / "peers" / "quark_grid.py"
            out = subprocess.run([sys.argv[3], str(peer), "A8W8_SEARCH", str(folder / "quark")], capture_output=True, text=True, cwd=folder)
            found = re.search(r"SECONDS ([0-9.]+)", out.stdout)  # without imports
            if not found:
                sys.exit(out.stderr[-2000:])
            print(f"Quark, first stage of A8W8_SEARCH: {found[1]} s;", out.stdout[out.stdout.index("SECONDS"):][:400])
            print(f"ratio: {float(found[1]) / seconds['A8W8_SEARCH', False]:.0f}")


if __name__ == "__main__":
    main()
