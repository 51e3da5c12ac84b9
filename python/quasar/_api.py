"""search, quantize, evaluate, inspect."""
from __future__ import annotations

import contextlib
import datetime
import filecmp
import logging
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, TextIO, Union

from . import _core
from ._configuration import Configuration, gather_arguments, libraries, model_words, opened, ready_for_workers, rooted, samples_for_workers, take_samples
from ._evaluators import Scored
from ._launch import refuse_launches, together
from ._pools import Workers, crew
from ._samples import Gathering, Samples
from ._study import Study, Trial
from ._words import Model, brief, model_file, plain, text_of

logger = logging.getLogger("quasar")
_levels = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class SearchResult:
    """What a search found; everything stands in output_dir too."""

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.output_dir = Path(found["output_dir"])
        self.result: Dict[str, Any] = found["result"]  #: result.json
        self.table: str = found["table"]  #: float, default and best configuration side by side
        self.trials: List[Trial] = [Trial._of(trial) for trial in found["trials"]]
        self._storage: str = found["storage"]  # with the password, if the search was given one

    @property
    def status(self) -> str:
        """ok, goal_missed, no_candidate, strategy_failed or interrupted."""
        return self.result["status"]

    @property
    def quality(self) -> str:
        """good, check or poor: whether the best model is of use (docs/quality.md); unknown where it was not looked at."""
        return self.result.get("quality", "unknown")

    @property
    def faster(self) -> Optional[bool]:
        """Whether the best model takes less time than float (docs/speed.md); None where that cannot be told here."""
        return self.result.get("faster")

    @property
    def best_trial(self) -> Optional[Trial]:
        """The winner's; None when no trial worked."""
        best = self.result["best"]
        return None if best is None else next(trial for trial in self.trials if trial.number == best["trial"])

    @property
    def best_model(self) -> Optional[Path]:
        """The quantized model; None when no trial worked."""
        return self.output_dir / "best.onnx" if self.result["best"] is not None else None

    @property
    def best_models(self) -> Dict[str, Path]:
        """Of a pipeline: each quantized model by its name, in the order in which they run."""
        best = self.result["best"] or {}
        return {model["name"]: self.output_dir / model["file"] for model in best.get("models", [])}

    @property
    def best_params(self) -> Dict[str, Any]:
        """By flat names: {"weight_params_symmetric": True, ...}."""
        return {} if self.result["best"] is None else self.result["best"]["params"]

    @property
    def metrics(self) -> Dict[str, float]:
        """The best model's."""
        return {} if self.result["best"] is None else {name: score["value"] for name, score in self.result["best"]["metrics"].items()}

    @property
    def baseline(self) -> Dict[str, float]:
        """The float model's metrics."""
        return {name: score["value"] for name, score in self.result["baseline"].get("metrics", {}).items()}

    @property
    def study(self) -> Study:
        """All of the study's trials, those of earlier runs too."""
        return Study(self._storage, self.result.get("study_name", ""))

    def __repr__(self) -> str:
        return f"<SearchResult {self.status}: {self.metrics}, {len(self.trials)} trials, {self.output_dir}>"


class _Log:
    """The library's messages: to Python's logging, and to auto_search.log once the output folder is there."""

    def __init__(self) -> None:
        self._file: Optional[TextIO] = None

    def open(self, folder: str) -> None:
        try:
            os.makedirs(folder, exist_ok=True)
        except FileExistsError:
            raise _core.QuasarError(f"output_dir '{folder}' is a file, but must be a folder") from None
        except OSError as error:
            raise _core.QuasarError(f"output_dir '{folder}' cannot be made: {error.strerror}") from None
        self._file = open(Path(folder, "auto_search.log"), "a", encoding="utf-8")

    def __call__(self, level: str, text: str) -> None:
        logger.log(_levels[level], "%s", text)
        if self._file is not None:
            self._file.write(f"{datetime.datetime.now():%Y-%m-%d %H:%M:%S} {level}: {text}\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _run(words: Configuration, model: Model, base: str, on_trial: Optional[Callable[[Mapping[str, Any]], None]] = None,
         file: str = "", decided: bool = False) -> SearchResult:
    """`file`: of the configuration, which no result may replace. `decided`: as together() has it."""
    log = _Log()
    with model_words(model) as words_of_model, contextlib.closing(log), together(words.words, decided):
        words.words.update(words_of_model)
        try:
            found = SearchResult(_core.search(words.words, base, file, log, on_trial, log.open))
        except _core.QuasarError:
            failure = words.failure()
            if failure is not None:
                raise failure
            raise
        except BaseException:
            words.failure()  # it is this one, or comes too late
            raise
        failure = words.failure()
        if failure is not None:
            raise failure
        return found


def search(model: Optional[Model] = None, calib: Samples = None, eval: Samples = None, space: Union[None, str, Mapping[str, Any], Sequence[Any]] = None, *,
           holdout: Samples = None, preset: Optional[str] = None, metric: Union[None, str, Sequence[str]] = None,
           evaluator: Union[None, str, Mapping[str, Any], Callable[..., Scored]] = None, sampler: Any = None, strategy: Any = None, stop: Any = None,
           config: Union[None, str, "os.PathLike[str]", Mapping[str, Any]] = None,
           on_trial: Optional[Callable[[Mapping[str, Any]], None]] = None, workers: Optional[Workers] = None, **keys: Any) -> SearchResult:
    """Searches for the best quantization of a model. Results appear in output_dir (default ./quasar_out).

    model:     a path, bytes or an onnx.ModelProto; or models=, several that run one after the other: {name: path, or {"path": path,
               "inputs": {input: "model.output"}}}. The best of each stands in SearchResult.best_models.
    calib, eval, holdout: samples (quasar.Samples): ranges are taken from the first, candidates scored on the second; only the
               winner and the float model are scored on the third.
    space:     what may vary, hierarchical or in Auto Search v1's form; a list: several; a text: a preset.
    metric:    a name or a list: the first is the objective, the others are reported.
    evaluator: your own score: a function of the model's path, of an inference callable, or of (float outputs, quantized outputs,
               labels), see quasar.kind_of and quasar.scoring; or a mapping such as {"command": [...]}. Called from n_jobs threads, one
               of them the caller's.
    sampler, strategy: a name, or an object of a class derived from quasar.Sampler, quasar.Strategy or quasar.TuningStrategy.
    stop:      {"time_limit": 60, ...}, an object of a class derived from quasar.StopCondition, or a list of these.
    config:    a configuration file, or its words as a dictionary; the other arguments win over it.
    on_trial:  called with {kind: started | finished, trial, best, finished, total} for every trial; an exception ends the search.
    workers:   who helps: a number of processes of this machine, a dask.distributed Client, or the address of a Ray cluster ("auto"). Every
               machine of a cluster gets one worker, also those that join later. They share study_storage_db, a PostgreSQL database; without
               one `quasar serve` runs meanwhile, with its data in the folder OUTPUT_DIR_database. Arrays go to workers through the study;
               functions and classes of yours cannot (start the script by mpirun or srun for them).
    keys:      any other key of a configuration: n_trials, n_jobs, output_dir, seed, constraints, accuracy_criterion …

    Raises QuasarError for what is wrong in the arguments. A failing trial is recorded in the study, with its traceback. Ctrl-C ends
    the search within seconds, functions and strategies of yours too, which run in the thread that called search() as long as it has
    nothing else to do; results so far are written, then KeyboardInterrupt is raised. So is what comes out of a strategy of
    yours when some trials have finished (status strategy_failed; interrupted for KeyboardInterrupt and SystemExit).
    """
    if workers is not None:  # samples are for workers, too, wherever they stand
        config = dict(config) if isinstance(config, Mapping) else config
        calib, eval, holdout = (take_samples(key, data, config, keys) for key, data in
                                (("calib_data_reader", calib), ("eval_data_reader", eval), ("holdout_data_reader", holdout)))
    configuration, model, base, file = opened("search()", model, config, keys, space, preset, metric, evaluator)
    with contextlib.ExitStack() as stack:
        if workers is not None:
            refuse_launches()
            calib, eval = samples_for_workers(calib, eval, model, stack)
        for key, data in (("calib_data_reader", calib), ("eval_data_reader", eval)):
            configuration.data(key, rooted(key, data))
        gather_arguments(configuration, space, preset, metric, evaluator, sampler, strategy, stop)
        if workers is not None:
            ready_for_workers(configuration)
        configuration.data("holdout_data_reader", rooted("holdout_data_reader", holdout))
        if workers is not None:
            stack.enter_context(crew(workers, configuration.words))
        return _run(configuration, model, base, on_trial, file)


class Quantized:
    """A quantized model and what was done."""

    def __init__(self, model: bytes, facts: Mapping[str, Any], weights: Optional[Path] = None) -> None:
        self.model = model  #: the ONNX file's bytes
        self.weights = weights  #: the file of the weights, which the model names, where they stand in one of their own; else None
        self.nodes: List[str] = facts["nodes"]  #: that are quantized
        self.skipped: Dict[str, str] = facts["skipped"]  #: that stay in float, and why
        self.notes: List[str] = facts["notes"]
        self.config: Dict[str, Any] = facts["config"]  #: everything that was decided
        self.ranges: Dict[str, Any] = facts["ranges"]  #: of activations

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model's file, and beside it the file of its weights, where there is one. That keeps the name that the model knows it by.
        Raises QuasarError where another file has this name."""
        if self.weights is not None:
            copy_of = Path(path).absolute().parent / self.weights.name
            if not copy_of.exists():
                shutil.copyfile(self.weights, copy_of)
            elif not copy_of.samefile(self.weights) and not filecmp.cmp(copy_of, self.weights, shallow=False):
                raise _core.QuasarError(f"{copy_of} is there already, with the weights of another model; save into another folder")
        Path(path).write_bytes(self.model)

    @classmethod
    def _of(cls, file: str, facts: Mapping[str, Any], passing: bool) -> "Quantized":
        """`passing`: the file is not kept, so that its weights are put elsewhere for as long as the object lives."""
        model, weights = Path(file).read_bytes(), Path(f"{file}.data").absolute()
        if not weights.exists() or weights.name.encode() not in model:
            return cls(model, facts)
        if not passing:
            return cls(model, facts, weights)
        kept = tempfile.mkdtemp(prefix="quasar-")
        made = cls(model, facts, Path(shutil.move(str(weights), kept)))
        weakref.finalize(made, shutil.rmtree, kept, True)
        return made

    def __repr__(self) -> str:
        return f"<Quantized {len(self.nodes)} nodes, {len(self.skipped)} in float, {len(self.model)} bytes>"


def load_custom_operators(library: Union[str, "os.PathLike[str]"]) -> None:
    """Makes the operators of a shared library, written for ONNX Runtime, known to all models that this process opens from now on. For searches
    the key custom_op_library says the same; workers= of a search get both, and must see the file at the same place. Runs code of the library.
    Raises QuasarError for a file that is none.
    """
    _core.load_custom_operators(os.fspath(library))
    file = str(Path(library).absolute())
    if file not in libraries:
        libraries.append(file)


_target = 'the name of one (quasar.listed("targets"))'


def quantize(model: Model, output: Union[None, str, "os.PathLike[str]"] = None, scheme: Union[str, Mapping[str, Any]] = "A8W8", calib: Samples = None, *,
             target: str = "", ranges: Optional[Mapping[str, Any]] = None) -> Quantized:
    """Quantizes a model with one configuration, without a search.

    output: the file to write; None: none, and save() of what is returned writes one.
    scheme: a name (quasar.listed("schemes")) or a configuration, such as the words of best_config.yaml.
    calib:  samples; None for schemes that need none (DYNAMIC, W4, BF16, FP16).
    target: what the model must run on; "": the configuration's (best_config.yaml names the search's), else ort_cpu.
    ranges: of tensors, used in place of what calibration finds.
    Raises QuasarError.
    """
    gathering = Gathering()
    with model_file(model) as path, tempfile.TemporaryDirectory(prefix="quasar-") as folder:
        file = str(Path(folder, "quantized.onnx")) if output is None else os.fspath(output)
        facts = _core.quantize(path, file, plain(scheme, "scheme"), gathering.words(calib, "calib"), text_of(target, "target", _target), plain(ranges, "ranges"))
        return Quantized._of(file, facts, output is None)


def evaluate(model: Model, data: Samples, reference: Optional[Model] = None, metric: Union[str, Sequence[str]] = "L2", *,
             latency: bool = True, decoder: Union[str, Mapping[str, Any], None] = None, runtime: str = "onnxruntime",
             output_weights: Optional[Mapping[str, float]] = None) -> Dict[str, Any]:
    """Scores a model against the float model (default: itself; a warning says so where it is quantized) and the labels. A metric may have
    options, "topk(k=3)"; `decoder` says how a detector's outputs are boxes, for mAP; `output_weights`: {output: factor}, 0 leaves one out.
    `runtime`: what the models run in, "onnxruntime", "openvino" or "qnn_htp".

    -> {"metrics": {name: {"value", "low", "high", "samples", "per_sample"}}, "bytes", "latency_ms": {"median", "p90"},
        "warnings": what speaks against the scores, in words}
    """
    gathering = Gathering()
    wanted = [metric] if isinstance(metric, str) else ["L2"] if metric is None else metric
    if not isinstance(wanted, (list, tuple)):
        raise _core.QuasarError(f"metric is {brief(metric)}, but must be a name or a list of names")
    metrics = [text_of(one, "metric", "a name, such as 'top1' or 'topk(k=3)', or a list of names") for one in wanted]
    with contextlib.ExitStack() as stack:
        path = stack.enter_context(model_file(model))
        original = "" if reference is None else stack.enter_context(model_file(reference))
        out: Dict[str, Any] = _core.evaluate(path, original, gathering.words(data, "data"), metrics, latency, plain(decoder, "decoder"),
                                             text_of(runtime, "runtime", "a name, such as 'openvino'") or "onnxruntime",
                                             plain(output_weights, "output_weights"))
    for warning in out["warnings"]:
        logger.warning(warning)
    return out


def inspect(model: Model, calib: Samples = None, target: str = "") -> Dict[str, Any]:
    """A model's operators, and what each target would do with every node and why; with samples also what each layer would lose alone
    ("examination", with advice in words)."""
    gathering = Gathering()
    with model_file(model) as path:
        return _core.inspect(path, text_of(target, "target", _target), gathering.words(calib, "calib"))


def dry_run(model: Optional[Model] = None, calib: Samples = None, eval: Samples = None, space: Any = None, *, holdout: Samples = None,
            preset: Optional[str] = None, metric: Union[None, str, Sequence[str]] = None, evaluator: Any = None, sampler: Any = None,
            strategy: Any = None, stop: Any = None, config: Union[None, str, "os.PathLike[str]", Mapping[str, Any]] = None,
            on_trial: Any = None, workers: Any = None, **keys: Any) -> Dict[str, Any]:
    """What search() would do with the same arguments: size of the space, number of trials, warnings; nothing is run or written, and nobody is asked to help or
    called."""
    configuration, model, base, _ = opened("dry_run()", model, config, keys, space, preset, metric, evaluator)
    for key, data in (("calib_data_reader", calib), ("eval_data_reader", eval), ("holdout_data_reader", holdout)):
        configuration.data(key, rooted(key, data))
    gather_arguments(configuration, space, preset, metric, evaluator, sampler, strategy, stop)
    with model_words(model) as words_of_model:
        configuration.words.update(words_of_model)
        return _core.dry_run(configuration.words, base)
