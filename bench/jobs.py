"""What the benchmarks share: MobileNet's data as npz, a search configuration for it, and running Quasar."""
import json
import pathlib
import subprocess
import sys
import time

READER = {"reader": "npz", "inputs": {"input": "x"}, "labels": "y", "layout": "NHWC", "mean": 127.5, "scale": 1 / 127.5, "label_offset": 1}


def mobilenet(shared, folder):
    """Writes calib.npz and eval.npz as the peers see them -> path of the model."""
    sys.path.insert(0, str(pathlib.Path(shared) / "peers"))
    sys.dont_write_bytecode = True
    import inputs
    import numpy as np
    for split in ("calib", "eval"):
        x, y = inputs.load(split)
        np.savez(folder / f"{split}.npz", x=x, y=y)
    return inputs.MODEL


def search(quasar, folder, model, space, name, **more):
    """Runs `quasar search` -> (seconds, result.json)."""
    config = {"model_input": model, "calib_data_reader": {**READER, "path": "calib.npz"}, "eval_data_reader": {**READER, "path": "eval.npz"},
              "search_space": space, "target": "ort_cpu", "search_algo": "Grid", "search_metric": ["L2", "top1"],
              "output_dir": name, **more}
    file = folder / f"{name}.json"
    file.write_text(json.dumps(config))
    start = time.time()
    done = subprocess.run([quasar, "search", str(file), "--quiet"], stdout=subprocess.DEVNULL)
    seconds = time.time() - start
    if done.returncode not in (0, 2):  # 2: the best model is of little use, which is a result too
        raise SystemExit(f"quasar search {name} ended with {done.returncode}")
    return seconds, json.loads((folder / name / "result.json").read_text())


def trials(folder, name):
    """-> every trial's metrics, from the study."""
    import sqlite3
    db = sqlite3.connect(folder / name / "auto_search.db")
    rows = db.execute("select number, value_json from trials join trial_user_attributes using (trial_id) where key = 'metrics'").fetchall()
    return {number: json.loads(value) for number, value in rows}
