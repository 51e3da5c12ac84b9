"""Python values as the words of a configuration; models as files."""
from __future__ import annotations

import contextlib
import enum
import json
import os
import tempfile
from pathlib import Path
from typing import Any, Iterator, Mapping, Union

import numpy

from . import _core

#: A model: the path of an ONNX file, its bytes, or an onnx.ModelProto. Several that run one after the other are one: the path of a
#: configuration file with the key models, or what that key says: {name: path, or {"path": path, "inputs": {input: "model.output"}}}.
Model = Union[str, "os.PathLike[str]", bytes, Any]


def plain(value: Any, where: str = "value") -> Any:
    """The value as numbers, texts, lists and dictionaries. Enumerations become their names ("QuantType.QInt8"), NumPy's numbers and
    arrays Python's, paths texts. Raises TypeError, naming the place, for everything else."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, numpy.ndarray):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(plain(key, where)): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [plain(item, where) for item in value]
    raise TypeError(f"{where} is {value!r}, but a configuration holds numbers, texts, lists and mappings")


def brief(value: Any) -> str:
    """For messages: arrays by their shape, other values as they are written."""
    shape = getattr(value, "shape", None)
    text = repr(value)
    return f"an array of shape {tuple(shape)}" if shape is not None else text if len(text) <= 80 else text[:77] + "..."


def text_of(value: Any, where: str, allowed: str) -> str:
    """A text or a path as text, None as "". Raises QuasarError, which says what is allowed, for everything else."""
    if value is None or isinstance(value, (str, os.PathLike)):
        return "" if value is None else os.fspath(value)
    raise _core.QuasarError(f"{where} is {brief(value)}, but must be {allowed}")


def configuration(value: Any, where: str) -> Any:
    """A configuration that is to be tried, as plain() has it. Raises TypeError for what is no mapping."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{where} is {value!r}, but must be a mapping of names to choices; {{}} is the default one")
    return plain(value, where)


def one_configuration(value: Any) -> Any:
    """The value itself. Raises TypeError for a list where one configuration is wanted."""
    if isinstance(value, (list, tuple)):
        raise TypeError(f"evaluate takes one configuration, not a {type(value).__name__} of {len(value)}; evaluate_all takes several")
    return value


def rooted_models(models: Mapping[str, Any]) -> Any:
    """What the key models says, with paths from this folder. Raises TypeError for values that no configuration holds."""
    words = plain(models, "models")
    for name, model in words.items():
        if isinstance(model, str):
            words[name] = str(Path(model).absolute())
        elif isinstance(model, dict) and isinstance(model.get("path"), str):
            model["path"] = str(Path(model["path"]).absolute())
    return words


@contextlib.contextmanager
def model_file(model: Model) -> Iterator[str]:
    """The model as a file, for as long as the context lasts. Raises TypeError for what is no model."""
    if isinstance(model, (str, os.PathLike)):
        yield str(Path(model).absolute())
        return
    if isinstance(model, Mapping):
        with tempfile.TemporaryDirectory(prefix="quasar-") as folder:
            file = Path(folder, "models.json")
            file.write_text(json.dumps({"models": rooted_models(model)}), encoding="utf-8")
            yield str(file)
        return
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise TypeError(f"a model is a path, bytes or an onnx.ModelProto, or a mapping of several models, not {type(model).__name__}")
    with tempfile.TemporaryDirectory(prefix="quasar-") as folder:
        file = Path(folder, "model.onnx")
        file.write_bytes(model)
        yield str(file)
