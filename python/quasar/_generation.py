"""What a language model writes, and the caches that it writes with."""
from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, List, Sequence

import numpy

from ._evaluators import scoring
from ._session import Session

_PAST, _PRESENT = "past_key_values.", "present."
_TYPES = {"int64": numpy.int64, "int32": numpy.int32}
_FLOATS = {"float32": numpy.float32, "float16": numpy.float16}

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
        kind, shape = self._inputs[name]
        if shape is None or len(shape) != 4 or shape[1] < 0 or shape[3] < 0:
            raise ValueError(f"input '{name}' has shape {shape}, but a cache is [batch, heads, positions, size] with known heads and size")
        if kind not in _FLOATS:
            raise ValueError(f"input '{name}' holds {kind}, but a cache that starts empty is known of {', '.join(_FLOATS)}")
        return numpy.zeros((1, shape[1], 0, shape[3]), _FLOATS[kind])

    def _feeds(self, given: Sequence[int], begin: int, caches: Dict[str, numpy.ndarray]) -> Dict[str, numpy.ndarray]:
        """What the model gets for the tokens from place `begin` on, behind those that the caches hold."""
        feeds: Dict[str, numpy.ndarray] = {self._ids: self._typed(self._ids, given[begin:]), **caches}
        if "attention_mask" in self._inputs:
            feeds["attention_mask"] = self._typed("attention_mask", [1] * len(given))
        if "position_ids" in self._inputs:
            feeds["position_ids"] = self._typed("position_ids", range(begin, len(given)))
        return feeds

    def _kept(self, outputs: Sequence[numpy.ndarray]) -> Dict[str, numpy.ndarray]:
        return {name: outputs[place] for name, place in self._caches.items()}

    def tokens(self, prompt: Sequence[int], count: int) -> List[int]:
        """The likeliest next tokens, so many."""
        written: List[int] = [int(token) for token in prompt]
        caches = {name: self._empty(name) for name in self._caches}
        begin = 0  # what the cache holds of them
        while len(written) < len(prompt) + count:
            outputs = self._session(self._feeds(written, begin, caches))
            if outputs[0].ndim != 3:
                raise ValueError(f"the model's first output has shape {list(outputs[0].shape)}, but logits are [batch, positions, vocabulary]")
            if self._caches:
                caches, begin = self._kept(outputs), len(written)
            written.append(int(outputs[0][0, -1].argmax()))
        return written[len(prompt):]

    def recorded(self, window: Sequence[int], held: int) -> Dict[str, numpy.ndarray]:
        """The tokens behind the first `held` ones, with the caches that hold these."""
        caches = {name: self._empty(name) for name in self._caches}
        if held:
            caches = self._kept(self._session(self._feeds(window[:held], 0, caches)))
        return self._feeds(window, held, caches)

    @property
    def caches(self) -> List[str]:
        """The inputs that take them."""
        return list(self._caches)

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

def cache_samples(model: Any, windows: Iterable[Sequence[int]], *, held: int, ids: str = "input_ids") -> Dict[str, numpy.ndarray]:
    """Samples with recorded caches for a language model that takes them: the float model runs over the first tokens of each window, and what it
    keeps of them stands beside the tokens that follow.

    model: the float model (a path, bytes or an onnx.ModelProto) with inputs past_key_values.N.key and outputs present.N.key.
    windows: rows of token ids of one length, such as text_samples() makes. held: so many tokens of each are in the caches; 0: a prompt, with caches
      of length 0. One more than held in a window gives samples of single tokens, as they are while a text is written.
    ids: the input that takes them. attention_mask and position_ids are given where the model takes them.
    -> arrays by the model's inputs, one row a window, which every function that takes samples takes, and numpy.savez() writes. Samples of both kinds
      are a list of such arrays. Raises ValueError for a model without caches, and inputs that nobody knows.

    >>> windows = quasar.text_samples(text, "tokenizer.json", length=128)["input_ids"]
    >>> calib = [quasar.cache_samples("gpt_cache.onnx", windows[:50], held=held) for held in (0, 64)]
    """
    rows = [[int(token) for token in row] for row in windows]
    lengths = sorted({len(row) for row in rows})
    if len(lengths) != 1:
        raise ValueError(f"windows are rows of one length, but have {', '.join(map(str, lengths)) or 'none'}")
    if isinstance(held, bool) or not isinstance(held, (int, numpy.integer)) or not 0 <= held < lengths[0]:
        raise ValueError(f"held is {held!r}, but must be a whole number from 0 to {lengths[0] - 1}: a window has {lengths[0]} tokens, and one is read")
    writer = _Writer(Session(model), ids)
    if not writer.caches:
        raise ValueError(f"the model takes no caches ({_PAST}N.key with an output {_PRESENT}N.key): its windows are samples as they are")
    found = [writer.recorded(row, int(held)) for row in rows]
    return {name: numpy.concatenate([one[name] for one in found]) for name in found[0]}

__all__ = ["cache_samples", "generation_agreement"]
