#!/usr/bin/env python3
"""Builds the documentation's site: docs/, README, and reference pages made from the program's help, the public headers and
the Python package (entries of extensions and keys stand in docs/reference: scripts/reference.py). Checks every link of the result.

usage: scripts/site.py QUASAR BUILD_FOLDER SITE_FOLDER      exit 77: there is no mkdocs with its theme material
  BUILD_FOLDER: of CMake, for public_headers.txt. Pages open from disk; searching needs a server: python3 -m http.server -d SITE_FOLDER
"""
import ast
import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
# Documents by what a reader wants of them; those that are named nowhere stand among the guides.
CHAPTERS = {
    "Start": ["README.md", "docs/install.md", "docs/tutorial.md", "docs/guides.md", "docs/faq.md"],
    "Concepts": ["docs/concepts.md", "docs/quantization.md", "docs/calibration.md", "docs/rounding.md", "docs/search.md", "docs/samplers.md", "docs/pruning.md", "docs/metrics.md", "docs/how_it_works.md"],
    "Guides": ["docs/data.md", "docs/evaluators.md", "docs/tuning.md", "docs/budget.md", "docs/language.md", "docs/targets.md", "docs/npu.md", "docs/python.md", "docs/programs.md", "docs/coming_from_quark.md", "docs/coming_from_inc.md", "docs/coming_from_onnxruntime.md", "docs/coming_from_others.md", "docs/cpp.md", "docs/reports.md"],
    "Reference": ["docs/reference/README.md", "docs/options.md"],
    "Project": ["docs/benchmarks.md", "docs/measured.md", "docs/promises.md", "docs/decisions.md", "docs/roadmap.md", "HACKING.md", "CONTRIBUTING.md", "SECURITY.md", "docs/versioning.md", "bench/README.md", "CHANGELOG.md",
                "NOTICE.md"],
}
NAMES = {"README.md": "index.md", "HACKING.md": "hacking.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "reporting.md", "NOTICE.md": "notices.md", "docs/reference/README.md": "reference/index.md", "bench/README.md": "bench.md"}
LANGUAGES = {".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".h": "c", ".c": "c", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "bash", ".cmake": "cmake"}


def staged_name(document):
    return NAMES.get(document) or (document.removeprefix("docs/") if document.startswith("docs/reference/") else pathlib.Path(document).name)


def chapters():
    out = {chapter: list(documents) for chapter, documents in CHAPTERS.items()}
    known = {document for documents in out.values() for document in documents}
    out["Reference"] += sorted(f"docs/reference/{path.name}" for path in (REPOSITORY / "docs/reference").glob("*.md") if path.name != "README.md")
    out["Guides"] += sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md") if f"docs/{path.name}" not in known)
    return out


class Stage:
    """The folder that mkdocs reads."""

    def __init__(self, folder):
        self.folder = folder
        self.pages = {document: staged_name(document) for documents in chapters().values() for document in documents}
        self.sources = set()

    def write(self, name, text):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def source_page(self, path):
        """A file of the repository as a page; a folder as a list of its files."""
        relative = path.relative_to(REPOSITORY).as_posix()
        name = f"source/{relative}.md" if path.is_file() else f"source/{relative}/index.md"
        if relative not in self.sources:
            self.sources.add(relative)
            if path.is_dir():
                body = "\n".join(f"- `{file.name}`" for file in sorted(path.iterdir()))
            elif path.suffix == ".md":
                body = self.converted(path)
            else:
                body = f"```{LANGUAGES.get(path.suffix, 'text')}\n{path.read_text().rstrip()}\n```"
            title = "" if path.suffix == ".md" else f"# {relative}\n"
            self.write(name, f"{title}{body}\n")
        return name

    def converted(self, file, name=None):
        """A document of the repository with links as the site has them, and with what mkdocs is stricter about than readers are."""
        here = pathlib.PurePosixPath(name or f"source/{file.relative_to(REPOSITORY).as_posix()}.md").parent

        def link(match):
            target, _, anchor = match[2].partition("#")
            if not target or re.match(r"[a-z]+:", target):
                return match[0]
            path = (file.parent / target).resolve()
            if not path.exists() or REPOSITORY not in [path, *path.parents]:
                raise SystemExit(f"{file}: {target} does not exist")
            relative = path.relative_to(REPOSITORY).as_posix()
            if path.suffix in (".png", ".svg", ".jpg"):
                page = relative
                (self.folder / page).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, self.folder / page)
            else:
                page = self.pages.get(relative) or self.source_page(path)
            return f"{match[1]}{os.path.relpath(page, here)}{'#' + anchor if anchor else ''}{match[3]}"

        out, fence, before = [], False, ""
        for line in file.read_text().splitlines():
            if re.match(r"\s*```", line):
                if not fence:
                    line = re.sub(r"```(\w*).*", r"```\1", line)  # what the tests read behind the language
                    if before:
                        out.append("")
                fence = not fence
            elif not fence:
                kind = lambda text: "table" if text.startswith("|") else "list" if re.match(r"\s*([-*]|\d+\.) ", text) else ""
                if before and kind(line) and kind(line) != kind(before) and not (kind(before) == "list" or before.startswith("  ")):
                    out.append("")
                line = LINK.sub(link, line)
            out.append(line)
            before = line
        return "\n".join(out) + "\n"


def header_page(folder, headers):
    out = [f"# quasar/{folder}\n\nThe public headers of this folder, as `make install` installs them."]
    for header in headers:
        lines = (REPOSITORY / "src" / header).read_text().splitlines()
        count = next((i for i, line in enumerate(lines) if not line.startswith("//")), 0)
        about = "\n".join(re.sub(r"^// ?", "", line) for line in lines[:count])
        code = [line for line in lines[count:] if not re.match(r"#|namespace quasar[\w:]* \{$|\}  // namespace quasar", line)]
        body = re.sub(r"\n{3,}", "\n\n", "\n".join(code)).strip()
        # What is indented in the comment is a formula or a table of its own making.
        about = "\n".join(f"    {line}" if line.startswith("  ") else line for line in about.splitlines())
        out.append(f"## {header}\n\n{about.replace('<', '&lt;')}\n\n```cpp\n{body}\n```\n")
    return "\n\n".join(out)


def signature(node):
    return f"{node.name}({ast.unparse(node.args)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def python_page():
    package = REPOSITORY / "python/quasar"
    tree = ast.parse((package / "__init__.py").read_text())
    public = next(ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    out = [f"# Python\n\n```text\n{ast.get_docstring(tree)}\n```\n"]
    found = {}
    for file in sorted(package.glob("*.py")):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found.setdefault(node.name, node)
    for name in sorted((one for one in public if one in found), key=str.lower):
        node = found[name]
        is_class = isinstance(node, ast.ClassDef)
        head = f"class {name}" if is_class else signature(node)
        out.append(f"## {name}\n\n```python\n{head}\n```\n")
        if ast.get_docstring(node):
            out.append(f"```text\n{ast.get_docstring(node)}\n```\n")
        for member in node.body if is_class else []:
            if not isinstance(member, ast.FunctionDef) or (member.name.startswith("_") and member.name != "__init__"):
                continue
            text = ast.get_docstring(member)
            out.append(f"```python\n{signature(member)}\n```\n" + (f"\n```text\n{text}\n```\n" if text else ""))
    return "\n".join(out)


def reference(stage, quasar, headers):
    """-> navigation"""
    def run(*words):
        return subprocess.run([quasar, *words], check=True, capture_output=True, text=True).stdout

    navigation = []

    def page(title, name, text):
        stage.write(f"reference/{name}.md", text)
        navigation.append({title: f"reference/{name}.md"})

    commands = re.findall(r"^  (\w+) ", run("--help").split("Subcommands:")[1], re.M)
    page("Commands", "commands", "# Commands\n\n" + "\n".join(f"## quasar {one}\n\n```text\n{run(one, '--help').strip()}\n```\n" for one in commands))
    page("Python", "python_api", python_page())
    by_folder = {}
    for header in headers:
        by_folder.setdefault(header.split("/")[1], []).append(header)
    cpp = []
    for folder, names in by_folder.items():
        stage.write(f"reference/cpp/{folder}.md", header_page(folder, names))
        cpp.append({f"quasar/{folder}": f"reference/cpp/{folder}.md"})
    navigation.append({"C++": cpp})
    return navigation


class Page(html.parser.HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.links, self.ids, self.loads = [], {""}, []
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.ids |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        for key in ("src", "href"):
            if tag in ("img", "script") and values.get("src") or tag == "link" and values.get("rel") != "canonical":
                if values.get(key):
                    self.loads.append(values[key])


def broken(site):
    """Links to nothing, and what a page would fetch from elsewhere."""
    pages = {file: Page(file) for file in site.rglob("*.html")}
    for file, page in pages.items():
        if file.name == "404.html":  # served for any address: its links start at the root
            continue
        for target in [*page.links, *page.loads]:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads:
                    yield f"{file.relative_to(site)} loads {target}"
                continue
            path = (file.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else file
            path = path / "index.html" if path.is_dir() else path
            if not path.exists():
                yield f"{file.relative_to(site)}: {target} does not exist"
            elif parts.fragment and path in pages and urllib.parse.unquote(parts.fragment) not in pages[path].ids:
                yield f"{file.relative_to(site)}: {target} is no heading there"


def main(quasar, build, site):
    if not shutil.which("mkdocs") or subprocess.run(["mkdocs", "build", "--help"], capture_output=True, text=True).stdout.find("material") < 0:
        print("no mkdocs with its theme material (scripts/setup.sh --developer): no site")
        return 77
    staged = site.parent / (site.name + "-source")
    shutil.rmtree(staged, ignore_errors=True)
    stage = Stage(staged / "pages")
    navigation = []
    for chapter, documents in chapters().items():
        entries = []
        for document in documents:
            stage.write(staged_name(document), stage.converted(REPOSITORY / document, staged_name(document)))
            entries.append(staged_name(document))
        navigation.append({chapter: entries})
    headers = (build / "public_headers.txt").read_text().split()
    next(one for one in navigation if "Reference" in one)["Reference"] += reference(stage, quasar, headers)
    shutil.copy(REPOSITORY / "docs/site/site.css", stage.folder)
    settings = (REPOSITORY / "docs/site/mkdocs.yml").read_text()
    (staged / "mkdocs.yml").write_text(f"{settings}docs_dir: pages\nsite_dir: {json.dumps(str(site))}\nnav: {json.dumps(navigation)}\n")
    done = subprocess.run(["mkdocs", "build", "--quiet", "--config-file", staged / "mkdocs.yml"], capture_output=True, text=True)
    problems = [line for line in done.stderr.splitlines() if line.startswith(("ERROR", "WARNING"))] + (sorted(broken(site)) if done.returncode == 0 else [])
    print("\n".join(problems) or f"{site}: {len(list(site.rglob('*.html')))} pages, every link leads somewhere; open {site / 'index.html'}")
    return 1 if problems or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), *(pathlib.Path(word).resolve() for word in sys.argv[2:4])))
