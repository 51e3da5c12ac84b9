#!/usr/bin/env python3
"""The table "At a glance" of docs/targets.md, from the tables of the page itself. Cells that no table of the page has stay as they are.

usage: scripts/targets.py            writes the table anew
       scripts/targets.py --check    ends with 1 where it is not as the others say
"""
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/targets.md"
TARGET, MODEL, SCHEME, _, NODES, NEAREST, ROUNDED, TIME, PEER = range(9)


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table(text, heading, columns):
    """The rows of the first table of the section whose header begins with these columns."""
    section = text[text.index(f"\n{heading}\n"):]
    lines = section[section.index("\n| " + " | ".join(columns)):].lstrip("\n").split("\n")
    return [cells(line) for line in lines[2:next(i for i, line in enumerate(lines) if not line.startswith("|"))]]


def first(cell):
    return cell.split(",")[0]


def row_of(rows, model, made_by):
    found = [row for row in rows if row[0] == model and row[1] == made_by]
    assert len(found) == 1, f"{PAGE.name}: {len(found)} rows of {model}, {made_by}"
    return found[0]


def openvino(text, row):
    rows = table(text, "### Figures", ["model", "made by"])
    made_by = "Quasar, U8S8_CHANNEL" + (", SmoothQuant" if row[SCHEME].endswith("SmoothQuant") else "")
    plain, rounded, nncf = (row_of(rows, row[MODEL], name) for name in (made_by, made_by + ", adaround", "NNCF"))
    promised, found = plain[3].split(", ")
    row[NODES], row[NEAREST], row[ROUNDED] = f"{found} of {promised}", first(plain[4]), first(rounded[4])
    row[TIME], row[PEER] = f"{plain[6]}, {rounded[6]}", f"NNCF: {first(nncf[4])}, {nncf[6]}"


def qnn_htp(text, row):
    scheme = row[SCHEME].split(",")[0]
    if "FuseL2Norm" in row[SCHEME]:
        _, row[NODES], distances = row_of([[r[0], "", *r[1:]] for r in table(text, "### Its figures", ["model", "nodes quantized"])], f"{row[MODEL]}, `FuseL2Norm: true`", "")[1:]
        row[NEAREST] = distances.split(" (")[0].split(", ")[scheme == "w8a16"]
        row[ROUNDED] = re.search(r"adaround ([\d.]+)", distances)[1] if scheme == "w8a16" else "not measured"
        return
    rows = table(text, "### Its figures", ["model", "made by"])
    plain, rounded = (row_of(rows, row[MODEL], f"Quasar, {scheme}{more}") for more in ("", ", adaround"))
    on_htp, on_cpu = plain[3].split(", ")
    values = "uint8 values" if scheme == "w8a8" else "uint16 values"
    peers = [float(first(r[4])) for r in rows if r[0] == row[MODEL] and r[1].startswith(f"ONNX Runtime, {values}") and r[4]]
    row[NODES], row[NEAREST], row[ROUNDED] = f"{on_htp}, all" if on_cpu == "0" else f"{on_htp}, not {on_cpu}", first(plain[4]), first(rounded[4])
    row[PEER] = f"ONNX Runtime: {min(peers):g}"


def tensorrt(text, row):
    found = [r for r in table(text, "### float16 for the rest", ["model", "bytes"]) if r[0] == row[MODEL]]
    row[NEAREST] = first(found[0][2]) if found else "not measured"


def openvino_npu(text, row):
    found = [r for r in table(text, "## A model that no test knows, for each", ["target", "model"]) if r[:2] == [row[TARGET], row[MODEL]]]
    row[NODES], row[ROUNDED] = found[0][2], found[0][3]


def written(text):
    start = text.index("\n## At a glance\n")
    begin = text.index("\n| ---", start)
    begin = text.index("\n", begin + 1) + 1
    end = text.index("\n\n", begin)
    rows = [cells(line) for line in text[begin:end].split("\n")]
    for row in rows:
        fill = {"`openvino`": openvino, "`qnn_htp`": qnn_htp, "`tensorrt`": tensorrt, "`openvino_npu`": openvino_npu}.get(row[TARGET])
        if fill:
            fill(text, row)
    for heading, target in (("### Figures", "`openvino`"), ("### Its figures", "`qnn_htp`")):
        missing = {r[0] for r in table(text, heading, ["model", "made by"])} - {row[MODEL] for row in rows if row[TARGET] == target}
        assert not missing, f"{PAGE.name}: 'At a glance' has no row of {target} for {', '.join(sorted(missing))}"
    return text[:begin] + "\n".join("| " + " | ".join(row) + " |" for row in rows) + text[end:]


def main(check):
    text = PAGE.read_text(encoding="utf-8")
    new = written(text)
    if check and new != text:
        old = set(text.split("\n"))
        print("docs/targets.md: 'At a glance' is not as the page's own tables say; scripts/targets.py writes it. It would have:")
        print("\n".join(line for line in new.split("\n") if line not in old))
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    sys.exit(main(bool(sys.argv[1:])))
