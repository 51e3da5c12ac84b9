#!/usr/bin/env python3
"""quasar.search(workers=…) on real clusters of Dask and Ray on this machine: one worker is killed and one joins while it runs, and best.onnx is
that of one process.

usage: pools.py SOURCE_FOLDER dask|ray       (QUASAR_PROGRAM names the program)
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(sys.argv[1]).resolve() / "python/tests"))
import quasar
from digits import MODEL, arrays
from postgresql import postgresql
from test_pools import SPACE


def fail(what):
    raise SystemExit(f"pools.py: {what}")


def found(output, **more):
    (images, _), labelled = arrays("calibration", 50), arrays("evaluation", 150)
    return quasar.search(MODEL, images, labelled, SPACE, n_trials=60, seed=3, sampler="Random", pruner="none", output_dir=output, heartbeat_interval=0.2,
                         grace_period=1, max_retry=20, **more)


def status(storage):
    """Of processes that have finished trials: which, and whether they live."""
    told = subprocess.run([os.environ["QUASAR_PROGRAM"], "status", storage, "--json"], capture_output=True, text=True)
    return {one["name"]: one["alive"] for one in json.loads(told.stdout)["workers"] if one["finished"]} if told.returncode == 0 else {}


def kill(name):
    os.kill(int(name.split()[1]), signal.SIGKILL)


class Dask:
    def __enter__(self):
        from distributed import Client, LocalCluster

        self.cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
        self.client = Client(self.cluster)
        self.workers = self.client
        return self

    def __exit__(self, *_):
        self.client.close()
        self.cluster.close()

    def join(self):
        self.cluster.scale(3)


class Ray:
    def __enter__(self):
        import ray
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
        self.cluster.add_node(num_cpus=1)
        self.workers = self.cluster.address
        self.ray = ray
        return self

    def __exit__(self, *_):
        self.ray.shutdown()
        self.cluster.shutdown()

    def join(self):
        self.cluster.add_node(num_cpus=1)


def disturb(storage, done, over):
    """Kills a worker that has run a trial; another one joins, and runs one."""
    mine = f"process {os.getpid()} on "
    try:
        others = set()
        while not others and not over.wait(0.2):
            others = {name for name, alive in status(storage).items() if alive and not name.startswith(mine)}
        if over.is_set():
            return
        killed = sorted(others)[0]
        kill(killed)
        done["joins"].set()
        while len(set(status(storage)) - {killed}) < 2 and not over.wait(0.2):
            pass
        done["killed"] = killed
    finally:
        done["joins"].set()
        done["event"].set()


def main():
    kind = {"dask": Dask, "ray": Ray}[sys.argv[2]]
    with tempfile.TemporaryDirectory() as folder, postgresql() as storage:
        if storage is None:
            print("no PostgreSQL server can be started here", file=sys.stderr)
            raise SystemExit(77)
        os.chdir(folder)
        alone = found("alone")
        with kind() as cluster:
            done, over = {"event": threading.Event(), "joins": threading.Event(), "joined": False}, threading.Event()

            def hold_the_leader(_):
                """In this thread, which Ray asks for: until a worker was killed and another one has joined and worked."""
                done["joins"].wait()
                if not done["joined"] and not over.is_set():
                    done["joined"] = True
                    cluster.join()
                done["event"].wait(240)

            other = threading.Thread(target=disturb, args=[storage, done, over])
            other.start()
            try:
                shared = found("shared", workers=cluster.workers, study_storage_db=storage, on_trial=hold_the_leader)
            finally:
                over.set()
                other.join()
            if "killed" not in done:
                fail("no worker of the cluster ran a trial, or none joined")
            processes = status(storage)
            if any(trial.state == "failed" for trial in shared.study.trials):
                fail("a trial has failed")
            if shared.best_model.read_bytes() != alone.best_model.read_bytes():
                fail("another best.onnx than one process's")
            print(f"{sys.argv[2]}: {len(shared.study.trials)} trials by {len(processes)} processes, {done['killed']} was killed; the same best.onnx as one process's")


if __name__ == "__main__":
    main()
