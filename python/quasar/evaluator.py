"""python3 -m quasar.evaluator FILE:FUNCTION scores models for the command line (search_evaluator: {python: FILE:FUNCTION}).

Questions and answers are lines of JSON on standard input and output. The first question is {"version": 1, "first": the first metric}, its answer {"kind": ...}.
Then {"model": path, "reference": path, "outputs": ...} is answered by {"metrics": {name: value}}. What goes wrong is answered by
{"error": text, "traceback": text}. What the function prints goes to standard error.
"""
from __future__ import annotations

import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, TextIO

import numpy

from ._evaluators import kind_of, single, values_of
from ._session import Session


def load(target: str) -> Callable[..., Any]:
    """The function that FILE:FUNCTION names."""
    file, _, name = target.rpartition(":")
    path = Path(file).absolute()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    function: Any = module
    for part in name.split("."):
        function = getattr(function, part)
    return function


def arrays(written: List[Dict[str, Any]]) -> Any:
    """Outputs as the search wrote them: one file per output, or one per sample where shapes differ."""
    return single({output["name"]: numpy.load(output["file"], mmap_mode="r") if "file" in output
                   else [numpy.load(file) for file in output["files"]] for output in written})


def labels(file: Optional[str]) -> Optional[numpy.ndarray]:
    return None if file is None else numpy.load(file)


def score(function: Callable[..., Any], kind: str, question: Dict[str, Any], first: str) -> Dict[str, float]:
    if kind == "path":
        return values_of(function(question["model"]), first)
    if kind == "inference":
        return values_of(function(Session(question["model"])), first)
    outputs = question["outputs"]
    return values_of(function(arrays(outputs["reference"]), arrays(outputs["candidate"]), labels(outputs["labels"])), first)


def answer(target: str, questions: TextIO, answers: TextIO) -> None:
    def say(what: Dict[str, Any]) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    function: Optional[Callable[..., Any]] = None
    kind = first = ""
    for line in questions:
        question = json.loads(line)
        try:
            if function is None:
                function = load(target)
                kind, first = kind_of(function), question.get("first", "score")
                say({"kind": kind})
            else:
                say({"metrics": score(function, kind, question, first)})
        except BaseException as error:  # noqa: BLE001  whatever a user's function raises is a failed trial
            text = str(error)
            say({"error": type(error).__name__ + (": " + text if text else ""), "traceback": traceback.format_exc()})
            if isinstance(error, KeyboardInterrupt):
                raise


def main() -> None:
    if len(sys.argv) != 2 or ":" not in sys.argv[1]:
        sys.exit("usage: python3 -m quasar.evaluator FILE:FUNCTION")
    questions, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    answer(sys.argv[1], questions, answers)


if __name__ == "__main__":
    main()
