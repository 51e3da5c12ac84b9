"""Neural Compressor's data loaders: what can be iterated and yields (input, label) batches. An input is an array, a dictionary of arrays, or
a list of arrays in the order of the model's inputs."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, Tuple

import numpy

from .. import _core
from .._samples import _array, _is_array
from .._session import Session
from .._words import Model

Arrays = Dict[str, numpy.ndarray]


def refuse_other_loaders(key: str, loader: Any) -> None:
    """Raises QuasarError for what cannot be iterated."""
    if not hasattr(loader, "__iter__"):
        raise _core.QuasarError(f"{key} is {loader!r}, but must be something to iterate over that yields (input, label) batches")


class Batches:
    """The batches of a loader as arrays by input name, with their labels; read anew each time, and kept only where that is not possible."""

    def __init__(self, key: str, loader: Any, model: Model) -> None:
        refuse_other_loaders(key, loader)
        self._key, self._model = key, model
        self._loader = list(loader) if iter(loader) is loader else loader
        self._names: List[str] = []

    def __iter__(self) -> Iterator[Tuple[Arrays, Any]]:
        for batch in self._loader:
            is_pair = isinstance(batch, (tuple, list)) and len(batch) == 2
            value, label = batch if is_pair else (batch, None)
            yield self._arrays(value), label

    def _input_names(self) -> List[str]:
        if not self._names:
            self._names = [name for name, _, _ in Session(self._model).inputs]
        return self._names

    def _arrays(self, value: Any) -> Arrays:
        if isinstance(value, Mapping):
            return {str(name): _array(array) for name, array in value.items()}
        names = self._input_names()
        is_list = isinstance(value, (list, tuple)) and all(map(_is_array, value))
        arrays = list(value) if is_list else [value]
        if len(arrays) != len(names):
            raise _core.QuasarError(f"{self._key} yields {len(arrays)} inputs, but the model has {len(names)}: {', '.join(names)}")
        return dict(zip(names, map(_array, arrays)))


def size_of(arrays: Arrays) -> int:
    """The number of samples of a batch."""
    shape = next(iter(arrays.values())).shape
    return shape[0] if shape else 1


def calibration_samples(batches: Batches, most: int) -> List[Arrays]:
    """The first batches, until there are `most` samples. Classes as labels go with them, since the loss of hawq_v2 may ask for them;
    others do not matter here."""
    out: List[Arrays] = []
    count = 0
    for arrays, label in batches:
        samples = {name: array.copy() for name, array in arrays.items()}  # a loader may use its memory again
        classes = None if label is None or isinstance(label, Mapping) else _array(label)
        if classes is not None and classes.dtype.kind in "iu" and classes.size == size_of(arrays):
            samples["labels"] = classes.reshape(-1)
        out.append(samples)
        count += size_of(arrays)
        if count >= most:
            break
    if not out:
        raise _core.QuasarError("calib_dataloader yields nothing")
    return out
