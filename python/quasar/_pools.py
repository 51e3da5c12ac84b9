"""Workers beside a search that Python leads: processes of this machine, or those of a Dask or Ray cluster. Each runs the program
`quasar worker` with an address; whatever cluster starts it knows nothing of trials."""
from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any, Dict, Hashable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy

from . import _core
from ._samples import Samples, _is_one, _parted, items_of
from ._worker import _arguments, password_apart, program, share_of_machine, worker_beside_others

logger = logging.getLogger("quasar")

#: How many workers a search has beside itself: a number of processes of this machine, a dask.distributed Client, or the address of a Ray
#: cluster ("auto", "ray://host:10001").
Workers = Union[int, str, Any]

_failures = 3  # of one place, before it is given up
_farewell = 5.0  # seconds for workers to end, once their search has ended; they need about one
_interrupted = 130  # of `quasar worker`: its search was interrupted, or it was


class _Job:
    """One worker of a cluster."""

    def ended(self) -> Optional[str]:
        """None: it runs. "": it has ended as it should; else why it failed."""
        raise NotImplementedError

    def ask_to_end(self) -> None:
        """Its search is over, which one that still waits for it does not know."""

    def stop(self) -> None:
        """It is not wanted any more."""


class _Process(_Job):
    def __init__(self, address: str, options: Dict[str, Any], keys: Dict[str, Any], number: int, count: int) -> None:
        address, password = password_apart(address)
        environment = {**os.environ, **share_of_machine(number, count), **password}
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(_arguments(address, options, keys), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said, env=environment)

    def ended(self) -> Optional[str]:
        code = self._process.poll()
        if code is None:
            return None
        if self._said.closed:
            return ""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._said.seek(0)
        words = self._said.read().decode(errors="replace").strip().splitlines()
        self._said.close()
        return "" if code in (0, _interrupted) else words[-1] if code > 0 and words else f"it ended by signal {-code}"

    def ask_to_end(self) -> None:
        self._process.terminate()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._said.close()


class _Pool:
    """Where workers may run."""

    host = "127.0.0.1"  # under which they reach this machine

    def places(self) -> Sequence[Hashable]:
        raise NotImplementedError

    def start(self, place: Any, address: str, options: Dict[str, Any], keys: Dict[str, Any]) -> _Job:
        """`keys`: of the configuration, for this worker alone."""
        raise NotImplementedError

    def machines(self) -> Mapping[Any, str]:
        """The machine of each place, by its address."""
        raise NotImplementedError

    def is_here(self, machine: str) -> bool:
        return machine in ("localhost", "127.0.0.1", "::1", self.host)

    def beside(self) -> int:
        """How many places are on this machine."""
        return sum(self.is_here(machine) for machine in self.machines().values())

    def share(self, place: Any) -> Tuple[int, int]:
        """Rank and number of a place among the processes of its machine. The search itself is the first of this one."""
        machines = self.machines()
        machine = machines.get(place, "")
        mine = [one for one, other in machines.items() if other == machine]
        leads = 1 if self.is_here(machine) else 0
        return (mine.index(place) if place in mine else 0) + leads, max(len(mine), 1) + leads


class _Processes(_Pool):
    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError(f"workers is {count}, but must be a number of processes from 1 on, a Dask client or a Ray address")
        self._count = count

    def places(self) -> Sequence[Hashable]:
        return range(1, self._count + 1)

    def machines(self) -> Mapping[Any, str]:
        return {place: self.host for place in self.places()}

    def start(self, place: Any, address: str, options: Dict[str, Any], keys: Dict[str, Any]) -> _Job:
        return _Process(address, options, keys, *self.share(place))


def _host_for(other: str) -> str:
    """This machine's address for one that is reached under `other`."""
    other = other.strip("[]")
    if other in ("", "localhost", "127.0.0.1", "::1"):
        return "127.0.0.1"
    family, _, _, _, address = socket.getaddrinfo(other, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as one:  # nothing is sent: the system only looks which way it would go
        one.connect(address)
        return one.getsockname()[0]


class _Future(_Job):
    def __init__(self, future: Any) -> None:
        self._future = future

    def ended(self) -> Optional[str]:
        status = self._future.status
        if status == "pending":
            return None
        return "" if status == "finished" else str(self._future.exception() if status == "error" else status)

    def stop(self) -> None:
        self._future.cancel()


class _Dask(_Pool):
    def __init__(self, client: Any) -> None:
        self._client = client
        address = client.scheduler.address.rpartition("://")[2].rpartition(":")[0]
        self.host = _host_for(address)

    def places(self) -> Sequence[Hashable]:
        return list(self.machines())

    def machines(self) -> Mapping[Any, str]:
        return {address: one["host"] for address, one in self._client.scheduler_info(n_workers=-1)["workers"].items()}

    def start(self, place: Any, address: str, options: Dict[str, Any], keys: Dict[str, Any]) -> _Job:
        return _Future(self._client.submit(worker_beside_others, address, *self.share(place), options, keys, workers=[place], allow_other_workers=False,
                                           pure=False, retries=0))


class _Task(_Job):
    def __init__(self, ray: Any, task: Any) -> None:
        self._ray, self._task = ray, task

    def ended(self) -> Optional[str]:
        if not self._ray.wait([self._task], timeout=0)[0]:
            return None
        try:
            self._ray.get(self._task)
            return ""
        except Exception as error:  # of any kind: the worker's own, or Ray's of a node that has died
            return str(error).strip().splitlines()[-1]

    def ask_to_end(self) -> None:
        self._ray.cancel(self._task)

    def stop(self) -> None:
        self._ray.cancel(self._task, force=True)


class _Ray(_Pool):
    def __init__(self, address: str) -> None:
        try:
            import ray
        except ImportError:
            raise _core.QuasarError(f"workers is '{address}', the address of a Ray cluster, but there is no Ray here: pip install ray") from None
        self._ray = ray
        if not ray.is_initialized():
            try:
                ray.init(address=address, log_to_driver=False, logging_level="warning")
            except (ConnectionError, ValueError) as error:
                raise _core.QuasarError(f"no Ray cluster answers at '{address}': {error}") from None
        here = ray.util.get_node_ip_address()
        others = [node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"] and node["NodeManagerAddress"] != here]
        self.host = _host_for(others[0]) if others else here
        self._remote = ray.remote(num_cpus=1, max_retries=0)(worker_beside_others)

    def _nodes(self) -> Dict[str, Any]:
        # A node without processors for tasks would never begin one.
        return {node["NodeID"]: node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1}

    def places(self) -> Sequence[Hashable]:
        return list(self._nodes())

    def machines(self) -> Mapping[Any, str]:
        return {place: node["NodeManagerAddress"] for place, node in self._nodes().items()}

    def start(self, place: Any, address: str, options: Dict[str, Any], keys: Dict[str, Any]) -> _Job:
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(place, soft=False)
        gpus = 0
        if "cuda" in json.dumps(keys.get("search_devices", "")):  # Ray hides devices that a task does not ask for
            gpus = int(self._nodes().get(place, {"Resources": {}})["Resources"].get("GPU", 0))
            keys = {**keys, "search_devices": "cuda:" + ",".join(map(str, range(gpus))) if gpus else "cpu"}
        task = self._remote.options(scheduling_strategy=strategy, num_gpus=gpus)
        # Ray gives a task devices of its own, which are not to be shared out again.
        rank, count = self.share(place) if not gpus else (0, 1)
        return _Task(self._ray, task.remote(address, rank, count, options, keys))


def pool_of(workers: Workers) -> _Pool:
    """Raises QuasarError where the cluster is not there, TypeError and ValueError for what is none."""
    if isinstance(workers, (int, numpy.integer)) and not isinstance(workers, bool):
        return _Processes(int(workers))
    if isinstance(workers, str):
        return _Ray(workers)
    if hasattr(workers, "submit") and hasattr(workers, "scheduler_info"):
        return _Dask(workers)
    raise TypeError(f"workers is {workers!r}, but must be a number of processes, a Dask client (dask.distributed.Client) or a Ray address ('auto')")


class _Crew:
    """Keeps one worker at every place, also at those that come while it runs, until it is told to stop."""

    def __init__(self, pool: _Pool, address: str, options: Dict[str, Any], keys: Dict[str, Any]) -> None:
        self._pool, self._address, self._options, self._keys = pool, address, options, keys
        self._jobs: Dict[Any, _Job] = {}
        self._failed: Dict[Any, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quasar workers", daemon=True)
        self._thread.start()

    def _leave(self, places: Sequence[Hashable]) -> None:
        """Tasks of places that are gone wait for them for ever."""
        for place in set(self._jobs) - set(places):
            logger.warning("worker %s: its place is gone", place)
            self._jobs.pop(place).stop()

    def _look(self) -> None:
        for place, job in list(self._jobs.items()):
            why = job.ended()
            if why is None:
                continue
            del self._jobs[place]
            self._failed[place] = self._failed.get(place, 0) + 1 if why else _failures  # one that ended has found its search over
            if why and not self._over.is_set():
                logger.warning("worker %s: %s%s", place, why, "" if self._failed[place] < _failures else "; it is not started again")
        places = self._pool.places()
        self._leave(places)
        for place in [] if self._over.is_set() else places:
            if place not in self._jobs and self._failed.get(place, 0) < _failures:
                self._jobs[place] = self._pool.start(place, self._address, self._options, self._keys)

    def _run(self) -> None:
        told = False
        while True:
            try:
                self._look()
            except Exception as error:  # the cluster's own, of whatever kind: the search goes on with what it has
                if not told:
                    logger.warning("workers: %s", error)
                told = True
            if self._over.wait(0.5):
                return

    def stop(self) -> None:
        self._over.set()
        self._thread.join()
        for job in self._jobs.values():
            with contextlib.suppress(Exception):
                job.ask_to_end()
        end = threading.Event()
        for _ in range(int(_farewell / 0.1)):
            with contextlib.suppress(Exception):
                self._look()
            if not self._jobs or end.wait(0.1):
                break
        for job in self._jobs.values():
            with contextlib.suppress(Exception):
                job.stop()


def is_shared(words: Mapping[str, Any]) -> bool:
    """Whether a configuration names a database that several processes may share."""
    return str(words.get("study_storage_db") or words.get("storage") or "").startswith(("postgresql", "postgres://"))


@contextlib.contextmanager
def server(folder: Path, host: str) -> Iterator[str]:
    """A private PostgreSQL server (`quasar serve`): its address. It ends with this process, however that ends."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as free:
        free.bind((host, 0))
        port = free.getsockname()[1]
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    command = [program(), "serve", os.fspath(folder), "--listen", where, "--with-input"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None and process.stderr is not None
        address = process.stdout.readline().strip()
        if not address:
            raise _core.QuasarError(process.stderr.read().strip().removeprefix("quasar: ") + "; or name a database: study_storage_db='postgresql://…'")
        try:
            yield address
        finally:
            process.terminate()
            process.communicate()


@contextlib.contextmanager
def crew(workers: Workers, words: Dict[str, Any]) -> Iterator[None]:
    """For as long as it lives, workers work for the search with these words, which gets a database where it has none that is shared."""
    pool = pool_of(workers)
    with contextlib.ExitStack() as stack:
        address = str(words.get("study_storage_db") or words.get("storage") or "")
        if not address:
            output = Path(str(words.get("output_dir") or "quasar_out")).absolute()
            address = stack.enter_context(server(output.with_name(output.name + "_database"), pool.host))
            words["study_storage_db"] = address
        elif not is_shared(words):
            raise _core.QuasarError("workers need a database that they share: study_storage_db='postgresql://user@host:port/database', or none, and one is made")
        options = {"study": str(words.get("study_name") or "AutoSearch"), "allow_code": "search_evaluator" in words or "custom_op_library" in words}
        keys = {"search_devices": words["search_devices"]} if "search_devices" in words else {}
        # The leader's own share of this machine.
        before = {name: os.environ.get(name) for name in ("MPI_LOCALNRANKS", "MPI_LOCALRANKID")}
        if pool.beside() > 0:
            os.environ.update(share_of_machine(0, pool.beside() + 1))
            stack.callback(_restore, before)
        team = _Crew(pool, address, options, keys)
        stack.callback(team.stop)
        yield


def _restore(before: Mapping[str, Optional[str]]) -> None:
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _batched(items: List[Dict[str, numpy.ndarray]], ranks: Mapping[str, int], whole: bool) -> Dict[str, numpy.ndarray]:
    """Samples, or batches of them, as arrays whose first axis counts samples."""
    out: Dict[str, List[numpy.ndarray]] = {}
    for item in items:
        batch = whole or any(array.ndim == ranks.get(name or next(iter(ranks)), -1) for name, array in item.items())
        for name, array in item.items():
            out.setdefault(name or next(iter(ranks)), []).append(array if batch else array[None])
    return {name: numpy.concatenate(arrays) for name, arrays in out.items()}


def in_a_file(data: Samples, inputs: Sequence[Any], file: Path) -> Any:
    """Samples of a program as those of a file, which workers can have; the description of its reader. Raises QuasarError for samples
    of several sizes, and for boxes."""
    ranks = {name: -1 if shape is None else len(shape) for name, _, shape in inputs}
    options, arrays = _parted(data)
    options = {name: value for name, value in options.items() if name not in ranks}
    items = [{name: array for name, array in item.items() if name not in options and array.dtype.kind not in "USO"} for item in items_of(arrays)]
    if any("boxes" in item for item in items):
        raise _core.QuasarError("workers cannot have samples with boxes from arrays: give a folder of pictures and a file of labels")
    try:
        numpy.savez(file, **_batched(items, ranks, _is_one(arrays)))
    except ValueError as error:
        raise _core.QuasarError(f"workers cannot have samples of several sizes from arrays: give files ({error})") from None
    words: Dict[str, Any] = {"reader": "npz", "path": str(file), **options}
    if items and all(name in items[0] for name in ranks):
        words["inputs"] = {name: name for name in ranks}  # so that others are passed over
    return words
