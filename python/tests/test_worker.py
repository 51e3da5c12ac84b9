"""quasar.worker joins a search by its address. QUASAR_PROGRAM names the program."""
import json
import os
import subprocess
import sys
import threading
import time
import unittest

from digits import Case, DIGITS, MODEL, SPACE
from postgresql import postgresql

import quasar

ENDLESS = {**SPACE, "algorithms": ["adaround"],
           "adaround_params": {"damping": {"type": "float", "low": 0.1, "high": 10, "log": True}, "only_if": {"algorithms": "adaround"}}}


class SeveralSearches(unittest.TestCase):
    def test_what_was_done_for_all_is_told(self):
        from quasar._worker import _together

        one = {"executed": 3, "failed": 1, "duplicates": 0, "seconds": 2.0, "reason": "the search has ended", "interrupted": False}
        idle = {"executed": 0, "failed": 0, "duplicates": 0, "seconds": 0.5, "reason": "there was nothing to do", "interrupted": False}
        self.assertEqual(_together([one, one, idle]), {**idle, "executed": 6, "failed": 2, "seconds": 4.5})


class Workers(Case):
    def stop_once_two_have_worked(self, storage, over):
        program = os.environ["QUASAR_PROGRAM"]

        def have_worked():
            status = subprocess.run([program, "status", storage, "--json"], capture_output=True, text=True)
            return sum(one["finished"] > 0 for one in json.loads(status.stdout)["workers"]) if status.returncode == 0 else 0

        while not over.wait(0.2) and have_worked() < 2:
            pass
        subprocess.run([program, "study", "stop", storage], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def test_one_address_is_enough(self):
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            done, over = {}, threading.Event()
            others = [threading.Thread(target=lambda: done.update(quasar.worker(storage, n_jobs=1))),
                      threading.Thread(target=self.stop_once_two_have_worked, args=[storage, over])]
            for other in others:
                other.start()
            samples = [str(DIGITS / f"{split}.npz") for split in ("calibration", "evaluation")]
            try:
                quasar.search(MODEL, *samples, ENDLESS, sampler="Random", output_dir="out", study_storage_db=storage, n_trials=100000, pruner="none")
            finally:
                over.set()
                for other in others:
                    other.join()
            self.assertGreater(done["executed"], 0)
            self.assertEqual(done["failed"], 0)
            self.assertFalse(done["interrupted"])
            self.assertIn("quasar study stop", done["reason"])
            with self.assertRaisesRegex(quasar.QuasarError, "there is no search to work for: waited 0.5 s"):
                quasar.worker(storage, wait=0.5)
            self.assertEqual(quasar.worker(storage, until_idle=0.5)["reason"], "there was nothing to do")

    def test_a_worker_ends_with_a_program_that_is_killed(self):
        """As one of a Dask worker or a Ray node that goes: it would work on beside the one that takes its place."""
        with postgresql() as storage:
            if storage is None:
                self.skipTest("no PostgreSQL server can be started here")
            connected = lambda: json.loads(subprocess.run(  # noqa: E731
                [os.environ["QUASAR_PROGRAM"], "status", storage, "--json"], capture_output=True, text=True, check=True).stdout)["workers"]
            quasar.search(MODEL, str(DIGITS / "calibration.npz"), str(DIGITS / "evaluation.npz"), SPACE, n_trials=1, output_dir="out", study_storage_db=storage)
            program = subprocess.Popen([sys.executable, "-c", "import sys, quasar; quasar.worker(sys.argv[1], wait=600)", storage])
            self.assertTrue(self.comes(lambda: any(one["alive"] for one in connected())), "it waits for a search")
            program.kill()
            program.wait()
            self.assertTrue(self.comes(lambda: not any(one["alive"] for one in connected())), "it is gone")

    def comes(self, there):
        return any(there() or time.sleep(0.1) for _ in range(600))

    def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(quasar.QuasarError, "^cannot open the study database postgresql://127.0.0.1:1/none"):
            quasar.worker("postgresql://nobody@127.0.0.1:1/none")
        with self.assertRaisesRegex(quasar.QuasarError, "a file.yaml"):
            quasar.worker("a file.yaml")


if __name__ == "__main__":
    unittest.main()
