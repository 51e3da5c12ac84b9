"""auto(): a search for somebody who has a model and samples only."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, Mapping

from . import _core
from ._api import SearchResult, _run, logger
from ._configuration import _from_here, gathered, rooted
from ._samples import Samples
from ._words import Model, model_file


def _conditions(taken: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """One condition of the user's leaves the time limit; a time limit of the user's wins."""
    own = given.get("search_stop_condition", {})
    limits_time = any(name.replace("_", "").replace("-", "").lower() == "timelimit" for name in own)
    return dict(own) if limits_time else {**taken["search_stop_condition"], **own}


def auto(model: Model, data: Samples, *, labels: str = "", metric: str = "", loss: float | None = None, target: str = "", time: str = "5m",
         output_dir: Any = "quasar_out", **keys: Any) -> SearchResult:
    """Looks at model and samples, says in the log what it takes, and searches: no configuration is needed.

    data:   samples with or without labels (quasar.Samples), which are parted into those to calibrate on, to score on and, where there
            are 300 or more, those that nobody sees before the end.
    labels: the array of a .npz file, or the CSV or COCO file of a folder of pictures; "": found by itself.
    metric: what little may be lost of; "": top1 where there are labels and classes, else cos.
    loss:   how much: a share of the float model's, of cos in its unit; None: 0.01, or what three answers are where samples are few.
    target: what the model must run on; "": this machine's CPU.
    time:   how long it may take: "90s", "5m", "1h"; a time_limit in search_stop_condition wins.
    keys:   any key of a configuration, which wins over what is taken.

    -> as search(); output_dir holds search.yaml too, which says the same thing, where data is a path and no keys are given. Raises
    QuasarError for what cannot be read, for less than 8 samples, and for pictures of which nothing tells what values the model takes.
    """
    base = os.getcwd()
    configuration = gathered({"data_reader": rooted("data_reader", data)})
    said = {"labels": labels, "metric": metric, "loss": None if loss is None else float(loss), "target": target, "time": str(time),
            "output_dir": str(Path(output_dir).absolute())}
    with model_file(model) as path:
        first = _core.first_search(path, configuration.words["data_reader"], base, said)
    for line in first["lines"]:
        logger.info(line)
    more = gathered(_from_here(keys))
    configuration.words.update({**first["words"], **more.words, "search_stop_condition": _conditions(first["words"], more.words)})
    configuration.gathering.registrations += more.gathering.registrations
    configuration.keeping += more.keeping
    found = _run(configuration, model, base)
    if isinstance(data, (str, os.PathLike)) and not keys:
        (found.output_dir / "search.yaml").write_text(first["file"], encoding="utf-8")
    return found


__all__ = ["auto"]
