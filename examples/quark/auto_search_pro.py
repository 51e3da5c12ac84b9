"""A script for AMD Quark's Auto Search Pro, on the digits of this repository. On Quasar it changes only its import:

    sed 's/quark.onnx/quasar/' auto_search_pro.py | python3 - DIGITS_FOLDER OUTPUT_FOLDER
"""
import copy
import sys
from pathlib import Path

import numpy as np
from quark.onnx import AutoSearchPro, get_auto_search_config

digits, output = Path(sys.argv[1]), sys.argv[2]


class DigitsReader:
    """As onnxruntime's CalibrationDataReader."""

    def __init__(self, file, count):
        self.images = np.load(file)["image"][:count]
        self.rewind()

    def get_next(self):
        return next(self.iterator, None)

    def rewind(self):
        self.iterator = iter([{"image": image[None]} for image in self.images])


def get_model_input():
    return str(digits / "digits.onnx")


def prepare_datareader():
    return DigitsReader(digits / "calibration.npz", 100)


# Available auto search config: "XINT8_SEARCH", "A8W8_SEARCH", "A16W8_SEARCH"
quant_config = copy.deepcopy(get_auto_search_config("A8W8_SEARCH"))
quant_config["model_input"] = get_model_input()
quant_config["calib_data_reader"] = prepare_datareader()
quant_config["eval_data_reader"] = DigitsReader(digits / "evaluation.npz", 200)
quant_config["output_dir"] = output
quant_config["n_trials"] = 4

auto_search_pro_ins = AutoSearchPro(quant_config)
best_params = auto_search_pro_ins.run()
print(best_params)
