#!/usr/bin/env python3
"""README's figures: beside the peers, from the tables of docs/benchmarks.md; of the demo, from a run of it.

usage: scripts/figures.py              writes README.md's table of peers anew
       scripts/figures.py --demo QUASAR   runs the demo's search and writes what it prints at its end
       scripts/figures.py --check [QUASAR]   ends with 1 where README.md is not as these say; the demo's rows are compared by name, and by
                                             top1, since distances and times are those of a processor
All lines of the table are from one machine, whose name and dates docs/benchmarks.md has to say.
"""
import datetime
import pathlib
import re
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
README = REPOSITORY / "README.md"
MACHINE = "AMD EPYC (Zen 5)"


def sections():
    text = (REPOSITORY / "docs/benchmarks.md").read_text()
    parts = re.split(r"^## ", text, flags=re.M)
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts[1:]}


def section(all_of_them, script):
    found = [(name, body) for name, body in all_of_them.items() if f"`{script}`" in name]
    assert len(found) == 1, f"docs/benchmarks.md has {len(found)} sections of {script}"
    body = found[0][1]
    head = body[: body.index("\n| ")]
    assert MACHINE in head, f"{script}: {MACHINE} is not named before its table"
    return body, re.search(r"\d{4}-\d\d-\d\d", head)[0]


def rows(body):
    """Rows as lists of cells; an empty first cell has the one above."""
    out, first = [], ""
    for line in body.splitlines():
        if line.startswith("| "):
            cells = [cell.strip().replace("**", "") for cell in line.strip("|").split("|")]
            first = cells[0] or first
            out.append([first, *cells[1:]])
    return out


def row(body, *words):
    found = [cells for cells in rows(body) if all(any(cell.startswith(word) for cell in cells[:2]) for word in words)]
    assert found, f"docs/benchmarks.md has no row {words}"
    return found[0]


def number(text):
    return float(re.match(r"[\d.]+", text)[0])


def line(job, ours, peer, ours_s, peer_s, script, day):
    return f"| {job} | {ours} | {peer} | **{peer_s / ours_s:.0f} ×** | `bench/{script}`, {day} |"


def table():
    known = sections()
    out = ["| the same job | Quasar | peer | faster | command |", "| --- | --- | --- | ---: | --- |"]
    body, day = section(known, "bench/quark_presets.py")
    first = re.search(r"first stage of A8W8_SEARCH in the same run: ([\d.]+) s, Quasar's ([\d.]+) s", body)
    out.append(line("first stage of A8W8_SEARCH, 36 configurations", f"{first[2]} s", f"AMD Quark {first[1]} s", float(first[2]), float(first[1]), "quark_presets.py", day))
    body, day = section(known, "bench/quark_adaround.py")
    for scheme, job in (("A8W8 per tensor", "one model with optimized rounding, int8 per tensor"), ("XINT8", "the same with power-of-two scales")):
        ours, peer = row(body, scheme, "Quasar adaquant"), row(body, scheme, "Quark AdaRound, 3000")
        show = lambda cells: f"{cells[2]} s, distance {cells[3]}, top-1 {cells[4]}"
        out.append(line(job, show(ours), f"Quark's AdaRound {show(peer)}", number(ours[2]), number(peer[2]), "quark_adaround.py", day))
    body, day = section(known, "bench/tuners.py")
    # The first row of Quasar's stands behind INC's, the second behind NNCF's.
    ours = [cells for cells in rows(body) if cells[0].startswith("Quasar `repair`")]
    for peer, mine, job in zip((row(body, "Intel Neural Compressor"), row(body, "NNCF")), ours, ("at most 1 % of top-1 given up", "at most 0.5 points of top-1 given up")):
        show = lambda cells: f"{number(cells[1]):g} s, top-1 {cells[5]}, {cells[6]} operators in float"
        who = "Intel Neural Compressor" if peer[0].startswith("Intel") else "NNCF"
        out.append(line(job, show(mine), f"{who} {show(peer)}", number(mine[1]), number(peer[1]), "tuners.py", day))
    return "\n".join(out)


def demo(quasar):
    """The table at the end of the demo's search."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([quasar, "search", "examples/digits/demo.yaml", "--output-dir", out], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    lines = (done.stdout + done.stderr).splitlines()
    start = next(i for i, text in enumerate(lines) if re.match(r"\s+float\s+default\s+best", text))
    end = next(i for i in range(start, len(lines)) if lines[i].lstrip().startswith("latency"))
    return "\n".join(text.rstrip() for text in lines[start : end + 1])


def machine():
    name = next(line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name"))
    return name, "with VNNI" if "vnni" in pathlib.Path("/proc/cpuinfo").read_text() else "without VNNI"


def between(text, name):
    found = re.search(rf"<!-- {name}: begin -->\n(.*?)<!-- {name}: end -->", text, re.S)
    assert found, f"README.md has no marks <!-- {name}: begin -->"
    return found


def put(text, name, new):
    found = between(text, name)
    return text[: found.start(1)] + new + text[found.end(1) :]


def same_demo(shown, made):
    names = lambda text: [re.split(r"\s{2,}", row.strip())[0] for row in text.splitlines()]
    top1 = lambda text: [float(word) for word in re.search(r"^\s+top1 +(.*?)\[", text, re.M)[1].split()]
    return names(shown) == names(made) and all(abs(a - b) < 0.02 for a, b in zip(top1(shown), top1(made)))


def main(words):
    text = README.read_text()
    peers = f"MobileNetV1 0.25, calibration on 100 photographs, {MACHINE}:\n\n{table()}\n"
    if "--check" in words:
        problems = [] if between(text, "peers")[1] == peers else ["README.md's figures are not those of docs/benchmarks.md: run scripts/figures.py"]
        for quasar in words[1:]:
            shown = re.search(r"```text\n(.*?)\n```", between(text, "demo")[1], re.S)[1]
            problems += [] if same_demo(shown, demo(quasar)) else [f"README.md's demo is not what it prints: run scripts/figures.py --demo {quasar}"]
        print("\n".join(problems) or "README.md's figures are as they were measured")
        return bool(problems)
    if words[:1] == ["--demo"]:
        name, vnni = machine()
        told = f"What `make demo` prints at its end ({name} {vnni}, {datetime.date.today()}). Nobody had seen the hold-out samples before:\n"
        text = put(text, "demo", f"{told}```text\n{demo(str(pathlib.Path(words[1]).resolve()))}\n```\n")
    README.write_text(put(text, "peers", peers))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
