#!/usr/bin/env python3
"""How large files, functions and folders of src/quasar are: the table "Measures" of HACKING.md. Needs lizard (PyPI), which finds functions.

usage: PYTHON scripts/measures.py [--long]      --long: also the files of more than 400 lines and the functions of more than 60
"""
import pathlib
import sys
from collections import Counter

import lizard

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/structure"))
import river  # noqa: E402


def spread(numbers):
    ordered = sorted(numbers)
    return ", ".join(str(ordered[min(len(ordered) - 1, int(len(ordered) * share))]) for share in (0.5, 0.9, 0.99, 1))


def main(long):
    tree = river.Tree(ROOT / "src")
    lines = {file: len((ROOT / "src" / file).read_text().splitlines()) for file in tree.sources}
    functions = [(found.length, file, found.name) for file in lines for found in lizard.analyze_file(str(ROOT / "src" / file)).function_list]
    folders = Counter(file.rpartition("/")[0] for file in lines if not tree.extension(file))
    headers = sum(1 for _ in open(ROOT / "build/release/public_headers.txt")) if (ROOT / "build/release/public_headers.txt").exists() else "unknown: build/release is not there"
    folder, most = folders.most_common(1)[0]
    for name, value in (("files", len(lines)), ("lines", sum(lines.values())), ("lines of a file: median, 90 %, 99 %, most", spread(lines.values())),
                        ("functions", len(functions)), ("lines of a function: median, 90 %, 99 %, most", spread(length for length, *_ in functions)),
                        ("circles of modules", len(list(tree.circles()))), ("files of the largest folder, extension folders aside", f"{most} ({folder.partition('/')[2]})"),
                        ("public headers", headers)):
        print(f"| {name} | {value} |")
    if long:
        print(*sorted(f"{count} {file}" for file, count in lines.items() if count > 400), sep="\n")
        print(*sorted(f"{length} {file}: {name}" for length, file, name in functions if length > 60), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--long"]):
        sys.exit(__doc__)
    main(bool(sys.argv[1:]))
