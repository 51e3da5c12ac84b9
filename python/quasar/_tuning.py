"""Strategies that tune operators, as Python classes; and those that are known by name."""
from __future__ import annotations

import atexit
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Type, Union

from . import _core
from ._guests import Strategy
from ._study import Trial
from ._words import configuration, one_configuration

TuneConfig = Mapping[str, Any]


@dataclass(frozen=True)
class Operator:
    """One operator of a model that is tuned."""

    name: str
    op_type: str
    options: List[Any]  #: how it may be quantized, the default first: {"activation": ..., "weight": ...}
    floats: List[str]  #: the float types in which it may be left, the cheapest first


class Tuner:
    """What a TuningStrategy works with: a configuration per operator in, a trial out.

    A configuration holds the differences to the default one ({}): {"conv1": "float32", "conv2": tuner.operators[1].options[3]}, and
    settings by their names ({"SmoothAlpha": 0.5}). Operators may be written as trials have them, "node conv1". It answers until
    traverse() ends, from one thread at a time.
    """

    def __init__(self, tuner: Any) -> None:
        self._tuner = tuner
        self.operators: List[Operator] = [Operator(**facts) for facts in tuner.operators()]  #: in topological order
        self.settings: Dict[str, List[Any]] = tuner.settings()  #: what else may be chosen (recipes, SmoothAlpha, ...), with its choices

    def evaluate(self, config: TuneConfig) -> Trial:
        """The finished trial of this configuration; one that was tried before costs nothing, nor does one that would leave everything in
        float: it gives a failed trial of number -1, which no study has. Where the search is over (the goal is met and timeout is 0,
        max_trials, Ctrl-C) it raises an exception that must pass through traverse(); it is a BaseException, which
        `except Exception` lets pass."""
        return self.evaluate_all([one_configuration(config)])[0]

    def evaluate_all(self, configs: Sequence[TuneConfig]) -> List[Trial]:
        """The same for configurations that do not depend on each other: n_jobs of them at a time."""
        return self._evaluate(configs, False)

    def explore(self, config: TuneConfig) -> Trial:
        """As evaluate(), without ending at the first success: for strategies whose success is to give up less."""
        return self._evaluate([one_configuration(config)], True)[0]

    def loss(self, trial: Trial) -> float:
        """What the trial loses, as the accuracy criterion counts it; infinite for one that failed."""
        if not isinstance(trial, Trial):
            raise TypeError(f"loss takes a trial, as evaluate() and explore() give it, not {trial!r}")
        return self._tuner.loss(trial.number)

    @property
    def best(self) -> Optional[Trial]:
        """The trial that loses least so far."""
        found = self._tuner.best()
        return None if found is None else Trial._of(found)

    @property
    def met(self) -> bool:
        """Whether some trial meets the goal."""
        return self._tuner.met()

    @property
    def left(self) -> int:
        """Trials that may still be started."""
        return self._tuner.left()

    def tell(self, step: str) -> None:
        """Names what follows, for result.json and the report."""
        if not isinstance(step, str):
            raise TypeError(f"tell takes a text, the name of what follows, not {step!r}")
        self._tuner.tell(step)

    def _evaluate(self, configs: Sequence[TuneConfig], explore: bool) -> List[Trial]:
        words = [configuration(one, "the strategy's configuration") for one in configs]
        return [Trial._of(trial) for trial in self._tuner.evaluate(words, explore)]


class TuningStrategy(Strategy):
    """A strategy that chooses an option or a float type for every operator, like mse or basic; it needs an accuracy_criterion and no
    space, and heeds op_type_dict, op_name_dict, approach, recipes, timeout and max_trials as those do. Derive from it, write next() or
    traverse(), and give an object of the class to search(strategy=...), or make it known by name (register_strategy).
    """

    def next(self, tuner: Tuner, history: Sequence[Trial]) -> Optional[TuneConfig]:
        """The next configuration in the light of the trials so far; None: there is nothing left to try."""
        raise NotImplementedError("a tuning strategy must define next(tuner, history) or traverse(tuner)")

    def traverse(self, tuner: Tuner) -> None:
        """The whole way, where one configuration after another is not enough: calls tuner.evaluate() as it likes."""
        history: List[Trial] = []
        config = self.next(tuner, history)
        while config is not None:
            history.append(tuner.evaluate(config))
            config = self.next(tuner, history)

    def _traverse(self, tuner: Any) -> None:
        self._keeping(lambda: self.traverse(Tuner(tuner)))

    def _bring(self, name: str, stage: str) -> Any:
        return _core.bring_tuning_strategy(name, stage, self)


_registered: Dict[str, Any] = {}
atexit.register(_registered.clear)  # while the interpreter can still let go of them


def register_strategy(name: str, strategy: Union[Strategy, Type[Strategy]]) -> None:
    """Makes a strategy known by name for as long as the program runs: to search(strategy=name), and to configuration files
    (`strategy: name`, `tuning_criterion: {strategy: name}`). A name of one's own may be given anew. Raises QuasarError for a name that
    is taken, or has neither a letter nor a digit."""
    if not isinstance(name, str):
        raise TypeError(f"register_strategy takes a name and then the strategy, but the name is {name!r}")
    if not name.strip(" -_."):  # these do not count in names
        raise _core.QuasarError(f"register_strategy: the name {name!r} must have a letter or a digit")
    made = strategy() if isinstance(strategy, type) else strategy
    if not isinstance(made, Strategy):
        raise TypeError(f"register_strategy takes a class derived from quasar.Strategy, or an object of one, not {strategy!r}")
    _registered.pop(name, None)
    _registered[name] = (made, made._bring(name, name))


def makes_its_space(strategy: Any) -> bool:
    """Whether a strategy, by its name, class or object, chooses per operator or by a budget, so that no preset's space belongs to it."""
    if isinstance(strategy, str):
        if strategy not in _registered:
            return re.sub("[-_ .]", "", strategy).lower() not in ("flat", "twostage", "repair")
        strategy = _registered[strategy][0]
    return issubclass(strategy if isinstance(strategy, type) else type(strategy), TuningStrategy)


def registered() -> List[Strategy]:
    return [made for made, _ in _registered.values()]
