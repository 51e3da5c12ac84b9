"""Runs tests on a processor without VNNI instructions, which QEMU plays: its kernels add two products of 8-bit codes in 16 bits.

haswell.py BUILD QUASAR               the tests of named.txt that are not slow
haswell.py BUILD QUASAR named         all tests of named.txt
haswell.py BUILD QUASAR PROGRAM...    all tests of these programs

Exit 77: that cannot be done here, or is done anyway because this machine has such a processor."""
import concurrent.futures
import fnmatch
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Without what QEMU would say that it does not have.
EMULATOR = ["qemu-x86_64", "-cpu", "Haswell,pcid=off,x2apic=off,tsc-deadline=off,hle=off,invpcid=off,rtm=off"]


def why_not():
    if platform.machine() != "x86_64":
        return "no x86 processor: its kernels are others"
    if not {"avx512_vnni", "avx_vnni"} & set(re.findall(r"\w+", Path("/proc/cpuinfo").read_text())):
        return "this processor has no VNNI: all tests run so"
    if shutil.which(EMULATOR[0]) is None:
        return "no qemu-x86_64 (Debian's package qemu-user)"
    tried = subprocess.run([*EMULATOR, shutil.which("true")], capture_output=True, text=True)
    if tried.returncode != 0 or tried.stderr:
        return "this QEMU cannot play the processor: " + (tried.stderr.strip().splitlines() or ["it fails"])[0]
    return None


def lines(file):
    return [line for line in (HERE / file).read_text().splitlines() if line and not line.startswith("#")]


def starter(quasar, folder):
    """A program that runs quasar there, for tests that start it."""
    path = Path(folder) / "quasar"
    path.write_text(f"#!/bin/sh\nexec {' '.join(EMULATOR)} {quasar} \"$@\"\n")
    path.chmod(0o755)
    return str(path)


class Tests:
    """What runs them -> {"program test": what it said, None where it passed}"""

    def __init__(self, build, quasar):
        self.build, self.quasar = Path(build).resolve(), Path(quasar).resolve()
        self.python = self.build / "python-venv" / "bin" / "python"
        self.has_python = self.python.exists() and subprocess.run([self.python, "-c", "import quasar"], capture_output=True).returncode == 0

    def in_gtest(self, program, names):
        words = ([] if program == "e2e" else EMULATOR) + [str(self.build / "tests" / program)]  # e2e itself runs no model
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([*words, *(["--gtest_filter=" + ":".join(names)] if names else [])],
                                  env={**os.environ, "QUASAR_PROGRAM": starter(self.quasar, folder)}, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        out, name = {}, "itself"
        for said in re.split(r"^(?=\[ RUN      \] )", done.stdout, flags=re.MULTILINE)[1:]:
            name = said.split("\n")[0].removeprefix("[ RUN      ] ")
            ended = re.search(r"^\[ +(OK|SKIPPED) \] ", said, re.MULTILINE)
            out[f"{program} {name}"] = None if ended else said
        if done.returncode != 0 and not any(out.values()):  # it ended in the middle
            out[f"{program} {name}"] = done.stdout[-3000:]
        return out

    def in_python(self, name):
        done = subprocess.run([*EMULATOR, self.python, "-m", "unittest", name], cwd=HERE.parents[1] / "python" / "tests",
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        return {f"python {name}": done.stdout if done.returncode != 0 else None}

    def run(self, wanted):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            jobs = [pool.submit(self.in_gtest, program, names) for program, names in wanted.items() if program != "python"]
            if self.has_python:
                jobs += [pool.submit(self.in_python, name) for name in wanted.get("python", [])]
            elif "python" in wanted:
                print("without the Python package's tests: it is not installed in the build folder (ctest python.package)")
        out = {}
        for job in jobs:
            out.update(job.result())
        return out


def named(slow):
    """program -> its tests"""
    out = {}
    for line in lines("named.txt"):
        program, name, *mark = line.split()
        if slow or not mark:
            out.setdefault(program, []).append(name)
    return out


def mistakes(found, wanted, tests):
    for name, said in found.items():
        if said:
            yield f"{said}\n{name}: fails"
    for program, names in wanted.items():
        for name in names:
            if not fnmatch.filter(found, f"{program} {name}") and (program != "python" or tests.has_python):
                yield f"{program} {name}: there is no such test"


def main(build, quasar, *programs):
    reason = why_not()
    if reason:
        print(reason)
        return 77
    tests = Tests(build, quasar)
    wanted = named(bool(programs)) if programs in [(), ("named",)] else dict.fromkeys(programs, [])
    found = tests.run(wanted)
    wrong = list(mistakes(found, wanted, tests))
    for mistake in wrong:
        print(mistake)
    print(f"{len(found)} tests, {sum(map(bool, found.values()))} of them failed")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
