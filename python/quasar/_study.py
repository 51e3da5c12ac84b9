"""Spaces, studies and trials."""
from __future__ import annotations

import datetime
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _core
from ._words import plain


def _time(seconds: Optional[float]) -> Optional[datetime.datetime]:
    return None if seconds is None else datetime.datetime.fromtimestamp(seconds)


@dataclass(frozen=True)
class Trial:
    """One trial: what was tried and what came of it."""

    number: int
    state: str  #: running, complete, pruned, failed or waiting
    params: Dict[str, Any]  #: by flat names, as the study holds them
    values: List[float]  #: one per objective; empty unless it is complete
    attributes: Dict[str, Any] = field(default_factory=dict, repr=False)  #: config, metrics, error, stderr, traceback, duplicate_of …
    intermediate: Dict[int, float] = field(default_factory=dict, repr=False)
    start: Optional[datetime.datetime] = None
    complete: Optional[datetime.datetime] = None

    @property
    def value(self) -> Optional[float]:
        """Of the first objective; None when there is none."""
        return self.values[0] if self.values else None

    @property
    def metrics(self) -> Dict[str, float]:
        """Everything that was measured."""
        return self.attributes.get("metrics", {})

    @property
    def error(self) -> Optional[str]:
        """Why it failed."""
        return self.attributes.get("error")

    @classmethod
    def _of(cls, facts: Mapping[str, Any]) -> "Trial":
        return cls(facts["number"], facts["state"], facts["params"], facts["values"], facts["attributes"], facts["intermediate"],
                   _time(facts["start"]), _time(facts["complete"]))


class Space:
    """A search space, from the words of a configuration (hierarchical, or Auto Search v1's). A finite one is a sequence of
    configurations.

    >>> space = quasar.Space({"weight": ["Int8Spec", "UInt8Spec"], "weight_params": {"symmetric": [True], "only_if": "weight"}})
    >>> len(space), space[0]
    """

    def __init__(self, words: Mapping[str, Any], base: Any = None) -> None:
        self._space = _core.Space(plain(words, "search space"), plain(base, "quant_config"))

    @classmethod
    def _of(cls, space: Any) -> "Space":
        out = cls.__new__(cls)
        out._space = space
        return out

    @property
    def parameters(self) -> List[Dict[str, Any]]:
        """{name, choices} or {name, low, high, step, log} of each."""
        return self._space.parameters()

    @property
    def is_finite(self) -> bool:
        """Whether it has no ranges of real numbers."""
        return self._space.size() is not None

    def __len__(self) -> int:
        size = self._space.size()
        if size is None:
            raise TypeError("the space holds ranges: it has no number of configurations")
        return size

    def __getitem__(self, index: int) -> Dict[str, Any]:
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"the space has {len(self)} configurations")
        return self._space.at(index)

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def sample(self, seed: int = 0) -> Dict[str, Any]:
        """A configuration, every parameter drawn on its own."""
        return self._space.sample(seed)


class Study:
    """Trials towards one goal, in a database that Optuna opens too.

    Study("out") opens the study of a search's output folder, Study("postgresql://…", "AutoSearch") one on a server;
    Study("study.db", directions=["minimize"]) makes one (or continues it) for a search of your own. A study belongs to one process, and to one object in it, as long as that lives:

    >>> study = quasar.Study("memory", directions=["minimize"])
    >>> trial = study.ask(space, sampler="TPE")
    >>> study.tell(trial, objective(trial.params))
    """

    def __init__(self, storage: Union[str, "os.PathLike[str]"], name: str = "", directions: Optional[Sequence[str]] = None) -> None:
        place = os.fspath(storage)
        if Path(place).is_dir():
            place = _core.study_in(place)
        file = place.removeprefix("sqlite:///")
        if not directions and "://" not in file and not Path(file).exists():
            raise FileNotFoundError(f"there is no study in {place}; directions=[...] makes one")
        self._study = _core.Study(place, name, list(directions or []), True)

    @property
    def name(self) -> str:
        """The study's name in the database."""
        return self._study.name()

    @property
    def directions(self) -> List[str]:
        """minimize or maximize, one per objective."""
        return self._study.directions()

    @property
    def attributes(self) -> Dict[str, Any]:
        """What is recorded of the study as a whole."""
        return self._study.attributes()

    @property
    def trials(self) -> List[Trial]:
        """All trials in the order of their numbers."""
        return [Trial._of(trial) for trial in self._study.trials()]

    @property
    def best_trial(self) -> Optional[Trial]:
        """The best by the first objective among those that keep the constraints; None: there is none."""
        best = self._study.best()
        return None if best is None else Trial._of(best)

    def ask(self, space: Union[Space, Mapping[str, Any]], sampler: Union[str, Mapping[str, Any]] = "TPE", seed: int = 0) -> Optional[Trial]:
        """The next trial, running from now on; None: the space is exhausted. sampler: a name, or {"name": ..., option: value}."""
        if not isinstance(space, Space):
            space = Space(space)
        options = {"name": sampler} if isinstance(sampler, str) else dict(sampler)
        name = options.pop("name")
        found = self._study.ask(space._space, name, plain(options, "sampler"), seed)
        return None if found is None else Trial._of(found)

    def tell(self, trial: Union[Trial, int], values: Union[None, float, Sequence[float]], constraints: Sequence[float] = (),
             attributes: Optional[Mapping[str, Any]] = None) -> Trial:
        """The trial has ended with these values, one per objective; None: it has failed. constraints: each kept where it is at most 0."""
        number = trial.number if isinstance(trial, Trial) else trial
        if values is None:
            values = []
        elif isinstance(values, (int, float)) or not isinstance(values, Sequence):
            values = [float(values)]
        found = self._study.tell(number, [float(v) for v in values], [float(c) for c in constraints], plain(attributes or {}, "attributes"))
        return Trial._of(found)
