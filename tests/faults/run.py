"""Does to searches what the world does: kills, full and read-only disks, locked, lost and damaged databases, hanging evaluators, memory
that runs out, clocks that jump. After each: no finished trial lost or changed, no half-written file, the search continues, and the message says what to do.

usage: run.py QUASAR SOURCE [--kills N] [--trials N] [--only NAME...] [--table FILE]
  --kills N      kill -9 so often in all, half of them on SQLite, half on PostgreSQL (default 200)
  --trials N     so many in each search (default 40)
  --only NAME    just these faults
  --table FILE   writes the table between the marks of this Markdown file
Exit code: 0 all held, 1 something did not, 77 nothing could be tried.
"""

import argparse
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench import Bench, Failed, Skipped  # noqa: E402
from faults import FAULTS  # noqa: E402

BEGIN, END = "<!-- faults: begin -->", "<!-- faults: end -->"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("quasar")
    parser.add_argument("source")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--table")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background of a script it is ignored, also by what is started here
    rows, bad, tried = [], 0, 0
    bench = Bench(os.path.abspath(options.quasar), os.path.abspath(options.source), options.trials)
    try:
        for name, fault in FAULTS.items():
            if options.only and not any(word in name for word in options.only):
                continue
            begin = time.monotonic()
            try:
                result, held = fault(bench, options), "yes"
                tried += 1
            except Skipped as why:
                result, held = f"not tried: {why}", "–"
            except Failed as why:
                result, held, bad, tried = str(why), "**no**", bad + 1, tried + 1
            rows.append(f"| {name} | {held} | {result} |")
            print(f"{rows[-1]} {time.monotonic() - begin:.0f} s", flush=True)
    finally:
        bench.close()
    if options.table:
        with open(options.table) as file:
            text = file.read()
        head, rest = text.split(BEGIN)
        table = "\n".join(["| fault | holds | what happens |", "| --- | --- | --- |", *rows])
        with open(options.table, "w") as file:
            file.write(head + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1])
    sys.exit(1 if bad else 0 if tried else 77)


main()
