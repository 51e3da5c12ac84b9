"""Workers beside a search from Python: processes of this machine. Dask and Ray: tests/launchers/pools.py."""
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import numpy

from digits import Case, MODEL, arrays
from postgresql import postgresql

import quasar

SPACE = {
    "activation": ["UInt8Spec"],
    "activation_params": {"symmetric": [True, False], "calibration_method": ["MinMax", "Percentile", "Entropy"], "only_if": "activation"},
    "weight": ["Int8Spec"],
    "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"},
    "algorithms": ["adaround"],
    "adaround_params": {"num_iterations": {"type": "int", "low": 20, "high": 60}, "damping": {"type": "float", "low": 0.1, "high": 10, "log": True},
                        "only_if": {"algorithms": "adaround"}},
}


def workers_below(parent):
    """Processes `quasar worker` that this one has started."""
    out = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"worker" in words and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                out.append(int(entry.name))
    return out


class Node:
    """As Ray tells of one."""

    def __new__(cls, name, machine, **resources):
        return {"NodeID": name, "NodeManagerAddress": machine, "Alive": True, "Resources": resources}


class Ray:
    """What a pool asks of Ray, and what tasks it was asked for."""

    def __init__(self, *nodes):
        self.asked = {}
        self.util = self.scheduling_strategies = self
        self._nodes = nodes

    def nodes(self):
        return self._nodes

    def NodeAffinitySchedulingStrategy(self, place, soft):
        return place

    def options(self, scheduling_strategy, num_gpus):
        self._task = scheduling_strategy, num_gpus
        return self

    def remote(self, address, rank, count, options, keys):
        place, gpus = self._task
        self.asked[place] = gpus, rank, count, keys

    def pool(self, host):
        from quasar._pools import _Ray

        pool = _Ray.__new__(_Ray)
        pool._ray = pool._remote = self
        pool.host = host
        return pool


class Places(unittest.TestCase):
    """Workers take what is theirs of a machine, whatever its processors and devices are."""

    def test_nodes_of_one_machine_share_it(self):
        ray = Ray(Node("a", "10.0.0.1", CPU=4.0), Node("b", "10.0.0.2", CPU=4.0), Node("c", "10.0.0.2", CPU=2.0), Node("head", "10.0.0.3"))
        pool = ray.pool("10.0.0.1")
        self.assertEqual(pool.places(), ["a", "b", "c"])  # the head has no processors for tasks
        self.assertEqual(pool.beside(), 1)
        self.assertEqual([pool.share(place) for place in "abc"], [(1, 2), (0, 2), (1, 2)])

    def test_workers_score_on_the_devices_of_their_node(self):
        ray = Ray(Node("a", "10.0.0.1", CPU=4.0, GPU=2.0), Node("b", "10.0.0.2", CPU=4.0), Node("c", "10.0.0.2", CPU=4.0))
        pool = ray.pool("10.0.0.9")
        for place in pool.places():
            pool.start(place, "postgresql://a/b", {}, {"search_devices": "cuda:0,1,2,3"})
        self.assertEqual(ray.asked, {"a": (2, 0, 1, {"search_devices": "cuda:0,1"}), "b": (0, 0, 2, {"search_devices": "cpu"}),
                                     "c": (0, 1, 2, {"search_devices": "cpu"})})
        pool.start("a", "postgresql://a/b", {}, {})
        self.assertEqual(ray.asked["a"], (0, 0, 1, {}))  # a search on processors leaves devices to others

    def test_dask_workers_of_one_machine_share_it(self):
        from quasar._pools import _Dask

        class Client:
            def scheduler_info(self, n_workers):
                return {"workers": {"tcp://10.0.0.2:1": {"host": "10.0.0.2"}, "tcp://10.0.0.2:2": {"host": "10.0.0.2"}, "tcp://127.0.0.1:3": {"host": "127.0.0.1"}}}

        pool = _Dask.__new__(_Dask)
        pool._client, pool.host = Client(), "127.0.0.1"
        self.assertEqual([pool.share(place) for place in pool.places()], [(0, 2), (1, 2), (1, 2)])
        self.assertEqual(pool.beside(), 1)


class Asked:
    """A worker that ends when it is asked to, or never."""

    def __init__(self, ends):
        self.ends, self.asked, self.stopped = ends, False, False

    def ended(self):
        return "" if self.ends and self.asked else None

    def ask_to_end(self):
        self.asked = True

    def stop(self):
        self.stopped = True


class Crew(unittest.TestCase):
    """Whom a search has to help it, and what becomes of them."""

    def crew(self, places, ends):
        from quasar import _pools

        class Pool(_pools._Pool):
            def places(self):
                return list(places)

            def start(self, place, address, options, keys):
                started[place] = Asked(ends)
                return started[place]

        started = {}
        crew = _pools._Crew(Pool(), "postgresql://a/b", {}, {})
        while set(started) != set(places):
            time.sleep(0.01)
        return crew, started

    def test_workers_that_wait_for_a_search_are_told_that_it_is_over(self):
        crew, started = self.crew(["a", "b"], ends=True)
        crew.stop()
        self.assertEqual([(one.asked, one.stopped) for one in started.values()], [(True, False)] * 2)

    def test_a_task_of_a_place_that_is_gone_is_given_up(self):
        places = ["a", "b"]
        crew, started = self.crew(places, ends=True)
        places.remove("a")
        while not started["a"].stopped:
            time.sleep(0.01)
        crew.stop()
        self.assertFalse(started["b"].stopped)

    def test_addresses_of_ipv6_are_taken(self):
        from quasar._pools import _host_for

        self.assertEqual(_host_for("[::1]"), "127.0.0.1")
        self.assertIn(_host_for("::ffff:127.0.0.1"), ("127.0.0.1", "::ffff:127.0.0.1"))


class Pools(Case):
    def found(self, output, **more):
        given = {"n_trials": 30, "seed": 3, "sampler": "Random", "pruner": "none", "output_dir": output, **more}
        return quasar.search(MODEL, self.calibration[0], (self.evaluation[0], self.evaluation[1]), SPACE, **given)

    @staticmethod
    def busy(storage):
        """Names of the processes that have ended a trial."""
        status = subprocess.run([os.environ["QUASAR_PROGRAM"], "status", storage, "--json"], capture_output=True, text=True)
        return [one["name"] for one in json.loads(status.stdout)["workers"] if one["finished"]] if status.returncode == 0 else []

    def kill_one(self, storage, killed, over):
        """Of the workers that have run a trial."""
        try:
            while not over.wait(0.1):
                busy = self.busy(storage)
                for pid in workers_below(os.getpid()):
                    if any(name.startswith(f"process {pid} on ") for name in busy):
                        return os.kill(pid, signal.SIGKILL)
        finally:
            killed.set()

    def test_processes_help_and_one_is_killed(self):
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            killed, over = threading.Event(), threading.Event()
            killer = threading.Thread(target=self.kill_one, args=[storage, killed, over])
            killer.start()
            try:  # the leader's first trial lasts until a worker has been killed
                shared = self.found("shared", workers=2, study_storage_db=storage, heartbeat_interval=0.2, grace_period=1, max_retry=20,
                                    on_trial=lambda _: killed.wait() if killer.is_alive() else None)
            finally:
                over.set()
                killer.join()
            alone = self.found("alone")
            self.assertEqual(shared.best_model.read_bytes(), alone.best_model.read_bytes())
            told = subprocess.run([os.environ["QUASAR_PROGRAM"], "status", storage, "--json"], check=True, capture_output=True, text=True)
            self.assertGreaterEqual(sum(one["finished"] > 0 for one in json.loads(told.stdout)["workers"]), 2)
            self.assertEqual([trial.number for trial in shared.trials if trial.state == "failed"], [])
            self.assertEqual(workers_below(os.getpid()), [])

    def test_a_database_is_made_where_there_is_none(self):
        os.chmod(self.folder, 0o755)  # PostgreSQL refuses root, and runs as somebody else then
        self.evaluation = arrays("evaluation", 60)
        try:
            shared = self.found("shared", workers=1, n_trials=8)
        except quasar.QuasarError as error:
            if "there is no PostgreSQL server" in str(error):
                self.skipTest(str(error))
            raise
        self.assertEqual(shared.status, "ok")
        self.assertEqual(len(shared.trials), 8)
        self.assertTrue((self.folder / "shared_database").is_dir())
        self.assertEqual(shared.best_model.read_bytes(), self.found("alone", n_trials=8).best_model.read_bytes())

    def test_the_database_ends_with_a_program_that_is_killed(self):
        os.chmod(self.folder, 0o755)
        script = ("import sys, time; from pathlib import Path; from quasar._pools import server\n"
                  "with server(Path('data').absolute(), '127.0.0.1') as address:\n    print(address, flush=True)\n    time.sleep(600)")
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            address = program.stdout.readline().strip()
            program.kill()
            if "there is no PostgreSQL server" in program.stderr.read():
                self.skipTest("no PostgreSQL server can be started here")
        self.assertTrue(address.startswith("postgresql://"), address)
        port = int(address.rpartition("@")[2].partition("/")[0].rpartition(":")[2])
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)):
                    return
            time.sleep(0.1)
        self.fail("the server goes on")

    def test_classes_of_quark_have_workers(self):
        class Reader:
            def __init__(self, images):
                self.items = iter([{"image": image[None]} for image in images])

            def get_next(self):
                return next(self.items, None)

        def pro(output, **more):
            return quasar.AutoSearchPro({"model_input": MODEL, "calib_data_reader": Reader(self.calibration[0][:20]), "search_space": SPACE, "n_trials": 8,
                                         "seed": 3, "search_algo": "Random", "pruner": "none", "output_dir": output, **more})

        class Small(quasar.AutoSearchConfig):
            search_space = {"calibrate_method": ["MinMax", "Percentile"], "activation_type": ["QInt8"], "weight_type": ["QInt8"], "include_cle": [False],
                            "include_fast_ft": [False]}
            search_output_dir = "v1"

        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            shared, alone = pro("shared", study_storage_db=storage), pro("alone")
            self.assertEqual(shared.run(workers=1), alone.run())
            self.assertEqual(shared.result.best_model.read_bytes(), alone.result.best_model.read_bytes())
            Small.study_storage_db, Small.study_name = storage, "v1"
            small = quasar.AutoSearch(MODEL, None, Small, None, Reader(self.calibration[0][:20]))
            small.search_model(workers=1)
            self.assertEqual((small.result.status, len(small.result.trials)), ("ok", 2))
            with self.assertRaisesRegex(quasar.QuasarError, "do not have this one's functions"):
                pro("third", study_storage_db=storage, study_name="third", search_evaluator=lambda path: 1.0).run(workers=1)

    def test_samples_of_any_form_come_to_the_same(self):
        from quasar._pools import in_a_file

        images, labels = arrays("evaluation", 6)
        inputs = quasar.Session(MODEL).inputs
        forms = {"arrays": (images, labels), "by name": {inputs[0][0]: images, "labels": labels}, "one by one": list(zip(images, labels)),
                 "with options": {inputs[0][0]: images * 255, "scale": 1 / 255, "target": labels, "labels": "target", "name": ["a"] * 6, "index": labels},
                 "batches": [(images[:4], labels[:4]), (images[4:], labels[4:])]}
        scores = {}
        for name, data in forms.items():
            words = in_a_file(data, inputs, self.folder / "samples.npz")
            scores[name] = quasar.evaluate(MODEL, words, metric="top1", latency=False)["metrics"]["top1"]["per_sample"]
        for name, found in scores.items():
            self.assertEqual(found, quasar.evaluate(MODEL, forms["arrays"], metric="top1", latency=False)["metrics"]["top1"]["per_sample"], name)
        with self.assertRaisesRegex(quasar.QuasarError, "several sizes"):
            in_a_file([images[0], images[0, :, :4]], inputs, self.folder / "samples.npz")

    def test_workers_have_the_libraries_of_operators(self):
        library = Path(os.environ["QUASAR_PROGRAM"]).parent / "tests" / "libhalve.so"
        try:
            from onnx import TensorProto, helper, save
        except ImportError:
            self.skipTest("no onnx")
        if not library.exists():
            self.skipTest("the tests' library of operators was not built")
        generator = numpy.random.default_rng(3)
        weights = [helper.make_tensor(name, TensorProto.FLOAT, shape, generator.standard_normal(shape).astype(numpy.float32).ravel())
                   for name, shape in (("v", (4, 3, 1, 1)), ("w", (4, 4, 1, 1)))]
        nodes = [helper.make_node("Conv", ["x", "v"], ["a"]), helper.make_node("Halve", ["a"], ["b"], domain="my.domain"), helper.make_node("Conv", ["b", "w"], ["y"])]
        graph = helper.make_graph(nodes, "halved", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 8, 8))],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, (1, 4, 8, 8))], weights)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13), helper.make_opsetid("my.domain", 1)], ir_version=8), "halved.onnx")
        samples = generator.standard_normal((12, 3, 8, 8), dtype=numpy.float32)
        quasar.load_custom_operators(library)
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            began = threading.Event()

            def wait_for_the_worker(event):  # the leader's first trial lasts until the worker has ended one
                if event["kind"] == "started" and not began.is_set():
                    began.set()
                    end = time.monotonic() + 60
                    while time.monotonic() < end and not self.busy(storage):
                        time.sleep(0.1)

            found = quasar.search("halved.onnx", samples, samples, SPACE, n_trials=8, sampler="Random", pruner="none", output_dir="halved", workers=1,
                                  study_storage_db=storage, on_trial=wait_for_the_worker)
            self.assertEqual(len(self.busy(storage)), 2)
        self.assertEqual(found.status, "ok")
        self.assertFalse([trial for trial in found.trials if trial.state == "failed"])

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(ValueError, "workers is 0"):
            self.found("out", workers=0)
        with self.assertRaisesRegex(TypeError, "a number of processes, a Dask client"):
            self.found("out", workers=2.5)
        with self.assertRaisesRegex(quasar.QuasarError, "do not have this one's functions"):
            self.found("out", workers=1, evaluator=lambda path: 1.0)
        with self.assertRaisesRegex(quasar.QuasarError, "a database that they share"):
            self.found("out", workers=1, study_storage_db="study.db")


if __name__ == "__main__":
    unittest.main()
