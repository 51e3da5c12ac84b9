"""Scripts that mpirun or srun start several times: the first process leads, the others work for it, and all get the result."""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

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
                      direction="maximize", output_dir="out", **json.loads(sys.argv[1]))
print(json.dumps({"status": found.status, "best": found.best_trial.number, "trials": len(found.trials), "scored": scored, "model": str(found.best_model),
                  "by": sorted({trial.attributes.get("worker", "") for trial in found.trials})}))
"""


class Launched(Case):
    def start(self, ranks, **keys):
        """Processes as mpirun starts them. -> [(exit code, output, messages)]"""
        Path("script.py").write_text(SCRIPT)
        command = [sys.executable, "script.py", json.dumps(keys)]
        began = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "PMIX_NAMESPACE": "together", "PMIX_RANK": str(rank), "PYTHONPATH": str(Path(__file__).parent)})
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

    def test_without_a_storage_that_all_share_they_say_so(self):
        (code, _, messages), = self.start([1])
        self.assertEqual(code, 1)
        self.assertIn("they need a storage that all share, study_storage_db: postgresql://", messages)
        self.assertFalse(os.path.exists("out"))

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
