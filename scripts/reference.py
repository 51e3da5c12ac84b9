#!/usr/bin/env python3
"""The pages of docs/reference: what an extension or a key does and its options come from the program, when to use it, what it costs, an example and
a source are written by hand. This script writes the first two into the pages, or says where they are not as the program says.

usage: scripts/reference.py QUASAR [--check]
  An extension without an entry gets an empty one to be filled. --check writes nothing and ends with 1 where a page is stale or incomplete.
"""
import json
import pathlib
import re
import subprocess
import sys

PAGES = pathlib.Path(__file__).resolve().parent.parent / "docs/reference"
ENTRY = re.compile(r"^## (.+)\n", re.M)
BULLET = re.compile(r"^- \*\*(\w+):\*\* *(.*)$", re.M)
BLOCK = re.compile(r"^```.*?^```$", re.M | re.S)
FACTS = ("When", "Cost", "Source")
NOT_HERE = {"lists"}


def listed(quasar, kind):
    return json.loads(subprocess.run([quasar, "list", kind, "--json"], check=True, capture_output=True, text=True).stdout)


def cell(text):
    return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def allowed(option):
    if option.get("choices"):
        return ", ".join(f"`{one}`" for one in option["choices"])
    low, high = option.get("low"), option.get("high")
    return " … ".join(f"{one:g}" if one is not None else "" for one in (low, high)) if low is not None or high is not None else ""


def what(item):
    help = cell(item["help"]).strip()
    return help[0].upper() + help[1:] + ("" if help.endswith((".", "!")) else ".")


def options(item):
    if not item["options"]:
        return ""
    rows = [[f"`{one['name']}`", f"`{cell(json.dumps(one['default']))}`" if one["default"] is not None else "", cell(one["help"]), allowed(one)] for one in item["options"]]
    lines = [["option", "default", "meaning", "allowed"], ["---"] * 4, *rows]
    return "\n" + "".join("| " + " | ".join(row) + " |\n" for row in lines)


def entry(item, body):
    """An entry with the program's words; `body` gives the words of hands."""
    facts = dict(BULLET.findall(body))
    names = [name for name in facts if name not in FACTS]
    order = [*FACTS[:2], *names, FACTS[2]]
    bullets = "\n".join(f"- **{name}:** {facts.get(name, '')}".rstrip() for name in order)
    also = "\nAlso called " + ", ".join(f"`{alias}`" for alias in item["aliases"]) + ".\n" if item["aliases"] else ""
    example = "".join(f"\n{block}\n" for block in BLOCK.findall(body))
    return f"## {item['name']}\n{what(item)}\n{also}\n{bullets}\n{example}{options(item)}"


def parts(page):
    """-> what stands before the first entry, {name: body}"""
    found = list(ENTRY.finditer(page))
    ends = [one.start() for one in found[1:]] + [len(page)]
    return page[: found[0].start() if found else len(page)], {one[1]: page[one.end() : end] for one, end in zip(found, ends)}


def plain(word):
    return re.sub(r"[^a-z0-9]", "", word.lower())


def incomplete(kind, item, body):
    """What an entry lacks. Its example must name the extension, or the key that stands for it."""
    facts = dict(BULLET.findall(body))
    yield from (f"no '{name}'" for name in FACTS if len(facts.get(name, "")) < 4)
    blocks = BLOCK.findall(body)
    if not blocks:
        yield "no example"
    names = [item["name"], *item["aliases"], *([facts["Key"].strip("`")] if "Key" in facts else [])]
    # Heads are recognized, not named; their examples name the metric.
    if kind != "heads" and blocks and not any(plain(name) in plain("".join(blocks)) for name in names):
        yield "the example does not name it"


def main(quasar, check):
    problems = []
    kinds = [item["name"] for item in listed(quasar, "lists") if item["name"] not in NOT_HERE]
    problems += [f"{page.name}: the program lists no {page.stem}" for page in PAGES.glob("*.md") if page.stem not in kinds + ["README"]]
    for kind in kinds:
        file = PAGES / f"{kind}.md"
        page = file.read_text() if file.exists() else f"# {kind.capitalize()}\n\n"
        head, bodies = parts(page)
        items = listed(quasar, kind)
        made = head.rstrip("\n") + "\n\n" + "\n".join(entry(item, bodies.get(item["name"], "")) for item in items)
        problems += [f"{file.name}: {name} is not in `quasar list {kind}`" for name in bodies if name not in {item["name"] for item in items}]
        problems += [f"{file.name}: {item['name']}: {lack}" for item in items for lack in incomplete(kind, item, bodies.get(item["name"], ""))]
        if made != page:
            if check:
                problems.append(f"{file.name} is not as the program says: run scripts/reference.py {quasar}")
            else:
                file.write_text(made)
    print("\n".join(problems) or f"{len(kinds)} pages: every extension has its entry")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], "--check" in sys.argv[2:]))
