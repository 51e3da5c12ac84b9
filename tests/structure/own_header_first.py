"""A source file includes its own header first, so that each header is compiled once with nothing before it.   usage: own_header_first.py SRC"""
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)', re.MULTILINE)


def late(sources):
    for header in sorted(sources.rglob("*.hpp")):
        source = header.with_suffix(".cpp")
        if source.exists() and INCLUDE.findall(source.read_text())[:1] != [str(header.relative_to(sources))]:
            yield f"{source.relative_to(sources)}: {header.relative_to(sources)} is not what it includes first"


if __name__ == "__main__":
    found = list(late(Path(sys.argv[1])))
    print("\n".join(found) or "every source file includes its own header first")
    sys.exit(bool(found))
