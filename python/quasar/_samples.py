"""Samples in whatever form a Python program has them."""
from __future__ import annotations

import itertools
import os
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Tuple

import numpy

from . import _core
from ._words import plain

_numbers = itertools.count(1)

#: Samples: a path or a reader description as on the command line; an array, or arrays by input name, whose first axis counts the
#: samples (beside them options of a reader: `scale`, `label_offset`, `limit`, `layout`, `class_names` ...); a pair (arrays, labels); an onnxruntime CalibrationDataReader;
#: anything that can be iterated (a list, a generator, a torch DataLoader) over arrays, dictionaries of arrays, or pairs of one of
#: these and labels, or {"boxes": [n, 4], "labels": [n]} for detectors; or an object with __len__ and __getitem__ (torch's Dataset)
#: that gives one of these, which is asked for samples when they are needed and does not keep them.
Samples = Any

def _is_array(value: Any) -> bool:
    return isinstance(value, (numpy.ndarray, numpy.generic)) or (hasattr(value, "shape") and hasattr(value, "dtype"))

def _array(value: Any) -> numpy.ndarray:
    """An array of anything that NumPy understands; a torch tensor may be on a device and have a gradient."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    try:
        return numpy.asarray(value)
    except ValueError:  # lists of different lengths: no model takes them, but they may stand beside what it takes
        return numpy.array(None, dtype=object)

def _item(value: Any) -> Dict[str, numpy.ndarray]:
    if isinstance(value, Mapping):
        return {str(name): _array(array) for name, array in value.items() if array is not None}
    if isinstance(value, (tuple, list)) and len(value) == 2 and (_is_array(value[0]) or isinstance(value[0], Mapping)):
        item = _item(value[0])
        if isinstance(value[1], Mapping):  # torchvision's detection targets
            if "boxes" not in value[1] or "labels" not in value[1]:
                raise TypeError(f"a sample's truth holds {', '.join(map(str, value[1]))}, but must hold boxes and labels")
            item.update({name: _array(value[1][name]) for name in ("boxes", "labels", "iscrowd") if name in value[1]})
        elif value[1] is not None:
            item["labels"] = _array(value[1])
        return item
    if isinstance(value, (tuple, list)) and len(value) == 1:
        return _item(value[0])
    if not _is_array(value):
        raise TypeError(f"a sample is an array, a dictionary of arrays or a pair of one of these and a label, not {type(value).__name__}")
    return {"": _array(value)}

def _files_of(value: Any) -> List[str]:
    """The files that memory-mapped arrays, or views of them, and opened .npz archives are of: what reads them may not replace them."""
    found = getattr(getattr(value, "zip", None), "filename", None) if isinstance(value, numpy.lib.npyio.NpzFile) else None
    while isinstance(value, numpy.ndarray) and found is None:
        found, value = getattr(value, "filename", None), value.base
    return [os.path.abspath(found)] if isinstance(found, (str, os.PathLike)) else []

def _noted(items: Iterable[Dict[str, numpy.ndarray]], files: List[str]) -> Iterator[Dict[str, numpy.ndarray]]:
    """The items; the files that they come from are added to the list."""
    for item in items:
        files.extend(file for array in item.values() for file in _files_of(array) if file not in files)
        yield item

def _drained(reader: Any) -> Iterable[Any]:
    """What a CalibrationDataReader gives, from its beginning where it can be wound back, which is also how it is left."""
    for _ in range(1 if hasattr(reader, "rewind") else 0):
        reader.rewind()
    while (item := reader.get_next()) is not None:
        yield item
    if hasattr(reader, "rewind"):
        reader.rewind()

def _only_iterates(kind: type) -> bool:
    """Whether this is a torch IterableDataset: it has torch's own __getitem__, which raises NotImplementedError."""
    owner = next((one for one in kind.__mro__ if "__getitem__" in vars(one)), None)
    return owner is not None and owner.__module__.startswith("torch.utils.data") and hasattr(kind, "__iter__")

def is_stream(data: Any) -> bool:
    """Whether samples are asked for one by one: objects with __len__ and __getitem__ that hold no samples themselves."""
    held = isinstance(data, (Mapping, list, tuple, str, bytes)) or _is_array(data) or hasattr(data, "get_next") or _only_iterates(type(data))
    return not held and hasattr(type(data), "__len__") and hasattr(type(data), "__getitem__")

def known_labels(data: Any) -> List[int]:
    """The labels of a data set of which they are known without reading it (torchvision's targets); empty: they are not."""
    for name in ("targets", "labels"):
        try:
            found = _array(getattr(data, name, None))
            if found.shape == (len(data),) and found.dtype.kind in "iu":
                return [int(label) for label in found]
        except (TypeError, ValueError):
            pass
    return []

def _is_one(data: Samples) -> bool:
    """Whether these are arrays that hold all samples, not something to iterate over."""
    pair = isinstance(data, tuple) and len(data) == 2 and (_is_array(data[0]) or isinstance(data[0], Mapping))
    return pair or isinstance(data, Mapping) or _is_array(data)

def items_of(data: Samples) -> Iterator[Dict[str, numpy.ndarray]]:
    """Samples, or batches of them, as dictionaries of arrays. An array may be another one's memory: it holds until the next one is asked for."""
    if _is_one(data):
        return iter([_item(data)])
    if hasattr(data, "get_next"):
        return map(_item, _drained(data))
    if isinstance(data, Iterable):
        return map(_item, data)
    raise TypeError(f"samples are a path, arrays, a data reader or something to iterate over, not {type(data).__name__}")

def _class_names(names: Any) -> Any:
    """A list of names, a mapping from numbers to names, or a file, as a reader takes them."""
    if isinstance(names, (str, os.PathLike)):
        return os.path.abspath(os.fspath(names))
    if isinstance(names, Mapping):
        return {str(number): str(name) for number, name in names.items()}
    return [str(name) for name in names]

def _is_option(name: str, value: Any) -> bool:
    """Whether a value beside arrays is an option of the reader, as far as it can be told without the model."""
    if name not in _core.sample_options() or value is None:
        return False
    if name == "labels":
        return isinstance(value, str)
    if name in ("mean", "scale") and (_is_array(value) or isinstance(value, (list, tuple))):
        return _array(value).ndim <= 1
    return name == "class_names" or isinstance(value, (str, os.PathLike, Mapping, numpy.generic)) or not (_is_array(value) or isinstance(value, (list, tuple)))

def _parted(data: Samples) -> Tuple[Dict[str, Any], Samples]:
    """The options that stand beside arrays in a dictionary, and the arrays. Numbers stay there too: a model's input may have the name."""
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[0], Mapping):
        words, arrays = _parted(data[0])
        return words, (arrays, data[1]) if words else data
    if not isinstance(data, Mapping):
        return {}, data
    words = {}
    for name, value in data.items():
        if _is_option(name, value):
            words[name] = _class_names(value) if name == "class_names" else plain(_array(value) if _is_array(value) else value, name)
    if not words:
        return {}, data
    return words, {name: value for name, value in data.items() if name not in words or (name != "class_names" and _array(value).dtype.kind in "iuf")}

class Gathering:
    """The registrations of one call: samples in memory, which every source gives once, whatever the number of its uses."""

    def __init__(self) -> None:
        self.registrations: List[Any] = []
        self._known: List[Any] = []  # pairs of a source and its words; sources are compared by identity

    def words(self, data: Samples, role: str) -> Any:
        """The reader's description for these samples; None for None."""
        if data is None or isinstance(data, (str, os.PathLike)):
            return None if data is None else os.fspath(data)
        if isinstance(data, Mapping) and (isinstance(data.get("reader"), str) or isinstance(data.get("path"), (str, os.PathLike))):
            return plain(data, role)
        for known, description in self._known:
            if known is data:
                return description
        name = f"python_{next(_numbers)}"
        words: Dict[str, Any] = {"reader": name}
        options, arrays = _parted(data)
        words.update(options)
        source = f"{role} ({type(data).__name__})"
        if is_stream(arrays):
            files = [file for kept in getattr(arrays, "__dict__", {}).values() for file in _files_of(kept)]
            self.registrations.append(_core.bring_stream(name, len(arrays), lambda index: _item(arrays[index]), known_labels(arrays), source, files))
        else:
            files = _files_of(data)
            self.registrations.append(_core.bring_samples(name, _noted(items_of(arrays), files), source, _is_one(arrays), files))
        self._known.append((data, words))
        return words

def fresh_name(wish: str) -> str:
    """A name for a registration that no other has."""
    return f"{wish}_{next(_numbers)}"

__all__ = ["Samples", "Gathering", "items_of", "fresh_name"]
