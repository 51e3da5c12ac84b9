"""Quasar finds the best way to quantize an ONNX model, and shows why it is the best.

>>> import quasar
>>> found = quasar.search("model.onnx", calib=calibration, eval=(images, labels), preset="cpu_int8_search", metric=["L2", "top1"])
>>> found.best_model, found.metrics

search, quantize, evaluate, inspect and worker are the commands of the same names. Evaluators, samplers, stop conditions and strategies of
your own are functions and classes (scoring, Sampler, StopCondition, Strategy, TuningStrategy). AutoSearchPro, AutoSearch and what belongs to them
run scripts that were written for AMD Quark. Messages go to logging.getLogger("quasar").
"""
import os
import sys
from typing import Dict

from . import _core, _openvino, _qnn
from ._api import Quantized, SearchResult, dry_run, evaluate, inspect, load_custom_operators, quantize, search
from ._evaluators import kind_of, scoring
from ._generation import cache_samples, generation_agreement
from ._guests import Bench, Sampler, StopCondition, Strategy
from ._auto import auto
from ._pipelines import Pipeline, generate, pipeline_samples, split, transcription_errors
from ._samples import Samples
from ._session import Session
from ._speech import speech_samples
from ._study import Space, Study, Trial
from ._text import text_samples
from ._tuning import Operator, Tuner, TuningStrategy, register_strategy
from ._worker import worker
from .auto_search import (AutoSearch, AutoSearchConfig, AutoSearchConfig_Default, AutoSearchPro, CalibrationDataReader, Config, Configs,
                          QuantizationConfig, SearchSpace, generate_all_configs, get_auto_search_config, get_default_config)
from .enums import (CalibrationMethod, ExtendedQuantFormat, ExtendedQuantType, Int16Method, LayerWiseMethod, PowerOfTwoMethod, QuantFormat,
                    QuantType)

__version__: str = _core.version
onnxruntime_version: str = _core.onnxruntime_version
QuasarError = _core.QuasarError
_openvino.offer()
_qnn.offer()
if sys.executable: os.environ["QUASAR_PYTHON"] = sys.executable  # evaluators in files run in this environment, activated or not


def listed(kind: str) -> Dict[str, str]:
    """What there is of a kind, with a sentence on each: presets, schemes, samplers, pruners, strategies, metrics, targets."""
    return _core.listed(kind)


__all__ = [
    "AutoSearch", "AutoSearchConfig", "AutoSearchConfig_Default", "AutoSearchPro", "Bench", "CalibrationDataReader", "CalibrationMethod",
    "Config", "Configs", "ExtendedQuantFormat", "ExtendedQuantType", "Int16Method", "LayerWiseMethod", "Operator", "Pipeline", "PowerOfTwoMethod",
    "QuantFormat", "QuantType", "QuantizationConfig", "Quantized", "QuasarError", "Sampler", "Samples", "SearchResult", "SearchSpace",
    "Session", "Space", "StopCondition", "Strategy", "Study", "Trial", "Tuner", "TuningStrategy", "auto", "cache_samples", "dry_run", "evaluate", "generate", "generate_all_configs",
    "generation_agreement", "get_auto_search_config", "get_default_config", "inspect", "kind_of", "listed", "load_custom_operators", "onnxruntime_version", "pipeline_samples", "quantize",
    "register_strategy", "scoring", "search", "speech_samples", "split", "text_samples", "transcription_errors", "worker",
]
