#!/usr/bin/env python3
"""Compiles Quasar's sources for macOS and Windows, on Linux: every file of src/quasar to an object, with Zig's C++ compiler and its
headers of those systems' libraries (zig.sh). Headers of the libraries under Quasar are Debian's. Nothing is linked, and nothing runs.
usage: scripts/portable.py [macos | windows] [FOLDER | FILE ...]      (nothing named: both, and every folder of src/quasar)
       --alone   every file by itself: its own includes must do, and it takes three times as long
Exit 77: Zig or a library's headers are missing here (scripts/setup.sh --portable brings them)."""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src" / "quasar"
SYSTEMS = {"macos": "aarch64-macos", "windows": "x86_64-windows-gnu"}
TOGETHER = 12  # files of a folder that are compiled at a time, as in cmake/compile_together.cmake
# /usr/include itself would bring Linux's own headers with it.
LIBRARIES = ["nlohmann", "yaml-cpp", "google", "onnx", "soci", "boost", "CLI", "spdlog", "fmt", "zip.h", "zipconf.h", "jpeglib.h", "jmorecfg.h",
             "jerror.h", "x86_64-linux-gnu/jconfig.h", "png.h", "pngconf.h", "pnglibconf.h", "xxhash.h", "sqlite3.h", "zlib.h", "zconf.h"]
FOLDERS = ["eigen3", "postgresql"]
DEFINITIONS = ["ONNX_ML=1", "ONNX_NAMESPACE=onnx", 'QUASAR_VERSION="0"', "SPDLOG_COMPILED_LIB", "SPDLOG_FMT_EXTERNAL", "NDEBUG",
               "BOOST_NO_CXX98_FUNCTION_BASE"]  # Debian's Boost asks for what Zig's C++ library has no more
FLAGS = ["-std=c++20", "-O0", "-g0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wnon-virtual-dtor", "-Werror", "-ffp-contract=off",
         "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-include", "cstddef"]  # which a header of Boost's forgets
# An annotation of ONNX Runtime's header for Microsoft's compiler, which Zig's headers of Windows lack.
OF_A_SYSTEM = {"macos": [], "windows": ["-D_Return_type_success_(x)="]}
# Read once for all files of a system: half of the time.
PRECOMPILED = ["nlohmann/json.hpp", "algorithm", "array", "atomic", "chrono", "cmath", "filesystem", "functional", "map", "memory", "mutex", "numeric",
               "optional", "set", "span", "string", "thread", "unordered_map", "variant", "vector"]


def output_of(script, *words):
    return subprocess.run([ROOT / "scripts" / script, *words], capture_output=True, text=True, check=True).stdout.strip()


def missing():
    """What is not here, in words."""
    if subprocess.run([ROOT / "scripts" / "zig.sh", "--found"]).returncode != 0:
        yield "Zig"
    if subprocess.run([ROOT / "scripts" / "onnxruntime.sh", "--found"]).returncode != 0:
        yield "ONNX Runtime"
    for name in LIBRARIES + FOLDERS:
        if not Path("/usr/include", name).exists():
            yield f"/usr/include/{name}"


def headers(work):
    """The folders of libraries' headers, as words for the compiler."""
    folder = work / "include"
    folder.mkdir()
    for name in LIBRARIES:
        (folder / Path(name).name).symlink_to(Path("/usr/include", name))
    runtime = Path(output_of("onnxruntime.sh", "--where")) / "include"
    return [word for path in (folder, runtime, *(Path("/usr/include", name) for name in FOLDERS)) for word in ("-isystem", str(path))]


def groups(named, alone):
    """Lists of files that are compiled at a time. Eigen and Boost take long."""
    files = {path for name in named for path in ([SOURCES / name] if name.endswith(".cpp") else sorted((SOURCES / name).rglob("*.cpp")))}
    folders = {}
    for path in sorted(files):
        by_itself = alone or re.search(r"#include <(Eigen|boost)/", path.read_text())
        folders.setdefault(path if by_itself else path.parent, []).append(path)
    return [paths[start:start + TOGETHER] for paths in folders.values() for start in range(0, len(paths), TOGETHER)]


def run(work, system, words):
    """-> what the compiler said; "": nothing"""
    zig = Path(output_of("zig.sh", "--where")) / "zig"
    done = subprocess.run([zig, "c++", "-target", SYSTEMS[system], *OF_A_SYSTEM[system], *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=work)
    return done.stdout or (f"exit code {done.returncode}" if done.returncode else "")


def precompile(work, system, words):
    """The words that bring in the precompiled header."""
    folder = work / system
    folder.mkdir()
    (folder / "headers.hpp").write_text("".join(f"#include <{name}>\n" for name in PRECOMPILED))
    said = run(work, system, [*words, "-x", "c++-header", folder / "headers.hpp", "-o", folder / "headers.pch"])
    if said:
        sys.exit(f"{system}: the libraries' headers do not compile\n{said}")
    return ["-include-pch", folder / "headers.pch"]


def compile_group(work, system, files, words):
    """-> what the compiler said; "": nothing, and the object is there"""
    name = "_".join([*files[0].relative_to(SOURCES).with_suffix("").parts, str(len(files))])
    unit, made = work / f"{system}_{name}.cpp", work / f"{system}_{name}.o"
    unit.write_text("".join(f'#include "{path}"\n' for path in files))
    return run(work, system, [*words, "-c", unit, "-o", made]) or ("" if made.exists() else "it says nothing, and makes no object")


def compile_all(work, systems, files, alone):
    """-> how many groups do not compile; what the compiler says of them is printed as it comes"""
    words = ["-I", str(ROOT / "src"), *headers(work), *(f"-D{name}" for name in DEFINITIONS), *FLAGS]
    more = {system: [] if alone else precompile(work, system, words) for system in systems}
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        jobs = {pool.submit(compile_group, work, system, group, [*words, *more[system]]): (system, group) for system in systems for group in files}
        for job in concurrent.futures.as_completed(jobs):
            system, group = jobs[job]
            if job.result():
                wrong += 1
                print(f"{system}: {' '.join(str(path.relative_to(SOURCES)) for path in group)}\n{job.result()}", flush=True)
    return wrong


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", nargs="*")
    arguments.add_argument("--alone", action="store_true")
    options = arguments.parse_args()
    lacking = list(missing())
    if lacking:
        print("not here: " + ", ".join(lacking))
        return 77
    systems = [name for name in options.what if name in SYSTEMS] or list(SYSTEMS)
    named = [name for name in options.what if name not in SYSTEMS] or ["."]
    for name in named:
        if not (SOURCES / name).exists():
            sys.exit(f"src/quasar/{name} does not exist; systems are {' and '.join(SYSTEMS)}")
    files = groups(named, options.alone)
    with tempfile.TemporaryDirectory(prefix="quasar-portable-") as work:
        wrong = compile_all(Path(work), systems, files, options.alone)
    print(f"{sum(map(len, files))} files for {' and '.join(systems)}: " + (f"{wrong} groups of them do not compile" if wrong else "all compile"))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
