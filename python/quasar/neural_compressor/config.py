"""Neural Compressor's configuration classes. Every setting acts, or is refused, or a warning says that it has no effect and why."""
from __future__ import annotations

import os
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from .. import _core
from .._words import plain
from ._settings import Settings, refuse_other_words, refuse_unknown

Dictionary = Optional[Mapping[str, Any]]


class AccuracyCriterion(Settings):
    """The goal: how much accuracy may be lost. tolerable_loss is a share of the float model's (relative), or in its unit (absolute)."""

    def __init__(self, higher_is_better: bool = True, criterion: str = "relative", tolerable_loss: float = 0.01, **unknown: Any) -> None:
        self._take({"higher_is_better": higher_is_better, "criterion": criterion, "tolerable_loss": tolerable_loss}, unknown)

    def _check(self) -> None:
        refuse_other_words("AccuracyCriterion.higher_is_better", self.higher_is_better, [True, False])
        refuse_other_words("AccuracyCriterion.criterion", self.criterion, ["relative", "absolute"])
        if isinstance(self.tolerable_loss, bool) or not isinstance(self.tolerable_loss, (int, float)) or self.tolerable_loss < 0:
            raise _core.QuasarError(f"AccuracyCriterion.tolerable_loss is {self.tolerable_loss!r}, but must be a number of at least 0; 0.01 is 1 %")


_costs = {"modelsize": "bytes", "footprint": "peak_memory", "performance": "latency"}


class TuningCriterion(Settings):
    """Who decides what is tried next, and when it ends. strategy: a name (quasar.listed("strategies")), or that of one's own
    (strategy_registry). objective: what is made small among the models that meet the goal: performance, modelsize or footprint."""

    def __init__(self, strategy: str = "basic", strategy_kwargs: Dictionary = None, timeout: float = 0, max_trials: int = 100,
                 objective: Union[str, Sequence[str]] = "performance", **unknown: Any) -> None:
        self._take({"strategy": strategy, "strategy_kwargs": strategy_kwargs, "timeout": timeout, "max_trials": max_trials,
                    "objective": objective}, unknown)

    def _check(self) -> None:
        if not isinstance(self.strategy, str):
            raise _core.QuasarError(f"TuningCriterion.strategy is {self.strategy!r}, but must be a name")
        refuse_other_words("TuningCriterion.objective", self._objective(), _costs)

    def _objective(self) -> Any:
        """The one objective, in whatever form it is given."""
        given = self.objective.get("objective") if isinstance(self.objective, Mapping) else self.objective
        names = [given] if isinstance(given, str) else given
        if isinstance(names, (list, tuple)) and len(names) == 1:
            return names[0]
        raise _core.QuasarError(f"TuningCriterion.objective is {self.objective!r}, but Quasar takes one objective beside the accuracy goal: "
                                f"{', '.join(_costs)}. quasar.search(objectives=[...]) takes several")

    def _words(self) -> Dict[str, Any]:
        """The keys of a search's configuration."""
        criterion = {"strategy": self.strategy, "timeout": self.timeout, "max_trials": self.max_trials}
        if self.strategy_kwargs is not None:
            criterion["strategy_kwargs"] = self.strategy_kwargs
        words: Dict[str, Any] = {"tuning_criterion": criterion}
        # The first model that meets the goal ends a search without timeout: there is nothing to choose from, and nothing to measure.
        if self._objective() != "performance" or self.timeout:
            words["objectives"] = [{"metric": _costs[self._objective()]}]
        return words


# Recipes that Quasar does not have: the values that ask for nothing, whether others are refused, and why.
_no_recipes: Dict[str, Tuple[List[Any], bool, str]] = {
    "layer_wise_quant": ([False], False, "it saves memory, and calibration keeps no more than memory_limit anyway"),
    "layer_wise_quant_args": ([{}], False, "it belongs to layer_wise_quant"),
    "fast_bias_correction": ([False], False, "strategy repair and quasar.search() have it as BiasCorrection"),
    "weight_correction": ([False], False, "quasar.search() and strategy repair have optimized rounding for weights (docs/rounding.md)"),
    "gemm_to_matmul": ([], False, "Gemm is quantized as it is"),
    "graph_optimization_level": ([], False, "ONNX Runtime's clean-up runs first in any case, and its other levels when the model is loaded"),
    "add_qdq_pair_to_weight": ([False], True, "it is for TensorRT, which is no target of Quasar's strategies"),
    "dedicated_qdq_pair": ([False], True, "it is for TensorRT, which is no target of Quasar's strategies"),
    "optypes_to_exclude_output_quant": ([[]], True, "quasar.quantize() and quasar.search() take OpTypesToExcludeOutputQuantization in a configuration"),
    "rtn_args": ([{}], True, "approach 'weight_only' tries schemes by their names (docs/rounding.md)"),
    "awq_args": ([{}], True, "approach 'weight_only' tries schemes by their names (docs/rounding.md)"),
    "gptq_args": ([{}], True, "approach 'weight_only' tries schemes by their names (docs/rounding.md)"),
    "teq_args": ([{}], True, "Quasar has no TEQ"),
    "autoround_args": ([{}], True, "Quasar has no AutoRound"),
}
_recipes = ["smooth_quant", "smooth_quant_args", "first_conv_or_matmul_quantization", "last_conv_or_matmul_quantization",
            "pre_post_process_quantization"]

_refused_backends = {
    "itex": "it is for TensorFlow", "ipex": "it is for PyTorch",
    "onnxrt_trt_ep": "quasar.search(target='tensorrt', preset='tensorrt_search') makes models for TensorRT",
    "onnxrt_dnnl_ep": "models for 'default' run there too", "onnxrt_dml_ep": "Quasar has no rules for DirectML",
}
_approaches = {"post_training_static_quant": "static", "post_training_dynamic_quant": "dynamic", "post_training_auto_quant": "auto",
               "post_training_weight_only": "weight_only"}


def _words_in(dictionary: Dictionary) -> Iterator[str]:
    """The types that op_type_dict or op_name_dict names."""
    for entry in (dictionary or {}).values():
        for side in entry.values() if isinstance(entry, Mapping) else []:
            types = side.get("dtype", []) if isinstance(side, Mapping) else []
            yield from [types] if isinstance(types, str) else types


class PostTrainingQuantConfig(Settings):
    """How a model is quantized and tuned, with Neural Compressor's settings (docs/coming_from_inc.md says of each what becomes of it)."""

    def __init__(self, device: str = "cpu", backend: str = "default", domain: str = "auto", recipes: Dictionary = None,
                 quant_format: str = "default", inputs: Sequence[str] = (), outputs: Sequence[str] = (), approach: str = "static",
                 calibration_sampling_size: Union[int, Sequence[int]] = (100,), op_type_dict: Dictionary = None,
                 op_name_dict: Dictionary = None, reduce_range: Optional[bool] = None, example_inputs: Any = None,
                 excluded_precisions: Sequence[str] = (), quant_level: Union[int, str] = "auto",
                 accuracy_criterion: Optional[AccuracyCriterion] = None, tuning_criterion: Optional[TuningCriterion] = None,
                 diagnosis: bool = False, ni_workload_name: str = "quantization", **unknown: Any) -> None:
        self._take({"device": device, "backend": backend, "domain": domain, "recipes": recipes or {}, "quant_format": quant_format,
                    "inputs": inputs, "outputs": outputs, "approach": _approaches.get(approach, approach),
                    "calibration_sampling_size": calibration_sampling_size, "op_type_dict": op_type_dict, "op_name_dict": op_name_dict,
                    "reduce_range": reduce_range, "example_inputs": example_inputs, "excluded_precisions": excluded_precisions,
                    "quant_level": quant_level, "accuracy_criterion": accuracy_criterion or AccuracyCriterion(),
                    "tuning_criterion": tuning_criterion or TuningCriterion(), "diagnosis": diagnosis,
                    "ni_workload_name": ni_workload_name}, unknown)

    def _check(self) -> None:
        for name, words in (("domain", ["auto", "cv", "object_detection", "nlp", "recommendation_system"]), ("quant_format", ["default", "QDQ", "QOperator"]),
                            ("approach", ["static", "dynamic", "auto", "weight_only"]), ("quant_level", ["auto", 0, 1]), ("device", ["cpu", "gpu", "npu", "xpu"]),
                            ("backend", ["default", "onnxrt_cuda_ep", *_refused_backends]), ("reduce_range", [None, True, False]), ("diagnosis", [True, False])):
            refuse_other_words(name, getattr(self, name), words)
        for name, kind in (("accuracy_criterion", AccuracyCriterion), ("tuning_criterion", TuningCriterion)):
            if not isinstance(getattr(self, name), kind):
                raise _core.QuasarError(f"{name} is {getattr(self, name)!r}, but must be of class {kind.__name__}")
        if self.backend in _refused_backends:
            raise _core.QuasarError(f"backend '{self.backend}' is not there: {_refused_backends[self.backend]}; there are 'default' and 'onnxrt_cuda_ep'")
        if self.device in ("npu", "xpu"):
            raise _core.QuasarError(f"device '{self.device}' is not there; for NPUs with scales of powers of two there is quasar.search(target='xint8')")
        if self.reduce_range and self.backend == "onnxrt_cuda_ep":
            raise _core.QuasarError("reduce_range=True is of no use with backend 'onnxrt_cuda_ep', whose kernels add products in 32 bits; leave it out")
        if self.device == "gpu" and self.backend == "default":
            raise _core.QuasarError("device 'gpu' needs backend='onnxrt_cuda_ep'")
        self._sampling_sizes()
        self._check_recipes()
        self._check_precisions()

    def _check_recipes(self) -> None:
        if not isinstance(self.recipes, Mapping):
            raise _core.QuasarError(f"recipes is {self.recipes!r}, but must be a dictionary")
        refuse_unknown("recipes", self.recipes, [*_recipes, *_no_recipes])
        arguments = self.recipes.get("smooth_quant_args") or {}
        if not isinstance(arguments, Mapping):
            raise _core.QuasarError(f"recipes['smooth_quant_args'] is {arguments!r}, but must be a dictionary such as {{'alpha': 0.5}}")
        refuse_unknown("recipes['smooth_quant_args']", arguments, ["alpha"])
        for name, (idle, refused, why) in _no_recipes.items():
            if refused and self.recipes.get(name) is not None and self.recipes[name] not in idle:
                raise _core.QuasarError(f"recipes['{name}'] is {self.recipes[name]!r}, but Quasar's strategies have no such recipe: {why}")

    def _check_precisions(self) -> None:
        excluded = [self.excluded_precisions] if isinstance(self.excluded_precisions, str) else self.excluded_precisions
        for precision in excluded:
            refuse_other_words("excluded_precisions", precision, ["bf16", "fp16"])
            for key in ("op_type_dict", "op_name_dict"):  # Quasar takes these types where a dictionary names them, and nowhere else
                if precision in _words_in(getattr(self, key)):
                    raise _core.QuasarError(f"excluded_precisions has '{precision}', but {key} names it; keep one of them")

    def _without_effect(self) -> Iterator[str]:
        """What is accepted and changes nothing, and why."""
        if self.domain != "auto":
            yield f"domain={self.domain!r} has no effect: Quasar finds blocks and heads by the model's structure"
        for name in ("inputs", "outputs"):
            if getattr(self, name):
                yield f"{name}={getattr(self, name)!r} has no effect: Neural Compressor needs it for TensorFlow only"
        if self.example_inputs is not None:
            yield "example_inputs has no effect: Neural Compressor needs it for PyTorch only"
        if self.reduce_range and self.approach == "weight_only":
            yield "reduce_range=True has no effect: approach 'weight_only' multiplies floats, whose sums do not overflow"
        if self.diagnosis:
            yield "diagnosis=True has no effect: report.html in the output folder tells of every trial and layer, and quasar.inspect() of what each layer loses"
        if self.ni_workload_name != "quantization":
            yield f"ni_workload_name={self.ni_workload_name!r} has no effect: Neural Insights is a program of Neural Compressor's"
        for name, (idle, refused, why) in _no_recipes.items():
            if not refused and self.recipes.get(name) is not None and self.recipes[name] not in idle:
                yield f"recipes['{name}']={self.recipes[name]!r} has no effect: {why}"

    def _sampling_sizes(self) -> List[int]:
        sizes = plain(self.calibration_sampling_size, "calibration_sampling_size")
        sizes = sizes if isinstance(sizes, list) else [sizes]
        if not sizes or any(type(size) is not int or size < 1 for size in sizes):
            raise _core.QuasarError(f"calibration_sampling_size is {self.calibration_sampling_size!r}, but must be a whole number of at least 1, or a list of them")
        return sizes

    def _words(self) -> Dict[str, Any]:
        """The keys of a search's configuration, but for the samples."""
        words: Dict[str, Any] = {"approach": self.approach, "quant_level": self.quant_level, **self.tuning_criterion._words(),
                                 "accuracy_criterion": self.accuracy_criterion._given(),
                                 "target": "ort_cuda" if self.backend == "onnxrt_cuda_ep" else "ort_cpu"}
        if self.device == "gpu":
            words["search_devices"] = "cuda:0"
        if self.reduce_range and self.approach != "weight_only":
            words["saturation"] = "reduce_range"
        recipes = {name: value for name, value in self.recipes.items() if name in _recipes and value is not None}
        for name, value in (("recipes", recipes), ("op_type_dict", self.op_type_dict), ("op_name_dict", self.op_name_dict)):
            if value:
                words[name] = value
        return words


class Options(Settings):
    """What holds for every call of fit(): where results go, the seed, and an earlier folder to go on with."""

    def __init__(self, random_seed: int = 1978, workspace: Optional[str] = None, resume_from: Optional[str] = None, **unknown: Any) -> None:
        self._take({"random_seed": random_seed, "workspace": workspace, "resume_from": resume_from}, unknown)

    def _check(self) -> None:
        if self.resume_from is not None and not os.path.isfile(os.path.join(self.resume_from, "result.json")):
            raise _core.QuasarError(f"resume_from is {self.resume_from!r}, but must be the output folder of an earlier fit(); a history.snapshot of Neural Compressor's cannot be read")

    def _words(self) -> Dict[str, Any]:
        """The keys of a search's configuration."""
        words: Dict[str, Any] = {"seed": self.random_seed}
        if self.resume_from is not None:
            return {**words, "output_dir": self.resume_from, "load_study_if_exists": True}
        return {**words, "output_dir": self.workspace or time.strftime("nc_workspace/%Y-%m-%d_%H-%M-%S")}


options = Options()

__all__ = ["AccuracyCriterion", "Options", "PostTrainingQuantConfig", "TuningCriterion", "options"]
