#!/usr/bin/env python3
"""How long the sentences of the documents are: median and 90th percentile in words, by page. Code, tables and headings do not count; an item
of a list is at least one sentence.

usage: scripts/sentences.py [PAGE …] [--longest N] [--check]      without pages: README.md, docs/*.md and docs/reference/*.md
  --check ends with 1 where a page for users has a median above 14 words or a 90th percentile above 22.
"""
import argparse
import pathlib
import re
import statistics
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
MEDIAN, HIGH = 14, 22
# Figures, reasons and lists of what is done: for those who check or build Quasar. targets.md waits to be rewritten.
NOT_FOR_USERS = {"benchmarks", "measured", "zoo", "decisions", "promises", "roadmap", "targets"}
END = re.compile(r"(?<=[.!?])[)*\"”]*\s+(?=[A-ZÄÖÜ`*\[(\"“0-9{])")
SHORT = re.compile(r"\b(e\.g|i\.e|et al|cf|vs|approx)\.")


def blocks(text):
    """Paragraphs and items of lists, without what is no prose."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->|\$\$.*?\$\$", "", text, flags=re.S)
    out, now = [], []
    for line in [*text.splitlines(), ""]:
        bare = line.strip()
        item = re.match(r"(?:[-*]|\d+\.)\s+", bare)
        if not bare or bare.startswith(("#", "|", "![")) or line.startswith("    ") and not now or item:
            out.append(" ".join(now))
            now = []
        if bare and not bare.startswith(("#", "|", "![")) and not (line.startswith("    ") and not now and not item):
            now.append(bare[item.end():] if item else bare)
    return [block for block in out if block]


def sentences(text):
    for block in blocks(text):
        block = re.sub(r"\]\([^)]*\)", "]", SHORT.sub(r"\1", block))
        block = re.sub(r"`[^`]*`", "`code`", block)  # a key or a command is one word
        for sentence in END.split(block):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if words:
                yield len(words), sentence


def measure(page):
    found = sorted(sentences(page.read_text()))
    counts = [count for count, _ in found]
    if not counts:
        return None
    return len(counts), statistics.median(counts), counts[min(len(counts) - 1, int(0.9 * len(counts)))], found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", type=pathlib.Path)
    parser.add_argument("--longest", type=int, default=0, help="print the longest sentences of each page too")
    parser.add_argument("--check", action="store_true", help="end with 1 where a page for users is above the limits")
    options = parser.parse_args()
    pages = options.pages or [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")), *sorted((REPOSITORY / "docs/reference").glob("*.md"))]
    print("| page | sentences | median | 90th percentile |\n| --- | ---: | ---: | ---: |")
    long = 0
    for page in pages:
        seen = measure(page)
        if seen:
            long += page.stem not in NOT_FOR_USERS and (seen[1] > MEDIAN or seen[2] > HIGH)
            path = page.resolve()
            print(f"| {path.relative_to(REPOSITORY) if REPOSITORY in path.parents else page} | {seen[0]} | {seen[1]:g} | {seen[2]} |")
            for count, sentence in seen[3][::-1][: options.longest]:
                print(f"    {count}: {sentence}")
    if options.check and long:
        print(f"{long} pages for users are above {MEDIAN} or {HIGH} words: --longest 5 shows what to split")
    return 1 if options.check and long else 0


if __name__ == "__main__":
    sys.exit(main())
