"""A script for AMD Quark's Auto Search (v1) with a custom evaluator, on the digits of this repository. On Quasar it changes only its
imports:

    sed 's/quark.onnx/quasar/' auto_search.py | python3 - DIGITS_FOLDER OUTPUT_FOLDER
"""
import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnxruntime.quantization.calibrate import CalibrationDataReader, CalibrationMethod
from onnxruntime.quantization.quant_utils import QuantType
from quark.onnx import PowerOfTwoMethod
from quark.onnx.auto_search import AutoSearch, AutoSearchConfig
from quark.onnx.quantization.config import Config, get_default_config

digits, output = Path(sys.argv[1]), sys.argv[2]


class DigitsReader(CalibrationDataReader):
    def __init__(self):
        self.iterator = iter([{"image": image[None]} for image in np.load(digits / "calibration.npz")["image"][:100]])

    def get_next(self):
        return next(self.iterator, None)


class AutoSearchConfig_Default(AutoSearchConfig):
    search_space_XINT8 = {
        "calibrate_method": [PowerOfTwoMethod.MinMSE],
        "activation_type": [QuantType.QInt8],
        "weight_type": [QuantType.QInt8],
        "include_cle": [False],
        "include_fast_ft": [False],
        "extra_options": {"ActivationSymmetric": [True], "WeightSymmetric": [True]},
    }
    search_space = {
        "calibrate_method": [CalibrationMethod.MinMax, CalibrationMethod.Percentile],
        "activation_type": [QuantType.QInt8, QuantType.QInt16],
        "weight_type": [QuantType.QInt8],
        "include_cle": [False],
        "include_fast_ft": [False],
        "extra_options": {
            "ActivationSymmetric": [False],
            "WeightSymmetric": [True],
            "CalibMovingAverage": [False, True],
            "CalibMovingAverageConstant": [0.01],
        },
    }
    search_metric_tolerance = 0.5
    search_output_dir = output
    search_stop_condition = {"find_n_candidates": -1, "find_best_candidate": -1, "iteration_limit": 1000, "time_limit": 3600}

    @staticmethod
    def custom_evaluator(onnx_path, **args):
        session = onnxruntime.InferenceSession(onnx_path)
        data = np.load(digits / "evaluation.npz")
        scores = session.run(None, {"image": data["image"][:200]})[0]
        return float(np.mean(scores.argmax(axis=1) == data["label"][:200]))

    search_evaluator = custom_evaluator


auto_search_config = AutoSearchConfig_Default()
quantization_config = Config(global_quant_config=get_default_config("S8S8_AAWS"))
auto_search_ins = AutoSearch(
    config=quantization_config,
    auto_search_config=auto_search_config,
    model_input=str(digits / "digits.onnx"),
    calibration_data_reader=DigitsReader(),
)
space1 = auto_search_ins.build_all_configs(auto_search_config.search_space_XINT8)
space2 = auto_search_ins.build_all_configs(auto_search_config.search_space)
auto_search_ins.all_configs = space1 + space2
searched_candidates = auto_search_ins.search_model()
for candidate in searched_candidates:
    print(candidate["config_index"], candidate["difference"], candidate["model_path"])
