"""Where the time of one trial goes: building and scoring, against session creation plus pure inference of the same model on one core.
usage: PYTHON_WITH_ONNXRUNTIME bench/trial_cost.py QUASAR SHARED [repetitions]"""
import json
import pathlib
import sqlite3
import statistics
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

from jobs import mobilenet, search
from quark_a8w8 import SPACE


def pure(model, samples):
    """Session creation plus inference, one thread -> seconds."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    start = time.time()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    for sample in samples:
        session.run(None, {"input": sample})
    return time.time() - start


def main():
    quasar, shared = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    repetitions = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = mobilenet(shared, folder)
        samples = [x.transpose(2, 0, 1)[None].astype(np.float32) / 127.5 - 1 for x in np.load(folder / "eval.npz")["x"]]
        build, score, floor = [], [], []
        for i in range(repetitions):
            search(quasar, folder, model, SPACE, f"run{i}", n_jobs=2)    # two trials at a time, one core each
            db = sqlite3.connect(folder / f"run{i}" / "auto_search.db")
            read = lambda key: [json.loads(v) for (v,) in db.execute("select value_json from trial_user_attributes where key = ?", (key,))]
            build.append(statistics.median(read("build_s")))
            score.append(statistics.median(read("score_s")))
            floor.append(pure(str(folder / f"run{i}" / "best.onnx"), samples))
        b, s, f = (statistics.median(x) for x in (build, score, floor))
        print(f"build {b * 1e3:.1f} ms, score {s * 1e3:.1f} ms; session + inference alone {f * 1e3:.1f} ms (medians of {repetitions})")
        print(f"trial / floor: {(b + s) / f:.2f}   build / score: {b / s:.3f}")


if __name__ == "__main__":
    main()
