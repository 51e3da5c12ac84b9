"""What the world does to searches, one function each: it says in words what came of it, or raises Failed."""
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

from bench import Skipped, check, check_finished, check_kept, check_whole, hear_trials, in_postgresql, in_sqlite, interrupted, message, small_disk

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
        if len(known) >= bench.trials - 5:  # it is nearly done: the next one begins anew
            code, said = bench.run(words_of())
            check_finished(bench, out, code, said, look())
            known, searches = {}, searches + 1
            renew(bench, out)
    code, said = bench.run(words_of())
    check_finished(bench, out, code, said, look())
    return f"{kills} kills, {among} of them among trials, in {searches} searches of {bench.trials}; no finished trial was lost or changed, every file is whole"


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


def disk_full(bench, options):
    with small_disk(bench, "small", "700k") as disk:
        out = os.path.join(disk, "out")
        code, said = bench.run(bench.words(out))
        check(code == 75, f"exit code {code}: {said[-300:]}")
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
        check(code == 75 and "No space left" in said, f"exit code {code}: {said[-300:]}")
        before = in_sqlite(study)
        check(all(state != "FAIL" for state, _, _ in before.values()), "the disk's failure became a trial's")
        subprocess.run(["mount", "-o", "remount,size=60m", disk], check=True)
        code, said_then = bench.run(words)
        now = in_sqlite(study)
        check_kept(before, now)
        check_finished(bench, out, code, said_then, now)
        return f"{len(before)} trials kept; `{message(said)}`"


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
    holder = sqlite3.connect(out + "/auto_search.db", timeout=1000)
    holder.execute("BEGIN IMMEDIATE")
    time.sleep(3)
    holder.rollback()  # within the time that it waits
    holder.execute("BEGIN IMMEDIATE")
    said = process.communicate()[0]  # beyond
    check(process.returncode == 75 and "locked" in said, f"exit code {process.returncode}: {said[-300:]}")
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
    for name in (path, out + "/result.json"):
        os.rename(name, name + ".away")
    for name in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.remove(path + name)
    code, said_then = bench.run(bench.words(out))
    check_finished(bench, out, code, said_then, in_sqlite(path))
    return f"`{message(said)}`; then a new search in the same folder works"


def evaluator_that(bench, name, does, timeout):
    """A program that scores its n-th model with n, after it has done something: as the value of search_evaluator."""
    script = bench.path(name + ".py")
    with open(script, "w") as file:
        file.write("import json, os, time\n"
                   f"count = {bench.path(name)!r}\n"
                   "n = len(open(count).read()) if os.path.exists(count) else 0\n"
                   "open(count, 'a').write('x')\n"
                   f"{does}\n"
                   "print(json.dumps({'score': n}))\n")
    return json.dumps({"command": [sys.executable, script, "{model}"], "timeout": timeout})


def out_of_memory(bench, options):
    out = bench.path("memory")
    evaluator = evaluator_that(bench, "greedy", "taken = bytearray(4 << 30 if n == 3 else 0)", timeout=1000)
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
    out = bench.path("hanging")
    evaluator = evaluator_that(bench, "slow", "time.sleep(36000 if n == 3 else 0)", timeout=10)
    code, said = bench.run(bench.words(out, "--set", "search_evaluator=" + evaluator, "--set", "n_trials=8"))
    check(code == 0, f"exit code {code}: {said[-300:]}")
    with contextlib.closing(sqlite3.connect(out + "/auto_search.db")) as connection:
        errors = [row[0] for row in connection.execute("SELECT value_json FROM trial_user_attributes WHERE key = 'error'")]
    check(len(errors) >= 1, "nothing failed")
    left = subprocess.run(["pgrep", "-f", bench.path("slow.py")], capture_output=True, text=True).stdout.split()
    check(not left, "the evaluator still runs")
    return f"one trial failed (`{json.loads(errors[0])[:80]}`), the others went on; no process is left"


def clock(bench, options):
    source, library = os.path.join(os.path.dirname(os.path.abspath(__file__)), "jumping_clock.c"), bench.path("clock.so")
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
