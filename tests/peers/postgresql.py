"""Quasar and Optuna on the same PostgreSQL database.

usage: postgresql.py QUASAR SOURCE_FOLDER
"""

import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import server as postgresql  # noqa: E402

import warnings  # noqa: E402

import optuna  # noqa: E402
import optuna_enqueued  # noqa: E402

warnings.simplefilter("ignore")

quasar, source = sys.argv[1], sys.argv[2]
optuna.logging.set_verbosity(optuna.logging.ERROR)


def optunas(url):
    """SQLAlchemy wants to know the driver."""
    return url.replace("postgresql://", "postgresql+psycopg2://")


def fail(message):
    sys.exit(f"postgresql: {message}")


def search(url, out, *more):
    done = subprocess.run([quasar, "search", os.path.join(source, "examples/digits/search.yaml"), "--set", "storage=" + url, "--output-dir", out, *more],
                          capture_output=True, text=True)
    if done.returncode != 0:
        fail(done.stderr)
    with open(os.path.join(out, "result.json")) as file:
        return json.load(file)


def main():
    try:
        server = postgresql.Server()
    except RuntimeError as why:
        print(why)
        sys.exit(77)
    try:
        with tempfile.TemporaryDirectory() as folder:
            # Quasar's tables, read and continued by Optuna.
            server.query("CREATE DATABASE ours")
            result = search(server.url("ours"), folder + "/ours")
            storage = optuna.storages.RDBStorage(optunas(server.url("ours")), heartbeat_interval=1)
            study = optuna.load_study(study_name="AutoSearch", storage=storage)
            if len(study.trials) != result["trials"]["requested"]:
                fail(f"{len(study.trials)} trials, expected {result['trials']['requested']}")
            if study.best_value != result["best"]["metrics"]["L2"]["value"]:
                fail(f"best value {study.best_value!r}")
            trial = study.ask(fixed_distributions=study.trials[-1].distributions)
            study.tell(trial, 1e9)
            if trial.number != len(study.trials) - 1:
                fail("Optuna's trial has another number")
            resumed = search(server.url("ours"), folder + "/ours", "--resume")
            if resumed["best"]["trial"] != result["best"]["trial"]:
                fail("the best trial is another one after Optuna's")
            # What Optuna enqueues runs.
            optuna_enqueued.enqueue(study)
            search(server.url("ours"), folder + "/ours", "--resume", "--set", "n_trials=30")
            optuna_enqueued.check(study)
            # Optuna's tables, used by Quasar.
            server.query("CREATE DATABASE theirs")
            optuna.create_study(study_name="another", storage=optunas(server.url("theirs")))
            again = search(server.url("theirs"), folder + "/theirs")
            if again["trials"]["requested"] != result["trials"]["requested"]:
                fail("Quasar finds another number of trials in Optuna's tables")
            names = sorted(s.study_name for s in optuna.get_all_study_summaries(optunas(server.url("theirs"))))
            if names != ["AutoSearch", "another"]:
                fail(f"studies {names}")
            # Both make the same columns and constraints.
            columns = """SELECT table_name, column_name, data_type, udt_name, is_nullable, character_maximum_length FROM information_schema.columns
                         WHERE table_schema = 'public' ORDER BY 1, ordinal_position"""
            enums = "SELECT t.typname, e.enumlabel FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid ORDER BY 1, e.enumsortorder"
            keys = """SELECT conrelid::regclass, contype, pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
                      ORDER BY 1, 2, 3"""
            for what in (columns, enums, keys):
                ours, theirs = sorted(server.query(what, "ours")), sorted(server.query(what, "theirs"))
                if ours != theirs:
                    fail(f"the tables differ: {[row for row in ours if row not in theirs]} and {[row for row in theirs if row not in ours]}")
            # Files that Quasar keeps beside Optuna's tables do not hold its studies.
            if server.query("SELECT COUNT(*) FROM quasar_files", "ours") == server.query("SELECT 0", "ours"):
                fail("the study keeps no files")
            told = f"{len(study.trials)} trials, best {study.best_value}; tables equal"
            optuna.delete_study(study_name="AutoSearch", storage=optunas(server.url("ours")))
            if server.query("SELECT COUNT(*) FROM quasar_files", "ours") != server.query("SELECT 0", "ours"):
                fail("files stay behind a study that Optuna has deleted")
            print(told)
    finally:
        server.close()


main()
