#!/usr/bin/env python3
"""The truth about strategy budget: of every assignment of precisions to groups of operators the loss and the bytes, and for ten budgets of
bytes what the strategy's model loses beside the best possible one.
usage: bench/budget.py QUASAR BENCH_ASSIGNMENTS JOB.yaml [--budgets N] [--set KEY=VALUE ...]
QUASAR: the program; BENCH_ASSIGNMENTS: build/release/tests/bench_assignments. The job has the key budget, whose groups and precisions
count, and a space of single choices, so that assignments are all that differs. Prints a table in Markdown."""
import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quasar")
    parser.add_argument("assignments")
    parser.add_argument("job")
    parser.add_argument("--budgets", type=int, default=10)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    words = parser.parse_args()
    begin = time.monotonic()
    lines = subprocess.run([words.assignments, words.job, *words.set], check=True, capture_output=True, text=True).stdout.splitlines()
    every = [json.loads(line) for line in lines]
    took = time.monotonic() - begin
    sizes = sorted(one["bytes"] for one in every)
    print(f"{len(every)} assignments of {len(every[0]['assignment'])} groups in {took:.0f} s, {sizes[0]} to {sizes[-1]} bytes\n")
    print("| budget, bytes | best possible loss | strategy's loss | worse by | rank | trials | of them as good | s |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    least = min(one["loss"] for one in every)
    enough = min(one["bytes"] for one in every if one["loss"] <= 1.02 * least)
    worst = 0
    for i in range(words.budgets):
        # Evenly spaced between the smallest model and the one beyond which more bytes bring nothing.
        budget = int(sizes[0] + (enough - sizes[0]) * (i + 0.5) / words.budgets)
        possible = sorted(one["loss"] for one in every if one["bytes"] <= budget)
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            command = [words.quasar, "search", words.job, "--output-dir", folder + "/out", "--set", f"budget.bytes={budget} bytes"]
            for change in words.set:
                command += ["--set", change]
            done = subprocess.run(command, capture_output=True, text=True)
            took = time.monotonic() - begin
            if done.returncode not in (0, 2):
                raise SystemExit(done.stderr)
            result = json.loads(Path(folder, "out", "result.json").read_text())
        objective = result["objectives"][0]
        sign = -1 if objective["direction"] == "maximize" else 1
        values = [side["metrics"][objective["name"]]["value"] for side in (result["best"], result["baseline"])]
        loss, size = sign * (values[0] - values[1]), result["best"]["bytes"]
        if size > budget:
            raise SystemExit(f"the budget is {budget} bytes, and the strategy's model has {size}")
        worse = loss / possible[0] - 1
        worst = max(worst, worse)
        rank = 1 + sum(1 for one in possible if one < loss * (1 - 1e-6))
        print(f"| {budget} | {possible[0]:.4g} | {loss:.4g} | {100 * worse:.2f} % | {rank} of {len(possible)} | {result['trials']['executed']} | "
              f"{sum(1 for one in possible if one <= possible[0] * 1.02)} | {took:.1f} |", flush=True)
    print(f"\nworst: {100 * worst:.2f} %")


main()
