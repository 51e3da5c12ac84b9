"""The demo's model and samples, and a small space over them."""
import os
import stat
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

def _field(number, value):
    """A field of protobuf: a whole number below 128, a text or bytes of less than 128."""
    if isinstance(value, int):
        return bytes((number << 3, value))
    value = value.encode() if isinstance(value, str) else value
    return bytes((number << 3 | 2, len(value) & 127 | 128, len(value) >> 7)) + value


def product(inputs):
    """An ONNX model, as bytes, that multiplies two float32 inputs: {name: [size or name of it, ...]}."""
    def value(name, shape):
        sizes = b"".join(_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in shape)
        return _field(1, name) + _field(2, _field(1, _field(1, 1) + _field(2, sizes)))

    node = b"".join(_field(1, name) for name in inputs) + _field(2, "product") + _field(4, "Mul")
    graph = _field(1, node) + _field(2, "g") + b"".join(_field(11, value(*one)) for one in inputs.items())
    graph += _field(12, value("product", next(iter(inputs.values()))))
    return _field(1, 8) + _field(8, _field(2, 13)) + _field(7, graph)


# A process that stands in for a library that runs models: it dies of one quantized model, refuses another, and answers all samples with zeros.
FAKE = """#!/bin/sh
number_of() {{  # of a quantized model, in whatever process
  seen={folder}/seen_$(cksum < "$1" | tr ' ' _)
  if mkdir "$seen" 2>/dev/null; then
    ls -d {folder}/seen_* | wc -l > "$seen/new"; mv "$seen/new" "$seen/number"
  fi
  while [ ! -f "$seen/number" ]; do sleep 0.01; done
  cat "$seen/number"
}}
while read -r line; do
  case $line in
    *'"hello"'*) echo '{{"library":"Fake","version":"1","device":"shell"}}' ;;
    *'"model"'*) file=$(printf %s "$line" | sed 's/.*"model":"\\([^"]*\\)".*/\\1/')
                 number=0
                 ! grep -q QuantizeLinear "$file" || number=$(number_of "$file")
                 case $((number)) in
                   {dies}) echo 'bad luck' >&2; kill -SEGV $$ ;;
                   {refuses}) echo '{{"error":"no such operator"}}' ;;
                   *) echo '{{"partitions":1,"on_cpu":[]}}' ;;
                 esac ;;
    *'"timed"'*) echo '{{"seconds":0.001}}' ;;
    *) to=$(printf %s "$line" | sed 's/.*"to":"\\([^"]*\\)".*/\\1/')
       head -c 40 /dev/zero > "$to"; echo '{{"outputs":[{{"type":1,"shape":[1,10]}}]}}' ;;
  esac
done
"""


def fake_judge(folder, dies, refuses):
    """The file of such a process; quantized models are counted from 1 as they come, once each however many of its processes open them."""
    file = folder / "fake"
    file.write_text(FAKE.format(folder=folder, dies=dies, refuses=refuses))
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


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
