"""The site that `make site` builds: every list, command, public header and function of the Python package has its place in the reference,
pages load nothing from elsewhere, and its check of links finds what is broken.

usage: site.py QUASAR SOURCE_FOLDER BUILD_FOLDER      exit 77: there is no mkdocs here
"""
import html
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

quasar, source, build = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
spec = importlib.util.spec_from_file_location("site_builder", source / "scripts/site.py")
builder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(builder)


def text_of(page):
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text()))


def listed(kind):
    return json.loads(subprocess.run([quasar, "list", kind, "--json"], check=True, capture_output=True).stdout)


with tempfile.TemporaryDirectory() as name:
    site = pathlib.Path(name) / "site"
    code = builder.main(str(quasar), build, site)
    if code:
        sys.exit(code)
    for kind in (item["name"] for item in listed("lists")):
        if kind == "lists":
            continue
        text = text_of(site / f"reference/{kind}.html")
        for item in listed(kind):
            for word in [item["name"], *(option["name"] for option in item["options"])]:
                assert word in text, f"reference/{kind}.html does not name {word}"
    commands = text_of(site / "reference/commands.html")
    for command in ("search", "quantize", "evaluate", "inspect", "report", "list"):
        assert f"quasar {command}" in commands, command
    assert "--dry-run" in commands
    headers = (build / "public_headers.txt").read_text().split()
    for header in headers:
        assert header in text_of(site / f"reference/cpp/{header.split('/')[1]}.html"), header
    assert "struct ExamineOptions" in text_of(site / "reference/cpp/inspect.html")
    python = text_of(site / "reference/python_api.html")
    for word in ("search(model", "class Study", "on_trial"):
        assert word in python, word
    for document in (source / "docs").glob("*.md"):
        assert (site / f"{document.stem}.html").exists(), document
    assert not list(builder.broken(site))
    page = site / "reports.html"
    planted = ['<a href="nowhere.html">', '<a href="data.html#no-such-heading">', '<img src="https://example.org/a.png">']
    page.write_text(page.read_text().replace("</body>", "".join(planted) + "</body>"))
    assert len(list(builder.broken(site))) == len(planted), list(builder.broken(site))
