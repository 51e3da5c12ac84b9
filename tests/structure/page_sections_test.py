"""page_sections finds a section without a place and a place without a section, and nothing else."""
import tempfile
from pathlib import Path

from page_sections import misplaced

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "a.js").write_text("sections.push({ id: 'a', title: 'A', build });\nsections.push({ id: 'b', title: 'B', build });\n")
    (folder / "main.js").write_text("const order = ['a',\n  'b'];\n")
    assert list(misplaced(folder)) == [], list(misplaced(folder))
    (folder / "main.js").write_text("const order = ['c', 'a', 'a'];\n")
    assert list(misplaced(folder)) == ["a.js: section 'b' has no place in the order of main.js",
                                       "main.js: 'c' stands in the order, and no file has such a section",
                                       "main.js: 'a' stands in the order twice"], list(misplaced(folder))
    (folder / "main.js").write_text("const order = ['a', 'b'];\nsections.push(another);\n")
    assert len(list(misplaced(folder))) == 1
