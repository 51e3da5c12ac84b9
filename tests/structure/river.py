"""The river rule: includes point upstream only, as src/quasar/layers.txt lists, and files of one extension folder never include
each other.   usage: river.py SOURCE_ROOT      (the folder that holds quasar/layers.txt)
"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*["<](quasar/[^">]+)[">]', re.MULTILINE)
QUOTED = re.compile(r'^\s*#\s*include\s*"(?!quasar/)([^"]+)"', re.MULTILINE)


def layers(table):
    """{folder: the folders it may include besides itself}"""
    rules = {}
    for line in table.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            folder, upstream = line.split(":")
            rules[folder.strip()] = set(upstream.split())
    return rules


def violations(root):
    rules = layers(root / "quasar" / "layers.txt")
    for folder, upstream in rules.items():
        for unknown in sorted(upstream - rules.keys()):
            yield f"layers.txt: {folder} names {unknown}, which has no line"
        for up in sorted(upstream & rules.keys()):
            if folder in rules[up]:
                yield f"layers.txt: {folder} and {up} may include each other"
    for path in sorted((root / "quasar").rglob("*")):
        if path.suffix not in (".cpp", ".hpp", ".h"):
            continue
        file = path.relative_to(root).as_posix()
        folder = file.split("/")[1]
        if folder not in rules:
            yield f"{file}: folder {folder} has no line in layers.txt"
            continue
        text = path.read_text()
        for name in QUOTED.findall(text):
            yield f'{file}: "{name}" must be written from the root: "quasar/…"'
        for included in INCLUDE.findall(text):
            target = included.split("/")[1]
            if target != folder and target not in rules[folder]:
                yield f"{file}: may not include {included} ({folder} may include {' '.join(sorted(rules[folder])) or 'nothing'})"
            elif extension_folder(file) and extension_folder(file) == extension_folder(included):
                yield f"{file}: may not include its sibling {included}; what two extensions share belongs into the parent folder"
            elif extension_folder(included):
                yield f"{file}: may not include the extension {included}; its table is declared in the parent folder"
            elif not (root / included).exists():
                yield f"{file}: includes {included}, which does not exist"


def extension_folder(file):
    """quasar/quant/codes/ranges/minmax.cpp -> quasar/quant/codes/ranges;  quasar/quant/plan.hpp -> None"""
    parts = file.split("/")
    return "/".join(parts[:3]) if len(parts) > 3 else None


if __name__ == "__main__":
    found = list(violations(Path(sys.argv[1])))
    print("\n".join(found) or "every include points upstream")
    sys.exit(bool(found))
