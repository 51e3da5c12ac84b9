"""Ctrl-C while a function or a class of the program's own is at work."""
import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import quasar
from digits import Case

PATIENCE = 1000  # seconds that nothing takes that does not hang, on whatever machine

PROGRAM = f"""
import os, sys, threading, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import signal
import quasar
from digits import MODEL, SPACE, arrays

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell

def search(**keys):
    return quasar.search(MODEL, arrays("calibration", 20)[0], arrays("evaluation", 40), **{{"output_dir": "out", "pruner": "none", **keys}})

def grid(**keys):
    return search(space=SPACE, sampler="Grid", **keys)

def tune(strategy, **keys):
    return search(strategy=strategy, **{{"metric": "L2", "accuracy_criterion": {{"criterion": "absolute", "tolerable_loss": 1e-9}}, **keys}})

def here():
    os.write(1, b"there\\n")

# Python does not look for a signal between its last instruction and the sleep: one that comes just then is heeded when the sleep ends,
# and so it ends soon. Elsewhere than in the main thread Ctrl-C never reached it, and it would not end.
def sleep():
    here()
    while threading.current_thread() is threading.main_thread():
        time.sleep(0.05)
    time.sleep(36000)

def spin():
    here()
    while True:
        pass

try:
{{}}
except KeyboardInterrupt:
    print("raised", flush=True)
print("after", flush=True)
"""

STRATEGIES = """
class Next(quasar.TuningStrategy):
    def next(self, tuner, history):
        if history:
            sleep()
        return {}

class Way(quasar.TuningStrategy):
    def traverse(self, tuner):
        tuner.evaluate({})
        spin()

class Run(quasar.Strategy):
    def run(self, bench):
        bench.evaluate(bench.default())
        sleep()
"""

DECIDERS = """
class Asked(quasar.Sampler):
    def ask(self, space, trials, rng):
        if trials:
            sleep()
        return space[0]

class Stop(quasar.StopCondition):
    def met(self, progress):
        if progress["finished"]:
            sleep()

def heard(event):
    if event["kind"] == "finished":
        sleep()

calls = []
def score(path):
    calls.append(path)
    if len(calls) > 2:
        sleep()
    return -len(calls)

# There is a best model when a trial has ended; with others beside it, the second call is not the end of the first.
a_trial_has_ended = threading.Event()
def listen(event):
    if event["kind"] == "finished":
        a_trial_has_ended.set()

def score_too(path):
    calls.append(path)
    if len(calls) > 2:
        a_trial_has_ended.wait()
        (sleep if threading.current_thread() is threading.main_thread() else spin)()
    return 1.0

class Loss:
    def __call__(self, output, target, criterion):
        sleep()
"""


class Interrupt(Case):
    def start(self, lines):
        text = PROGRAM.replace("{}", textwrap.indent(lines, "    "), 1)
        process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline().strip(), "there", process.poll() is not None and process.stderr.read())
        return process

    def interrupted(self, lines):
        """Nothing but the interrupt ends what was begun."""
        process = self.start(lines)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertTrue(out.endswith("raised\nafter\n"), out + err)
        self.assertEqual(process.returncode, 0, err)
        result = json.loads(Path("out/result.json").read_text())
        self.assertEqual(result["status"], "interrupted")
        self.assertTrue(Path("out/best.onnx").exists())
        return result

    def ended_by_signals(self, process):
        # The first one may be on its way still, and would be one with the second.
        for _ in range(PATIENCE // 10):
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
            try:
                return process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                pass
        self.fail("it goes on")

    def test_in_next(self):
        result = self.interrupted(STRATEGIES + "tune(Next())")
        self.assertRegex(result["reason"], "^interrupted")
        self.assertEqual(result["trials"]["complete"], 1)

    def test_in_traverse_that_computes(self):
        self.interrupted(STRATEGIES + "tune(Way())")

    def test_in_run(self):
        self.interrupted(STRATEGIES + "grid(strategy=Run())")

    def test_in_a_sampler(self):
        result = self.interrupted(DECIDERS + "search(space=SPACE, sampler=Asked())")
        self.assertEqual(result["reason"], "interrupted")

    def test_in_a_stop_condition(self):
        self.interrupted(DECIDERS + "grid(stop=Stop())")

    def test_in_on_trial(self):
        self.interrupted(DECIDERS + "grid(on_trial=heard)")

    def test_in_an_evaluator(self):
        result = self.interrupted(DECIDERS + "grid(evaluator=score)")
        self.assertEqual(result["trials"]["failed"], 0, "what was interrupted waits")

    def test_in_evaluators_side_by_side(self):
        result = self.interrupted(DECIDERS + "grid(evaluator=score_too, on_trial=listen, n_jobs=2)")
        self.assertEqual(result["trials"]["failed"], 0, "what was interrupted waits")

    def test_in_several_evaluators_side_by_side(self):
        result = self.interrupted(DECIDERS + "grid(evaluator=score_too, on_trial=listen, n_jobs=4)")
        self.assertEqual(result["trials"]["failed"], 0)

    def test_in_a_loss(self):
        result = self.interrupted(DECIDERS + "tune('hawq_v2', tuning_criterion={'strategy_kwargs': {'hawq_v2_loss': Loss()}})")
        self.assertEqual(result["warnings"], [])

    def test_an_evaluator_under_a_strategy(self):
        class_of_its_own = STRATEGIES.replace("        spin()", "        tuner.explore({tuner.operators[0].name: 'float32'})")
        self.interrupted(class_of_its_own + DECIDERS + "tune(Way(), metric=None, evaluator=score)")

    def test_a_second_one_ends_at_once(self):
        lines = """
def stuck(path):
    calls.append(path)
    if len(calls) > 2:
        for word in (b"there\\n", b"first\\n"):
            try:
                os.write(1, word)
                while True:
                    time.sleep(0.05)
            except KeyboardInterrupt:
                pass
        raise KeyboardInterrupt
    return 1.0
calls = []
grid(evaluator=stuck)
"""
        process = self.start(lines)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline().strip(), "first", "Python's own way: what catches it goes on")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(out, "raised\nafter\n", err)

    def test_a_second_one_leaves_what_cannot_be_interrupted(self):
        lines = """
def stuck(path):
    calls.append(path)
    if len(calls) > 2:
        try:
            here()
            while True:
                time.sleep(0.05)
        except KeyboardInterrupt:
            if threading.current_thread() is threading.main_thread():
                os.write(1, b"heard\\n")
                raise
            time.sleep(36000)
    return 1.0
calls = []
grid(evaluator=stuck, n_jobs=3)
"""
        process = self.start(lines)
        for _ in range(2):  # one of the three in the main thread
            self.assertEqual(process.stdout.readline().strip(), "there")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.stdout.readline().strip(), "heard")
        out, err = self.ended_by_signals(process)
        self.assertTrue(out.endswith("raised\nafter\n"), out + err)
        self.assertEqual(process.returncode, 130, err)

    def test_searches_of_other_threads(self):
        found, where = [], []

        def score(path):
            where.append(threading.current_thread().name)
            return float(len(where))

        threads = [threading.Thread(target=lambda i=i: found.append(self.search(evaluator=score, output_dir=f"out{i}")), name=f"mine{i}") for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([one.status for one in found], ["ok", "ok"])
        self.assertEqual(set(where), {"mine0", "mine1"}, "a function runs in the thread that called search()")

    def test_the_end_of_the_program_ends_a_daemons_search(self):
        lines = DECIDERS + """
def slow(path):
    if not calls:
        os.write(1, b"there\\n")
    calls.append(path)
    time.sleep(0.05)
    return 1.0

def searches():
    for i in range(100):
        grid(evaluator=slow, output_dir=f"out{i}")

threading.Thread(target=searches, daemon=True).start()
while len(calls) < 3:  # the float model and a trial have been scored
    time.sleep(0.01)
"""
        process = self.start(lines)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual((out, process.returncode), ("after\n", 0), err)
        self.assertTrue(Path("out0/result.json").exists())

    def test_a_search_within_an_evaluator(self):
        def score(path):
            if not Path("inner").exists():
                self.search(evaluator=lambda path: 1.0, output_dir="inner")
            return 1.0

        self.assertEqual(self.search(evaluator=score, n_jobs=2).status, "ok")
        self.assertEqual(quasar.Study("inner").best_trial.value, 1.0)
