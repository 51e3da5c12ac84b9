"""How long a quantized language model writes what the float model writes."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Sequence

import numpy

from ._evaluators import scoring
from ._session import Session

_PAST, _PRESENT = "past_key_values.", "present."
_TYPES = {"int64": numpy.int64, "int32": numpy.int32}

class _Writer:
    """Greedy decoding by one model, with its cache where it takes one."""

    def __init__(self, session: Any, ids: str) -> None:
        self._session, self._ids = session, ids
        self._inputs = {name: (kind, shape) for name, kind, shape in session.inputs}
        names = [name for name, _, _ in session.outputs]
        if ids not in self._inputs:
            raise ValueError(f"the model has no input '{ids}' for token ids; it takes {', '.join(self._inputs)}")
        self._caches = {name: names.index(_PRESENT + name[len(_PAST):]) for name in self._inputs
                        if name.startswith(_PAST) and _PRESENT + name[len(_PAST):] in names}
        for name in self._inputs:
            if name not in (ids, "attention_mask", "position_ids") and name not in self._caches:
                raise ValueError(f"generated text needs input '{name}', of which only {ids}, attention_mask, position_ids and caches "
                                 f"({_PAST}N.key with an output {_PRESENT}N.key) are known")

    def _typed(self, name: str, values: Any) -> numpy.ndarray:
        return numpy.asarray([values], _TYPES.get(self._inputs[name][0], numpy.int64))

    def _empty(self, name: str) -> numpy.ndarray:
        shape = self._inputs[name][1]
        if shape is None or len(shape) != 4 or shape[1] < 0 or shape[3] < 0:
            raise ValueError(f"input '{name}' has shape {shape}, but a cache is [batch, heads, positions, size] with known heads and size")
        return numpy.zeros((1, shape[1], 0, shape[3]), numpy.float32)

    def tokens(self, prompt: Sequence[int], count: int) -> List[int]:
        """The likeliest next tokens, so many."""
        written: List[int] = [int(token) for token in prompt]
        caches = {name: self._empty(name) for name in self._caches}
        begin = 0  # what the cache holds of them
        while len(written) < len(prompt) + count:
            feeds: Dict[str, numpy.ndarray] = {self._ids: self._typed(self._ids, written[begin:]), **caches}
            if "attention_mask" in self._inputs:
                feeds["attention_mask"] = self._typed("attention_mask", [1] * len(written))
            if "position_ids" in self._inputs:
                feeds["position_ids"] = self._typed("position_ids", range(begin, len(written)))
            outputs = self._session(feeds)
            if outputs[0].ndim != 3:
                raise ValueError(f"the model's first output has shape {list(outputs[0].shape)}, but logits are [batch, positions, vocabulary]")
            if self._caches:
                caches = {name: outputs[place] for name, place in self._caches.items()}
                begin = len(written)
            written.append(int(outputs[0][0, -1].argmax()))
        return written[len(prompt):]

def generation_agreement(model: Any, prompts: Iterable[Sequence[int]], *, tokens: int = 32, ids: str = "input_ids") -> Callable[[Any], Dict[str, float]]:
    """An evaluator: tokens that a model writes like the float model, from the beginning of the text to the first difference.

    model: the float model (a path, bytes or an onnx.ModelProto), with a cache of keys and values (past_key_values.N.key, present.N.key) or without;
      what is scored takes the same inputs. prompts: token ids each, of any length. tokens: how many are written behind each, always the likeliest.
    ids: the input that takes them. attention_mask and position_ids are given where the model takes them.
    -> a function of a Session, for search(evaluator=...) and by itself: {"generation_agreement": the mean over prompts, of `tokens` at most;
      "alike": the share of prompts whose texts are the same to the end}. Raises ValueError for inputs that nobody knows.

    >>> agrees = quasar.generation_agreement("gpt.onnx", windows[:20, :16])
    >>> agrees(quasar.Session("int4.onnx"))
    """
    if isinstance(tokens, bool) or not isinstance(tokens, (int, numpy.integer)) or tokens < 1:
        raise ValueError(f"tokens is {tokens!r}, but must be a whole number of at least 1")
    kept = [[int(token) for token in prompt] for prompt in prompts]
    if not kept or not all(kept):
        raise ValueError("each prompt needs a token, and there must be one prompt at least")
    writer = _Writer(Session(model), ids)
    expected = [writer.tokens(prompt, tokens) for prompt in kept]

    @scoring("inference", metrics={"generation_agreement": "maximize", "alike": "maximize"})
    def agreement(session: Any) -> Dict[str, float]:
        other = _Writer(session, ids)
        lengths = []
        for prompt, wanted in zip(kept, expected):
            differs = [a != b for a, b in zip(other.tokens(prompt, tokens), wanted)]
            lengths.append(differs.index(True) if True in differs else tokens)
        return {"generation_agreement": float(numpy.mean(lengths)), "alike": float(numpy.mean([length == tokens for length in lengths]))}

    return agreement

__all__ = ["generation_agreement"]
