"""Neural Compressor's metrics: topk and Accuracy by name, and classes of one's own with update, reset and result."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Type

import numpy

from .. import _core
from .._samples import _array
from .._session import Session
from ._loaders import Batches
from ._settings import refuse_other_words

_methods = ("update", "reset", "result")


class BaseMetric:
    """What metrics of one's own may be derived from; any class with these three methods will do."""

    def update(self, preds: Any, labels: Any = None, sample_weight: Any = None) -> None:
        """Hears of a batch: the model's outputs (an array, or a list of them where there are several), and the labels."""
        raise NotImplementedError("a metric must define update(preds, labels)")

    def reset(self) -> None:
        """Forgets the batches so far."""
        raise NotImplementedError("a metric must define reset()")

    def result(self) -> float:
        """The metric of the batches so far."""
        raise NotImplementedError("a metric must define result()")


class TopK(BaseMetric):
    """How often the label is among the k classes with the greatest scores."""

    def __init__(self, k: int = 1) -> None:
        self.k = k
        self.reset()

    def update(self, preds: Any, labels: Any = None, sample_weight: Any = None) -> None:
        """Hears of a batch."""
        scores = numpy.asarray(preds[0] if isinstance(preds, (list, tuple)) else preds)
        scores = scores.reshape(scores.shape[0], -1)
        classes = _array(labels)
        if classes.size != len(scores):
            raise _core.QuasarError(f"metric topk takes one class per sample, but a batch of {len(scores)} samples has labels of shape {classes.shape}")
        best = numpy.argsort(-scores, axis=1, kind="stable")[:, :self.k]
        self._right += int((best == classes.reshape(-1, 1)).any(axis=1).sum())
        self._all += len(scores)

    def reset(self) -> None:
        """Forgets the batches so far."""
        self._right = self._all = 0

    def result(self) -> float:
        """The share of samples."""
        return self._right / self._all if self._all else 0.0


_named: Dict[str, Callable[..., Any]] = {"topk": TopK, "Accuracy": TopK}


class Metric:
    """A metric by its name with its options, Metric(name="topk", k=5), or by its class, Metric(metric_cls=Mine, name="mine")."""

    def __init__(self, name: str = "user_metric", metric_cls: Optional[Type[Any]] = None, **kwargs: Any) -> None:
        if metric_cls is None:
            refuse_other_words("Metric.name", name, _named)
        self.name, self.metric_cls, self.kwargs = name, metric_cls, kwargs

    def made(self) -> Any:
        """An object of the metric's class."""
        make = self.metric_cls if self.metric_cls is not None else _named[self.name]
        try:
            return make(**self.kwargs)
        except TypeError as error:
            raise _core.QuasarError(f"eval_metric {self.name}: {error}") from None


def metric_of(words: Any) -> Any:
    """The metric that eval_metric means: {"topk": 1}, a Metric, or an object with update, reset and result."""
    if isinstance(words, Mapping):
        names = [name for name in words if name not in ("weight", "higher_is_better")]
        if len(names) != 1:
            raise _core.QuasarError(f"eval_metric names {len(names)} metrics, but takes one; several count together in an eval_func of yours")
        for name in words:
            if name != names[0]:
                raise _core.QuasarError(f"eval_metric['{name}'] would have no effect: there is one metric, and AccuracyCriterion says whether higher is better")
        value = words[names[0]]
        refuse_other_words("eval_metric", names[0], _named)
        options = dict(value) if isinstance(value, Mapping) else {} if value is None else {"k": value}
        return Metric(names[0], **options).made()
    metric = words.made() if isinstance(words, Metric) else words
    missing = [name for name in _methods if not callable(getattr(metric, name, None))]
    if missing:
        raise _core.QuasarError(f"eval_metric is {words!r}, but must be a dictionary such as {{'topk': 1}}, a Metric, or an object with "
                                f"{', '.join(_methods)}; it lacks {', '.join(missing)}")
    return metric


def scored_by(metric: Any, batches: Batches) -> Callable[[str], float]:
    """The function of a model's path that runs it on all batches, one after the other, and asks the metric."""
    def score(path: str) -> float:
        session = Session(path, threads=os.cpu_count() or 1)
        metric.reset()
        for arrays, labels in batches:
            outputs: List[Any] = session(arrays)
            metric.update(outputs[0] if len(outputs) == 1 else outputs, labels)
        return float(metric.result())

    return score


__all__ = ["BaseMetric", "Metric", "TopK"]
