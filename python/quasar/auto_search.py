"""AMD Quark's Auto Search and Auto Search Pro: scripts that were written for them change only their import.

    from quark.onnx import AutoSearchPro, get_auto_search_config     ->     from quasar import AutoSearchPro, get_auto_search_config
"""
from __future__ import annotations

import contextlib
import copy
import difflib
import inspect as _inspect
import os
import shutil
import warnings
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _core
from ._api import SearchResult, _run
from ._configuration import gathered, gathered_for_workers
from ._configs import Configs, single_space, snake_case
from ._launch import is_first
from ._pools import Workers
from ._samples import Samples
from ._study import Space
from ._words import Model, plain

_accepts_everything = 2.0e4  # v1's default tolerance


class CalibrationDataReader:
    """What readers are derived from, as onnxruntime's class of this name, which will do as well."""

    def get_next(self) -> Optional[Dict[str, Any]]:
        """The next sample as arrays by input name; None after the last one."""
        raise NotImplementedError("a reader must define get_next()")


# What Quark's dictionaries have besides; None: Quasar's default.
_pro_keys = ["model_input", "calib_data_reader", "eval_data_reader", "search_evaluator", "search_metric", "search_algo", "direction", "n_trials", "n_jobs",
             "two_stage_search", "output_dir", "temp_dir", "study_name", "study_storage_db", "load_study_if_exists", "plot_results", "base_framework"]


def get_auto_search_config(name: str) -> Dict[str, Any]:
    """A named search (XINT8_SEARCH, A8W8_SEARCH, A16W8_SEARCH, ADVANCED_SEARCH …) as a dictionary of one's own, to be completed and
    given to AutoSearchPro. It has every key of Quark's; None stands for the default. Raises QuasarError, with the names that there
    are, for another name."""
    return {**dict.fromkeys(_pro_keys), **_core.preset(name)}


def _free_folder(folder: str, how_to_continue: str = "load_study_if_exists", stacklevel: int = 4) -> str:
    """The folder, or the next numbered one where it holds an earlier search: `out_2`; in the working directory `search_2`."""
    whole = Path(folder).absolute()
    if not _core.earlier_search(str(whole)):
        return folder
    stem = whole / "search" if whole == Path.cwd() or whole.parent == whole else whole
    number = 2
    while stem.with_name(f"{stem.name}_{number}").exists():
        number += 1
    free = str(stem.with_name(f"{stem.name}_{number}"))
    warnings.warn(f"{folder} holds an earlier search: results go to {free}; {how_to_continue} continues the earlier one", stacklevel=stacklevel)
    return free


def _raise_where_all_failed(result: SearchResult) -> None:
    trials = result.trials
    if trials and all(trial.state == "failed" for trial in trials):
        raise _core.QuasarError(f"all {len(trials)} trials failed; the first: {trials[0].attributes.get('error', 'for no reason that is known')}")


def _searched(words: Dict[str, Any], model: Model, workers: Optional[Workers]) -> SearchResult:
    """As both of Quark's classes search: a script may be run twice, and one whose trials all fail has failed."""
    if not words.get("load_study_if_exists") and is_first():
        key = "output_dir" if words.get("output_dir") is not None else "search_output_dir"
        words = {**words, key: _free_folder(words.get(key) or "quasar_out")}
    with contextlib.ExitStack() as stack:
        configuration = gathered(words) if workers is None else gathered_for_workers(words, model, workers, stack)
        result = _run(configuration, model, os.getcwd(), decided=True)
    _raise_where_all_failed(result)
    return result


def generate_all_configs(search_space: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """Every configuration of a space without ranges, in the order of a grid."""
    return list(Space(search_space))


class AutoSearchPro:
    """A search by a dictionary of Auto Search Pro's keys (docs/search.md), and Quasar's own. Readers are CalibrationDataReader
    objects or whatever else quasar.search() takes; search_evaluator is a function of the model's path, a metric's name or None.

    >>> config = get_auto_search_config("XINT8_SEARCH")
    >>> config["model_input"], config["calib_data_reader"] = "model.onnx", reader
    >>> best_params = AutoSearchPro(config).run()
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = {key: value for key, value in config.items() if value is not None}
        self.result: Optional[SearchResult] = None

    def run(self, workers: Optional[Workers] = None) -> Dict[str, Any]:
        """Searches. -> the best configuration by flat names; `result` holds everything else. workers: who helps, as in quasar.search()"""
        if "model_input" not in self.config:
            raise _core.QuasarError("model_input is required: the path of the float ONNX model")
        if callable(self.config.get("search_evaluator")) and self.config.get("direction") == "minimize":
            warnings.warn("direction is 'minimize', so smaller values of search_evaluator are better. (Quark minimizes float − quantized "
                          "whatever the direction, as if greater values were better.)", stacklevel=2)
        self.result = _searched(self.config, self.config["model_input"], workers)
        return self.result.best_params


class QuantizationConfig:
    """A configuration in v1's words: calibrate_method, activation_type, weight_type, include_cle, extra_options …"""

    def __init__(self, **fields: Any) -> None:
        self.extra_options: Dict[str, Any] = {}
        self.__dict__.update(fields)

    def words(self) -> Dict[str, Any]:
        """As the key quant_config has it."""
        return plain({name: value for name, value in vars(self).items() if value is not None and value != {}}, "quantization config")


def get_default_config(name: str) -> QuantizationConfig:
    """A scheme (S8S8_AAWS, XINT8 …) in v1's words. Raises QuasarError for another name."""
    return QuantizationConfig(**_core.base_of(name))


class Config:
    """Config(global_quant_config=get_default_config("S8S8_AAWS"))"""

    def __init__(self, global_quant_config: Union[QuantizationConfig, str, Mapping[str, Any]]) -> None:
        self.global_quant_config = global_quant_config


def _base_words(config: Any) -> Any:
    """A quantization config in any of its forms as the key quant_config."""
    config = getattr(config, "global_quant_config", config)
    return config.words() if isinstance(config, QuantizationConfig) else plain(config, "quantization config")


class AutoSearchConfig:
    """Auto Search's settings, as attributes of the class, of a class derived from it, or of an object."""

    search_space: Optional[Dict[str, Any]] = None
    search_metric: Union[None, str, Sequence[str]] = None
    search_algo: Optional[str] = None
    search_evaluator: Union[None, str, Mapping[str, Any], Callable[..., Any]] = None
    search_metric_tolerance: Optional[float] = None
    search_cache_dir: Optional[str] = None
    search_output_dir: Optional[str] = None
    search_log_path: Optional[str] = None  #: accepted, with a note: the log is auto_search.log in search_output_dir
    two_stage_search: bool = False
    advanced_fastft_search: bool = False
    advanced_fastft_params: Optional[Dict[str, Any]] = None
    n_jobs: int = 1
    n_trials: Optional[int] = None
    search_devices: Optional[str] = None
    search_stop_condition: Optional[Dict[str, Any]] = None
    default_config: Any = None


class AutoSearchConfig_Default(AutoSearchConfig):
    """v1's defaults: a space of 43 200 configurations, of which 20 are drawn unless n_trials says otherwise."""

    _words = _core.preset("AutoSearchConfig_Default")
    search_space: Dict[str, Any] = _words["search_space"]  # type: ignore[assignment]
    search_algo = _words["search_algo"]
    n_trials = _words["n_trials"]
    search_metric = _words["search_metric"]
    search_metric_tolerance = _accepts_everything
    search_stop_condition = {"find_n_candidates": 1000, "find_best_candidate": -1, "iteration_limit": 100000, "time_limit": 2592000}


def _setting(config: Any, name: str) -> Any:
    """An attribute of a class or an object; a plain function that stands in a class is no method, unless its first parameter is self."""
    if isinstance(config, Mapping):
        return config.get(name)
    raw = _inspect.getattr_static(config, name, None)
    value = raw.__func__ if isinstance(raw, staticmethod) else getattr(config, name, None)
    if _inspect.ismethod(value) and value.__self__ is config and _inspect.isfunction(raw):
        parameters = list(_inspect.signature(raw).parameters)
        return value if parameters[:1] == ["self"] else raw
    return value


_names = ["search_metric", "search_algo", "search_metric_tolerance", "search_cache_dir", "search_output_dir", "search_log_path", "two_stage_search",
          "advanced_fastft_search", "advanced_fastft_params", "n_jobs", "n_trials", "search_devices", "target", "seed", "pruner", "direction",
          "holdout_data_reader", "accuracy_criterion", "objectives", "constraints", "memory_limit", "trial_time_limit", "expected_time_per_config",
          "keep_models", "study_name", "study_storage_db", "load_study_if_exists", "warm_start", "warm_start_study"]


_stop_conditions = ["find_n_candidates", "find_best_candidate", "iteration_limit", "time_limit"]
_own_attributes = [dict(vars(own)) for own in (AutoSearchConfig, AutoSearchConfig_Default)]


def _given(config: Any) -> Dict[str, Any]:
    """What the user has set: not what Quasar's own classes have by themselves."""
    if isinstance(config, Mapping):
        return dict(config)
    kind = config if isinstance(config, type) else type(config)
    layers: List[Mapping[str, Any]] = [vars(own) for own in reversed(kind.__mro__) if own is not object]
    if not isinstance(config, type):
        layers.append(getattr(config, "__dict__", {}))
    given = {name: value for layer in layers for name, value in layer.items()}
    is_own = lambda name, value: any(name in own and own[name] is value for own in _own_attributes)  # noqa: E731
    return {name: value for name, value in given.items() if not name.startswith("_") and not is_own(name, value)}


def _is_helper(name: str, value: Any) -> bool:
    """A function, a class, or a space that stands beside the settings, as Quark's examples keep them (search_space_XINT8)."""
    return callable(value) or isinstance(value, (staticmethod, classmethod, property)) or name.startswith("search_space_")


def _check_settings(config: Any) -> None:
    """Raises QuasarError for an attribute that is probably meant as a setting, and warns of others: they have no effect."""
    given = _given(config)
    known = sorted(set(_names) | set(AutoSearchConfig.__annotations__))
    idle = []
    for name in sorted(set(given) - set(known)):
        if name in _stop_conditions:
            raise _core.QuasarError(f"{name} is no setting of Auto Search by itself; it belongs into search_stop_condition = {{'{name}': {given[name]!r}}}")
        meant = [known_name for known_name in (f"search_{name}", f"search_metric_{name}") if known_name in known and known_name not in given]
        meant += [] if name.startswith("search_space_") else difflib.get_close_matches(name, known, 1, 0.8)
        if meant:
            raise _core.QuasarError(f"{name} is no setting of Auto Search; did you mean '{meant[0]}'?")
        if not _is_helper(name, given[name]):
            idle.append(name)
    if idle:
        warnings.warn(f"{', '.join(idle)} {'is no setting' if len(idle) == 1 else 'are no settings'} of Auto Search, without effect", stacklevel=4)


class SearchSpace:
    """SearchSpace(conf).get_all_configs(): the configurations of a space in either form."""

    def __init__(self, conf: Any, logger: Any = None) -> None:
        self.conf = conf if isinstance(conf, Mapping) else _setting(conf, "search_space")

    def get_all_configs(self) -> Configs:
        """Every configuration, each once."""
        return Configs([self.conf])

    def remove_invalid_configs(self) -> Configs:
        """The same: parameters that are not active are in no configuration, and none comes twice."""
        return self.get_all_configs()


def _is_model(value: Any) -> bool:
    if isinstance(value, (bytes, os.PathLike)) or hasattr(value, "SerializeToString"):
        return True
    return isinstance(value, str) and (value.endswith(".onnx") or Path(value).is_file())


class AutoSearch:
    """Auto Search (v1). Arguments are in the order of Quark's package, or in that of its documentation:

        AutoSearch(model_input, config, auto_search_config=None, eval_dataloader=None, calibration_data_reader=None, calibration_data_path=None)
        AutoSearch(config, auto_search_config, model_input, calibration_data_reader)

    `model_output`, which examples for Quark give: a file (….onnx) or a folder for a copy of best.onnx, with its weights beside it where
    those are a file of their own. A search that finds no model writes nothing there, and warns.
    """

    def __init__(self, *arguments: Any, model_input: Optional[Model] = None, config: Any = None, auto_search_config: Any = None,
                 eval_dataloader: Samples = None, calibration_data_reader: Samples = None, calibration_data_path: Optional[str] = None,
                 model_output: Union[None, str, "os.PathLike[str]"] = None) -> None:
        package = ["model_input", "config", "auto_search_config", "eval_dataloader", "calibration_data_reader", "calibration_data_path"]
        documents = ["config", "auto_search_config", "model_input", "calibration_data_reader", "eval_dataloader"]
        order = package if not arguments or _is_model(arguments[0]) else documents
        if len(arguments) > len(order):
            raise TypeError(f"AutoSearch() takes at most {len(order)} arguments, but {len(arguments)} are given")
        given: Dict[str, Any] = {"model_input": model_input, "config": config, "auto_search_config": auto_search_config,
                                 "eval_dataloader": eval_dataloader, "calibration_data_reader": calibration_data_reader,
                                 "calibration_data_path": calibration_data_path}
        for name, value in zip(order, arguments):
            if given[name] is not None:
                raise TypeError(f"AutoSearch() got '{name}' twice")
            given[name] = value
        if given["model_input"] is None:
            raise TypeError("AutoSearch() needs the float model: model_input")
        self.model_input = given["model_input"]
        self.model_output = None if model_output is None else self._output_file(Path(model_output).absolute())
        self.config = given["config"]
        self.auto_search_config = given["auto_search_config"] if given["auto_search_config"] is not None else AutoSearchConfig_Default
        self.eval_dataloader = given["eval_dataloader"]
        self.calibration_data_reader = given["calibration_data_reader"] if given["calibration_data_reader"] is not None else given["calibration_data_path"]
        #: What is searched when it is set: of build_all_configs(), concatenated or filtered.
        self.all_configs: Union[None, Configs, Sequence[Mapping[str, Any]]] = None
        self.result: Optional[SearchResult] = None

    def _output_file(self, path: Path) -> Path:
        path = path if path.suffix == ".onnx" and not path.is_dir() else path / "best.onnx"
        if isinstance(self.model_input, (str, os.PathLike)) and path.resolve() == Path(self.model_input).resolve():
            raise _core.QuasarError(f"model_output is {path}, but that is model_input: the float model would be overwritten")
        return path

    def _copy_best(self) -> None:
        assert self.result is not None and self.model_output is not None
        best = self.result.best_model
        if best is None or not Path(best).exists():
            warnings.warn(f"the search found no model: {self.model_output} is not written", stacklevel=3)
            return
        self.model_output.parent.mkdir(parents=True, exist_ok=True)
        for file, copy_of in ((Path(best), self.model_output), (Path(f"{best}.data"), self.model_output.with_name("best.onnx.data"))):
            if file.exists() and file.resolve() != copy_of.resolve():
                shutil.copyfile(file, copy_of)

    def _base(self) -> Any:
        config = self.config if self.config is not None else _setting(self.auto_search_config, "default_config")
        return None if config is None else _base_words(config)

    def _base_mapping(self) -> Any:
        base = self._base()
        return _core.base_of(base) if isinstance(base, str) else base

    def build_all_configs(self, space: Mapping[str, Any]) -> Configs:
        """Every configuration of a space; a + b searches one space after the other."""
        return Configs([space], self._base_mapping())

    def _spaces(self, words: Dict[str, Any]) -> None:
        if self.all_configs is None:
            space = _setting(self.auto_search_config, "search_space")
            words["search_space"] = plain(AutoSearchConfig_Default.search_space if space is None else space, "search_space")
        elif isinstance(self.all_configs, Configs):
            words["search_spaces"] = copy.deepcopy(self.all_configs.spaces)
        else:
            words["search_spaces"] = [single_space(plain(config, "all_configs")) for config in self.all_configs]
        if words.get("search_spaces") == []:
            raise _core.QuasarError("all_configs is empty: no configuration passed the filter")

    def _best_of_ranges(self) -> Dict[str, Any]:
        assert self.result is not None
        options = _setting(self.auto_search_config, "search_space")["extra_options"]["FastFinetune"]
        return {name: value for name in options for key, value in self.result.best_params.items()
                if key.endswith("_params_" + snake_case(name))}

    def _words(self) -> Dict[str, Any]:
        _check_settings(self.auto_search_config)
        words: Dict[str, Any] = {name: _setting(self.auto_search_config, name) for name in _names}
        words["search_evaluator"] = _setting(self.auto_search_config, "search_evaluator")
        words["calib_data_reader"] = self.calibration_data_reader
        words["eval_data_reader"] = self.eval_dataloader
        self._spaces(words)
        spaces = words.get("search_spaces") or [words["search_space"]]
        hierarchical = any(name in space for space in spaces for name in ("activation", "weight", "scheme"))
        if hierarchical and self.config is not None:
            warnings.warn("the search space says itself what is quantized, and how: config is not looked at. What it excludes, and its types, stand in the space, as "
                          "exclude: [NODE]", stacklevel=3)
        if not hierarchical:
            words["quant_config"] = self._base()
        elif words["search_algo"] is None:
            words["search_algo"] = "grid_search"
        if words["search_metric_tolerance"] is None and not words["advanced_fastft_search"]:
            words["search_metric_tolerance"] = _accepts_everything
        if words["keep_models"] is None:
            words["keep_models"] = "candidates"
        stop = _setting(self.auto_search_config, "search_stop_condition")
        words["search_stop_condition"] = {name: int(value) if isinstance(value, float) and value.is_integer() else value
                                          for name, value in stop.items()} if isinstance(stop, Mapping) else stop
        return words

    def search_model(self, workers: Optional[Workers] = None) -> Union[List[Dict[str, Any]], Dict[str, Any]]:
        """Searches. -> the candidates (trials not worse than float by more than search_metric_tolerance) in the order in which they
        were found: {config_index, difference, model_path, config}; of an advanced_fastft_search the best parameters by FastFinetune's
        names: {NumIterations, LearningRate}. `result` holds everything else; the best is result.best_model. workers: who helps, as in
        quasar.search()"""
        self.result = _searched(self._words(), self.model_input, workers)
        if self.model_output is not None and is_first():
            self._copy_best()
        if _setting(self.auto_search_config, "advanced_fastft_search"):
            return self._best_of_ranges()
        objective = self.result.result["objectives"][0]
        sign = 1 if objective["direction"] == "maximize" else -1
        reference = self.result.baseline.get(objective["name"], 0.0)
        out = []
        for trial in self.result.trials:
            if trial.attributes.get("candidate") and "duplicate_of" not in trial.attributes:
                out.append({"config_index": trial.number, "difference": sign * (reference - trial.values[0]),
                            "model_path": str(self.result.output_dir / f"trial_{trial.number}.onnx"), "config": trial.params})
        return out
