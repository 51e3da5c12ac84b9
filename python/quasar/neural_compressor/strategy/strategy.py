"""Strategies of one's own in Neural Compressor's form: a class whose name ends with TuneStrategy, and the decorator strategy_registry."""
from __future__ import annotations

import inspect as _inspect
from typing import Any, Dict, Iterable, List, Mapping, Optional, Type

from ... import _core
from ..._study import Trial
from ..._tuning import Tuner, TuningStrategy, register_strategy

_ending = "TuneStrategy"
_arguments = ["model", "conf", "q_dataloader", "q_func", "eval_func", "eval_dataloader", "eval_metric", "resume", "q_hooks", "dicts"]
_floats = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}

#: The classes that strategy_registry knows, by the names that TuningCriterion(strategy=...) takes.
STRATEGIES: Dict[str, Type[Any]] = {}


def _choice(value: Any) -> Any:
    """What one operator gets: an option of Quasar's, or a float type in Neural Compressor's words too."""
    if isinstance(value, Mapping):
        types = {side.get("dtype") if isinstance(side, Mapping) else None for side in (value.get("activation"), value.get("weight"))}
        only = types.pop() if len(types) == 1 else None
        return _floats.get(str(only), value)
    return _floats.get(value, value) if isinstance(value, str) else value


def configuration_of(tune_cfg: Any) -> Dict[str, Any]:
    """A configuration by operators' names, whose keys may be pairs of name and type as Neural Compressor's are. {} is the default one."""
    if not isinstance(tune_cfg, Mapping):
        raise _core.QuasarError(f"next_tune_cfg yielded {tune_cfg!r}, but must yield dictionaries of operators to choices; {{}} is the default configuration")
    return {key[0] if isinstance(key, tuple) else key: _choice(value) for key, value in tune_cfg.items()}


class TuneStrategy:
    """What a strategy is derived from: write next_tune_cfg(), and traverse() where one configuration after another is not enough.

    self.tuner (quasar.Tuner) has the operators with their options, what is tuned besides, and the trials' losses. A configuration
    names what differs from the default one: {"conv1": "fp32", ("conv2", "Conv"): self.tuner.operators[1].options[1]}.
    """

    tuner: Tuner  #: there before __init__ runs

    def __init__(self, model: Any = None, conf: Any = None, q_dataloader: Any = None, q_func: Any = None, eval_func: Any = None,
                 eval_dataloader: Any = None, eval_metric: Any = None, resume: Any = None, q_hooks: Any = None, dicts: Any = None) -> None:
        self.model, self.conf, self.calib_dataloader = model, conf, q_dataloader
        self.eval_func, self.eval_dataloader, self.eval_metric = eval_func, eval_dataloader, eval_metric

    @property
    def trials(self) -> List[Trial]:
        """What this strategy has tried so far."""
        tried: List[Trial] = self.__dict__.setdefault("_trials", [])  # whether or not __init__ of this class has run
        return tried

    def next_tune_cfg(self) -> Iterable[Mapping[Any, Any]]:
        """Yields one configuration after another; self.trials tells what came of the earlier ones."""
        raise NotImplementedError(f"{type(self).__name__} must define next_tune_cfg(), which yields configurations")

    def traverse(self) -> None:
        """Tries what next_tune_cfg() yields, until the goal is met or there is nothing left."""
        for tune_cfg in self.next_tune_cfg():
            self.evaluate(tune_cfg)

    def evaluate(self, tune_cfg: Mapping[Any, Any]) -> Trial:
        """Quantizes and scores the model with one configuration. -> the finished trial (value, metrics); the end of the search passes
        through as an exception that is a BaseException (quasar.Tuner.evaluate)."""
        self.trials.append(self.tuner.evaluate(configuration_of(tune_cfg)))
        return self.trials[-1]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{type(self).__name__} has no '{name}': of Neural Compressor's inner parts nothing is there; self.tuner has the "
                             "operators, and self.evaluate(tune_cfg) quantizes and scores")


class _Guest(TuningStrategy):
    """A strategy in Neural Compressor's form as one of Quasar's. A class derived from this one stands for each of theirs."""

    theirs: Type[Any]

    def __init__(self, arguments: Optional[Mapping[str, Any]] = None) -> None:
        self._arguments = {**dict.fromkeys(_arguments), **(arguments or {})}

    def traverse(self, tuner: Tuner) -> None:
        """Makes an object of the class, with those arguments that its __init__ names, and lets it go its way."""
        one: Any = object.__new__(self.theirs)
        one.tuner = tuner
        parameters = _inspect.signature(self.theirs.__init__).parameters
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        one.__init__(**{name: value for name, value in self._arguments.items() if takes_all or name in parameters})
        one.traverse()


_guests: Dict[str, Type[_Guest]] = {}


def strategy_registry(cls: Type[Any]) -> Type[Any]:
    """Makes the class AbcTuneStrategy known as "abc", to TuningCriterion(strategy="abc"). Raises QuasarError for another ending, or a
    name of Quasar's own."""
    prefix = cls.__name__[:-len(_ending)].lower().replace("_", "")
    if not cls.__name__.endswith(_ending) or not prefix or not issubclass(cls, TuneStrategy):
        raise _core.QuasarError(f"strategy_registry takes a class derived from TuneStrategy whose name ends with {_ending}, such as AbcTuneStrategy, not {cls.__name__}")
    guest = type(cls.__name__, (_Guest,), {"theirs": cls})
    register_strategy(prefix, guest)
    STRATEGIES[prefix], _guests[prefix] = cls, guest
    return cls


def guest_of(name: str, arguments: Mapping[str, Any]) -> Any:
    """The strategy for one search: an object of the class that was registered under this name, otherwise the name."""
    guest = _guests.get("".join(filter(str.isalnum, name.lower())))  # as all names of strategies are compared
    return name if guest is None else guest(arguments)


__all__ = ["STRATEGIES", "TuneStrategy", "strategy_registry"]
