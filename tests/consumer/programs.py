"""Runs the programs of docs/cpp.md in a folder with the digits' model and samples each, and compares what they print with what the document
says. "…" in the document stands for anything.
usage: programs.py DOCUMENT FOLDER_OF_PROGRAMS FOLDER_OF_DIGITS
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = re.compile(r"^```cpp same=examples/cpp/(\w+)\.cpp\n(.*?)^```\n+```text\n(.*?)^```$", re.M | re.S)


def matches(said, printed):
    return re.fullmatch(".*?".join(map(re.escape, said.strip().split("…"))), printed.strip(), re.S)


def main(document, programs, digits):
    found = PROGRAM.findall(pathlib.Path(document).read_text())
    wrong = [] if len(found) >= 10 else [f"{document} has {len(found)} programs with what they print"]
    for name, text, said in found:
        if text.count("\n") > 40:
            wrong.append(f"{name}.cpp has more than 40 lines")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(digits, folder, dirs_exist_ok=True)
            done = subprocess.run([pathlib.Path(programs).resolve() / name], cwd=folder, capture_output=True, text=True)
        if done.returncode or not matches(said, done.stdout):
            wrong.append(f"{name} ended with {done.returncode} and printed\n{done.stdout}{done.stderr}but the document says\n{said}")
    print("\n".join(wrong) or f"{len(found)} programs print what {document} says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
