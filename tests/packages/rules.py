"""What a wheel of `make wheel` must keep.
usage: rules.py FOLDER_OF_WHEELS SOURCE_FOLDER     every wheel that is there
       rules.py --self-test                        small wheels made here, each with one fault
"""
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

MOST_BYTES = 34_000_000
NEWEST_GLIBC = 36   # Debian 12's 2.36
NAME = re.compile(r"quasar-[\d.]+-(cp3\d+)-\1-manylinux_2_(\d+)_(x86_64|aarch64)\.whl")
# What manylinux lets a wheel expect of a machine, as far as Quasar's needs it.
SYSTEM = re.compile(r"(ld-linux-(x86-64|aarch64)|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|z))\.so\.\d+")
ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
NEEDED = [  # what it is, a pattern of one file's name
    ("ONNX Runtime under a name of its own", r"quasar\.libs/libonnxruntime-[0-9a-f]+\.so\.\d+"),
    ("the command quasar", r"quasar-[\d.]+\.data/scripts/quasar"),
    ("bash's completion", r"quasar-[\d.]+\.data/data/share/bash-completion/completions/quasar"),
    ("zsh's completion", r"quasar-[\d.]+\.data/data/share/zsh/site-functions/_quasar"),
    ("fish's completion", r"quasar-[\d.]+\.data/data/share/fish/vendor_completions\.d/quasar\.fish"),
    ("the manual page", r"quasar-[\d.]+\.data/data/share/man/man1/quasar\.1"),
    ("ONNX Runtime's licence", r"quasar/licences/onnxruntime"),
    ("ECharts' licence", r"quasar/licences/echarts"),
    ("OpenSSL's licence", r"quasar/licences/libssl3?"),
]


def dynamic(library):
    """(needed libraries, folders they are looked for in) of a shared library."""
    facts = subprocess.run(["objdump", "-p", library], check=True, capture_output=True, text=True).stdout
    folders = [folder for paths in re.findall(r"^ *(?:RPATH|RUNPATH) +(\S+)", facts, re.M) for folder in paths.split(":")]
    return re.findall(r"^ *NEEDED +(\S+)", facts, re.M), folders


def findings(wheel, source):
    """What is wrong with a wheel, a line each. source: the folder that it was built in, which it must not name."""
    name = NAME.fullmatch(wheel.name)
    if not name:
        yield "its name is not that of a manylinux wheel for one CPython"
    elif int(name[2]) > NEWEST_GLIBC:
        yield f"it needs glibc 2.{name[2]}; Debian 12 has 2.{NEWEST_GLIBC}"
    if wheel.stat().st_size > MOST_BYTES:
        yield f"it has {wheel.stat().st_size / 1e6:.1f} MB; at most {MOST_BYTES / 1e6:.0f} are allowed"
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        members = [member for member in archive.namelist() if not member.endswith("/")]
        bindings = rf"quasar/_core\.{name[1].replace('cp', 'cpython-')}-{name[3]}-linux-gnu\.so" if name else r"quasar/_core\.[^/]*\.so"
        for what, pattern in [("the bindings", bindings), *NEEDED]:
            count = sum(1 for member in members if re.fullmatch(pattern, member))
            if count != 1:
                yield f"{what}: {count} files like {pattern}, not one"
        for member in members:
            data = archive.read(member)
            if source.encode() in data:
                yield f"{member} names the folder that it was built in"
            if member.endswith(".dist-info/METADATA"):
                asked = re.findall(r"^Requires-Dist: *(.*)$", data.decode(), re.M)
                always = [package for package in asked if "extra ==" not in package]
                if always != ["numpy"]:
                    yield f"it needs {', '.join(always) or 'nothing'}; numpy alone is allowed"
            if data[:4] == b"\x7fELF":
                if name and int.from_bytes(data[18:20], "little") != ELF_MACHINES[name[3]]:
                    yield f"{member} is not for {name[3]}"
                needed, folders = dynamic(archive.extract(member, folder))
                for library in needed:
                    if not SYSTEM.fullmatch(library) and f"quasar.libs/{library}" not in members:
                        yield f"{member} needs {library}, which is not in the wheel"
                for place in folders:
                    if not place.startswith("$ORIGIN"):
                        yield f"{member} looks for libraries in {place}"


HERE, ELSEWHERE = ("aarch64", "x86_64") if platform.machine() == "aarch64" else ("x86_64", "aarch64")


def made_wheel(folder, name, members, leave_out=""):
    """A tiny wheel that keeps every rule, but for what is asked."""
    library = "libonnxruntime-0a1b.so.1"
    every = {
        f"quasar/_core.cpython-311-{HERE}-linux-gnu.so": shared(folder, "core", library),
        f"quasar.libs/{library}": shared(folder, "runtime"),
        "quasar-1.0.dist-info/METADATA": b"Name: quasar\nRequires-Dist: numpy\n",
        "quasar-1.0.data/scripts/quasar": b"#!python\n",
        "quasar/licences/onnxruntime": b"", "quasar/licences/echarts": b"", "quasar/licences/libssl3": b"",
    }
    for file in ("bash-completion/completions/quasar", "zsh/site-functions/_quasar", "fish/vendor_completions.d/quasar.fish", "man/man1/quasar.1"):
        every[f"quasar-1.0.data/data/share/{file}"] = b""
    every.update(members)
    wheel = folder / name
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, data in every.items():
            if member != leave_out:
                archive.writestr(member, data)
    return wheel


def shared(folder, name, needs="", rpath="$ORIGIN/../quasar.libs"):
    """A shared library without contents, which needs another one."""
    empty = folder / "empty.c"
    empty.write_text("int nothing(void);\nint nothing(void) { return 0; }\n")
    made = folder / f"{name}.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(made), str(empty), f"-Wl,-rpath,{rpath}"]
    if needs:
        other = folder / needs
        subprocess.run([*command[:4], str(other), str(empty), f"-Wl,-soname,{needs}"], check=True)
        command += ["-Wl,--no-as-needed", str(other)]
    subprocess.run(command, check=True)
    return made.read_bytes()


def foreign(library):
    """The same for another processor."""
    return library[:18] + ELF_MACHINES[ELSEWHERE].to_bytes(2, "little") + library[20:]


def self_test():
    good = f"quasar-1.0-cp311-cp311-manylinux_2_36_{HERE}.whl"
    core = f"quasar/_core.cpython-311-{HERE}-linux-gnu.so"
    source = "/some/folder/of/a/build"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = [  # what is wrong, what the finding must say
            (dict(name=good, members={}), ""),
            (dict(name=good.replace("manylinux_2_36", "linux"), members={}), "its name"),
            (dict(name=good.replace("2_36", "2_39"), members={}), "glibc 2.39"),
            (dict(name=good.replace("cp311-cp311", "py3-none"), members={}), "its name"),
            (dict(name=good, members={"quasar/large": b"\0" * (MOST_BYTES + 1)}), "at most 34"),
            (dict(name=good, members={}, leave_out="quasar-1.0.data/data/share/man/man1/quasar.1"), "the manual page"),
            (dict(name=good, members={}, leave_out="quasar-1.0.data/scripts/quasar"), "the command quasar"),
            (dict(name=good, members={"quasar/x.py": f"# {source}/x".encode()}), "names the folder"),
            (dict(name=good, members={"quasar-1.0.dist-info/METADATA": b"Requires-Dist: numpy\nRequires-Dist: onnx\nRequires-Dist: mcp; extra == \"mcp\"\n"}), "numpy, onnx;"),
            (dict(name=good.replace("cp311", "cp312"), members={}), "the bindings"),
            (dict(name=good, members={"quasar.libs/foreign.so": foreign(shared(folder, "foreign"))}), f"is not for {HERE}"),
            (dict(name=good, members={core: shared(folder, "other", "libpq.so.5")}), "libpq.so.5"),
            (dict(name=good, members={core: shared(folder, "astray", rpath="/opt/lib")}), "/opt/lib"),
        ]
        wrong = 0
        for case, expected in cases:
            found = list(findings(made_wheel(folder, **case), source))
            if len(found) != bool(expected) or expected not in "".join(found):
                print(f"expected {expected or 'no finding'!r}, found {found}")
                wrong += 1
    print(f"{len(cases) - wrong} of {len(cases)} made wheels were judged rightly")
    return wrong


if __name__ == "__main__":
    if not shutil.which("objdump") or not shutil.which("cc"):
        print("no objdump or no cc here")
        sys.exit(77)
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(bool(self_test()))
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    wheels = sorted(Path(sys.argv[1]).glob("*.whl"))
    if not wheels:
        print("no wheels here: make wheel makes them")
        sys.exit(77)
    found = [f"{wheel.name}: {line}" for wheel in wheels for line in findings(wheel, sys.argv[2])]
    print("\n".join(found) or f"{len(wheels)} wheels keep the rules")
    sys.exit(bool(found))
