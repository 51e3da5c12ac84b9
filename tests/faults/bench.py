"""What faults need: the program, a search that is asked for, its study, and what must hold after each fault."""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile

import server as postgresql

CONFIG = """
model_input: {digits}/digits.onnx
calib_data_reader: {{reader: npz, path: {digits}/calibration.npz, limit: 40}}
eval_data_reader: {{reader: npz, path: {digits}/evaluation.npz, limit: 200}}
n_trials: {trials}
seed: 5
pruner: none
heartbeat_interval: 0.2
grace_period: 0.6
max_retry: 1000
search_space:
  activation: [UInt8Spec, Int8Spec]
  activation_params: {{symmetric: [true, false], calibration_method: [MinMax, Percentile, Entropy], only_if: activation}}
  weight: [Int8Spec]
  weight_params: {{quant_granularity: [Tensor, Channel], only_if: weight}}
  algorithms: [null, adaround]
  adaround_params:
    num_iterations: {{type: int, low: 1, high: 8}}
    damping: {{type: float, low: 0.1, high: 10, log: true}}
    only_if: {{algorithms: adaround}}
"""


class Failed(Exception):
    """What should hold does not."""


class Skipped(Exception):
    """It cannot be tried on this machine."""


def check(condition, what):
    if not condition:
        raise Failed(what)


class Bench:
    """A folder, the program, and what it is asked."""

    def __init__(self, quasar, source, trials):
        self.quasar, self.source, self.trials = quasar, source, trials
        self.folder = tempfile.mkdtemp(prefix="quasar-faults-")
        self.config = self.path("search.yaml")
        with open(self.config, "w") as file:
            file.write(CONFIG.format(digits=os.path.join(source, "examples/digits"), trials=trials))
        self.server = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def close(self):
        if self.server:
            self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self, name):
        """A fresh database on a server that is started when it is first needed."""
        if self.server is None:
            try:
                self.server = postgresql.Server()
            except RuntimeError as error:
                raise Skipped(str(error))
        self.server.query(f"CREATE DATABASE {name}")
        return self.server.url(name)

    def words(self, out, *more):
        return [self.quasar, "search", self.config, "--output-dir", out, "--resume", *more]

    def start(self, words, env=None):
        return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env={**os.environ, **(env or {})})

    def run(self, words, env=None, seconds=1500):
        """-> exit code and everything that it said."""
        process = self.start(words, env)
        try:
            said = process.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            process.kill()
            raise Failed("it hangs: " + process.communicate()[0][-300:])
        return process.returncode, said


def finished(rows):
    """What a finished trial is known by: number -> state, value, plan."""
    return {int(number): (state, value, plan) for number, state, value, plan in rows}


FINISHED = """SELECT t.number, t.state, v.value, a.value_json FROM trials t LEFT JOIN trial_values v ON v.trial_id = t.trial_id
LEFT JOIN trial_user_attributes a ON a.trial_id = t.trial_id AND a.key = 'plan_hash'
WHERE t.state IN ('COMPLETE', 'PRUNED', 'FAIL') ORDER BY t.number"""


def in_sqlite(path):
    if not os.path.exists(path):
        return {}
    with contextlib.closing(sqlite3.connect(path, timeout=1000)) as connection:
        try:
            return finished(connection.execute(FINISHED).fetchall())
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return {}
            raise


def in_postgresql(bench, database):
    try:
        return finished(bench.server.query(FINISHED, database))
    except subprocess.CalledProcessError as error:
        if "does not exist" in error.stderr:
            return {}
        raise


def check_kept(before, now):
    for number, facts in before.items():
        check(number in now, f"trial {number} was lost")
        check(now[number] == facts, f"trial {number} was changed from {facts} to {now[number]}")


def check_whole(out):
    """Whatever lies in the folder can be read."""
    for name in os.listdir(out):
        path = os.path.join(out, name)
        if name.endswith(".json"):
            with open(path) as file:
                json.load(file)
        if name == "report.html":
            with open(path) as file:
                check(file.read().rstrip().endswith("</html>"), "report.html is cut off")


def check_finished(bench, out, code, said, now):
    check(code == 0, f"continuing ended with {code}: {said[-300:]}")
    check(len(now) >= bench.trials, f"{len(now)} of {bench.trials} trials")
    check(all(state != "FAIL" for state, _, _ in now.values()), "a trial failed")
    check(not any(".part" in name for name in os.listdir(out)), "a half-written file was left")
    check_whole(out)
    said = subprocess.run([bench.quasar, "evaluate", os.path.join(out, "best.onnx"), "--data", os.path.join(bench.source, "examples/digits/evaluation.npz"),
                           "--reference", os.path.join(bench.source, "examples/digits/digits.onnx"), "--metric", "L2"], capture_output=True, text=True)
    check(said.returncode == 0, "best.onnx does not run: " + said.stderr)


def tells_a_trial(line):
    """Of a search that shares its database the line begins with the process's name."""
    return re.match(r"(process \d+ on \S+: )?trial ", line) is not None


def hear_trials(process, count):
    """Returns when the process has said so many trials, or has ended."""
    for line in process.stdout:
        count -= tells_a_trial(line)
        if count <= 0:
            return


def interrupted(bench, words, trials):
    """Starts a search and returns it when it has said so many trials."""
    process = bench.start(words)
    for line in process.stdout:
        if tells_a_trial(line):
            trials -= 1
        if trials == 0:
            return process
    raise Failed(f"the search ended at once ({process.wait()})")


@contextlib.contextmanager
def small_disk(bench, name, size):
    place = bench.path(name)
    os.makedirs(place)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True).returncode != 0:
        raise Skipped("a small file system needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True)


def message(said):
    lines = [line for line in said.splitlines() if line.startswith("quasar: ")]
    text = lines[-1][8:] if lines else ""
    for place in (tempfile.gettempdir(),):
        text = " ".join(word if place not in word else "…/" + os.path.basename(word.strip("',:;")) + word[len(word.rstrip("',:;")):] for word in text.split(" "))
    return text
