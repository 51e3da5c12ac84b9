"""Evaluators: functions that score a model."""
from __future__ import annotations

import inspect as _inspect
from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from ._session import Session

#: What an evaluator gives: one number, or several by name.
Scored = Union[float, Mapping[str, float]]

#: Parameter names by which a function of one parameter asks for a callable that runs the model.
INFERENCE = ("infer", "inference", "session", "predict", "run")
KINDS = ("path", "inference", "outputs")


def scoring(kind: Optional[str] = None, *, metrics: Union[None, Sequence[str], Mapping[str, str]] = None,
              direction: Optional[str] = None) -> Callable[[Callable[..., Scored]], Callable[..., Scored]]:
    """Says of a function how it scores a model, where its parameters do not (see kind_of), and what it gives.

    kind:      "path": it is called with the path of the model's file. "inference": with a Session, which runs the model.
               "outputs": with the float model's outputs on the evaluation samples, the quantized model's, and the labels.
    metrics:   names, or {name: "maximize" | "minimize"}; the first one is searched for. Default: one, called score.
    direction: "maximize" (default) or "minimize", for metrics that do not say.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, but must be one of {', '.join(KINDS)}")

    def mark(function: Callable[..., Scored]) -> Callable[..., Scored]:
        function.quasar_kind = kind  # type: ignore[attr-defined]
        function.quasar_words = {key: value for key, value in (("metrics", metrics), ("direction", direction)) if value is not None}  # type: ignore[attr-defined]
        return function

    return mark


def kind_of(function: Callable[..., Scored]) -> str:
    """How a function scores a model: "path", "inference" or "outputs".

    As scoring() says; else by its required positional parameters: three are (float outputs, quantized outputs, labels); one is
    the model's path, or a Session when it is called infer, inference, session, predict or run. Raises TypeError for others.
    """
    said = getattr(function, "quasar_kind", None)
    if said is not None:
        return str(said)
    try:
        parameters = list(_inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return "path"  # of C, without a signature
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(needed) == 3:
        return "outputs"
    if len(needed) == 1:
        return "inference" if needed[0].name in INFERENCE else "path"
    if not needed and any(p.kind in (p.VAR_POSITIONAL, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        return "path"
    raise TypeError(f"an evaluator takes the model's path, an inference callable, or (float outputs, quantized outputs, labels); "
                    f"{getattr(function, '__name__', function)!r} takes {len(needed)} parameters. quasar.scoring(kind) says which is meant")


def single(outputs: Mapping[str, Any]) -> Any:
    """The array of a model with one output, otherwise arrays by output name."""
    return next(iter(outputs.values())) if len(outputs) == 1 else dict(outputs)


def values_of(result: Any, first: str) -> Dict[str, float]:
    """An evaluator's result by metric; a single number is the first metric's."""
    if isinstance(result, Mapping):
        return {str(name): float(value) for name, value in result.items()}
    if getattr(result, "shape", None) and hasattr(result, "item"):  # an array or a tensor; of one number, as models return losses
        result = result.item()
    if result is None:
        raise TypeError("the evaluator returned None, but must return a number or a mapping of names to numbers")
    return {first: float(result)}


def caller(function: Callable[..., Scored]) -> Callable[[Any, str], Dict[str, float]]:
    """What C++ calls: with a model that can be asked for its file, its outputs …"""
    kind = kind_of(function)

    def call(asked: Any, first: str) -> Dict[str, float]:
        if kind == "path":
            return values_of(function(asked.model), first)
        if kind == "inference":
            return values_of(function(Session(asked.model)), first)
        return values_of(function(single(asked.reference_outputs()), single(asked.outputs()), asked.labels), first)

    return call
