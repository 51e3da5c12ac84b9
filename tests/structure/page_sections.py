"""Every section of the report's page has its place in main.js, and every place a section.   usage: page_sections.py PAGE_FOLDER"""
import re
import sys
from pathlib import Path


def misplaced(folder):
    sources = {path.name: path.read_text() for path in sorted(folder.glob("*.js"))}
    pushed = {name: source for source, text in sources.items() for name in re.findall(r"sections\.push\(\{ id: '([^']+)'", text)}
    order = re.findall(r"'([^']+)'", re.search(r"const order = \[(.*?)\];", sources["main.js"], re.S).group(1))
    yield from (f"{source}: section '{name}' has no place in the order of main.js" for name, source in pushed.items() if name not in order)
    yield from (f"main.js: '{name}' stands in the order, and no file has such a section" for name in order if name not in pushed)
    yield from (f"main.js: '{name}' stands in the order twice" for name in sorted(set(order)) if order.count(name) > 1)
    pushes = sum(text.count("sections.push(") for text in sources.values())
    if pushes != len(pushed):
        yield f"{pushes} sections are pushed, and {len(pushed)} of them begin with an id of their own"


if __name__ == "__main__":
    found = list(misplaced(Path(sys.argv[1])))
    print("\n".join(found) or "every section of the page has its place")
    sys.exit(bool(found))
