"""Scripts that mpirun or srun start several times: the first process leads, the others work for it, and all get the result."""
import json
import os
import shutil
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

import quasar
from quasar import _launch

from digits import Case
from postgresql import postgresql

SCRIPT = """
import json, sys
import numpy, quasar
from digits import MODEL, SPACE, arrays

scored = 0
@quasar.scoring("inference")
def score(run):
    global scored
    scored += 1
    images, labels = arrays("evaluation", 40)
    return sum(int(numpy.argmax(run([image])[0]) == label) for image, label in zip(images, labels)) / len(labels)

found = quasar.search(MODEL, *(arrays(split, 60)[0] for split in ("calibration", "evaluation")), SPACE, evaluator=score, sampler="Grid",
                      direction="maximize", **{"output_dir": "out", **json.loads(sys.argv[1])})
print(json.dumps({"status": found.status, "best": found.best_trial.number, "trials": len(found.trials), "scored": scored, "model": str(found.best_model),
                  "by": sorted({trial.attributes.get("worker", "") for trial in found.trials})}))
"""


# The classes of the documents, as scripts that know nothing of launchers; results are where each process says that they are.
CLASSES = """
import json, os, sys
import numpy, quasar
from digits import MODEL, SPACE, arrays

images, labels = arrays("evaluation", 40)
accuracy = lambda path: float(numpy.mean(quasar.Session(path)(images)[0].argmax(axis=1) == labels))

class Reader:
    def __init__(self): self.items = iter([{"image": image[None]} for image in images])
    def get_next(self): return next(self.items, None)

def pro():
    search = quasar.AutoSearchPro({"model_input": MODEL, "calib_data_reader": Reader(), "search_evaluator": accuracy, "direction": "maximize",
                                   "search_space": SPACE, "search_algo": "Grid", "output_dir": "results"})
    search.run()
    return search.result

def v1():
    class Small(quasar.AutoSearchConfig):
        search_space = {"calibrate_method": ["MinMax", "Percentile"], "activation_type": ["QInt8"], "weight_type": ["QInt8"], "include_cle": [False],
                        "include_fast_ft": [False]}
        search_evaluator = accuracy
        search_output_dir = "results"
    search = quasar.AutoSearch(MODEL, None, Small, None, Reader())
    search.search_model()
    return search.result

def fit():
    from quasar.neural_compressor import PostTrainingQuantConfig, quantization
    model = quantization.fit(MODEL, PostTrainingQuantConfig(quant_level=1), calib_dataloader=[(image[None], 0) for image in images],
                             eval_func=lambda model: accuracy(model.SerializeToString()))
    folder, = (name for name in os.listdir("nc_workspace") if not name.endswith("_database"))
    return os.path.join("nc_workspace", folder) if model else "no model"

found = {"pro": pro, "v1": v1, "fit": fit}[sys.argv[1]]()
print(json.dumps(found if isinstance(found, str) else [found.status, found.best_trial.number, len(found.trials), str(found.output_dir)]))
"""


class Mpirun(Case):
    # No process is told its number by this test: mpirun does.
    def test_three_ranks_search_as_one(self):
        if shutil.which("mpirun") is None:
            self.skipTest("no mpirun (Debian's package openmpi-bin)")
        Path("script.py").write_text(SCRIPT)
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            ended = subprocess.run(["mpirun", "--oversubscribe", "-np", "3", sys.executable, "script.py", json.dumps({"study_storage_db": storage})],
                                   stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800, env=environment)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        found = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
        self.assertEqual(len(found), 3, ended.stdout)
        for one in found:
            self.assertEqual({**one, "scored": 0, "by": 0}, {**found[0], "scored": 0, "by": 0})
        self.assertEqual((found[0]["status"], found[0]["trials"]), ("ok", 4))
        best = Path(found[0]["model"]).read_bytes()
        alone = subprocess.run([sys.executable, "script.py", json.dumps({"output_dir": "alone"})], capture_output=True, text=True, timeout=1800,
                               env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)})
        self.assertEqual(alone.returncode, 0, alone.stderr)
        self.assertEqual(Path(json.loads(alone.stdout.splitlines()[-1])["model"]).read_bytes(), best)
        log, log_alone = (Path(folder, "auto_search.log").read_text() for folder in ("out", "alone"))
        self.assertRegex(log, r"info: process \d+ on \S+: trial 0 ")
        self.assertNotIn("process ", log_alone)


class Launched(Case):
    def start(self, ranks, script=SCRIPT, argument=None, more={}, **keys):
        """Processes as mpirun starts them. -> [(exit code, output, messages)]"""
        Path("script.py").write_text(script)
        command = [sys.executable, "script.py", argument or json.dumps(keys)]
        began = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "PMIX_NAMESPACE": "together", "PMIX_RANK": str(rank), "PYTHONPATH": str(Path(__file__).parent), **more})
                 for rank in ranks]
        ended = [process.communicate(timeout=1800) for process in began]
        return [(process.returncode, *texts) for process, texts in zip(began, ended)]

    def test_all_get_the_result_of_the_first(self):
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            ended = self.start([1, 0, 2], study_storage_db=storage)
        for code, _, messages in ended:
            self.assertEqual(code, 0, messages)
        found = [json.loads(out.splitlines()[-1]) for _, out, _ in ended]
        for one in found:
            self.assertEqual({**one, "scored": 0, "by": 0}, {**found[1], "scored": 0, "by": 0})
        self.assertEqual(found[0]["status"], "ok")
        self.assertEqual(found[0]["trials"], 4)

    def alike(self, argument):
        """What three processes of a script print that names no database: the same."""
        os.chmod(self.folder, 0o755)  # PostgreSQL refuses root, and runs as somebody else then
        ended = self.start([2, 1, 0], CLASSES, argument, {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_LOCAL_SIZE": "3"})
        if any("there is no PostgreSQL server" in messages for _, _, messages in ended):
            self.skipTest("no PostgreSQL server can be started here")
        for code, _, messages in ended:
            self.assertEqual(code, 0, messages)
        printed = {out.splitlines()[-1] for _, out, _ in ended}
        self.assertEqual(len(printed), 1, printed)
        self.assertEqual([name for name in os.listdir() if name.startswith(".quasar-")], [], "where they met")
        return json.loads(printed.pop())

    def test_auto_search_pro_needs_no_database(self):
        os.mkdir("results")
        Path("results/result.json").write_text("{}")  # of an earlier search: the first process takes another folder, and all do
        status, _, trials, folder = self.alike("pro")
        self.assertEqual((status, trials, folder), ("ok", 4, str(self.folder / "results_2")))
        self.assertTrue(os.path.isdir("results_2_database"))

    def test_auto_search_needs_no_database(self):
        status, _, trials, folder = self.alike("v1")
        self.assertEqual((status, trials, folder), ("ok", 2, str(self.folder / "results")))

    def test_fit_needs_no_database(self):
        self.assertIn("nc_workspace", self.alike("fit"))

    def test_a_first_one_that_finds_no_database_tells_the_others(self):
        Path("results_database").write_text("no folder")
        ended = self.start([0, 1], CLASSES, "pro", {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"})
        self.assertEqual([code for code, _, _ in ended], [1, 1], ended)
        self.assertIn("the first process of this launch has ended", ended[1][2])
        self.assertIn("results_database", ended[1][2])

    def test_without_a_storage_that_all_share_they_say_so(self):
        (code, _, messages), = self.start([1])
        self.assertEqual(code, 1)
        self.assertIn("they need a storage that all share, study_storage_db: postgresql://", messages)
        self.assertFalse(os.path.exists("out"))

    def test_workers_are_refused_in_all_of_them(self):
        ended = self.start([0, 1], workers=1)
        self.assertEqual([code for code, _, _ in ended], [1, 1], ended)
        for _, _, messages in ended:
            self.assertIn("all processes work, without it", messages)

    def test_a_batch_job_without_srun_was_started_once(self):
        batch = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}
        with unittest.mock.patch.dict(os.environ, batch):
            _launch.refuse_launches()
        for more in ({"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}, {"SLURM_STEP_ID": "0"}, {"PMIX_NAMESPACE": "together"}):
            with unittest.mock.patch.dict(os.environ, batch | more), self.assertRaisesRegex(quasar.QuasarError, "started once"):
                _launch.refuse_launches()

    def test_the_others_end_with_a_first_one_that_fails(self):
        os.mkdir("out")
        Path("out/result.json").write_text("{}")
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            (first, _, said), (other, _, told) = self.start([0, 1], study_storage_db=storage)
        self.assertEqual((first, other), (1, 1), said + told)
        self.assertIn("holds an earlier search", said)
        self.assertIn("the first process of this launch has ended", told)


if __name__ == "__main__":
    unittest.main()
