"""Gives the readers of Quasar inputs that a fuzzer makes, and says what came of it.

run.py BUILD [TARGET...] --seconds 60      libFuzzer, so many processor seconds for each target, from seeds.py's seeds and the committed corpus
run.py BUILD TARGET --replay               the committed corpus and the inputs that were once findings, and nothing else
run.py BUILD [TARGET...] --minimize        what the runs so far have reached, in as few and small files as possible, into corpus/

BUILD is a build folder of the preset fuzz, for --replay of any other. Findings are left in BUILD/fuzz/TARGET/findings.
"""
import argparse
import io
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import seeds

HERE = Path(__file__).resolve().parent
TARGETS = sorted(file.stem for file in (HERE / "targets").glob("*.cpp"))
EXECUTED = re.compile(r"^stat::number_of_executed_units:\s+(\d+)", re.MULTILINE)
REACHED = re.compile(r" cov: (\d+) ")
MOST_FINDINGS = 20  # of one target in one run
LONGEST = {"configuration": 4096, "study": 65536}  # bytes of an input; other targets: 16 KiB
SLICE = 300  # seconds that libFuzzer runs before its processor time is looked at
LIMITS = ["-timeout=20", "-rss_limit_mb=3000", "-malloc_limit_mb=1000"]


def unpacked(target, folder):
    """The committed corpus of a target, as files."""
    folder.mkdir(parents=True, exist_ok=True)
    archive = HERE / "corpus" / f"{target}.tar.xz"
    if archive.exists():
        with tarfile.open(archive) as packed:
            for member in packed.getmembers():
                folder.joinpath(Path(member.name).name).write_bytes(packed.extractfile(member).read())
    return folder


def pack(target, folder):
    """The same bytes for the same files: no times, no owners, smallest first."""
    files = sorted(folder.iterdir(), key=lambda file: (file.stat().st_size, file.name))
    with tarfile.open(HERE / "corpus" / f"{target}.tar.xz", "w:xz", preset=9) as packed:
        for number, file in enumerate(files):
            data = file.read_bytes()
            member = tarfile.TarInfo(f"{number:04}")
            member.size = len(data)
            packed.addfile(member, io.BytesIO(data))
    return len(files)


def program(build, target):
    return build / "tests" / "fuzz" / f"fuzz_{target}"


def environment():
    suppressions = HERE.parent / "sanitizers" / "lsan.supp"
    symbols = shutil.which("llvm-symbolizer-16") or ""
    return {**os.environ, "ASAN_SYMBOLIZER_PATH": symbols, "UBSAN_SYMBOLIZER_PATH": symbols, "LSAN_OPTIONS": f"suppressions={suppressions}:print_suppressions=0",
            "ASAN_OPTIONS": "detect_odr_violation=0:allocator_may_return_null=0", "UBSAN_OPTIONS": "print_stacktrace=1"}


def folders(build, target):
    """(what the runs have found so far, what they begin with)"""
    place = build / "fuzz" / target
    begin = place / "seeds"
    shutil.rmtree(begin, ignore_errors=True)
    unpacked(target, begin)
    for number, data in enumerate(seeds.of(target)):
        (begin / f"seed-{number:03}").write_bytes(data)
    (place / "corpus").mkdir(parents=True, exist_ok=True)
    (place / "findings").mkdir(parents=True, exist_ok=True)
    return place / "corpus", begin


def dictionary(target, path):
    """libFuzzer's form: one quoted word a line."""
    path.write_text("".join('"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in seeds.words(target)))
    return path


def processor_seconds():
    """of all fuzzers that have ended: what others do on the machine meanwhile does not count"""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def fuzz(build, target, seconds):
    """A row of the table: processor seconds, executions, coverage, findings. After a finding the fuzzer begins again with what it has."""
    corpus, begin = folders(build, target)
    findings, words = corpus.parent / "findings", dictionary(target, corpus.parent / "words")
    command = [program(build, target), corpus, begin, f"-max_len={LONGEST.get(target, 16384)}", *LIMITS, "-print_final_stats=1", "-reload=0",
               f"-artifact_prefix={findings}/"] + ([f"-dict={words}"] if words.stat().st_size else [])
    executed = reached = found = 0
    start = processor_seconds()
    with open(corpus.parent / "log", "w") as log:
        while found < MOST_FINDINGS and (rest := math.ceil(start + seconds - processor_seconds())) > 0:
            ran = subprocess.run([*command, f"-max_total_time={min(rest, SLICE)}"], capture_output=True, text=True, errors="replace", env=environment())
            log.write(ran.stderr)
            executed += sum(map(int, EXECUTED.findall(ran.stderr)))
            reached = max([reached, *map(int, REACHED.findall(ran.stderr))])
            found += ran.returncode != 0
            if ran.returncode and not EXECUTED.search(ran.stderr):
                sys.exit(f"{target} does not run:\n{ran.stderr[-4000:]}")
    return target, round(processor_seconds() - start), executed, reached, found


def table(rows):
    print("\n| target | processor seconds | executions | coverage (edges) | findings |\n| --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def minimize(build, target):
    corpus, begin = folders(build, target)
    with tempfile.TemporaryDirectory(dir=corpus.parent) as name:
        fewer = Path(name)
        subprocess.run([program(build, target), "-merge=1", *LIMITS, f"-max_len={LONGEST.get(target, 16384)}", fewer, begin, corpus],
                       check=True, env=environment(), stderr=subprocess.DEVNULL)
        print(f"{target}: {pack(target, fewer)} files, {(HERE / 'corpus' / f'{target}.tar.xz').stat().st_size} bytes")


def replay(build, target):
    with tempfile.TemporaryDirectory() as name:
        begin = Path(name, "seeds")
        unpacked(target, begin)
        for number, data in enumerate(seeds.of(target)):
            (begin / f"seed-{number:03}").write_bytes(data)
        return subprocess.run([program(build, target), begin, HERE / "regressions" / target]).returncode


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build", type=lambda text: Path(text).resolve())
    arguments.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET", help=", ".join(TARGETS))
    arguments.add_argument("--seconds", type=int, default=60)
    arguments.add_argument("--replay", action="store_true")
    arguments.add_argument("--minimize", action="store_true")
    given = arguments.parse_args()
    if given.replay:
        return max(replay(given.build, target) for target in given.targets)
    if given.minimize:
        return [minimize(given.build, target) for target in given.targets] and 0
    rows = [fuzz(given.build, target, given.seconds) for target in given.targets]
    table(rows)
    return 1 if any(row[-1] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
