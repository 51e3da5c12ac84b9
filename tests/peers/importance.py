"""The parameter importance in a report beside Optuna's fANOVA and PED-ANOVA on the same study.

usage: importance.py REPORT.html DATABASE STUDY_NAME

Prints all three side by side. Optuna looks at parameters that every trial has only, so shares are those among them. Fails when the
greatest differs from fANOVA's, or a share by more than a tenth: both are forests with random parts, and Optuna treats every choice
as a column of its own. PED-ANOVA asks another question (what tells the best tenth of the trials from all), so it is shown and not
compared.
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


def by(evaluator):
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


fanova = by(optuna.importance.FanovaImportanceEvaluator(n_trees=64, seed=0))
pedanova = by(optuna.importance.PedAnovaImportanceEvaluator())
total = sum(ours.get(one, 0) for one in fanova) or 1
print(f"{len(study.trials)} trials")
print(f"{'parameter':44}{'Quasar':>9}{'fANOVA':>9}{'PED-ANOVA':>11}")
for parameter in sorted(fanova, key=lambda one: -fanova[one]):
    print(f"{parameter:44}{ours.get(parameter, 0) / total:9.4f}{fanova[parameter]:9.4f}{pedanova.get(parameter, 0):11.4f}")
for parameter in sorted(set(ours) - set(fanova)):
    print(f"{parameter:44}{ours[parameter]:9.4f}{'–':>9}{'–':>11}   of all; not in every trial")
if max(fanova, key=lambda one: ours.get(one, 0)) != max(fanova, key=fanova.get):
    sys.exit("the most important parameter differs")
worst = max(abs(ours.get(one, 0) / total - share) for one, share in fanova.items())
print(f"the greatest difference to fANOVA: {worst:.4f}")
if worst > 0.1:
    sys.exit(f"a share differs by {worst:.3f}")
