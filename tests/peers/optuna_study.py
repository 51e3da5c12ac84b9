"""Opens a study that Quasar wrote with Optuna itself.

usage: optuna_study.py DATABASE STUDY_NAME TRIALS BEST_VALUE

Fails when Optuna cannot load it, when the number of trials or the best value differs, or when what Optuna's users do with a study
(a data frame, importances, going on with its own sampler) does not work.
"""

import math
import sys
import tempfile
import shutil
import os

import optuna


def fail(message):
    sys.exit(f"optuna_study: {message}")


def check_trials(study, expected, best):
    if len(study.trials) != expected:
        fail(f"{len(study.trials)} trials, expected {expected}")
    if [t.number for t in study.trials] != list(range(expected)):
        fail("trial numbers have gaps")
    if not math.isclose(study.best_value, best, rel_tol=1e-12, abs_tol=1e-300):
        fail(f"best value {study.best_value!r}, expected {best!r}")
    if study.metric_names != ["L2"]:
        fail(f"metric names {study.metric_names}")
    for trial in study.trials:
        if trial.state == optuna.trial.TrialState.FAIL:
            continue
        for name, value in trial.params.items():
            if not trial.distributions[name]._contains(trial.distributions[name].to_internal_repr(value)):
                fail(f"trial {trial.number}: {name} = {value!r} is not in {trial.distributions[name]}")
        if trial.datetime_complete is not None and trial.duration.total_seconds() < 0:
            fail(f"trial {trial.number} ended before it began")


def check_uses(study):
    try:
        import pandas  # noqa: F401
    except ImportError:
        pass
    else:
        if len(study.trials_dataframe()) != len(study.trials):
            fail("trials_dataframe lost rows")
    finite = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE and all(map(math.isfinite, t.values))]
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return
    if len(finite) > 3 and len({t.value for t in finite}) > 1:
        optuna.importance.get_param_importances(study)


def check_continues(path, name):
    """On a copy, so that the study stays as it was."""
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.db")
        shutil.copy(path, copy)
        study = optuna.load_study(study_name=name, storage=f"sqlite:///{copy}", sampler=optuna.samplers.RandomSampler(seed=0))
        before = len(study.trials)
        last = study.trials[-1]
        trial = study.ask(fixed_distributions=last.distributions)
        study.tell(trial, 1e9)
        if len(study.trials) != before + 1:
            fail("Optuna could not add a trial")


def main():
    path, name, expected, best = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{path}")
    check_trials(study, expected, best)
    check_uses(study)
    check_continues(path, name)
    print(f"{name}: {expected} trials, best {study.best_value}")


main()
