"""Every relative link in the documentation leads to a file.   usage: links.py REPOSITORY"""
import re
import sys
from pathlib import Path

from tracked import tracked

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def broken(repository):
    for name, text in tracked(repository):
        if name.endswith(".md"):
            for target in LINK.findall(text):
                if not re.match(r"[a-z]+:", target) and not Path(repository, name).parent.joinpath(target).exists():
                    yield f"{name}: {target} does not exist"


if __name__ == "__main__":
    found = list(broken(str(Path(sys.argv[1]).resolve())))
    print("\n".join(found) or "every link leads somewhere")
    sys.exit(bool(found))
