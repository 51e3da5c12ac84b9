"""Windows of token ids, which language models are calibrated and scored on."""
from __future__ import annotations

import itertools
import os
from typing import Any, Callable, Dict, Iterable, List, Optional, Union

import numpy

#: Labels of this value count nowhere, in Quasar as in PyTorch and transformers.
_UNCOUNTED = -100

def _encoder(tokenizer: Any) -> Callable[[str], List[int]]:
    """What turns a text into ids, without ids that mark its ends."""
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

def _sizes(length: Any, stride: Any, most: Any) -> int:
    """-> the stride"""
    for name, value, low in (("length", length, 2), ("stride", length if stride is None else stride, 1), ("most", 1 if most is None else most, 1)):
        if isinstance(value, bool) or not isinstance(value, (int, numpy.integer)) or value < low:
            raise ValueError(f"{name} is {value!r}, but must be a whole number of at least {low}")
    step = length if stride is None else int(stride)
    if step > length:
        raise ValueError(f"stride is {step}, but windows have {length} tokens: those between two windows would count nowhere")
    return step

def text_samples(text: Union[str, Iterable[str]], tokenizer: Any, *, length: int = 512, stride: Optional[int] = None, most: Optional[int] = None,
                 name: str = "input_ids", attention_mask: bool = False) -> Dict[str, numpy.ndarray]:
    """Samples of text for a language model: windows of so many token ids, by the names of the model's inputs.

    text: one text, or several, whose ids are joined in this order (a document, lines, rows of a data set).
    tokenizer: a path to Hugging Face's tokenizer.json, which the package tokenizers reads; an object with encode() (tokenizers, transformers,
      sentencepiece); or a function that turns a text into ids. Ids that mark the ends of a text are not added where encode() can leave them out.
    length: tokens in a window. A rest that fills no window is left out.
    stride: from one window to the next; the length where it is left out. Windows that overlap get labels, in which what the window before has
      scored already is -100: so each token counts once, with more text before it.
    most: at most so many windows, from the beginning.
    name: the input that takes the ids. attention_mask: an input of this name with 1 everywhere, for models that ask for it.
    -> {name: int64 [windows, length], ...}, which every function that takes samples takes. Raises ValueError for too little text.
    """
    step = _sizes(length, stride, most)
    encode = _encoder(tokenizer)
    texts = [text] if isinstance(text, str) else text
    ids = numpy.fromiter(itertools.chain.from_iterable(map(encode, texts)), numpy.int64)
    if len(ids) < length:
        raise ValueError(f"the text has {len(ids)} tokens, but a window takes {length}")
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
