"""fit(): Neural Compressor's call for quantizing and tuning a model."""
from __future__ import annotations

import functools
import logging
import os
import warnings
from typing import Any, Callable, Dict, List, Optional

from .. import _core
from .._api import SearchResult, _run, quantize
from .._configuration import gathered
from .._evaluators import scoring
from .._launch import is_first
from .._samples import Samples
from .._words import Model
from ..auto_search import _free_folder, _raise_where_all_failed
from ._loaders import Arrays, Batches, calibration_samples, size_of
from ._settings import refuse_unknown
from .config import PostTrainingQuantConfig, options
from .metric import metric_of, scored_by
from .model import ONNXModel, opened
from .strategy.strategy import guest_of

logger = logging.getLogger("quasar")
_arguments = ["model", "conf", "calib_dataloader", "calib_func", "eval_func", "eval_dataloader", "eval_metric"]


def _refuse(conf: Any, calib_func: Any, eval_func: Any, eval_dataloader: Any, eval_metric: Any) -> None:
    """Raises QuasarError for arguments that nothing can be done with, and warns of those without effect."""
    if not isinstance(conf, PostTrainingQuantConfig):
        raise _core.QuasarError(f"conf is {conf!r}, but must be a PostTrainingQuantConfig: Quasar quantizes after training")
    if calib_func is not None:
        raise _core.QuasarError("calib_func is for PyTorch; for ONNX models give calib_dataloader")
    if eval_func is not None and not callable(eval_func):
        raise _core.QuasarError(f"eval_func is {eval_func!r}, but must be a function of the model")
    without_effect = list(conf._without_effect())
    if eval_func is not None:
        without_effect += [f"{name} has no effect: eval_func scores the models" for name, value in
                           (("eval_dataloader", eval_dataloader), ("eval_metric", eval_metric)) if value is not None]
    elif (eval_dataloader is None) != (eval_metric is None):
        there, missing = ("eval_metric", "eval_dataloader") if eval_dataloader is None else ("eval_dataloader", "eval_metric")
        raise _core.QuasarError(f"{there} is given without {missing}: give both to tune, or neither to quantize without tuning")
    for text in without_effect:
        warnings.warn(text, stacklevel=3)


def _evaluator(score: Callable[[str], Any], like: Any, higher_is_better: bool) -> Callable[[str], Any]:
    """A function of a model's path as an evaluator of Quasar's, called like the user's function in messages."""
    @functools.wraps(like, updated=())
    def named(path: str) -> Any:
        value = score(path)
        if isinstance(value, (list, tuple)):
            raise TypeError(f"eval_func returned {value!r}, but must return one number")
        return value

    return scoring("path", metrics={"accuracy": "maximize" if higher_is_better else "minimize"})(named)


def _calibration(conf: PostTrainingQuantConfig, model: Model, loader: Any) -> Dict[str, Any]:
    """Calibration samples as the search's keys: as many as calibration_sampling_size asks for, or all that there are."""
    if loader is None:
        if conf.approach not in ("dynamic", "weight_only"):
            raise _core.QuasarError(f"calib_dataloader is missing: approach '{conf.approach}' takes ranges of activations from samples")
        logger.warning("calib_dataloader is not given: random samples stand for it")
        return {"calib_data_reader": "random"}
    wanted = conf._sampling_sizes()
    samples: List[Arrays] = calibration_samples(Batches("calib_dataloader", loader, model), max(wanted))
    there = sum(map(size_of, samples))
    sizes = list(dict.fromkeys(min(size, there) for size in wanted))
    return {"calib_data_reader": samples, "calibration_sampling_size": sizes if len(sizes) > 1 else sizes[0]}


# Without an evaluation there is no goal: the first trial of strategy basic is the default configuration, narrowed by the dictionaries.
_one_trial = {"quant_level": 1, "accuracy_criterion": {"criterion": "absolute", "tolerable_loss": 1e30, "metrics": {"cos": 1}}}


def _untuned(words: Dict[str, Any]) -> Dict[str, Any]:
    criterion = {"strategy": "basic", "max_trials": 1}
    return {**{key: value for key, value in words.items() if key != "objectives"}, **_one_trial, "tuning_criterion": criterion}


def _nearest(found: SearchResult) -> str:
    """What a search without success came to."""
    if found.best_model is None:
        return f"no trial worked: {found.result['reason']}; see {found.output_dir}"
    scores = [f"{name} {value:g} (float: {found.baseline[name]:g})" for name, value in found.metrics.items() if name in found.baseline]
    return f"{found.result['reason']}; the nearest model, with {', '.join(scores)}, is {found.best_model}"


def _on_codes(found: SearchResult, model: Model, samples: Samples, score: Optional[Callable[[str], Any]]) -> str:
    """The best model written a second time, as operators on codes (quant_format QOperator). -> its path; the best model's own where that is
    not possible, with a warning."""
    path = str(found.output_dir / "best_qoperator.onnx")
    try:
        quantize(model, path, {**_core.read_words(str(found.output_dir / "best_config.yaml")), "quant_format": "QOperator"}, samples)
    except _core.QuasarError as error:
        logger.warning("quant_format 'QOperator' is not possible for this model, which keeps its Q/DQ pairs: %s", error)
        return str(found.best_model)
    accuracy = None if score is None else float(score(path))
    if accuracy is not None and accuracy != found.metrics["accuracy"]:
        logger.warning("with quant_format 'QOperator' the accuracy is %g, with Q/DQ pairs (%s) it was %g", accuracy, found.best_model, found.metrics["accuracy"])
    return path


def _score(model: Model, eval_func: Any, eval_dataloader: Any, eval_metric: Any, higher_is_better: bool) -> Optional[Callable[[str], Any]]:
    """What scores a model's file; None where nothing is given that could."""
    if eval_func is not None:
        return _evaluator(lambda path: eval_func(opened(path)), eval_func, higher_is_better)
    if eval_metric is None:
        return None
    measured = scored_by(metric_of(eval_metric), Batches("eval_dataloader", eval_dataloader, model))
    return _evaluator(measured, measured, higher_is_better)


def _searched(words: Dict[str, Any], model: Model, arguments: Dict[str, Any]) -> SearchResult:
    criterion = words["tuning_criterion"]
    words["tuning_criterion"] = {**criterion, "strategy": guest_of(criterion["strategy"], arguments)}
    if not words.get("load_study_if_exists") and is_first():
        words["output_dir"] = _free_folder(words["output_dir"], "set_resume_from()", 4)
    found = _run(gathered(words), model, os.getcwd(), decided=True)
    _raise_where_all_failed(found)
    return found


def fit(model: Any, conf: PostTrainingQuantConfig, calib_dataloader: Any = None, calib_func: Any = None,
        eval_func: Optional[Callable[[Any], Any]] = None, eval_dataloader: Any = None, eval_metric: Any = None,
        **unknown: Any) -> Optional[ONNXModel]:
    """Quantizes an ONNX model as conf says, and tunes it where its accuracy can be measured.

    model:            a path, bytes, an onnx.ModelProto, or an ONNXModel.
    calib_dataloader: yields (input, label) batches, or inputs: arrays, lists of arrays in the order of the model's inputs, or
                      dictionaries. Only as many are read as calibration_sampling_size asks for.
    eval_func:        gets the model (onnx.ModelProto; its path where weights stand in a file of their own) and returns a number.
    eval_dataloader, eval_metric: instead of eval_func: batches as above, and {"topk": 1}, a Metric, or an object with update, reset
                      and result.

    -> the model that meets conf.accuracy_criterion; None, and a line in the log that says where the nearest one is, when none does.
    Without eval_func and eval_metric: the model of the default configuration. Results stand in conf's output folder, which is
    nc_workspace/<time> unless set_workspace() says otherwise. Raises QuasarError for what is wrong in the arguments, and where all
    trials fail, for what the first did.
    """
    refuse_unknown("fit()", unknown, _arguments)
    _refuse(conf, calib_func, eval_func, eval_dataloader, eval_metric)
    words = {**conf._words(), **options._words(), **_calibration(conf, model, calib_dataloader)}
    options.resume_from = None  # another call has another model
    score = _score(model, eval_func, eval_dataloader, eval_metric, conf.accuracy_criterion.higher_is_better)
    if score is None:
        logger.warning("neither eval_func nor eval_dataloader with eval_metric is given: the model is quantized by the default configuration, without tuning")
        words = _untuned(words)
    else:
        words["search_evaluator"] = score
    found = _searched(words, model, {"model": model, "conf": conf, "q_dataloader": calib_dataloader, "eval_func": eval_func,
                                     "eval_dataloader": eval_dataloader, "eval_metric": eval_metric})
    if found.status != "ok":
        logger.error("None is returned: %s", _nearest(found))
        return None
    if conf.quant_format == "QOperator" and conf.approach in ("static", "auto"):  # the other approaches have one form only
        return ONNXModel(found, model, _on_codes(found, model, words["calib_data_reader"], score))
    return ONNXModel(found, model, str(found.best_model))


__all__ = ["fit"]
