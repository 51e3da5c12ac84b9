"""Running a model."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy

from . import _core
from ._samples import _array
from ._words import Model, model_file

#: Name, type and shape; sizes below 0 are open; None: not even the rank is known.
Value = Tuple[str, str, Optional[List[int]]]


class Session:
    """A model in ONNX Runtime. Called with an array (for a model with one input) or with arrays by input name, it gives the outputs
    in order as a list. The interpreter's lock is free meanwhile.

    >>> outputs = quasar.Session("model.onnx")(image)
    """

    def __init__(self, model: Model, threads: int = 1) -> None:
        with model_file(model) as path:
            self._inference = _core.Inference(path, threads)
        self.model_path: str = self._inference.path()

    @property
    def inputs(self) -> List[Value]:
        """What the model takes, in order."""
        return self._inference.inputs()

    @property
    def outputs(self) -> List[Value]:
        """What it gives, in order."""
        return self._inference.outputs()

    def __call__(self, feeds: Union[Any, Mapping[str, Any]]) -> List[numpy.ndarray]:
        """Runs the model on an array, or on arrays by input name. -> its outputs in order. Raises QuasarError."""
        if not isinstance(feeds, Mapping):
            if len(self.inputs) != 1:
                raise TypeError(f"the model has {len(self.inputs)} inputs: give arrays by name")
            feeds = {self.inputs[0][0]: feeds}
        arrays: Dict[str, numpy.ndarray] = {name: _array(value) for name, value in feeds.items()}
        return self._inference.run(arrays)

    run = __call__
