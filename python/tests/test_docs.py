"""Every Python block of docs/python.md runs, one after the other; and the package's promises about types."""
import os
import re
import shutil
import unittest
from pathlib import Path

import quasar
from digits import DIGITS, ROOT, Case


class Documents(Case):
    def test_python_md(self):
        for name, file in [("model.onnx", "digits.onnx"), ("calibration.npz", "calibration.npz"), ("evaluation.npz", "evaluation.npz")]:
            shutil.copy(DIGITS / file, name)
        text = (ROOT / "docs" / "python.md").read_text()
        blocks = [(text[: match.start()].count("\n") + 2, match[1]) for match in re.finditer(r"^```python\n(.*?)^```", text, re.M | re.S)]
        self.assertGreater(len(blocks), 5)
        names = {"__name__": "docs"}
        for line, block in blocks:
            exec(compile("\n" * (line - 1) + block, "docs/python.md", "exec"), names)
        self.assertTrue(Path("out/best.onnx").exists())

    def test_everything_public_is_described(self):
        for name in quasar.__all__:
            self.assertTrue(getattr(quasar, name).__doc__ or isinstance(getattr(quasar, name), str) or name == "Samples", name)
        self.assertTrue((Path(quasar.__file__).parent / "py.typed").exists())

    def test_the_package_stands_alone(self):
        """The libraries beside it are those that it uses."""
        folder = Path(quasar.__file__).parent
        maps = Path(f"/proc/{os.getpid()}/maps").read_text()
        for library in ("libquasar.so", "libonnxruntime.so"):
            used = {line.split()[-1] for line in maps.splitlines() if library in line}
            self.assertEqual({str(Path(path).parent) for path in used}, {str(folder)}, used)


if __name__ == "__main__":
    unittest.main()
