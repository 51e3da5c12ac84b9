"""Nobody asks for an extension by its name: what is special about one is a property of its interface, which its own file answers.
A default may name an extension; a comparison (== "name", != "name") may not, outside the extension's own file.
usage: extension_names.py SOURCE_ROOT      (the folder that holds quasar/CMakeLists.txt)
"""
import re
import sys
from pathlib import Path

EXTENSION_FOLDER = re.compile(r"^\s*quasar_extension_folder\(\w+ ([\w/]+) ", re.MULTILINE)
COMPARISON = re.compile(r'[=!]=\s*"(\w+)"|"(\w+)"\s*[=!]=')
# Extensions of other folders are called what the world calls things: metrics, storages, readers, operators' rules.
FOLDERS = ("strategy/strategies", "job/presets", "search/samplers", "search/pruners", "quant/codes/ranges", "quant/codes/rounding",
           "quant/config/schemes", "quant/targets", "quant/transforms")
# Words that mean something else in most places: modes of ONNX's Resize, readers and approaches in configurations, metrics.
OTHER_MEANINGS = {"nearest", "none", "random", "dynamic", "mse"}


def extensions(root):
    """{name: its own files}"""
    named = EXTENSION_FOLDER.findall((root / "quasar" / "CMakeLists.txt").read_text())
    found = {}
    for folder in named:
        for path in (root / "quasar" / folder).glob("*.cpp") if folder in FOLDERS else ():
            found.setdefault(path.stem, set()).add(path)
    return {name: files for name, files in found.items() if name not in OTHER_MEANINGS}


def violations(root):
    known = extensions(root)
    for path in sorted((root / "quasar").rglob("*.[ch]pp")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for match in COMPARISON.finditer(line.partition("//")[0]):
                name = match[1] or match[2]
                if path not in known.get(name, {path}):
                    yield f'{path.relative_to(root)}:{number}: compares with the extension "{name}"; let its interface have a property'


if __name__ == "__main__":
    found = list(violations(Path(sys.argv[1])))
    print("\n".join(found) or "no extension is asked for by its name")
    sys.exit(bool(found))
