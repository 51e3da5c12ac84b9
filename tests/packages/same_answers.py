"""Whether two folders in which tour.sh and first_search.py ran, on different processors, hold the same answers: the same choices, and figures
that differ by a thousandth at most. What was measured by the clock is not compared.
usage: same_answers.py FOLDER FOLDER
"""
import json
import math
import sys
from pathlib import Path

MOST = 1e-3


def flat(value, name):
    """(name, number or word) of everything in a JSON value."""
    if isinstance(value, (dict, list)):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from flat(part, f"{name} {key}")
    else:
        yield name, value


def answers(folder):
    found = json.loads((folder / "out/result.json").read_text())
    parts = {"found": {key: found[key] for key in ("status", "quality")}, "trials": {key: found["trials"][key] for key in ("requested", "duplicate", "failed")},
             "best": {key: found["best"][key] for key in ("trial", "params", "metrics", "holdout", "bytes", "operators", "layers")}}
    for file in ("scores.json", "python_scores.json"):
        scores = json.loads((folder / file).read_text())
        parts[file] = {name: {key: score[key] for key in ("value", "low", "high", "samples")} for name, score in scores["metrics"].items()}
    return dict(flat(parts, ""))


def difference(one, other):
    """Relative to the larger one; infinite where words differ."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) / max(abs(one), abs(other), 1e-30)
    return 0.0 if one == other else math.inf


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    one, other = (answers(Path(folder)) for folder in sys.argv[1:])
    if one.keys() != other.keys():
        sys.exit(f"one has no counterpart: {', '.join(sorted(one.keys() ^ other.keys()))}")
    by_size = sorted(((difference(one[name], other[name]), name) for name in one), reverse=True)
    for size, name in by_size[:5]:
        print(f"{size:.2e} {name.strip()}: {one[name]} and {other[name]}")
    wrong = sum(size > MOST for size, _ in by_size)
    print(f"{len(by_size) - wrong} of {len(by_size)} answers are the same within {MOST}")
    sys.exit(bool(wrong))
