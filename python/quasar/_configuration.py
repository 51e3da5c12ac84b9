"""A search's configuration as Python gives it: words, and the objects that stand behind names in them."""
from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from . import _core
from ._evaluators import caller, kind_of
from ._guests import Keeping, LossCaller, Sampler, Strategy, StopCondition
from ._launch import refuse_launches
from ._pools import Workers, crew, in_a_file
from ._samples import Gathering, Samples, fresh_name
from ._session import Session
from ._tuning import registered
from ._words import Model, model_file, plain, rooted_models

libraries: List[str] = []  # that load_custom_operators() has loaded


class Configuration:
    """A search's configuration, with the registrations that stand behind names in it."""

    def __init__(self, words: Mapping[str, Any]) -> None:
        self.words: Dict[str, Any] = dict(words)
        self.gathering = Gathering()
        self.keeping: List[Keeping] = []

    def data(self, key: str, data: Samples) -> None:
        if data is not None:
            self.words[key] = self.gathering.words(data, key)

    def evaluator(self, evaluator: Any) -> None:
        if evaluator is None:
            return
        if not callable(evaluator):
            self.words["search_evaluator"] = plain(evaluator, "search_evaluator")
            return
        label = getattr(evaluator, "__qualname__", type(evaluator).__name__)
        kind = kind_of(evaluator)
        name = fresh_name("python_evaluator")
        self.gathering.registrations.append(_core.bring_evaluator(name, caller(evaluator), kind == "outputs"))
        self.words["search_evaluator"] = {name: f"{getattr(evaluator, '__module__', '')}.{label} ({kind})",
                                          **plain(getattr(evaluator, "quasar_words", {}), "evaluator")}

    def sampler(self, sampler: Any) -> None:
        if isinstance(sampler, type) and issubclass(sampler, Sampler):
            sampler = sampler()
        if isinstance(sampler, Sampler):
            name = fresh_name(type(sampler).__name__)
            self.gathering.registrations.append(_core.bring_sampler(name, sampler))
            sampler = name
        if sampler is not None:
            self.words["search_algo"] = plain(sampler, "sampler")

    def strategy(self, strategy: Any) -> None:
        if strategy is not None:
            self.words["strategy"] = plain(self._named(strategy), "strategy")

    def _named(self, strategy: Any) -> Any:
        """The name under which a strategy that is an object or a class is known to this search; a name stays as it is."""
        if isinstance(strategy, type) and issubclass(strategy, Strategy):
            strategy = strategy()
        if not isinstance(strategy, Strategy):
            return strategy
        name = stage = type(strategy).__name__  # a study counts a strategy's trials under this: the same class continues them
        try:
            registration = strategy._bring(name, stage)
        except _core.QuasarError:  # one of Quasar's own, or of a search besides this one, has the name
            name = fresh_name(stage)
            registration = strategy._bring(name, stage)
        self.gathering.registrations.append(registration)
        self.keeping.append(strategy)
        return name

    def failure(self) -> Optional[BaseException]:
        """What came out of a strategy or a loss, once."""
        kept = [failure for failure in (one._came_out() for one in [*self.keeping, *registered()]) if failure is not None]
        return kept[0] if kept else None

    def tuning(self, criterion: Any) -> None:
        """strategy may be an object, strategy_kwargs.hawq_v2_loss a function of (output, target, criterion)."""
        if isinstance(criterion, Mapping) and "strategy" in criterion:
            criterion = {**criterion, "strategy": self._named(criterion["strategy"])}
        kwargs = criterion.get("strategy_kwargs") if isinstance(criterion, Mapping) else None
        loss = kwargs.get("hawq_v2_loss") if isinstance(kwargs, Mapping) else None
        if loss is not None and not isinstance(loss, str) and not callable(loss):
            raise TypeError(f"hawq_v2_loss is {loss!r}, but must be a function of output, target and criterion, or the name of a loss")
        if isinstance(criterion, Mapping) and isinstance(kwargs, Mapping) and callable(loss):
            name = fresh_name(getattr(loss, "__name__", "loss"))
            caller_of_loss = LossCaller(loss)
            self.keeping.append(caller_of_loss)
            self.gathering.registrations.append(_core.bring_loss(name, caller_of_loss))
            criterion = {**criterion, "strategy_kwargs": {**kwargs, "hawq_v2_loss": name}}
        self.words["tuning_criterion"] = plain(criterion, "tuning_criterion")

    def stop(self, stop: Any) -> None:
        words: Dict[str, Any] = dict(self.words.get("search_stop_condition") or {})
        for one in stop if isinstance(stop, (list, tuple)) else [] if stop is None else [stop]:
            if isinstance(one, type) and issubclass(one, StopCondition):
                one = one()
            if isinstance(one, StopCondition):
                name = fresh_name(type(one).__name__)
                self.gathering.registrations.append(_core.bring_stop(name, one))
                words[name] = True
            elif isinstance(one, Mapping):
                words.update(plain(one, "stop"))
            else:
                raise TypeError(f"stop holds {one!r}, but takes quasar.StopCondition objects and mappings such as {{'time_limit': 60}}")
        if words:
            self.words["search_stop_condition"] = words

    def space(self, space: Any) -> None:
        if space is None:
            return
        if isinstance(space, str):
            self.words["preset"] = space
        else:
            self.words["search_spaces" if isinstance(space, (list, tuple)) else "search_space"] = plain(space, "space")


def gathered(words: Mapping[str, Any]) -> Configuration:
    """The words of a configuration whose values may be Python objects: readers, functions, samplers."""
    configuration = Configuration({})
    for key, value in words.items():
        if value is None:
            continue
        if key.endswith("_data_reader") or key == "data_reader":
            configuration.data(key, value)
        elif key == "search_evaluator":
            configuration.evaluator(value)
        elif key in ("search_algo", "sampler"):
            configuration.sampler(value)
        elif key == "strategy":
            configuration.strategy(value)
        elif key == "tuning_criterion":
            configuration.tuning(value)
        elif key == "search_stop_condition":
            configuration.stop(value)
        elif key not in ("model_input", "models"):
            configuration.words[key] = plain(value, key)
    return configuration


def gather_arguments(configuration: Configuration, space: Any, preset: Optional[str], metric: Any, evaluator: Any, sampler: Any, strategy: Any, stop: Any) -> None:
    configuration.space(space)
    if preset is not None:
        configuration.words["preset"] = preset
    if metric is not None:
        configuration.words["search_metric"] = plain(metric, "metric")
    configuration.evaluator(evaluator)
    configuration.sampler(sampler)
    configuration.strategy(strategy)
    configuration.stop(stop)


def _models_from(models: Any, base: str) -> Any:
    """What a file's key models says, with paths from the file's folder."""
    if not isinstance(models, Mapping):
        raise _core.QuasarError(f"models is {models!r}, but must be a mapping of names to paths")
    out: Dict[str, Any] = {}
    for name, model in models.items():
        if isinstance(model, str):
            out[name] = str(Path(base, model))
        elif isinstance(model, Mapping) and isinstance(model.get("path"), str):
            out[name] = {**model, "path": str(Path(base, model["path"]))}
        else:
            out[name] = model
    return out


@contextlib.contextmanager
def model_words(model: Model) -> Iterator[Dict[str, Any]]:
    """What a configuration says of the model, for as long as the context lasts."""
    if isinstance(model, Mapping):
        yield {"models": rooted_models(model)}
        return
    with model_file(model) as path:
        yield {"model_input": path}


_spaces = ("search_space", "search_spaces")


def _canonical(name: str) -> str:
    """A key by its own name, however it is spelt."""
    return next(iter(_core.canonical_keys({name: None})))


def _from_here(keys: Mapping[str, Any]) -> Dict[str, Any]:
    """Keys by their own names, with paths from this folder, whatever folder a configuration's own start from; objects stay."""
    out: Dict[str, Any] = {}
    for name, value in keys.items():
        if value is None:
            continue
        try:
            out.update(_core.rooted_key(name, value if _holds_samples(_canonical(name), value) else plain(value, name), os.getcwd()))
        except TypeError:  # no word: arrays, functions, objects
            out[_canonical(name)] = value
    return out


def _names_samples(value: Any) -> bool:
    """Whether these are words for a reader."""
    return isinstance(value, (str, os.PathLike)) or isinstance(value, Mapping) and (
        isinstance(value.get("reader"), str) or isinstance(value.get("path"), (str, os.PathLike)))


def _holds_samples(key: str, value: Any) -> bool:
    return (key.endswith("_data_reader") or key == "data_reader") and not _names_samples(value)


def _replaced(words: Mapping[str, Any], keys: Mapping[str, Any], space: Any, preset: Any, metric: Any, evaluator: Any) -> List[str]:
    """What a configuration's words say otherwise, and does not stand beside these arguments. An evaluator of theirs stays for a metric that it gives."""
    out: List[str] = []
    if space is not None or preset is not None or any(name in keys for name in _spaces):
        out += _spaces
    if metric is not None or evaluator is not None or "search_metric" in keys or "search_evaluator" in keys:
        out.append("objectives")
    evaluators = words.get("search_evaluator")
    own = list(evaluators.get("metrics") or ["score"]) if isinstance(evaluators, Mapping) else []
    wanted = metric if isinstance(metric, (list, tuple)) else [metric]
    if metric is not None and evaluator is None and not any(one in own for one in wanted):
        out.append("search_evaluator")
    return out


def model_of(model: Optional[Model], keys: Mapping[str, Any]) -> Optional[Model]:
    """The argument, or the key model_input that stands for it. Raises TypeError where they differ."""
    given = keys.get("model_input")
    if model is None or given is None or model is given:
        return given if model is None else model
    paths = all(isinstance(one, (str, os.PathLike)) for one in (model, given))
    if not paths or os.path.realpath(model) != os.path.realpath(given):
        raise TypeError("model and model_input are given, and differ; keep one of them")
    return model


def opened(function: str, model: Optional[Model], config: Union[None, str, "os.PathLike[str]", Mapping[str, Any]], keys: Mapping[str, Any],
           space: Any = None, preset: Any = None, metric: Any = None, evaluator: Any = None) -> Tuple[Configuration, Model, str, str]:
    """-> a configuration's words with the keys and arguments that win over them, the model, the folder that its paths start from, its file or ""."""
    base, file = os.getcwd(), ""
    words: Dict[str, Any] = {}
    keys = _from_here(keys)
    model = model_of(model, keys)
    if isinstance(config, (str, os.PathLike)):
        file = os.fspath(config)
        base = str(Path(config).absolute().parent)
        words = _core.canonical_keys(_core.read_words(file))
        words["output_dir"] = str(Path(base, words.get("output_dir") or "quasar_out"))
        if "model_input" in words and model is None and "models" not in keys:
            model = Path(base, words["model_input"])
        elif "models" in words and model is None and "models" not in keys:
            model = _models_from(words["models"], base)
    elif config is not None:
        words = {_canonical(name): value for name, value in config.items()}
        model = words.get("model_input") if model is None and "models" not in keys else model
    for name in _replaced(words, keys, space, preset, metric, evaluator):
        words.pop(name, None)
    if keys.get("models") is not None or (model is None and words.get("models") is not None):
        if model is not None:
            raise TypeError("model and models are given; keep one of them: model for one model, models for several")
        model = keys.get("models") or words["models"]
    if model is None:
        raise TypeError(f"{function} needs a model")
    return gathered({**words, **keys}), model, base, file


def rooted(key: str, data: Samples) -> Samples:
    """Samples that a path or a reader's words name, with paths from this folder; others stay."""
    return _from_here({key: data})[key] if data is not None and _names_samples(data) else data


def take_samples(key: str, data: Samples, config: Any, keys: Dict[str, Any]) -> Samples:
    """The samples of an argument, else those of a key that stands for it, which is taken out wherever it stands."""
    for words in (keys, config):
        for name in [name for name in words if _canonical(name) == key] if isinstance(words, dict) else []:
            found = words.pop(name)
            data = found if data is None else data
    return data


def ready_for_workers(configuration: Configuration) -> None:
    """Raises QuasarError for what other programs cannot have, and gives them the libraries that this one has loaded."""
    if libraries:
        named = configuration.words.get("custom_op_library") or []
        configuration.words["custom_op_library"] = list(dict.fromkeys([*(named if isinstance(named, list) else [named]), *libraries]))
    if configuration.gathering.registrations:
        raise _core.QuasarError("workers are other programs, which do not have this one's functions and classes: name an evaluator in a file, "
                                "{'python': 'FILE.py:FUNCTION'}, samplers and strategies by their names, or start the script by mpirun or srun")


def samples_for_workers(calib: Samples, eval: Samples, model: Model, stack: contextlib.ExitStack) -> List[Samples]:
    """The samples in files, for as long as the stack lives; equal ones stay so."""
    out: List[Samples] = []
    for role, data in (("calib", calib), ("eval", eval)):
        is_words = isinstance(data, Mapping) and ("reader" in data or "path" in data)
        if data is None or isinstance(data, (str, os.PathLike)) or is_words:
            out.append(data)
        elif role == "eval" and data is calib:
            out.append(out[0])
        else:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="quasar-samples-"))
            out.append(in_a_file(data, Session(model).inputs, Path(folder, f"{role}.npz")))
    return out


def gathered_for_workers(words: Mapping[str, Any], model: Model, workers: Workers, stack: contextlib.ExitStack) -> Configuration:
    """As gathered(), of a search beside which workers run as long as the stack lives."""
    refuse_launches()
    readers = dict(zip(("calib_data_reader", "eval_data_reader"), samples_for_workers(words.get("calib_data_reader"), words.get("eval_data_reader"), model, stack)))
    configuration = gathered({**words, **readers, "holdout_data_reader": None})
    ready_for_workers(configuration)
    configuration.data("holdout_data_reader", words.get("holdout_data_reader"))  # the leader's alone
    stack.enter_context(crew(workers, configuration.words))
    return configuration
