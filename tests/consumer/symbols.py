"""Whether a library shows what public headers declare, and nothing else: every symbol that it defines is a member of a class, or a function,
that QUASAR_API marks in one of the headers.
usage: symbols.py LIBRARY INCLUDE_FOLDER
"""
import pathlib
import re
import subprocess
import sys

# Without these the library is not what it should be, or this test looks at nothing.
EXPECTED = {"quasar::graph::load", "quasar::search::Space::parse", "quasar::search::ask", "quasar::api::search", "quasar::Options::Options",
            "typeinfo for quasar::Error"}
FEWEST = 200
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{")
CLASS = re.compile(r"^(?:class|struct) QUASAR_API (\w+)")
FUNCTION = re.compile(r"^(?:\[\[\w+\]\] )?QUASAR_API [^;{(]*?[ &*](\w+)\(")


def marked(text):
    """-> the full names of classes, and of functions"""
    classes, functions, spaces, depth = set(), set(), [], 0
    for line in text.splitlines():
        line = re.sub(r'//.*|"(\\.|[^"\\])*"', "", line)
        inside = "::".join(name for name, _ in spaces)
        if found := CLASS.match(line):
            classes.add(f"{inside}::{found[1]}")
        elif found := FUNCTION.match(line):
            functions.add(f"{inside}::{found[1]}")
        elif found := NAMESPACE.match(line):
            spaces.append((found[1], depth))
        depth += line.count("{") - line.count("}")
        if spaces and depth <= spaces[-1][1]:
            spaces.pop()
    return classes, functions


def plain(symbol):
    """`quasar::search::Space::parse(nlohmann::…)` -> `quasar::search::Space::parse`; templates' arguments go too."""
    symbol = re.sub(r"\[abi:\w+\]", "", symbol)
    while re.search(r"<[^<>]*>", symbol):
        symbol = re.sub(r"<[^<>]*>", "", symbol)
    return symbol.partition("(")[0]


def faults(symbols, headers):
    """-> what is wrong, a line each"""
    classes, functions = set(), set()
    for text in headers:
        more = marked(text)
        classes |= more[0]
        functions |= more[1]
    out = []
    names = {plain(symbol) for symbol in symbols}
    for name in sorted(names):
        of = re.sub(r"^(typeinfo|typeinfo name|vtable|VTT|guard variable|thread-local \w+ routine) for ", "", name)
        if of not in functions | classes and not any(of.startswith(f"{owner}::") for owner in classes):
            out.append(f"the library shows {name}, which no public header marks by QUASAR_API")
    out += [f"the library does not show {name}" for name in sorted(EXPECTED - names)]
    out += [f"the library lacks {name}, which a public header promises" for name in sorted(functions - names)]
    if len(symbols) < FEWEST:
        out.append(f"the library shows {len(symbols)} symbols only: is it the right one?")
    return out


def main(library, folder):
    shown = subprocess.run(["nm", "-D", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    symbols = [line.split(maxsplit=2)[2] for line in shown.splitlines()]
    headers = [path.read_text() for path in sorted(pathlib.Path(folder).rglob("*.hpp"))]
    wrong = faults(symbols, headers)
    # The test itself: what must not pass.
    for intruder in ("google::protobuf::Message::New()", "onnx::ModelProto::ModelProto()", "quasar::tune::quantize(int)", "YAML::Node::Node()"):
        if len(faults([*symbols, intruder], headers)) != len(wrong) + 1:
            wrong.append(f"this test does not see {intruder}")
    print("\n".join(wrong) or f"{len(symbols)} symbols, all of them declared in {len(headers)} headers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
