"""Asks optuna-dashboard's HTTP interface for a study and compares it with the search's result.json.

usage: dashboard.py URL RESULT_JSON
"""

import json
import math
import sys
import time
import urllib.error
import urllib.request


def fail(message):
    sys.exit(f"dashboard: {message}")


def get(url, patience=0.0):
    end = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(url, timeout=1000) as answer:
                return json.load(answer)
        except (urllib.error.URLError, ConnectionError) as error:
            if time.monotonic() > end:
                fail(f"{url}: {error}")
            time.sleep(0.2)


def main():
    base, result_file = sys.argv[1:]
    result = json.load(open(result_file))
    studies = get(base + "/api/studies", patience=1000)["study_summaries"]
    if [s["study_name"] for s in studies] != ["AutoSearch"]:
        fail(f"studies are {studies}")
    study = get(f"{base}/api/studies/{studies[0]['study_id']}?after=0")
    if study.get("objective_names") != ["L2"]:
        fail(f"objectives are called {study.get('objective_names')}")
    trials = study["trials"]
    counts = {}
    for trial in trials:
        counts[trial["state"]] = counts.get(trial["state"], 0) + 1
    if sum(n for state, n in counts.items() if state != "Waiting") != result["trials"]["requested"] or counts.get("Waiting") != 1:
        fail(f"states {counts}, but the search says {result['trials']}")
    values = [float(t["values"][0]) for t in trials if t["state"] == "Complete"]
    best = result["best"]["metrics"]["L2"]["value"]
    if not math.isclose(min(values), best, rel_tol=1e-12):
        fail(f"best value {min(values)}, expected {best}")
    for trial in trials:
        if not trial["params"]:
            fail(f"trial {trial['number']} has no parameters")
        if trial["state"] == "Complete" and not any(a["key"] == "plan_hash" for a in trial["user_attrs"]):
            fail(f"trial {trial['number']} has lost its attributes")
    if not study["union_search_space"]:
        fail("the search space is empty")
    if not any(t["intermediate_values"] for t in trials):
        fail("no trial has intermediate values")
    print(f"optuna-dashboard: {len(trials)} trials, {counts}, best {best:.6g}")


main()
