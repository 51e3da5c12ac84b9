"""One model through Quark's own quantizer, for table.py. Needs Quark's Python.
usage: PYTHON_OF_QUARK bench/quark_quantize.py MODEL OUT CALIBRATION.npz CONFIGURATION     (CONFIGURATION: A8W8, A8W8_CHANNEL, A16W8, XINT8, BF16)
Calibration's arrays are named as the model's inputs; the first axis counts samples. CHANNEL is Int8Spec per channel for weights; the others are Quark's
own named configurations without fine-tuning. Prints where Quark's operators for ONNX Runtime are."""
import sys

import numpy as np
from quark.onnx import ModelQuantizer, QConfig, QLayerConfig
import quark.onnx as quark


class Samples(quark.CalibrationDataReader):
    def __init__(self, path):
        self.arrays, self.at = dict(np.load(path)), 0

    def get_next(self):
        if self.at == len(next(iter(self.arrays.values()))):
            return None
        self.at += 1
        return {name: values[self.at - 1:self.at] for name, values in self.arrays.items()}

    def reset_iter(self):
        self.at = 0


def configuration(name):
    if not name.startswith("A8W8"):
        return QConfig.get_default_config(name)
    granularity = quark.QuantGranularity.Channel if name.endswith("CHANNEL") else quark.QuantGranularity.Tensor
    return QConfig(global_config=QLayerConfig(activation=quark.Int8Spec(), weight=quark.Int8Spec(quant_granularity=granularity)))


def main():
    model, out, calibration, name = sys.argv[1:]
    ModelQuantizer(configuration(name)).quantize_model(model, out, Samples(calibration))
    from quark.onnx.operators.custom_ops import get_library_path
    print("\nOPERATORS", get_library_path("CPU"))


if __name__ == "__main__":
    main()
