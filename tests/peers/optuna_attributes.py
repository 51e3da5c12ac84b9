"""What Optuna's users note of a study that Quasar wrote, NaN and Infinity too, is read by Quasar and stays as it is.

usage: optuna_attributes.py DATABASE STUDY_NAME store|check

Fails in `check`, after Quasar has gone on with the study, when something of what `store` stored is no longer there.
"""

import math
import sys

import optuna

ODD = {"x": math.nan, "y": [math.inf, -math.inf, "NaN"]}


def store(study, url):
    study.set_user_attr("odd", ODD)
    trial = study.ask(fixed_distributions=study.trials[-1].distributions)
    trial.set_user_attr("odd", ODD)
    trial.set_user_attr("metrics", {"L2": math.nan})
    trial.storage.set_trial_system_attr(trial._trial_id, "completed_rung_0", math.inf)  # as pruners of Optuna do
    trial.storage.set_trial_system_attr(trial._trial_id, "constraints", [-math.inf])
    study.tell(trial, 1e9)
    other = optuna.create_study(study_name="another", storage=url)
    other.set_user_attr("odd", math.nan)
    other.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)


def check(study, url):
    odd = [trial for trial in study.trials if "odd" in trial.user_attrs]
    other = optuna.load_study(study_name="another", storage=url)
    found = [repr(study.user_attrs["odd"]), repr(other.user_attrs)]
    for trial in odd:
        found += [repr(sorted(trial.user_attrs.items())), repr(trial.system_attrs["completed_rung_0"]), repr(trial.system_attrs["constraints"])]
    wanted = [repr(ODD), repr({"odd": math.nan}), repr([("metrics", {"L2": math.nan}), ("odd", ODD)]), "inf", "[-inf]"]
    if sorted(found) != sorted(wanted):
        sys.exit(f"optuna_attributes: {found}, expected {wanted}")
    print(f"{study.study_name}: {len(study.trials)} trials, and what Optuna noted is there")


def main():
    path, name, what = sys.argv[1:]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    url = f"sqlite:///{path}"
    {"store": store, "check": check}[what](optuna.load_study(study_name=name, storage=url), url)


main()
