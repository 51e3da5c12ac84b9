"""Strategy repair with one process and with two: seconds of `quasar search` alone with one thread and with two, and beside one `quasar worker`
with one thread each, in turns. Every process is bound to cores of its own. The trials must be the same in all, and best.onnx bit by bit.
usage: ORT_PYTHON bench/repair_processes.py QUASAR SHARED FOLDER [--rounds 3] [--only fastestdet mobilenet] [--minilm FOLDER_OF_THE_ZOO/minilm]
       (FOLDER keeps the samples, the searches' folders and their logs; needs two cores and PostgreSQL's programs, as `quasar serve` does)"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import time

import numpy as np

from ort_static import photographs

WAYS = {"one x 1": [[0]], "one x 2": [[0, 1]], "two x 1": [[0], [1]]}


def pictures(shared, folder, name, entry, size, mean, scale, bgr):
    """-> readers of 32 pictures for calibration and 64 for evaluation"""
    out = {}
    for split, key, count in (("calib", "calib_data_reader", 32), ("eval", "eval_data_reader", 64)):
        file = folder / f"{name}_{split}.npz"
        if not file.exists(): np.savez(file, **{entry: photographs(shared, split, size, mean, scale, bgr)[:count]})
        out[key] = {"reader": "npz", "path": str(file)}
    return out


def jobs(shared, folder, minilm):
    """name -> configuration with a goal that the default configuration misses"""
    def job(model, readers, loss):
        return {"model_input": str(model), **readers, "strategy": "repair", "seed": 5, "speed_gate": "off", "search_metric": "L2",
                "accuracy_criterion": {"criterion": "absolute", "tolerable_loss": loss}}
    models = shared / "data" / "models"
    yield "fastestdet", job(models / "fastestdet.onnx", pictures(shared, folder, "fastestdet", "input.1", 352, 0, 1 / 255, True), 3)
    yield "mobilenet", job(models / "mobilenet_v1_025_128.onnx", pictures(shared, folder, "mobilenet", "input", 128, 127.5, 1 / 127.5, False), 0.05)
    if minilm:
        readers = {f"{split}_data_reader": {"reader": "npz", "path": str(pathlib.Path(minilm) / f"{split}.npz")} for split in ("calib", "eval")}
        yield "minilm", job(pathlib.Path(minilm) / "model.onnx", readers, 0.3)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def bound(cores):
    return lambda: os.sched_setaffinity(0, cores)


def told(out):
    """-> best.onnx and what the trials came to in their order: what all ways must have alike"""
    ended = r"\] trial (\d+) (?!started)(.*?) \([\d.]+ s\)"
    trials = [(number, words.partition(" (by ")[0]) for number, words in re.findall(ended, (out / "auto_search.log").read_text())]
    return hashlib.sha256((out / "best.onnx").read_bytes()).hexdigest(), tuple(trials)


def run(quasar, folder, address, name, job, way):
    """-> seconds, processor seconds of all, trials, what is told"""
    study = re.sub(r"\W+", "_", f"{name} {way} {time.time()}")
    out, file = folder / study, folder / f"{study}.json"
    processes = WAYS[way]
    shared = {} if len(processes) == 1 else {"storage": address, "study_name": study}
    file.write_text(json.dumps({**job, "output_dir": str(out), **shared}))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.time()
    cores = sorted(os.sched_getaffinity(0))
    others = [subprocess.Popen([quasar, "worker", str(file), "--study", study, "--output-dir", str(folder / f"{study}_worker{i}")],
                               stdout=subprocess.DEVNULL, stderr=open(folder / f"{study}_worker{i}.err", "w"), preexec_fn=bound([cores[c] for c in mine]))
              for i, mine in enumerate(processes[1:])]
    leader = subprocess.run([quasar, "search", str(file), "--quiet"], capture_output=True, text=True, preexec_fn=bound([cores[c] for c in processes[0]]))
    seconds = time.time() - start
    for other in others: other.wait()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    if leader.returncode not in (0, 2): raise SystemExit(f"{study}: {leader.stderr.strip()[-500:]}")
    best, trials = told(out)
    return seconds, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime, len(trials), (best, trials)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar")
    parser.add_argument("shared")
    parser.add_argument("folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--minilm")
    args = parser.parse_args()
    quasar, shared, folder = (pathlib.Path(p).resolve() for p in (args.quasar, args.shared, args.folder))
    folder.mkdir(parents=True, exist_ok=True)
    server = subprocess.Popen([quasar, "serve", str(folder / "studies"), "--listen", f"127.0.0.1:{free_port()}", "--json"], stdout=subprocess.PIPE, text=True)
    try:
        address = json.loads(server.stdout.readline())["address"]
        for name, job in jobs(shared, folder, args.minilm):
            if args.only and name not in args.only: continue
            rows, alike = {way: [] for way in args.ways}, set()
            for _ in range(args.rounds):
                for way in args.ways:
                    *row, same = run(str(quasar), folder, address, name, job, way)
                    rows[way].append(row)
                    alike.add(same)
                    print(f"{name}, {way}: {row[0]:.1f} s, {row[1]:.0f} s of processors, {row[2]} trials", flush=True)
            middle = {way: statistics.median(row[0] for row in found) for way, found in rows.items()}
            for way, found in rows.items():
                print(f"| {name} | {way} | {middle[way]:.1f} | {statistics.median(row[1] for row in found):.0f} | {found[0][2]} |", flush=True)
            print(f"{name}: " + ("the same trials and best.onnx" if len(alike) == 1 else "DIFFERENT trials or best.onnx"), flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
