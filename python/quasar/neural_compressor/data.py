"""Neural Compressor's DataLoader for data sets with __getitem__ and __len__, or to iterate over."""
from __future__ import annotations

from typing import Any, Callable, Iterator, List, Mapping, Optional

import numpy

from .. import _core
from .._samples import _array
from ._settings import refuse_other_words, refuse_unknown

_frameworks = ["onnxruntime", "onnxrt_qlinearops", "onnxrt_integerops", "onnxrt_qdqops"]
# Arguments that choose how torch reads; what asks for nothing.
_idle = {"sampler": None, "batch_sampler": None, "num_workers": 0, "pin_memory": False, "shuffle": False, "distributed": False}


def _stacked(samples: List[Any]) -> Any:
    """Samples as one batch, of the form that they have: arrays, pairs, lists and dictionaries of these."""
    first = samples[0]
    if isinstance(first, Mapping):
        return {name: _stacked([sample[name] for sample in samples]) for name in first}
    if isinstance(first, (tuple, list)):
        return tuple(_stacked(list(part)) for part in zip(*samples))
    return None if first is None else numpy.stack([_array(sample) for sample in samples])


class DataLoader:
    """Batches of a data set that gives (input, label) for an index, or by iteration. last_batch: rollover keeps the last, smaller
    batch, discard leaves it out."""

    def __init__(self, framework: str, dataset: Any, batch_size: int = 1, collate_fn: Optional[Callable[[List[Any]], Any]] = None,
                 last_batch: str = "rollover", **others: Any) -> None:
        refuse_other_words("DataLoader: framework", framework, _frameworks)
        refuse_other_words("DataLoader: last_batch", last_batch, ["rollover", "discard"])
        refuse_unknown("DataLoader", others, ["framework", "dataset", "batch_size", "collate_fn", "last_batch", *_idle])
        for name, value in others.items():
            if value != _idle[name]:
                raise _core.QuasarError(f"DataLoader: {name} is {value!r}, but batches come in the data set's order, read in this process; torch's DataLoader will do as well")
        self.dataset, self.batch_size, self.last_batch = dataset, batch_size, last_batch
        self.collate_fn = collate_fn or _stacked

    def _samples(self) -> Iterator[Any]:
        if hasattr(self.dataset, "__getitem__") and hasattr(self.dataset, "__len__"):
            return (self.dataset[index] for index in range(len(self.dataset)))
        return iter(self.dataset)

    def __iter__(self) -> Iterator[Any]:
        waiting: List[Any] = []
        for sample in self._samples():
            waiting.append(sample)
            if len(waiting) == self.batch_size:
                yield self.collate_fn(waiting)
                waiting = []
        if waiting and self.last_batch == "rollover":
            yield self.collate_fn(waiting)


__all__ = ["DataLoader"]
