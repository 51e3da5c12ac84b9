"""Windows of token ids, which language models are calibrated and scored on."""
from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple, Union

import numpy

from . import _core
from ._words import Model, model_file

#: Labels of this value count nowhere, in Quasar as in PyTorch and transformers.
_UNCOUNTED = -100

#: A smaller vocabulary is another model's. Tables are filled up, by a few hundred rows at most.
_LEAST_OF_TABLE = 0.9

def _read(tokenizer: Any) -> Any:
    """A tokenizer.json that a path names; what else there is as it is."""
    if isinstance(tokenizer, (str, os.PathLike)):
        path = os.fspath(tokenizer)
        try:
            from tokenizers import Tokenizer
        except ImportError as error:
            raise ImportError("a tokenizer.json is read by the package tokenizers, which is not installed: pip install tokenizers") from error
        if not os.path.exists(path):
            raise FileNotFoundError(f"tokenizer '{path}': no such file")
        try:
            tokenizer = Tokenizer.from_file(path)
        except Exception as error:
            raise ValueError(f"tokenizer '{path}' is no tokenizer.json: {error}") from error
    return _whole(tokenizer)

def _whole(tokenizer: Any) -> Any:
    """The tokenizer without the truncation and padding that a tokenizer.json carries for single sentences; what is given stays as it is."""
    if not hasattr(tokenizer, "no_truncation") or (getattr(tokenizer, "truncation", None) is None and getattr(tokenizer, "padding", None) is None):
        return tokenizer
    try:
        copy = type(tokenizer).from_str(tokenizer.to_str())
    except Exception as error:  # parts that are written in Python
        raise ValueError("the tokenizer cuts or pads texts, and cannot be copied: call its no_truncation() and no_padding() before") from error
    copy.no_truncation()
    copy.no_padding()
    return copy

def _texts(text: Union[str, "os.PathLike[str]", Iterable[Any]]) -> Iterator[str]:
    """One text or several; those of files that paths name."""
    for one in [text] if isinstance(text, (str, os.PathLike)) else text:
        if not isinstance(one, (str, os.PathLike)):
            raise TypeError(f"text holds {one!r}, but must be a text, several, or paths of files (pathlib.Path)")
        yield one if isinstance(one, str) else Path(one).read_text(encoding="utf-8")

def _encoder(tokenizer: Any) -> Callable[[str], List[int]]:
    """What turns a text into ids, without ids that mark its ends."""
    if not hasattr(tokenizer, "encode"):
        if not callable(tokenizer):
            raise TypeError(f"tokenizer is {type(tokenizer).__name__}, but must be a path, a tokenizer with encode(), or a function of a text")
        return lambda text: list(tokenizer(text))

    def encode(text: str) -> List[int]:
        try:
            found = tokenizer.encode(text, add_special_tokens=False)
        except TypeError:  # sentencepiece, and others without marks
            found = tokenizer.encode(text)
        return list(getattr(found, "ids", found))
    return encode

def _vocabulary(tokenizer: Any) -> Optional[int]:
    """How many ids a tokenizer has; None: it does not say."""
    for name in ("get_vocab_size", "__len__", "get_piece_size", "vocab_size"):  # tokenizers, transformers with added tokens, sentencepiece
        found = getattr(tokenizer, name, None)
        size = found() if callable(found) else found
        if isinstance(size, (int, numpy.integer)) and not isinstance(size, bool) and size > 0:
            return int(size)
    return None

def _table(model: Model, name: str) -> Tuple[str, int]:
    """The table in which the model looks up the ids of an input, in words, and its rows."""
    with model_file(model) as path:
        facts = _core.id_tables(path)
    if name not in facts["inputs"]:
        raise ValueError(f"the model has no input '{name}' for token ids; it takes {', '.join(facts['inputs'])}")
    if name not in facts["tables"]:
        raise ValueError(f"the model looks '{name}' up in no table that can be found: leave model out, or give the float model")
    table, rows = facts["tables"][name]
    return f"table '{table}'", rows

def _check_fit(tokenizer: Any, where: str, rows: int) -> None:
    known = _vocabulary(tokenizer)
    if known is not None and not _LEAST_OF_TABLE * rows <= known <= rows / _LEAST_OF_TABLE:  # of a few more the ids decide
        why = "ids beyond it cannot be looked up" if known > rows else "it is most likely another model's"
        raise ValueError(f"the tokenizer has {known} tokens, but the model's {where} is for {rows}: {why}. Take the tokenizer that came with the model, "
                         "or leave model out")

def _sizes(length: Any, stride: Any, most: Any) -> int:
    """-> the stride"""
    for name, value, low in (("length", length, 2), ("stride", length if stride is None else stride, 1), ("most", 1 if most is None else most, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)) or value < low:
            raise ValueError(f"{name} is {value!r}, but must be a whole number of at least {low}")
    step = length if stride is None else int(stride)
    if step > length:
        raise ValueError(f"stride is {step}, but windows have {length} tokens: those between two windows would count nowhere")
    return step

def text_samples(text: Union[str, "os.PathLike[str]", Iterable[Union[str, "os.PathLike[str]"]]], tokenizer: Any, *, length: int = 512, stride: Optional[int] = None, most: Optional[int] = None,
                 name: str = "input_ids", attention_mask: bool = False, model: Optional[Model] = None) -> Dict[str, numpy.ndarray]:
    """Samples of text for a language model: windows of so many token ids, by the names of the model's inputs.

    text: one text, or several, whose ids are joined in this order (a document, lines, rows of a data set); a pathlib.Path stands for a file's text.
    tokenizer: a path to Hugging Face's tokenizer.json, which the package tokenizers reads; an object with encode() (tokenizers, transformers,
      sentencepiece); or a function that turns a text into ids. Ids that mark the ends of a text are not added where encode() can leave them out.
    length: tokens in a window. A rest that fills no window is left out.
    stride: from one window to the next; the length where it is left out. Windows that overlap get labels, in which what the window before has
      scored already is -100: so each token counts once, with more text before it.
    most: at most so many windows, from the beginning.
    name: the input that takes the ids. attention_mask: an input of this name with 1 everywhere, for models that ask for it.
    model: that the ids are for: its table is compared with the tokenizer's vocabulary, and with the ids.
    -> {name: int64 [windows, length], ...}, which every function that takes samples takes. Raises ValueError for too little text, and for a tokenizer
      that is not the model's.
    """
    step = _sizes(length, stride, most)
    read = _read(tokenizer)
    encode = _encoder(read)
    where, rows = ("", 0) if model is None else _table(model, name)
    if model is not None:
        _check_fit(read, where, rows)
    ids = numpy.fromiter(itertools.chain.from_iterable(map(encode, _texts(text))), numpy.int64)
    if model is not None and len(ids) and ids.max() >= rows:
        raise ValueError(f"the tokenizer gives the id {ids.max()}, but the model's {where} is for {rows} tokens (ids 0 to {rows - 1})")
    if len(ids) < length:
        hint = f"; '{text}' is a file: give pathlib.Path('{text}')" if isinstance(text, str) and len(text) < 1000 and os.path.isfile(text) else ""
        raise ValueError(f"the text has {len(ids)} tokens, but a window takes {length}{hint}")
    windows = numpy.lib.stride_tricks.sliding_window_view(ids, length)[::step][:most].copy()
    samples = {name: windows}
    if attention_mask:
        samples["attention_mask"] = numpy.ones_like(windows)
    if step < length:
        labels = windows.copy()
        labels[1:, : length - step] = _UNCOUNTED
        samples["labels"] = labels
    return samples

__all__ = ["text_samples"]
