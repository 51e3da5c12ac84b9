"""Processes of one script that mpirun or srun started together: what the first one decides, all do. They meet in a file in the folder
in which the script runs, which all must see."""
from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

from . import _core
from ._pools import is_shared, server

logger = logging.getLogger("quasar")

_patience = 600.0  # seconds for the first process to begin, as `quasar worker` waits
_farewell = 30.0  # seconds for the others to end, once the search has ended; they need about one
_folders = ("output_dir", "search_output_dir")
_searches = 0  # of this process, one after the other: in all processes of a launch the same ones


def is_first() -> bool:
    """Whether this process leads: the first of its launch, or one that was started by itself."""
    return bool(_core.rank() == 0)


def _number(*names: str) -> Optional[int]:
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), None)


def processes() -> Optional[int]:
    """How many were started together; 1: this one alone; None: the launcher does not say."""
    mpirun = any(name.startswith(("PMIX_NAMESPACE", "OMPI_")) for name in os.environ)
    if not _core.launch() or not (mpirun or "SLURM_STEP_ID" in os.environ):  # a batch job has its number, and a step what srun starts
        return 1
    return _number("OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS")


def refuse_launches() -> None:
    """For workers=, alike in every process: raises QuasarError where several were started together."""
    if processes() != 1:
        raise _core.QuasarError("workers= is for a script that is started once; of one that mpirun or srun starts several times all processes work, without it")


def _on_one_machine() -> bool:
    return _number("OMPI_COMM_WORLD_LOCAL_SIZE") == processes() or _number("SLURM_STEP_NUM_NODES") == 1


def _publish(file: Path, words: Dict[str, Any]) -> None:
    part = file.with_name(file.name + ".part")
    with contextlib.suppress(FileNotFoundError):
        part.unlink()
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:  # an address has a password
        json.dump(words, out)
    part.replace(file)


def _heard(file: Path) -> Dict[str, Any]:
    began, told = time.monotonic(), False
    while True:
        with contextlib.suppress(FileNotFoundError):
            if file.stat().st_uid != os.getuid():
                raise _core.QuasarError(f"{file} is another user's, who could name any database in it")
            return dict(json.loads(file.read_text()))
        waited = time.monotonic() - began
        if waited > 5 and not told:
            logger.warning("waiting for the first process of this launch, which says in %s where results and database are (up to %g s)", file, _patience)
            told = True
        if waited > _patience:
            raise _core.QuasarError(f"the first process of this launch has not begun a search within {_patience:g} s, or does not write into a folder "
                                    f"that this one sees: {file.parent}")
        time.sleep(0.1)


def _all_have_ended(file: Path, others: int) -> None:
    end = time.monotonic() + _farewell
    while len(list(file.parent.glob(file.name + ".[0-9]*"))) < others and time.monotonic() < end:
        time.sleep(0.1)


@contextlib.contextmanager
def _lead(words: Dict[str, Any], file: Path, count: Optional[int]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: [one.unlink() for one in file.parent.glob(file.name + "*")])
        try:
            if count is not None and not is_shared(words):
                output = Path(str(next((words[key] for key in _folders if words.get(key)), "quasar_out"))).absolute()
                host = "127.0.0.1" if _on_one_machine() else "0.0.0.0"
                words["study_storage_db"] = stack.enter_context(server(output.with_name(output.name + "_database"), host))
        except Exception as error:
            _publish(file, {"error": str(error)})
            if count is not None:
                _all_have_ended(file, count - 1)
            raise
        if count is not None:
            stack.callback(_all_have_ended, file, count - 1)  # before the server
        _publish(file, {key: words[key] for key in (*_folders, "study_storage_db") if words.get(key)})
        yield


@contextlib.contextmanager
def together(words: Dict[str, Any], decided: bool) -> Iterator[None]:
    """For as long as it lives, the processes of a launch search as one: the first one's database is everybody's, and without one
    `quasar serve` runs meanwhile, with its data in the folder OUTPUT_DIR_database. decided: each has chosen its folder of results for
    itself, and the first one's is everybody's."""
    global _searches
    launch, count = _core.launch(), processes()
    if not launch or count == 1 or (is_shared(words) and not decided) or (count is None and not decided):
        yield
        return
    _searches += 1
    file = Path.cwd() / f".quasar-{hashlib.sha256(launch.encode()).hexdigest()[:12]}-{_searches}"
    if is_first():
        with _lead(words, file, count):
            yield
        return
    try:
        heard = _heard(file)
        if "error" in heard:
            raise _core.QuasarError(f"the first process of this launch has ended: {heard['error']}")
        for key in _folders:
            words.pop(key, None)
        words.update(heard)
        yield
    finally:
        with contextlib.suppress(OSError):
            file.with_name(f"{file.name}.{_core.rank()}").touch()
