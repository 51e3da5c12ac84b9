"""Does to searches what the world does: kills, full and read-only disks, locked, lost and damaged databases, hanging evaluators, memory
that runs out, clocks that jump. After each: no finished trial lost or changed, no half-written file, the search continues, and the message says what to do.

usage: run.py QUASAR SOURCE [--kills N] [--only NAME...] [--table FILE]
  --kills N      kill -9 so often in all, half of them on SQLite, half on PostgreSQL (default 200)
  --only NAME    just these faults
  --table FILE   writes the table between the marks of this Markdown file
Exit code: 0 all held, 1 something did not, 77 nothing could be tried.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import server as postgresql  # noqa: E402

TRIALS = 40
CONFIG = """
model_input: {digits}/digits.onnx
calib_data_reader: {digits}/calibration.npz
eval_data_reader: {digits}/evaluation.npz
n_trials: 40
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

    def __init__(self, quasar, source):
        self.quasar, self.source = quasar, source
        self.folder = tempfile.mkdtemp(prefix="quasar-faults-")
        self.config = self.path("search.yaml")
        with open(self.config, "w") as file:
            file.write(CONFIG.format(digits=os.path.join(source, "examples/digits")))
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

    def run(self, words, env=None, seconds=300):
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
    with contextlib.closing(sqlite3.connect(path, timeout=20)) as connection:
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


def check_finished(bench, out, code, said, now, trials=TRIALS):
    check(code == 0, f"continuing ended with {code}: {said[-300:]}")
    check(len(now) >= trials, f"{len(now)} of {trials} trials")
    check(all(state != "FAIL" for state, _, _ in now.values()), "a trial failed")
    check(not any(".part" in name for name in os.listdir(out)), "a half-written file was left")
    check_whole(out)
    said = subprocess.run([bench.quasar, "evaluate", os.path.join(out, "best.onnx"), "--data", os.path.join(bench.source, "examples/digits/evaluation.npz"),
                           "--reference", os.path.join(bench.source, "examples/digits/digits.onnx"), "--metric", "L2"], capture_output=True, text=True)
    check(said.returncode == 0, "best.onnx does not run: " + said.stderr)


def hear_trials(process, count):
    """Returns when the process has said so many trials, or has ended."""
    for line in process.stdout:
        count -= line.startswith("trial ")
        if count <= 0:
            return


def killed(bench, out, words_of, look, kills, workers_of=None):
    """Kills the search, and every second time one of its workers with it, until `kills` is reached: some before their first trial, most
    among their trials. Then lets it end."""
    rng = random.Random(kills)
    known, searches, among = {}, 1, 0
    for i in range(kills):
        processes = [bench.start(words_of())] + ([bench.start(workers_of())] if workers_of and i % 2 else [])
        if rng.random() < 0.75:
            hear_trials(processes[0], rng.randint(1, 4))
            among += 1
        time.sleep(rng.uniform(0, 0.1))
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        now = look()
        check_kept(known, now)
        known = now
        if os.path.isdir(out):
            check_whole(out)
        if len(known) >= TRIALS - 5:  # it is nearly done: the next one begins anew
            code, said = bench.run(words_of())
            check_finished(bench, out, code, said, look())
            known, searches = {}, searches + 1
            renew(bench, out)
    code, said = bench.run(words_of())
    check_finished(bench, out, code, said, look())
    return f"{kills} kills, {among} of them among trials, in {searches} searches of {TRIALS}; no finished trial was lost or changed, every file is whole"


def renew(bench, out):
    shutil.rmtree(out)
    if bench.server and out.endswith("-pg"):
        for (name,) in bench.server.query("SELECT datname FROM pg_database WHERE datname = 'kills'"):
            bench.server.query(f"DROP DATABASE {name} WITH (FORCE)")
            bench.server.query(f"CREATE DATABASE {name}")


def kill_on_sqlite(bench, options):
    out = bench.path("kills")
    return killed(bench, out, lambda: bench.words(out), lambda: in_sqlite(out + "/auto_search.db"), max(1, options.kills // 2))


def kill_on_postgresql(bench, options):
    url, out = bench.database("kills"), bench.path("kills-pg")
    worker = [bench.quasar, "worker", "--storage", url, bench.config]
    return killed(bench, out, lambda: bench.words(out, "--set", "storage=" + url), lambda: in_postgresql(bench, "kills"), max(1, options.kills // 2),
                  lambda: worker)


def interrupted(bench, words, trials):
    """Starts a search and returns it when it has said so many trials."""
    process = bench.start(words)
    for line in process.stdout:
        if line.startswith("trial "):
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


def disk_full(bench, options):
    with small_disk(bench, "small", "700k") as disk:
        out = os.path.join(disk, "out")
        code, said = bench.run(bench.words(out))
        check(code == 1, f"exit code {code}: {said[-300:]}")
        check("No space left" in said or "full" in said, "the message does not speak of space: " + said[-300:])
        check_whole(out)
        before = in_sqlite(out + "/auto_search.db")
        subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)
        code, said_then = bench.run(bench.words(out))
        now = in_sqlite(out + "/auto_search.db")
        check_kept(before, now)
        check_finished(bench, out, code, said_then, now)
        return f"{len(before)} trials kept; `{message(said)}`"


def disk_full_of_models(bench, options):
    """The study is elsewhere, and has room: the models of keep_models have none."""
    with small_disk(bench, "models", "700k") as disk:
        out, study = os.path.join(disk, "out"), bench.path("models.db")
        words = bench.words(out, "--set", "storage=sqlite:///" + study, "--set", "keep_models=all")
        code, said = bench.run(words)
        check(code == 1 and "No space left" in said, f"exit code {code}: {said[-300:]}")
        before = in_sqlite(study)
        check(all(state != "FAIL" for state, _, _ in before.values()), "the disk's failure became a trial's")
        subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)
        code, said_then = bench.run(words)
        now = in_sqlite(study)
        check_kept(before, now)
        check_finished(bench, out, code, said_then, now)
        return f"{len(before)} trials kept; `{message(said)}`"


def message(said):
    lines = [line for line in said.splitlines() if line.startswith("quasar: ")]
    text = lines[-1][8:] if lines else ""
    for place in (tempfile.gettempdir(),):
        text = " ".join(word if place not in word else "…/" + os.path.basename(word.strip("',:;")) + word[len(word.rstrip("',:;")):] for word in text.split(" "))
    return text


def read_only(bench, options):
    with small_disk(bench, "readonly", "60m") as disk:
        out = os.path.join(disk, "out")
        process = interrupted(bench, bench.words(out), 5)
        process.send_signal(signal.SIGINT)
        process.communicate()
        before = in_sqlite(out + "/auto_search.db")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        code, said = bench.run(bench.words(out))
        check(code == 1 and "ead-only" in said, f"exit code {code}: {said[-300:]}")
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        check_kept(before, in_sqlite(out + "/auto_search.db"))
        code, said_then = bench.run(bench.words(out))
        check_finished(bench, out, code, said_then, in_sqlite(out + "/auto_search.db"))
        return f"{len(before)} trials kept; `{message(said)}`"


def locked(bench, options):
    out = bench.path("locked")
    process = interrupted(bench, bench.words(out), 3)
    holder = sqlite3.connect(out + "/auto_search.db", timeout=20)
    holder.execute("BEGIN IMMEDIATE")
    time.sleep(3)
    holder.rollback()  # within the time that it waits
    holder.execute("BEGIN IMMEDIATE")
    time.sleep(14)  # beyond
    said = process.communicate()[0]
    check(process.returncode == 1 and "locked" in said, f"exit code {process.returncode}: {said[-300:]}")
    holder.rollback()
    holder.close()
    before = in_sqlite(out + "/auto_search.db")
    code, said_then = bench.run(bench.words(out))
    now = in_sqlite(out + "/auto_search.db")
    check_kept(before, now)
    check_finished(bench, out, code, said_then, now)
    return f"3 s are waited for; beyond 10 s `{message(said)}`; {len(before)} trials kept"


def server_gone(bench, options):
    url, out = bench.database("gone"), bench.path("gone")
    process = interrupted(bench, bench.words(out, "--set", "storage=" + url), 5)
    for how in (signal.SIGQUIT, signal.SIGINT):  # a crash, a restart
        bench.server.stop(how)
        time.sleep(2)
        bench.server.start()
        time.sleep(0.5)
    said = process.communicate()[0]
    check_finished(bench, out, process.returncode, said, in_postgresql(bench, "gone"))
    return "crashed once and restarted once: the search goes on by itself"


def corrupt(bench, options):
    out = bench.path("corrupt")
    code, said = bench.run(bench.words(out))
    check(code == 0, said[-300:])
    path = out + "/auto_search.db"
    with open(path, "r+b") as file:
        for place in range(0, os.path.getsize(path), 512):
            file.seek(place)
            file.write(b"damaged " * 16)
    code, said = bench.run(bench.words(out))
    check(code == 1 and "move it away" in said, f"exit code {code}: {said[-300:]}")
    os.rename(path, path + ".away")
    for name in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + name)
    code, said_then = bench.run(bench.words(out))
    check_finished(bench, out, code, said_then, in_sqlite(path))
    return f"`{message(said)}`; a new search in the same folder works"


def out_of_memory(bench, options):
    out, script = bench.path("memory"), bench.path("greedy.py")
    with open(script, "w") as file:
        file.write("import json, os\n"
                   f"count = {bench.path('greedy')!r}\n"
                   "n = len(open(count).read()) if os.path.exists(count) else 0\n"
                   "open(count, 'a').write('x')\n"
                   "taken = bytearray(4 << 30 if n == 3 else 0)\n"
                   "print(json.dumps({'score': n}))\n")
    evaluator = json.dumps({"command": [sys.executable, script, "{model}"], "timeout": 60})
    code, said = bench.run(bench.words(out, "--set", "trial_memory_limit=500000000", "--set", "search_evaluator=" + evaluator, "--set", "n_trials=8"))
    check(code in (0, 2), f"exit code {code}: {said[-300:]}")
    with contextlib.closing(sqlite3.connect(out + "/auto_search.db")) as connection:
        failed = connection.execute("SELECT COUNT(*) FROM trials WHERE state = 'FAIL'").fetchone()[0]
        told = connection.execute("SELECT COUNT(*) FROM trial_user_attributes WHERE value_json LIKE '%MemoryError%'").fetchone()[0]
    check(failed == 1, f"{failed} trials failed")
    check(told > 0, "the failed trial does not speak of memory")
    check(os.path.exists(out + "/best.onnx"), "no best.onnx")
    return f"trial_memory_limit of 500 MB, 4 GB wanted: one trial failed and says so, the search ended with {code}"


def hanging(bench, options):
    out, script = bench.path("hanging"), bench.path("score.py")
    with open(script, "w") as file:
        file.write("import json, os, sys, time\n"
                   f"count = {bench.path('count')!r}\n"
                   "n = len(open(count).read()) if os.path.exists(count) else 0\n"
                   "open(count, 'a').write('x')\n"
                   "time.sleep(1000 if n == 3 else 0)\n"
                   "print(json.dumps({'score': n}))\n")
    evaluator = json.dumps({"command": [sys.executable, script, "{model}"], "timeout": 3})
    code, said = bench.run(bench.words(out, "--set", "search_evaluator=" + evaluator, "--set", "n_trials=8"))
    check(code == 0, f"exit code {code}: {said[-300:]}")
    with contextlib.closing(sqlite3.connect(out + "/auto_search.db")) as connection:
        errors = [row[0] for row in connection.execute("SELECT value_json FROM trial_user_attributes WHERE key = 'error'")]
    check(len(errors) >= 1, "nothing failed")
    left = subprocess.run(["pgrep", "-f", script], capture_output=True, text=True).stdout.split()
    check(not left, "the evaluator still runs")
    return f"one trial failed (`{json.loads(errors[0])[:80]}`), the others went on; no process is left"


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <sys/time.h>
/* The wall clock jumps by up to a day, both ways, ten times a second; the steady clock does not. */
static long jump(void) {
  struct timespec now;
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  real(CLOCK_MONOTONIC, &now);
  unsigned long x = (unsigned long)now.tv_sec * 10 + now.tv_nsec / 100000000;
  x ^= x << 13; x ^= x >> 7; x ^= x << 17;
  return (long)(x % 172800) - 86400;
}
int clock_gettime(clockid_t id, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
  int code = real(id, out);
  if (id == CLOCK_REALTIME) out->tv_sec += jump();
  return code;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
int gettimeofday(struct timeval* out, void* zone) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}
"""


def clock(bench, options):
    source, library = bench.path("clock.c"), bench.path("clock.so")
    with open(source, "w") as file:
        file.write(CLOCK)
    if shutil.which("cc") is None or subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], capture_output=True).returncode != 0:
        raise Skipped("no C compiler")
    jumping = {"LD_PRELOAD": library}
    url, out = bench.database("clock"), bench.path("clock")
    leader = bench.start(bench.words(out, "--set", "storage=" + url, "--set", "search_stop_condition.time_limit=200"), jumping)
    worker = bench.start([bench.quasar, "worker", "--storage", url, bench.config, "--wait", "30", "--set", "search_stop_condition.time_limit=200"], jumping)
    said, other = leader.communicate()[0], worker.communicate()[0]
    check(leader.returncode == 0, f"the search ended with {leader.returncode}: {said[-300:]}")
    check(worker.returncode == 0, f"the worker ended with {worker.returncode}: {other[-300:]}")
    check_finished(bench, out, leader.returncode, said, in_postgresql(bench, "clock"))
    retried = bench.server.query("SELECT COUNT(*) FROM trial_system_attributes WHERE key = 'retries'", "clock")[0][0]
    check(retried == "0", f"{retried} trials were taken for dead")
    return "the wall clock of search and worker jumps by up to a day ten times a second: no limit is hit, nobody is taken for dead"


FAULTS = {
    "kill -9, SQLite": kill_on_sqlite,
    "kill -9, PostgreSQL, half with a worker": kill_on_postgresql,
    "disk full": disk_full,
    "disk full of models": disk_full_of_models,
    "output read-only": read_only,
    "database locked": locked,
    "server gone and back": server_gone,
    "study damaged": corrupt,
    "out of memory in a trial": out_of_memory,
    "evaluator hangs": hanging,
    "clock jumps": clock,
}
BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("quasar")
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--table")
    options = parser.parse_args()
    rows, bad, tried = [], 0, 0
    bench = Bench(os.path.abspath(options.quasar), os.path.abspath(options.source))
    try:
        for name, fault in FAULTS.items():
            if options.only and not any(word in name for word in options.only):
                continue
            begin = time.monotonic()
            try:
                result, held = fault(bench, options), "yes"
                tried += 1
            except Skipped as why:
                result, held = f"not tried: {why}", "–"
            except Failed as why:
                result, held, bad, tried = str(why), "**no**", bad + 1, tried + 1
            rows.append(f"| {name} | {held} | {result} |")
            print(f"{rows[-1]} {time.monotonic() - begin:.0f} s", flush=True)
    finally:
        bench.close()
    if options.table:
        with open(options.table) as file:
            text = file.read()
        head, rest = text.split(BEGIN)
        table = "\n".join(["| fault | holds | what happens |", "| --- | --- | --- |", *rows])
        with open(options.table, "w") as file:
            file.write(head + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1])
    sys.exit(1 if bad else 0 if tried else 77)


main()
