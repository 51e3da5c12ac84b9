"""Every extension, and every option of its own, is named in the document that is its reference.
usage: reference.py QUASAR SOURCE_FOLDER
"""
import json
import pathlib
import subprocess
import sys

reference = {"readers": "data.md", "metrics": "metrics.md", "decoders": "metrics.md", "heads": "metrics.md", "ranges": "calibration.md", "samplers": "samplers.md",
             "pruners": "pruning.md", "rounding": "rounding.md"}
with_options = {"readers", "metrics", "decoders"}
program, docs = sys.argv[1], pathlib.Path(sys.argv[2], "docs")
missing = []
for kind, document in reference.items():
    text = (docs / document).read_text()
    for item in json.loads(subprocess.run([program, "list", kind, "--json"], check=True, capture_output=True).stdout):
        names = [item["name"]] + ([option["name"] for option in item["options"]] if kind in with_options else [])
        missing += [f"docs/{document} does not name '{name}' ({kind}: {item['name']})" for name in names if name not in text]
print("\n".join(missing) or "everything is named")
sys.exit(bool(missing))
