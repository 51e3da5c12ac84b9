"""auto(): a search for somebody who has a model and samples only."""
from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple

import numpy

from . import _core
from ._api import SearchResult, _run, logger
from ._configuration import _from_here, gathered, model_of, rooted
from ._samples import Samples
from ._tuning import makes_its_space
from ._words import Model, brief, model_file, text_of


def _said(labels: Any, metric: Any, loss: Any, target: Any, time: Any, output_dir: Any) -> Dict[str, Any]:
    """The arguments as the library takes them. Raises QuasarError for what they cannot be."""
    if loss is not None and (isinstance(loss, bool) or not isinstance(loss, (int, float, numpy.integer, numpy.floating))):
        raise _core.QuasarError(f"loss is {brief(loss)}, but must be a number: 1 % of what the float model has are 0.01")
    place = text_of(output_dir, "output_dir", "a folder")
    return {"labels": text_of(labels, "labels", "the name of an array or a file; labels themselves stand beside the samples: (samples, labels)"),
            "metric": text_of(metric, "metric", "one name; search() takes several, or an accuracy_criterion={'metrics': {NAME: WEIGHT}}"),
            "loss": None if loss is None else float(loss), "target": text_of(target, "target", "the name of one (quasar.listed(\"targets\"))"),
            "time": "5m" if time is None else str(time), "output_dir": str(Path(place or "quasar_out").absolute())}


def _without_samples(words: Dict[str, Any], keys: Mapping[str, Any]) -> Set[str]:
    """Samples of one's own: `data` is for those that are not given."""
    own = {key for key in ("calib_data_reader", "eval_data_reader") if key in keys}
    if "split" in keys:
        return {"split"}
    if not own:
        if "holdout_data_reader" in keys:
            words["split"].pop("holdout", None)
        return {"split"} if "holdout_data_reader" in keys else set()
    data, split = words.pop("data_reader"), words.pop("split")
    words.update({"calib_data_reader": data, "eval_data_reader": data})
    if "calib_data_reader" not in keys:  # not all of what may be very many
        words["calibration_sampling_size"] = split["calibration"]
    return {"split"}


def _without_a_way(words: Dict[str, Any], keys: Mapping[str, Any]) -> Set[str]:
    """A preset's space is for strategies that search one, and beside no list of spaces."""
    criterion = keys.get("tuning_criterion")
    strategy = keys.get("strategy", criterion.get("strategy") if isinstance(criterion, Mapping) else None)
    if strategy is None and "quant_level" not in keys and "budget" not in keys and "search_spaces" not in keys:
        return set()
    if strategy is None or makes_its_space(strategy) or "search_spaces" in keys:
        words.pop("preset")
        return {"way"}
    return set()


def _without_a_goal(words: Dict[str, Any], keys: Mapping[str, Any], loss: Optional[float]) -> Set[str]:
    """A score of one's own is what the goal is about; several objectives and a budget have no goal beside them."""
    evaluator, objectives = keys.get("search_evaluator"), keys.get("objectives")
    if "accuracy_criterion" in keys:
        return {"goal"}
    if "budget" in keys or isinstance(objectives, (list, tuple)) and len(objectives) > 1:
        words.pop("accuracy_criterion")
        return {"goal"}
    if evaluator is not None and not isinstance(evaluator, str):
        words["accuracy_criterion"] = {"criterion": "relative", "tolerable_loss": 0.01 if loss is None else loss}
        words.pop("search_metric")
        return {"goal"}
    return set()


def _taken(first: Mapping[str, Any], keys: Mapping[str, Any], metric: str, loss: Optional[float]) -> Tuple[Dict[str, Any], List[str]]:
    """-> what is taken where these keys say nothing else, and the lines that tell of it."""
    words = {**first["words"], "split": dict(first["words"]["split"])}
    replaced = _without_samples(words, keys) | _without_a_way(words, keys) | (set() if metric else _without_a_goal(words, keys, loss))
    replaced |= {line for line, key in (("target", "target"), ("way", "preset")) if key in keys}
    return words, [line for line in first["lines"] if line.split(":")[0] not in replaced]


def _conditions(taken: Mapping[str, Any], given: Mapping[str, Any]) -> Dict[str, Any]:
    """One condition of the user's leaves the time limit; a time limit of the user's wins."""
    own = given.get("search_stop_condition", {})
    limits_time = any(name.replace("_", "").replace("-", "").lower() == "timelimit" for name in own)
    return dict(own) if limits_time else {**taken["search_stop_condition"], **own}


def auto(model: Model, data: Samples, *, labels: str = "", metric: str = "", loss: Optional[float] = None, target: str = "", time: str = "5m",
         output_dir: Any = "quasar_out", evaluator: Any = None, **keys: Any) -> SearchResult:
    """Looks at model and samples, says in the log what it takes, and searches: no configuration is needed.

    data:   samples with or without labels (quasar.Samples), which are parted into those to calibrate on, to score on and, where there
            are 300 or more, those that nobody sees before the end.
    labels: the array of a .npz file, or the CSV or COCO file of a folder of pictures; "": found by itself.
    metric: what little may be lost of; "": top1 where there are labels and classes, else cos.
    loss:   how much: a share of the float model's, of cos in its unit; None: 0.01, or what three answers are where samples are few.
    target: what the model must run on; "": this machine's CPU.
    time:   how long it may take: "90s", "5m", "1h"; a time_limit in search_stop_condition wins.
    evaluator: your own score, as search() takes it; it is the objective then, and the goal is about it unless metric says otherwise.
    keys:   any key of a configuration, which wins over what is taken. Where calib_data_reader or eval_data_reader is given, data is
            for the other one; strategies that make their own space, search_spaces and a budget stand without a preset.

    -> as search(); output_dir holds search.yaml too, which says the same thing, where data is a path and neither keys nor an evaluator are given. Raises
    QuasarError for what cannot be read, for less than 8 samples, and for pictures of which nothing tells what values the model takes.
    """
    if data is None:
        raise _core.QuasarError("data is None, but must be samples: a path, arrays, or what quasar.Samples lists")
    said = _said(labels, metric, loss, target, time, output_dir)
    base = os.getcwd()
    given = _from_here({**keys, "search_evaluator": evaluator} if evaluator is not None else keys)
    model_of(model, given)
    configuration = gathered({"data_reader": rooted("data_reader", data)})
    with model_file(model) as path:
        first = _core.first_search(path, configuration.words["data_reader"], base, said)
    taken, lines = _taken(first, given, said["metric"], said["loss"])
    for line in lines:
        logger.info(line)
    more = gathered(given)
    del configuration.words["data_reader"]  # it stands among what is taken, in more words
    configuration.words.update({**taken, **more.words, "search_stop_condition": _conditions(taken, more.words)})
    configuration.gathering.registrations += more.gathering.registrations
    configuration.keeping += more.keeping
    found = _run(configuration, model, base)
    if isinstance(data, (str, os.PathLike)) and not given:
        (found.output_dir / "search.yaml").write_text(first["file"], encoding="utf-8")
    return found


__all__ = ["auto"]
