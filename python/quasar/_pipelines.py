"""Several models that run one after the other: an encoder and its decoder. What they write, and samples for them."""
from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Union

import numpy

from . import _core
from ._evaluators import scoring
from ._samples import _array
from ._session import Session
from ._words import Model, model_file

_PAST, _PRESENT = "past_key_values.", "present."
_UNCOUNTED = -100
_TYPES = {"int64": numpy.int64, "int32": numpy.int32, "bool": numpy.bool_}


def split(model: Model, folder: Any) -> Dict[str, Path]:
    """Writes the models of a pipeline into a folder: of a search's best.onnx, of a configuration file with the key models, or of a mapping
    {name: path, or {"path": path, "inputs": {input: "model.output"}}}. -> their files by name, in the order in which they run. Run one after
    the other they give the outputs of the whole, bit by bit. Raises QuasarError for a model that is no pipeline.
    """
    with model_file(model) as path:
        return {part["name"]: Path(part["file"]) for part in _core.split(path, str(folder))}


class _Part:
    """One model: its session, and the pipeline's values by the names that its inputs and outputs have."""

    def __init__(self, facts: Mapping[str, Any], threads: int) -> None:
        self.name: str = facts["name"]
        self.session = Session(facts["file"], threads)
        self.inputs: Dict[str, str] = facts["inputs"]
        self.outputs: Dict[str, str] = facts["outputs"]
        self.types = {name: (kind, shape) for name, kind, shape in self.session.inputs}

    def run(self, feeds: Mapping[str, Any]) -> Dict[str, numpy.ndarray]:
        """-> outputs by the names that they have in this model."""
        return dict(zip((name for name, _, _ in self.session.outputs), self.session(feeds)))


class Pipeline:
    """The models of a pipeline, each in a session of its own. Called with arrays by the pipeline's input names, it runs one after the other and
    gives all of their outputs by the pipeline's names.

    model: as split() takes it.

    >>> quasar.Pipeline("search/best.onnx")({"input_features": spectra, "input_ids": tokens})["logits"]
    """

    def __init__(self, model: Model, threads: int = 1) -> None:
        with tempfile.TemporaryDirectory(prefix="quasar-") as folder, model_file(model) as path:
            self._parts = [_Part(facts, threads) for facts in _core.split(path, folder)]

    @property
    def models(self) -> List[str]:
        """Their names, in the order in which they run."""
        return [part.name for part in self._parts]

    @property
    def sessions(self) -> Dict[str, Session]:
        """Each model's by its name."""
        return {part.name: part.session for part in self._parts}

    def __call__(self, feeds: Mapping[str, Any]) -> Dict[str, numpy.ndarray]:
        """Runs the pipeline. Raises ValueError for an input that is not there."""
        values: Dict[str, Any] = {name: _array(value) for name, value in feeds.items()}
        out: Dict[str, numpy.ndarray] = {}
        for part in self._parts:
            found = self._run(part, values)
            out.update(found)
            values.update(found)
        return out

    @staticmethod
    def _run(part: _Part, values: Mapping[str, Any]) -> Dict[str, numpy.ndarray]:
        missing = [value for value in part.inputs.values() if value not in values]
        if missing:
            raise ValueError(f"model '{part.name}' needs {', '.join(missing)}; given are {', '.join(values)}")
        found = part.run({own: values[value] for own, value in part.inputs.items()})
        return {part.outputs[own]: value for own, value in found.items()}


class _Writer:
    """Greedy decoding by an encoder and a decoder, or a decoder for the first tokens and one with caches for the others."""

    def __init__(self, pipeline: Pipeline, start: Union[int, Sequence[int]], end: int, tokens: int, ids: str, logits: str) -> None:
        if isinstance(tokens, bool) or not isinstance(tokens, (int, numpy.integer)) or tokens < 1:
            raise ValueError(f"tokens is {tokens!r}, but must be a whole number of at least 1")
        self.start = [int(start)] if isinstance(start, (int, numpy.integer)) else [int(token) for token in start]
        if not self.start:
            raise ValueError("start is empty, but must be a token or several, such as the one that begins a text")
        self.end, self.tokens, self.ids, self._logits = int(end), int(tokens), ids, logits
        parts = pipeline._parts
        self.decoders = [part for part in parts if logits in part.outputs and ids in part.inputs]
        if not self.decoders or len(self.decoders) > 2:
            raise ValueError(f"generated text needs one decoder, or one for the first token and one with caches: models with an input '{ids}' and an "
                             f"output '{logits}'; found {', '.join(part.name for part in self.decoders) or 'none'} of {', '.join(pipeline.models)}")
        self.before = [part for part in parts if part not in self.decoders]
        self._cached = any(name.startswith(_PAST) for name in self.decoders[-1].inputs)
        if len(self.decoders) == 2 and not self._cached:
            raise ValueError(f"model '{self.decoders[1].name}' takes no caches ({_PAST}N.key), and nobody knows what two decoders are for")

    @staticmethod
    def empty(part: _Part, name: str, count: int = 1) -> numpy.ndarray:
        """The cache before the first token."""
        shape = part.types[name][1]
        if shape is None or len(shape) != 4 or shape[1] < 0 or shape[3] < 0:
            raise ValueError(f"input '{name}' of model '{part.name}' has shape {shape}, but a cache is [batch, heads, positions, size] with known "
                             "heads and size")
        return numpy.zeros((count, shape[1], 0, shape[3]), numpy.float16 if part.types[name][0] == "float16" else numpy.float32)

    def given(self, part: _Part, own: str, values: Mapping[str, Any], caches: Mapping[str, Any], rows: Any, begin: int) -> Any:
        """What the decoder's input gets for token rows whose first stands at place `begin`."""
        kind = _TYPES.get(part.types[own][0], numpy.int64)
        count, length = rows.shape
        if own == self.ids:
            return rows.astype(kind)
        if own.startswith(_PAST):
            return caches[own] if own in caches else self.empty(part, own, count)
        if part.inputs[own] in values:
            return values[part.inputs[own]]
        if own in ("attention_mask", "decoder_attention_mask"):
            return numpy.ones((count, begin + length), kind)
        if own in ("position_ids", "decoder_position_ids"):
            return numpy.tile(numpy.arange(begin, begin + length, dtype=kind), (count, 1))
        if own == "use_cache_branch":
            return numpy.array([begin > 0])
        raise ValueError(f"model '{part.name}' needs '{part.inputs[own]}', which is neither among the samples ({', '.join(values)}) nor an input that "
                         f"generated text knows: {self.ids}, attention_mask, position_ids, use_cache_branch, {_PAST}N.key")

    def text(self, sample: Mapping[str, Any]) -> List[int]:
        """The likeliest tokens behind the start, without the end."""
        values: Dict[str, Any] = dict(sample)
        for part in self.before:
            values.update(Pipeline._run(part, values))
        written, caches, begin = list(self.start), {}, 0
        while len(written) < len(self.start) + self.tokens:
            part = self.decoders[-1 if begin else 0]
            rows = numpy.array([written[begin:]])
            out = part.run({own: self.given(part, own, values, caches, rows, begin) for own in part.inputs})
            scores = out[self._logits]
            if scores.ndim != 3:
                raise ValueError(f"output '{self._logits}' of model '{part.name}' has shape {list(scores.shape)}, but logits are [batch, positions, "
                                 "vocabulary]")
            if self._cached:
                for name, value in out.items():
                    own = _PAST + name[len(_PRESENT):]
                    if name.startswith(_PRESENT) and (value.size or own not in caches):  # merged decoders hand out no encoder's caches again
                        caches[own] = value
                begin = len(written)
            token = int(scores[0, -1].argmax())
            if token == self.end:
                break
            written.append(token)
        return written[len(self.start):]


def _rows(inputs: Mapping[str, Any]) -> List[Dict[str, numpy.ndarray]]:
    arrays = {name: _array(value) for name, value in inputs.items()}
    sizes = {name: len(array) for name, array in arrays.items()}
    if not arrays or len(set(sizes.values())) != 1 or not next(iter(sizes.values())):
        raise ValueError(f"inputs are arrays by name whose first axes count the same samples, not {sizes}")
    return [{name: array[i:i + 1] for name, array in arrays.items()} for i in range(next(iter(sizes.values())))]


def generate(model: Any, inputs: Mapping[str, Any], *, start: Union[int, Sequence[int]], end: int, tokens: int = 64, ids: str = "input_ids",
             logits: str = "logits") -> List[List[int]]:
    """What an encoder and a decoder write, always the likeliest token. Raises ValueError for inputs that nobody knows.

    model: a Pipeline, or what makes one. inputs: arrays by the pipeline's input names without those of the decoder's tokens, masks and caches; the
      first axis counts samples. start: the token that begins a text, or several (Whisper: language and task). end: the one that ends it.
    tokens: at most so many. ids, logits: the decoder's input for tokens and its output, by its own names. A decoder may take caches
      (past_key_values.N.key, present.N.key), or a second decoder that does may follow the first.
    -> the tokens of each sample, without start and end.
    """
    pipeline = model if isinstance(model, Pipeline) else Pipeline(model)
    writer = _Writer(pipeline, start, end, tokens, ids, logits)
    return [writer.text(sample) for sample in _rows(inputs)]


def pipeline_samples(model: Any, inputs: Mapping[str, Any], *, start: Union[int, Sequence[int]], end: int, tokens: int = 64,
                     texts: Optional[Sequence[Sequence[int]]] = None, ids: str = "input_ids", logits: str = "logits") -> Dict[str, numpy.ndarray]:
    """Samples of a pipeline whose decoder reads tokens: those that it has to write are given (teacher forcing).

    inputs, start, end, tokens, ids, logits: as generate() has them. texts: the right tokens of each sample, without start and end; None: those that
      the float models write.
    -> the inputs, the decoder's tokens by the pipeline's name (start and text, filled up with `end`), its masks, positions and empty caches, and
      labels: the token that each place should give, -100 where none counts. Where a second decoder takes caches, rows end with a token of half of
      the texts or more: the second decoder gets that token, and the labels are of the places before.
    """
    pipeline = model if isinstance(model, Pipeline) else Pipeline(model)
    writer = _Writer(pipeline, start, end, tokens, ids, logits)
    rows = _rows(inputs)
    written = [writer.text(sample) for sample in rows] if texts is None else [[int(token) for token in text] for text in texts]
    if len(written) != len(rows):
        raise ValueError(f"texts are {len(written)}, but there are {len(rows)} samples")
    first = len(writer.start) - 1
    length = first + 1 + max(map(len, written))
    given = numpy.full((len(rows), length), writer.end, numpy.int64)
    labels = numpy.full((len(rows), length), _UNCOUNTED, numpy.int64)
    for row, text in enumerate(written):
        given[row, :first + 1 + len(text)] = [*writer.start, *text]
        labels[row, first:first + len(text) + 1] = [*text, writer.end]
    out = {name: numpy.concatenate([row[name] for row in rows]) for name in rows[0]}
    computed = {value for part in pipeline._parts for value in part.outputs.values()}
    cut = length
    if len(writer.decoders) == 2:  # behind the longest text it would read nothing but `end`
        cut = first + sorted(map(len, written))[len(written) // 2]
        length = cut + 1
        labels = labels[:, :cut]
    if cut < 1:
        raise ValueError("half of the texts or more are empty, so that the second decoder has no token to read")
    for part, begin, stop in zip(writer.decoders, (0, cut), (cut, length)):
        for own, value in part.inputs.items():
            if value not in computed and value not in out:
                out[value] = writer.given(part, own, {}, {}, given[:, begin:stop], begin)
    return {**out, "labels": labels}


def _edits(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many insertions, deletions and substitutions make one of the other (Levenshtein 1966)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for k, b in enumerate(other, 1):
            diagonal, row[k] = row[k], min(diagonal + (a != b), row[k] + 1, row[k - 1] + 1)
    return row[-1]


def _rate(found: Iterable[Sequence[Any]], truth: Sequence[Sequence[Any]]) -> float:
    return sum(_edits(one, right) for one, right in zip(found, truth)) / max(1, sum(map(len, truth)))


def transcription_errors(model: Any, inputs: Mapping[str, Any], texts: Optional[Sequence[Any]] = None, *, start: Union[int, Sequence[int]], end: int,
                         tokens: int = 64, decode: Optional[Callable[[List[int]], str]] = None, ids: str = "input_ids",
                         logits: str = "logits") -> Callable[[Any], Dict[str, float]]:
    """An evaluator: how many words, letters or tokens of what an encoder and a decoder write are wrong. Both write by themselves (generate()), so
    that one wrong token may lead to others.

    model: the float models, as Pipeline takes them. inputs, start, end, tokens, ids, logits: as generate() has them.
    texts: what is right: texts where `decode` is given, else lists of tokens; None: what the float models write.
    decode: makes a text of tokens, such as tokenizers.Tokenizer.decode.
    -> a function of a model's path, for search(evaluator=...) and by itself: {"wer", "cer" (with decode), "wrong_tokens" (without texts, or with
      lists of tokens), "alike": the share of samples that are right altogether}. Rates are edits by the length of what is right, all samples together.

    >>> errors = quasar.transcription_errors(models, {"input_features": spectra}, texts, start=1, end=2, decode=tokenizer.decode)
    """
    pipeline = model if isinstance(model, Pipeline) else Pipeline(model)
    how = {"start": start, "end": end, "tokens": tokens, "ids": ids, "logits": logits}
    kept = {name: _array(value) for name, value in inputs.items()}
    count = len(_rows(kept))
    own = None if texts is not None else generate(pipeline, kept, **how)
    if decode is not None:
        right: List[Any] = [decode(text) for text in own] if own is not None else [str(text) for text in texts or ()]
    else:
        right = own if own is not None else [[int(token) for token in text] for text in texts or ()]
    if len(right) != count:
        raise ValueError(f"texts are {len(right)}, but there are {count} samples")
    names = ["wer", "cer"] if decode is not None else []
    if own is not None or decode is None:
        names.append("wrong_tokens")

    @scoring("path", metrics={**{name: "minimize" for name in names}, "alike": "maximize"})
    def errors(path: Any) -> Dict[str, float]:
        found = generate(path, kept, **how)
        out: Dict[str, float] = {}
        answers: List[Any] = [decode(text) for text in found] if decode is not None else found
        if decode is not None:
            out["wer"] = _rate([text.split() for text in answers], [text.split() for text in right])
            out["cer"] = _rate(answers, right)
        if "wrong_tokens" in names:
            out["wrong_tokens"] = _rate(found, own if own is not None else right)
        out["alike"] = float(numpy.mean([a == b for a, b in zip(answers, right)]))
        return out

    return errors


__all__ = ["Pipeline", "generate", "pipeline_samples", "split", "transcription_errors"]
