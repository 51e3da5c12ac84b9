"""What the source tree keeps:
- Includes point upstream only, as src/quasar/layers.txt lists.
- Files of one extension folder never include each other, and nobody includes an extension. Extension folders are those that
  CMakeLists.txt names by quasar_extension_folder(); any other subfolder is a plain one.
- No modules include each other in a circle. A module is a header with the source of the same name, or a source without a header.
- Of folders with an entrance (a line of layers.txt), others include the headers of the entrance only.
- No folder but an extension folder holds more than MOST_FILES files of its own.
usage: river.py SOURCE_ROOT      (the folder that holds quasar/layers.txt)
"""
import re
import sys
from collections import Counter
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*["<](quasar/[^">]+)[">]', re.MULTILINE)
QUOTED = re.compile(r'^\s*#\s*include\s*"(?!quasar/)([^"]+)"', re.MULTILINE)
EXTENSION_FOLDER = re.compile(r"^\s*quasar_extension_folder\(\w+ ([\w/]+) ", re.MULTILINE)
MOST_FILES = 60


def layers(table):
    """{folder: the folders it may include besides itself}, {folder: the headers of it that others may include}"""
    rules, entrances = {}, {}
    for line in table.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            folder, names = line.split(":")
            (entrances if folder.startswith("entrance ") else rules)[folder.split()[-1]] = set(names.split())
    return rules, entrances


def sources(root):
    """{file: what it includes from quasar/}, paths from the root"""
    found = {}
    for path in sorted((root / "quasar").rglob("*")):
        if path.suffix in (".cpp", ".hpp", ".h"):
            found[path.relative_to(root).as_posix()] = INCLUDE.findall(path.read_text())
    return found


class Tree:
    def __init__(self, root):
        self.root = root
        self.rules, self.entrances = layers(root / "quasar" / "layers.txt")
        self.extension_folders = set(EXTENSION_FOLDER.findall((root / "quasar" / "CMakeLists.txt").read_text()))
        self.sources = sources(root)

    def violations(self):
        yield from self.wrong_lines()
        for file, includes in self.sources.items():
            yield from self.wrong_includes(file, includes)
        yield from self.circles()
        yield from self.full_folders()

    def wrong_lines(self):
        for folder, upstream in self.rules.items():
            for unknown in sorted(upstream - self.rules.keys()):
                yield f"layers.txt: {folder} names {unknown}, which has no line"
            for up in sorted(upstream & self.rules.keys()):
                if folder in self.rules[up]:
                    yield f"layers.txt: {folder} and {up} may include each other"

    def wrong_includes(self, file, includes):
        layer = self.layer(file)
        if layer is None:
            yield f"{file}: folder {file.split('/')[1]} has no line in layers.txt"
            return
        for name in QUOTED.findall((self.root / file).read_text()):
            yield f'{file}: "{name}" must be written from the root: "quasar/…"'
        for included in includes:
            if not self.may_include(layer, included):
                allowed = " ".join(sorted(self.rules[layer])) or "nothing"
                yield f"{file}: may not include {included} ({layer} may include {allowed})"
            elif self.extension(file) and self.extension(file) == self.extension(included):
                yield f"{file}: may not include its sibling {included}; what two extensions share belongs into the parent folder"
            elif self.extension(included):
                yield f"{file}: may not include the extension {included}; its table is declared in the parent folder"
            elif not self.through_the_entrance(file, included):
                folder = included.partition("/")[2].rpartition("/")[0]
                yield f"{file}: may not include {included}; {folder} has an entrance: {' '.join(sorted(self.entrances[folder])) or 'no header'}"
            elif included not in self.sources:
                yield f"{file}: includes {included}, which does not exist"

    def layer(self, file):
        """quasar/quant/codes/range.hpp -> quant/codes where that has a line of its own, else quant; None: neither has one"""
        folder = file.split("/")[1:-1]
        for length in range(len(folder), 0, -1):
            if "/".join(folder[:length]) in self.rules:
                return "/".join(folder[:length])
        return None

    def may_include(self, layer, included):
        target = self.layer(included) or included.split("/")[1]
        return target == layer or any(f"{target}/".startswith(f"{folder}/") for folder in self.rules[layer] | {layer})

    def through_the_entrance(self, file, included):
        folder, _, name = included.partition("/")[2].rpartition("/")
        return folder not in self.entrances or f"{file}/".startswith(f"quasar/{folder}/") or name in self.entrances[folder]

    def extension(self, file):
        """quasar/quant/codes/ranges/minmax.cpp -> quant/codes/ranges;  quasar/quant/plan.hpp -> None"""
        folder = file.partition("/")[2].rpartition("/")[0]
        return folder if folder in self.extension_folders else None

    def circles(self):
        modules = {}
        for file, includes in self.sources.items():
            module = module_of(file)
            modules.setdefault(module, set()).update(module_of(name) for name in includes if module_of(name) != module)
        for circle in circles(modules):
            yield f"modules include each other in a circle: {' -> '.join(circle + circle[:1])}"

    def full_folders(self):
        counts = Counter(file.rpartition("/")[0] for file in self.sources)
        for folder, count in sorted(counts.items()):
            if count > MOST_FILES and folder.partition("/")[2] not in self.extension_folders:
                yield f"{folder}: holds {count} files of its own, and {MOST_FILES} is the most; cut it by subjects"


def module_of(file):
    return file.rpartition(".")[0]


def circles(edges):
    """One circle for each group of nodes that all reach each other."""
    left = set(edges)
    while left:
        start = min(left)
        ahead = reached(edges, start)
        group = {node for node in ahead if start in reached(edges, node)}
        left -= group | {start}
        if group:
            yield shortest_way(edges, start)


def reached(edges, start):
    found, open_ends = set(), [start]
    while open_ends:
        for node in edges.get(open_ends.pop(), ()):
            if node not in found:
                found.add(node)
                open_ends.append(node)
    return found


def shortest_way(edges, start):
    """From a node back to itself."""
    ways = [[start]]
    seen = set()
    for way in ways:
        for node in sorted(edges.get(way[-1], ())):
            if node == start:
                return way
            if node not in seen:
                seen.add(node)
                ways.append(way + [node])
    return []


def violations(root):
    return Tree(root).violations()


if __name__ == "__main__":
    found = list(violations(Path(sys.argv[1])))
    print("\n".join(found) or "every include points upstream, none in a circle")
    sys.exit(bool(found))
