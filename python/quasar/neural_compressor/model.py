"""Models as Neural Compressor's users have them: evaluation functions get an onnx.ModelProto, and fit() gives an ONNXModel."""
from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, Union

from .. import _core
from .._api import SearchResult
from .._words import Model


class ModelFile:
    """What stands for an onnx.ModelProto where the package onnx is not installed: enough to open a session."""

    def __init__(self, path: str) -> None:
        self.path = path

    def SerializeToString(self) -> bytes:
        """The file's bytes."""
        return Path(self.path).read_bytes()


def opened(path: str) -> Any:
    """A model as functions of Neural Compressor's get it: an onnx.ModelProto; the path, where weights stand in a file of their own; a
    ModelFile without the package onnx."""
    try:
        import onnx
    except ImportError:
        return ModelFile(path)
    model = onnx.load(path, load_external_data=False)
    if any(tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in model.graph.initializer):
        return path
    return model


class ONNXModel:
    """The quantized model that a search chose."""

    def __init__(self, found: SearchResult, input_model: Model, model_path: str) -> None:
        self.input_model = input_model  #: the float model, as it was given
        self.model_path = model_path  #: of the quantized one, in the output folder
        self.result = found  #: everything else: metrics, trials, the folder of the report

    @property
    def model(self) -> Any:
        """An onnx.ModelProto, as `opened` says."""
        return opened(self.model_path)

    def SerializeToString(self) -> bytes:
        """The file's bytes."""
        return Path(self.model_path).read_bytes()

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model to a file that ends with .onnx, or as best_model.onnx into a folder, which is made. Weights of more than 2 GB
        go beside it, as best.onnx.data. Raises QuasarError where such a file is there already: it may be another model's."""
        file = Path(path) if str(path).endswith(".onnx") else Path(path, "best_model.onnx")
        weights = Path(self.model_path + ".data")
        file.parent.mkdir(parents=True, exist_ok=True)
        if weights.exists():
            copy = file.parent / weights.name
            if copy.exists():
                raise _core.QuasarError(f"{copy} is there already, and may hold the weights of another model; save into another folder")
            shutil.copyfile(weights, copy)
        shutil.copyfile(self.model_path, file)

    def framework(self) -> str:
        """Always onnxruntime."""
        return "onnxruntime"

    def __repr__(self) -> str:
        return f"<ONNXModel {self.model_path}: {self.result.metrics}>"
