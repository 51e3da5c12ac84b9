"""search_evaluator: {python: FILE:FUNCTION} of the command line. QUASAR_PROGRAM names the program."""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from digits import DIGITS, MODEL, SPACE, Case

import quasar

SCORE = """
import os, sys, time
import numpy
import quasar

print("this goes to standard error")
labels = numpy.load(os.environ["DIGITS"])["label"][:150]
images = numpy.load(os.environ["DIGITS"])["image"][:150]

def by_path(path):
    return float((quasar.Session(path)(images)[0].argmax(1) == labels).mean())

def by_inference(infer):
    return float((infer(images)[0].argmax(1) == labels).mean())

def by_outputs(reference, quantized, given):
    assert (given == labels).all() and reference.shape == quantized.shape == (150, 10)
    return {"score": float((quantized.argmax(1) == given).mean()), "distance": float(abs(reference - quantized).max())}

calls = []

def moody(path):
    calls.append(path)
    if len(calls) == 2:
        raise RuntimeError("no board")
    if len(calls) == 3:
        print("going down", file=sys.stderr)
        os._exit(3)
    return 1.0

def hanging(path):
    if path.endswith("digits.onnx"):
        return 1.0
    time.sleep(3600)
"""


SLOW = """
import time

calls = []

def slow(path):
    calls.append(path)
    if len(calls) > 2:  # the float model and one more
        time.sleep(3600)
    return 1.0
"""
COMMAND = Path(sys.executable).with_name("quasar")


@unittest.skipUnless(COMMAND.exists(), "the package is not installed with its command")
class Command(Case):
    """The command that pip installs beside the interpreter."""

    def test_it_is_the_program(self):
        shown = subprocess.run([COMMAND, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(shown, f"quasar {quasar.__version__}, ONNX Runtime {quasar.onnxruntime_version}\n")

    def test_names_need_not_be_text(self):
        shutil.copy(MODEL, b"\xff.onnx")
        shown = subprocess.run([COMMAND, "inspect", b"\xff.onnx"], capture_output=True, check=True).stdout
        self.assertIn(b"opset", shown)

    def test_mistakes_are_its_exit_code(self):
        self.assertEqual(subprocess.run([COMMAND, "inspect", "absent.onnx"], capture_output=True).returncode, 1)

    def test_ctrl_c_ends_a_search_and_keeps_what_was_found(self):
        config = {"model_input": MODEL, "calib_data_reader": {"reader": "npz", "path": str(DIGITS / "calibration.npz"), "labels": "label"},
                  "eval_data_reader": {"reader": "npz", "path": str(DIGITS / "evaluation.npz"), "labels": "label"}, "search_metric": "L2",
                  "search_space": SPACE, "search_algo": "Random", "search_evaluator": {"python": "slow.py:slow"}, "n_jobs": 1, "output_dir": "out"}
        Path("slow.py").write_text(SLOW)
        Path("search.json").write_text(json.dumps(config))
        # Its environment need not be activated: evaluators find the package all the same.
        with subprocess.Popen([COMMAND, "search", "search.json"], env={**os.environ, "PATH": os.defpath}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as search:
            for line in search.stderr:
                if line.startswith("trial "):
                    search.send_signal(signal.SIGINT)
                    break
            search.stderr.read()
            self.assertEqual(search.wait(), 130)
        self.assertEqual(json.loads(Path("out/result.json").read_text())["status"], "interrupted")


@unittest.skipUnless(os.environ.get("QUASAR_PROGRAM"), "QUASAR_PROGRAM is not set")
class Program(Case):
    def run_program(self, function, n_jobs=1, trials=100, **more):
        Path("score.py").write_text(SCORE)
        config = {"model_input": MODEL, "calib_data_reader": {"reader": "npz", "path": str(DIGITS / "calibration.npz"), "limit": 50, "labels": "label"},
                  "eval_data_reader": {"reader": "npz", "path": str(DIGITS / "evaluation.npz"), "labels": "label", "limit": 150}, "search_space": SPACE, "search_algo": "Grid",
                  "search_evaluator": {"python": f"score.py:{function}", "interpreter": sys.executable, **more}, "n_jobs": n_jobs, "n_trials": trials, "output_dir": function}
        Path("search.json").write_text(json.dumps(config))
        return subprocess.run([os.environ["QUASAR_PROGRAM"], "search", "search.json"], capture_output=True, text=True,
                              env={**os.environ, "DIGITS": str(DIGITS / "evaluation.npz")}, timeout=1000)

    def test_the_three_kinds_agree(self):
        found = []
        for function, n_jobs in [("by_path", 1), ("by_inference", 2), ("by_outputs", 2)]:
            done = self.run_program(function, n_jobs)
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append({json.dumps(t.params): t.values for t in quasar.Study(function).trials})
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertIn("distance", json.loads(Path("by_outputs/result.json").read_text())["best"]["metrics"])

    def test_failures(self):
        done = self.run_program("moody")
        self.assertEqual(done.returncode, 0, done.stderr)
        trials = quasar.Study("moody").trials
        self.assertEqual(trials[0].error, "RuntimeError: no board")
        self.assertIn("in moody", trials[0].attributes["traceback"])
        self.assertIn("exit code 3", trials[1].error)
        self.assertIn("going down", trials[1].attributes["stderr"])
        self.assertEqual([t.state for t in trials], ["failed", "failed", "complete", "failed"])  # a new process starts to count again

    def test_time_limit(self):
        done = self.run_program("hanging", trials=1, timeout=10)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("timeout of 10", quasar.Study("hanging").trials[0].error)

    def test_mistakes(self):
        self.assertIn("AttributeError", self.run_program("missing").stderr)
        done = self.run_program("by_path", interpreter="no-python")
        self.assertEqual(done.returncode, 1)
        self.assertIn("cannot start 'no-python'", done.stderr)


if __name__ == "__main__":
    unittest.main()
