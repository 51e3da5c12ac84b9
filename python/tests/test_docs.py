"""Every Python block of docs/python.md and of the docs/coming_from_….md runs, one after the other; and the package's promises about types."""
import os
import re
import shutil
import unittest
from pathlib import Path

import numpy
import quasar
from digits import DIGITS, ROOT, Case
from quasar.neural_compressor import options


class Documents(Case):
    def run_blocks(self, document, names):
        for name, file in [("model.onnx", "digits.onnx"), ("calibration.npz", "calibration.npz"), ("evaluation.npz", "evaluation.npz")]:
            shutil.copy(DIGITS / file, name)
        text = (ROOT / document).read_text()
        blocks = [(text[: match.start()].count("\n") + 2, match[1]) for match in re.finditer(r"^```python[^\n]*\n(.*?)^```", text, re.M | re.S)]
        for line, block in blocks:
            exec(compile("\n" * (line - 1) + block, document, "exec"), names)
        return len(blocks)

    def test_python_md(self):
        self.assertGreater(self.run_blocks("docs/python.md", {"__name__": "docs"}), 5)
        self.assertTrue(Path("out/best.onnx").exists())

    def test_coming_from_inc_md(self):
        self.addCleanup(options.__dict__.update, dict(options.__dict__))
        self.assertEqual(self.run_blocks("docs/coming_from_inc.md", {"__name__": "docs"}), 3)
        self.assertTrue(Path("saved/best_model.onnx").exists() and Path("results/best.onnx").exists())

    def test_coming_from_onnxruntime_md(self):
        self.assertEqual(self.run_blocks("docs/coming_from_onnxruntime.md", {"__name__": "docs"}), 2)
        self.assertTrue(all(Path(name).exists() for name in ("int8.onnx", "dynamic.onnx", "searched/best.onnx")))

    def test_coming_from_quark_md(self):
        names = {"__name__": "docs"}
        self.assertEqual(self.run_blocks("docs/coming_from_quark.md", names), 3)
        self.assertTrue(all(Path(file).exists() for file in ("search/best.onnx", "pro/best.onnx", "npu.onnx")))
        self.assertEqual(len(names["made"].skipped), 0)

    def test_readme(self):
        evaluation = numpy.load(DIGITS / "evaluation.npz")
        names = {"quasar": quasar, "images": numpy.load(DIGITS / "calibration.npz")["image"], "more_images": evaluation["image"], "labels": evaluation["label"]}
        self.assertEqual(self.run_blocks("README.md", names), 1)
        self.assertEqual(names["found"].status, "ok")

    def test_everything_public_is_described(self):
        for name in quasar.__all__:
            self.assertTrue(getattr(quasar, name).__doc__ or isinstance(getattr(quasar, name), str) or name == "Samples", name)
        self.assertTrue((Path(quasar.__file__).parent / "py.typed").exists())

    def test_the_package_stands_alone(self):
        """The libraries beside it are those that it uses."""
        folder = Path(quasar.__file__).parent
        maps = Path(f"/proc/{os.getpid()}/maps").read_text()
        for library in ("/_core.", "libonnxruntime.so"):
            used = {line.split()[-1] for line in maps.splitlines() if library in line}
            self.assertEqual({str(Path(path).parent) for path in used}, {str(folder)}, used)


if __name__ == "__main__":
    unittest.main()
