"""The demo's model and samples, and a small space over them."""
import os
import tempfile
import unittest
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
MODEL = str(DIGITS / "digits.onnx")

SPACE = {
    "activation": ["UInt8Spec"],
    "activation_params": {"calibration_method": ["MinMax", "Percentile"], "only_if": "activation"},
    "weight": ["Int8Spec"],
    "weight_params": {"quant_granularity": ["Tensor", "Channel"], "only_if": "weight"},
}


def arrays(split, count=None):
    """(images [n, 1, 8, 8], labels [n])"""
    data = numpy.load(DIGITS / f"{split}.npz")
    return data["image"][:count], data["label"][:count]


class Case(unittest.TestCase):
    """Every test in a folder of its own."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = Path(self._folder.name)
        self._before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(self._folder.cleanup)
        self.addCleanup(os.chdir, self._before)
        self.calibration = arrays("calibration", 50)
        self.evaluation = arrays("evaluation", 150)

    def search(self, **more):
        import quasar

        given = {"calib": self.calibration[0], "eval": self.evaluation, "space": SPACE, "output_dir": "out", "sampler": "Grid", **more}
        return quasar.search(MODEL, **given)
