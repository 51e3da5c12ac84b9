"""Compares the parameter importance in a report with Optuna's fANOVA on the same study.

usage: importance.py REPORT.html DATABASE STUDY_NAME

Prints both side by side. Fails when the greatest differs, or a share by more than a tenth: both are forests with random parts, and
Optuna treats every choice as a column of its own.
"""

import json
import re
import sys
from pathlib import Path

import optuna

page, database, name = sys.argv[1:]
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', Path(page).read_text(), re.S).group(1))
ours = {item["name"]: item["share"] for item in data["searches"][0]["importance"]}
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(study_name=name, storage=f"sqlite:///{database}")
theirs = optuna.importance.get_param_importances(study, evaluator=optuna.importance.FanovaImportanceEvaluator(seed=0))
print(f"{'parameter':44}{'Quasar':>9}{'Optuna':>9}")
for parameter in sorted(set(ours) | set(theirs), key=lambda one: -ours.get(one, 0)):
    print(f"{parameter:44}{ours.get(parameter, 0):9.4f}{theirs.get(parameter, 0):9.4f}")
if max(ours, key=ours.get) != max(theirs, key=theirs.get):
    sys.exit("the most important parameter differs")
worst = max(abs(ours.get(one, 0) - share) for one, share in theirs.items())
if worst > 0.1:
    sys.exit(f"a share differs by {worst:.3f}")
