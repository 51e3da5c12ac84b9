"""Samplers, stop conditions and strategies as Python classes."""
from __future__ import annotations

import random
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _core
from ._study import Space, Trial
from ._words import configuration, one_configuration, plain

Params = Dict[str, Any]


class Sampler:
    """Which configuration to try next. Derive from it, write ask(), and give an object of the class to search(sampler=...)."""

    def ask(self, space: Space, trials: Sequence[Trial], rng: random.Random) -> Optional[Mapping[str, Any]]:
        """The next configuration, in the words of the space ({"weight": "Int8Spec", "weight_params": {"symmetric": True}}) or by the
        flat names that trials have; None: there is nothing left to try.

        trials: all of the study so far, running ones too.   rng: seeded from the search's seed and the trial's number.
        """
        raise NotImplementedError("a sampler must define ask(space, trials, rng)")

    def _next(self, space: Any, trials: List[Dict[str, Any]], seed: int) -> Any:
        found = self.ask(Space._of(space), [Trial._of(trial) for trial in trials], random.Random(seed))
        return None if found is None else plain(found, "the sampler's configuration")


class StopCondition:
    """When a search has done enough. Derive from it, write met(), and give an object of the class to search(stop=...)."""

    def met(self, progress: Mapping[str, Any]) -> Union[bool, str, None]:
        """Asked before every trial; False or None: go on. True or a reason: no further trial is started.

        progress: running, complete, pruned, failed, duplicate, finished (numbers of trials), seconds, candidates, best_candidate,
        since_best (trials executed since the best value was found).
        """
        raise NotImplementedError("a stop condition must define met(progress)")

    def _met(self, progress: Dict[str, Any]) -> Optional[str]:
        answer = self.met(progress)
        if answer is None or answer is False:
            return None
        return answer if isinstance(answer, str) else type(self).__name__


def usual_loss(output: Any, target: Any) -> float:
    """Cross entropy against a label, the mean squared difference from the float model's output where there are no labels."""
    if isinstance(target, int):
        values = np.ravel(output).astype(float)
        if values.min() < 0 or abs(values.sum() - 1) > 1e-3:
            values = np.exp(values - values.max())
            values /= values.sum()
        return -float(np.log(max(values[target], 1e-12)))
    if np.shape(output) != np.shape(target):
        raise ValueError(f"the output has shape {np.shape(output)}, the float model's {np.shape(target)}")
    return float(np.mean((np.asarray(output, float) - np.asarray(target, float)) ** 2))


class Keeping:
    """Calls from C++: what comes out of them is raised by search() once the results are written."""

    _failure: Optional[BaseException] = None

    def _came_out(self) -> Optional[BaseException]:
        """What came out, once."""
        failure, self._failure = self._failure, None
        return failure


class LossCaller(Keeping):
    """hawq_v2_loss as Intel Neural Compressor has it: function(output, target, criterion), called for each float output. An Exception is
    the search's to tell of; KeyboardInterrupt and the like are kept."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, output: Any, target: Any) -> float:
        try:
            return float(self._function(output, target, usual_loss))
        except Exception:
            raise
        except BaseException as failure:
            self._failure = failure
            raise


class Bench:
    """What a strategy works with, until run() ends; from one thread at a time."""

    def __init__(self, bench: Any) -> None:
        self._bench = bench

    @property
    def space(self) -> Space:
        """The search space."""
        return Space._of(self._bench.space)

    @property
    def trials(self) -> List[Trial]:
        """All trials of the study so far."""
        return [Trial._of(trial) for trial in self._bench.trials()]

    def default(self) -> Params:
        """The first choice of everything."""
        return self._bench.first()

    def evaluate(self, params: Mapping[str, Any]) -> Trial:
        """The finished trial of this configuration; one that was tried before costs nothing. When the search is over (n_trials, a stop
        condition, Ctrl-C) it raises an exception that must pass through run(); it is a BaseException, which `except Exception` lets pass."""
        return self.evaluate_all([one_configuration(params)])[0]

    def evaluate_all(self, configurations: Sequence[Mapping[str, Any]]) -> List[Trial]:
        """The same for configurations that do not depend on each other: n_jobs of them at a time."""
        words = [configuration(one, "the strategy's configuration") for one in configurations]
        return [Trial._of(trial) for trial in self._bench.evaluate(words)]


class Strategy(Keeping):
    """Who decides which configurations are tried. Derive from it, write run(), and give an object of the class to
    search(strategy=...)."""

    def run(self, bench: Bench) -> Optional[Trial]:
        """Tries configurations with bench.evaluate() until it is done. -> the trial that it chose; None: the one with the best value"""
        raise NotImplementedError("a strategy must define run(bench)")

    def _run(self, bench: Any) -> Optional[int]:
        winner = self._keeping(lambda: self.run(Bench(bench)))
        return None if winner is None else winner.number

    def _keeping(self, call: Callable[[], Any]) -> Any:
        self._failure = None
        try:
            return call()
        except _core.SearchOver:
            raise
        except BaseException as failure:
            self._failure = failure
            raise

    def _bring(self, name: str, stage: str) -> Any:
        return _core.bring_strategy(name, stage, self)
