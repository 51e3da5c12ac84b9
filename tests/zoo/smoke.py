"""One model of the zoo with real weights, as bench/zoo.py measures all: it loads, every job ends, and the search comes to a model of use that is
smaller, and whose answers are float's. Exit 77: neither PyPI nor a Python with venv is to be had.
usage: smoke.py QUASAR SOURCE_FOLDER BUILD_FOLDER"""
import json
import pathlib
import subprocess
import sys

NAME = "magika"  # 3 MB, Apache-2.0: what kind of file some bytes are of; its samples are made from files that are there anyway
JOBS = ["inspect", "channel", "dynamic8", "search", "dynamic"]
quasar, source, build = (pathlib.Path(word).resolve() for word in sys.argv[1:4])


def python():
    """-> that of an environment with what the zoo needs for this model"""
    found = build / "zoo-venv/bin/python"
    needs = [found, "-c", "import numpy, onnx, onnxruntime, PIL"]
    if not found.exists() or subprocess.run(needs, capture_output=True).returncode:
        made = subprocess.run([sys.executable, "-m", "venv", found.parent.parent], capture_output=True).returncode == 0
        if not made or subprocess.run([found, "-m", "pip", "install", "--quiet", "numpy", "onnx", "onnxruntime", "pillow"], capture_output=True).returncode:
            print("passed over: no Python with venv, or no packages from PyPI")
            sys.exit(77)
    return found


folder = build / "zoo"
zoo = [python(), source / "bench/zoo.py", quasar, folder, source.parent / "shared", "--only", NAME, "--jobs", *JOBS, "--limit", "600", "--set", "n_trials=6"]
done = subprocess.run(zoo, capture_output=True, text=True)
print(done.stdout[-6000:], done.stderr[-2000:])
if "cannot be made" in done.stdout:
    print("passed over: its package cannot be had")
    sys.exit(77)
assert done.returncode == 0, done.returncode
row = json.loads((folder / NAME / "row.json").read_text())
jobs = row["jobs"]
for name in JOBS:
    assert jobs[name]["code"] == 0, (name, jobs[name])
assert jobs["search"]["quality"] == "good" and jobs["search"]["trials"]["failed"] == 0, jobs["search"]
answers = {name: jobs[name]["task"] for name in JOBS if name != "inspect"}  # share of float's
assert answers["search"] >= max(0.9, answers["channel"]), answers
assert jobs["search"]["rel"] <= jobs["channel"]["rel"], (jobs["search"]["rel"], jobs["channel"]["rel"])
assert jobs["search"]["bytes"] < row["bytes"], (jobs["search"]["bytes"], row["bytes"])
print(answers)
