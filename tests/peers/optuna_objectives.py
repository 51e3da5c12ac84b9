"""Opens a study with several objectives that Quasar wrote with Optuna itself.

usage: optuna_objectives.py DATABASE STUDY_NAME RESULT.json

Fails when directions, values, constraints or the Pareto front are others for Optuna, and when what its users do with such a study
(a data frame, importances, plots, going on with its own samplers) does not work.
"""

import importlib.util
import json
import os
import shutil
import sys
import tempfile

import optuna


def fail(message):
    sys.exit(f"optuna_objectives: {message}")


def values_of(trial, objectives):
    return tuple(round(trial.values[i], 12) for i in range(len(objectives)))


def check_front(study, result):
    objectives = result["objectives"]
    if [d.name.lower() for d in study.directions] != [o["direction"] for o in objectives]:
        fail(f"directions {study.directions}, expected {objectives}")
    if study.metric_names != [o["name"] for o in objectives]:
        fail(f"metric names {study.metric_names}, expected {objectives}")
    ours = {tuple(round(t["values"][o["name"]], 12) for o in objectives) for t in result["front"]}
    theirs = {values_of(t, objectives) for t in study.best_trials}
    if ours != theirs:
        fail(f"the Pareto front is {sorted(theirs)}, expected {sorted(ours)}")
    for trial in study.trials:
        if trial.state == optuna.trial.TrialState.COMPLETE and len(trial.system_attrs.get("constraints", [])) != len(result["constraints"]):
            fail(f"trial {trial.number} has constraints {trial.system_attrs}")


def check_uses(study):
    if importlib.util.find_spec("pandas"):
        frame = study.trials_dataframe()
        if len(frame) != len(study.trials) or f"values_{study.metric_names[1]}" not in frame:
            fail("trials_dataframe lost rows or values")
    if importlib.util.find_spec("sklearn"):
        optuna.importance.get_param_importances(study, target=lambda t: t.values[0])
    if importlib.util.find_spec("plotly"):
        optuna.visualization.plot_pareto_front(study)
        optuna.visualization.plot_optimization_history(study, target=lambda t: t.values[1])


def check_continues(path, name):
    for sampler in (optuna.samplers.TPESampler(seed=0, constraints_func=lambda t: [0.0]), optuna.samplers.NSGAIISampler(seed=0)):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "copy.db")
            shutil.copy(path, copy)
            study = optuna.load_study(study_name=name, storage=f"sqlite:///{copy}", sampler=sampler)
            complete = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
            trial = study.ask(fixed_distributions=complete[0].distributions)
            study.tell(trial, complete[0].values)


def main():
    path, name = sys.argv[1], sys.argv[2]
    result = json.load(open(sys.argv[3]))
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.load_study(study_name=name, storage=f"sqlite:///{path}")
    check_front(study, result)
    check_uses(study)
    check_continues(path, name)
    print(f"{name}: {len(study.trials)} trials, {len(result['front'])} on the Pareto front")


main()
