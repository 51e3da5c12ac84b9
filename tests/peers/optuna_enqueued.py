"""Trials that Optuna enqueues are run by a search that goes on with the study.

usage: optuna_enqueued.py DATABASE_URL STUDY_NAME enqueue|check
"""

import sys

import optuna

STATE = optuna.trial.TrialState
WAITING, COMPLETE, PRUNED = STATE.WAITING, STATE.COMPLETE, STATE.PRUNED


def enqueue(study):
    best = study.best_trial
    study.enqueue_trial({"weight_params_quant_granularity": "Tensor"}, user_attrs={"mine": "part"})
    study.enqueue_trial(best.params, user_attrs={"mine": "whole"})
    study.enqueue_trial({"weight_params_quant_granularity": "Nowhere"}, user_attrs={"mine": "nothing"})


def check(study):
    mine = {trial.user_attrs["mine"]: trial for trial in study.trials if "mine" in trial.user_attrs}
    if mine["part"].state not in (COMPLETE, PRUNED) or mine["part"].params["weight_params_quant_granularity"] != "Tensor":
        sys.exit(f"optuna_enqueued: {mine['part']}")
    if mine["whole"].state != COMPLETE or mine["whole"].params != study.best_trial.params:
        sys.exit(f"optuna_enqueued: {mine['whole']}")
    if mine["nothing"].state != WAITING:
        sys.exit(f"optuna_enqueued: {mine['nothing']}")
    if mine["whole"].value != study.best_value:
        sys.exit(f"optuna_enqueued: {mine['whole'].value}, expected {study.best_value}")


if __name__ == "__main__":
    url, name, what = sys.argv[1:]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    {"enqueue": enqueue, "check": check}[what](optuna.load_study(study_name=name, storage=url))
    print("optuna_enqueued:", what)
