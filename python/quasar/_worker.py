"""worker: joins a search that another process leads, as `quasar worker` does."""
from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple, Union
from urllib.parse import unquote, urlsplit, urlunsplit

from . import _core

logger = logging.getLogger("quasar")


def program() -> str:
    """The file of the program quasar."""
    beside = Path(sys.executable).with_name("quasar")
    found = os.environ.get("QUASAR_PROGRAM") or (str(beside) if beside.exists() else shutil.which("quasar"))
    if not found:
        raise _core.QuasarError("the program quasar is neither beside this Python nor on PATH; QUASAR_PROGRAM may name it")
    return found


def password_apart(address: str) -> Tuple[str, Dict[str, str]]:
    """The address without its password, and the environment that says it: everybody on a machine may read command lines."""
    parts = urlsplit(address)
    if not parts.password:
        return address, {}
    user, _, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.split(':')[0]}@{host}")), {"PGPASSWORD": unquote(parts.password)}


def _arguments(address: str, options: Dict[str, Any], keys: Dict[str, Any]) -> List[str]:
    out = [program(), "worker", address, "--json", "--with-input"]
    for name, value in options.items():
        if value is None or value is False:
            continue
        out.append("--" + name.replace("_", "-"))
        if value is not True:
            out.append(os.fspath(value) if isinstance(value, os.PathLike) else str(value))
    for key, value in keys.items():
        out += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return out


class _Forwarding:
    """SIGTERM of this process is the worker's, which may finish its trials then (drain); Python alone would leave it behind."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, lambda *_: self._process.send_signal(signal.SIGTERM))

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)


def _finish(process: subprocess.Popen[str]) -> List[str]:
    said: List[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        said.append(line.rstrip("\n"))
        logger.log(logging.WARNING if line.startswith("warning: ") else logging.INFO, "%s", said[-1])
    process.wait()
    return said


def worker(address: str, *, study: Optional[str] = None, model: Union[str, os.PathLike[str], None] = None,
           calib: Union[str, os.PathLike[str], None] = None, eval: Union[str, os.PathLike[str], None] = None, wait: Optional[float] = None,
           allow_code: bool = False, drain: Optional[float] = None, until_idle: Optional[float] = None,
           output_dir: Union[str, os.PathLike[str], None] = None, **keys: Any) -> Dict[str, Any]:
    """Runs trials of the search in this database until it ends, and tells how many: {executed, failed, duplicates, seconds, reason, interrupted}.

    A process of its own does the work, and ends with this one, however that ends. Options are those of `quasar worker`; `keys` are of a configuration, for this worker alone
    (n_jobs=4). With until_idle, of all its searches together. interrupted: it was, or its search. Evaluators that are functions of a script are not known here: start the whole script by mpirun or srun for them.
    """
    options = {"study": study, "model": model, "calib": calib, "eval": eval, "wait": wait, "allow_code": allow_code, "drain": drain,
               "until_idle": until_idle, "output_dir": output_dir}
    return _work(address, options, keys, {})


def share_of_machine(rank: int, count: int) -> Dict[str, str]:
    """The environment of the rank-th of so many processes that share a machine's cores and devices, as a launcher of MPI gives it."""
    return {"MPI_LOCALNRANKS": str(count), "MPI_LOCALRANKID": str(rank)}


def worker_beside_others(address: str, rank: int, count: int, options: Dict[str, Any], keys: Dict[str, Any]) -> Dict[str, Any]:
    """As worker(): the rank-th of so many on this machine."""
    return _work(address, options, keys, share_of_machine(rank, count))


def _together(documents: List[Dict[str, Any]]) -> Dict[str, Any]:
    """What a worker did for several searches, one after the other."""
    sums = {key: sum(one[key] for one in documents) for key in ("executed", "failed", "duplicates", "seconds")}
    return {**documents[-1], **sums}


def _work(address: str, options: Dict[str, Any], keys: Dict[str, Any], environment: Dict[str, str]) -> Dict[str, Any]:
    address, password = password_apart(address)
    process = subprocess.Popen(_arguments(address, options, keys), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **environment, **password})
    with process, _Forwarding(process):
        try:
            said = _finish(process)
        except BaseException:  # Ctrl-C: the worker leaves its trials to others, and ends
            process.send_signal(signal.SIGINT)
            _finish(process)
            raise
        assert process.stdout is not None
        out = process.stdout.read()
    if process.returncode < 0:
        raise _core.QuasarError(f"the worker was ended by signal {-process.returncode}; what it ran is left to others")
    fails = process.returncode not in (0, 130) and options.get("until_idle") is not None
    try:
        if fails: raise ValueError
        return _together([json.loads(line) for line in out.splitlines()]) if options.get("until_idle") is not None else json.loads(out)
    except (ValueError, IndexError):
        raise _core.QuasarError("\n".join(said[-3:]).removeprefix("quasar: ") or f"the worker ended with {process.returncode}") from None
