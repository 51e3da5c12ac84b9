"""What must not stand in a tracked file: paths of one machine, package registries' hosts, marks of unfinished work.
usage: tracked.py REPOSITORY
"""
import re
import subprocess
import sys
from pathlib import Path

# Written with brackets, so that this file does not match itself.
RULES = [  # what it is, pattern
    ("a path of one machine", re.compile(r"(?<![\w.}/])/(?:home|root|wor[k]|Users)/\w|(?<![\w.}/])/tm[p]/\w")),
    ("a registry's host", re.compile(r"\b(?:registry\.npm[j]s|(?:files\.)?python[h]osted|py[p]i\.org|deb\.deb[i]an|crates[.]io|conda\.anac[o]nda)")),
    ("a mark of unfinished work", re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K])\b")),
]


def findings(name, text):
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in RULES:
            hit = pattern.search(line)
            if hit:
                yield f"{name}:{number}: {what}: {hit.group()}"


# Bytes that a fuzzer made: no text, even where they look like some.
BYTES = "tests/fuzz/regressions/"


def tracked(repository):
    """(name, text) of every tracked text file."""
    listing = subprocess.run(["git", "-c", f"safe.directory={repository}", "-C", repository, "ls-files", "-z"],
                             check=True, capture_output=True, text=True)
    for name in filter(None, listing.stdout.split("\0")):
        path = Path(repository, name)
        if not name.startswith(BYTES) and path.is_file() and b"\0" not in (data := path.read_bytes())[:8192]:
            yield name, data.decode("utf-8")


if __name__ == "__main__":
    found = [line for name, text in tracked(str(Path(sys.argv[1]).resolve())) for line in findings(name, text)]
    print("\n".join(found) or "nothing that does not belong")
    sys.exit(bool(found))
