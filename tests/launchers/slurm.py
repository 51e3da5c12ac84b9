#!/usr/bin/env python3
"""What `quasar launch slurm` prints: as processes that have Slurm's variables, and on a Slurm of one node, in a folder of its own.

usage: slurm.py QUASAR FOLDER_OF_THE_SOURCES [--cluster]
Exit 77: there is no PostgreSQL server here, or no Slurm, so nothing was tested.
"""
import contextlib
import filecmp
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONFIG = """model_input: {sources}/examples/digits/digits.onnx
calib_data_reader: {{reader: npz, path: {sources}/examples/digits/calibration.npz, limit: 40}}
eval_data_reader: {{reader: npz, path: {sources}/examples/digits/evaluation.npz, limit: 200}}
n_trials: {trials}
seed: 5
search_algo: Random
pruner: none
heartbeat_interval: 0.5
grace_period: 2
search_space:
  activation: [UInt8Spec, Int8Spec]
  activation_params: {{symmetric: [true, false], calibration_method: [MinMax, Percentile, Entropy], only_if: activation}}
  weight: [Int8Spec]
  weight_params: {{quant_granularity: [Tensor, Channel], only_if: weight}}
  algorithms: [adaround]
  adaround_params:
    num_iterations: {{type: int, low: 100, high: 300}}
    damping: {{type: float, low: 0.1, high: 10, log: true}}
    only_if: {{algorithms: adaround}}
"""


def fail(what):
    raise SystemExit(f"slurm.py: {what}")


def skip(what):
    print(what, file=sys.stderr)
    raise SystemExit(77)


def wait_for(condition, what, seconds=1200):
    for _ in range(seconds * 5):
        if condition():
            return
        time.sleep(0.2)
    fail(f"waited in vain for {what}")


class Search:
    """A configuration, the script for it, and what one process makes of it."""

    def __init__(self, quasar, sources, folder, trials):
        self.quasar, self.folder = quasar, folder
        self.config = folder / "it's a search.yaml"  # a name that a shell would take apart
        self.config.write_text(CONFIG.format(sources=sources, trials=trials))
        self.script = folder / "quasar.sbatch"
        self.out, self.alone = folder / "quasar_out", folder / "alone"
        bin = folder / "bin"
        bin.mkdir()
        (bin / "quasar").symlink_to(quasar)
        self.environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"}
        subprocess.run([quasar, "search", self.config, "--quiet", "--output-dir", self.alone], check=True, capture_output=True)

    def write_script(self, *options):
        self.script.write_text(subprocess.run([self.quasar, "launch", "slurm", self.config, *options], check=True, capture_output=True, text=True).stdout)
        subprocess.run(["bash", "-n", self.script], check=True)

    def check(self, logs):
        if not (self.out / "result.json").exists():
            fail(f"no result\n{logs()}")
        if not filecmp.cmp(self.out / "best.onnx", self.alone / "best.onnx", shallow=False):
            fail(f"another best.onnx than one process's\n{logs()}")
        result = json.loads((self.out / "result.json").read_text())
        if result["status"] != "ok":
            fail(f"status {result['status']}")

    def workers(self):
        """Processes that ran trials, by the leader's log."""
        address = next(self.folder.glob("quasar_cluster/address-*"), None)
        if address is None:
            return set()
        done = subprocess.run([self.quasar, "status", address.read_text().strip(), "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            return set()
        return {one["name"] for one in json.loads(done.stdout)["workers"] if one["finished"] > 0}


def as_processes(search):
    """Task 0 and a worker, with the variables that Slurm sets; the worker is asked to end and begins again."""
    search.write_script("--workers", "1", "--cpus", "1", "--memory", "1")
    logs = [search.folder / f"{task}.log" for task in range(2)]

    def begin(task):
        environment = {**search.environment, "SLURM_ARRAY_JOB_ID": str(os.getpid()), "SLURM_ARRAY_TASK_ID": str(task)}
        return subprocess.Popen(["bash", search.script], env=environment, stdin=subprocess.DEVNULL, stdout=logs[task].open("a"), stderr=subprocess.STDOUT)

    def said():
        return "\n".join(log.read_text() for log in logs)

    leader, worker = begin(0), begin(1)
    try:
        wait_for(lambda: "trial " in logs[1].read_text() or leader.poll() is not None, "a trial of the worker")
        worker.send_signal(signal.SIGTERM)
        if worker.wait() != 0:
            fail(f"a worker that is asked to end says {worker.returncode}\n{said()}")
        worker = begin(1)
        if leader.wait() != 0:
            fail(f"the leader ended with {leader.returncode}\n{said()}")
        if worker.wait() != 0:
            fail(f"the worker ended with {worker.returncode}\n{said()}")
    finally:
        for one in (leader, worker):
            if one.poll() is None:
                one.send_signal(signal.SIGTERM)
                one.wait()
    search.check(said)
    if list(search.folder.glob("quasar_cluster/address-*")):
        fail("the address, with its password, stays behind")


def check_codes(quasar, sources, folder):
    """What the script makes of exit codes, by programs that say how they were called: a leader that was interrupted comes back, and a
    machine that fails is tried again."""
    bin, config = folder / "codes", folder / "codes.yaml"
    bin.mkdir()
    text = CONFIG.format(sources=sources, trials=2)
    config.write_text(text)
    script = folder / "codes.sbatch"
    printed = subprocess.run([quasar, "launch", "slurm", config, "--storage", "postgresql://a/b"], check=True, capture_output=True, text=True)
    script.write_text(printed.stdout)
    if "--allow-code" in printed.stdout or printed.stderr:
        fail(f"what is not needed: {printed.stderr}")
    (bin / "sleep").write_text("#!/bin/sh\n")
    (bin / "quasar").write_text(f"#!/bin/sh\necho $1 >> {folder}/called\nset -- $(head -1 {folder}/answers)\nsed -i 1d {folder}/answers\n"
                                f"[ $# -gt 1 ] && touch {folder}/quasar_cluster/finished-7\nexit $1\n")
    for one in bin.iterdir():
        one.chmod(0o755)

    def runs(task, answers):
        shutil.rmtree(folder / "quasar_cluster", ignore_errors=True)
        (folder / "quasar_cluster").mkdir()
        (folder / "called").write_text("")
        (folder / "answers").write_text("".join(f"{answer}\n" for answer in answers))
        environment = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": str(task)}
        done = subprocess.run(["bash", script], env=environment, stdin=subprocess.DEVNULL, capture_output=True)
        return done.returncode, len((folder / "called").read_text().splitlines()), (folder / "quasar_cluster" / "finished-7").exists()

    for task, answers, expected in ((1, [130] * 6 + ["0 over"], (0, 7, True)), (1, [0] * 9, (0, 1, False)), (1, [75] * 9, (1, 5, False)), (0, [75, 75, 0], (0, 3, True)),
                                    (0, [75] * 9, (75, 6, True)), (0, [130], (130, 1, False)), (0, [1], (1, 1, True))):
        found = runs(task, answers)
        if found != expected:
            fail(f"task {task}, exit codes {answers}: code, calls and end are {found}, not {expected}")
    config.write_text(text + "search_evaluator: {command: [/opt/score, '{model}']}\nstudy_files_limit: 1000\n")
    printed = subprocess.run([quasar, "launch", "slurm", config], check=True, capture_output=True, text=True)
    if "--drain 90 --allow-code" not in printed.stdout or "all nodes must see model_input (" not in printed.stderr:
        fail(f"what workers need is not said: {printed.stderr}")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


SLURM = """ClusterName=quasar
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=1
SlurmdParameters=config_overrides
JobRequeue=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@contextlib.contextmanager
def slurm(folder):
    """A controller and a node as processes of this one; their environment is that for sbatch."""
    programs = {name: shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") for name in ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol")}
    if None in programs.values():
        skip("there is no Slurm here (Debian: slurm-wlm, munge)")
    place = folder / "slurm"
    for name in ("state", "spool"):
        (place / name).mkdir(parents=True)
    place.chmod(0o755)
    (place / "munge.key").write_bytes(os.urandom(128))
    (place / "munge.key").chmod(0o600)
    host = socket.gethostname().split(".")[0]
    (place / "slurm.conf").write_text(SLURM.format(host=host, folder=place, control=free_port(), node=free_port(), user=pwd.getpwuid(os.getuid()).pw_name))
    (place / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    environment = {**os.environ, "SLURM_CONF": str(place / "slurm.conf")}
    commands = [[programs["munged"], "--foreground", "--force", f"--socket={place}/munge.socket", f"--key-file={place}/munge.key", f"--pid-file={place}/munge.pid",
                 f"--log-file={place}/munge.log", f"--seed-file={place}/munge.seed"],
                [programs["slurmctld"], "-D", "-c"], [programs["slurmd"], "-D", "-c", "-N", host]]
    running = []
    try:
        for command in commands:
            running.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=(place / "output").open("a"), stderr=subprocess.STDOUT))
            time.sleep(2)
        for _ in range(60):
            state = subprocess.run(["sinfo", "--noheader", "--format=%t"], env=environment, capture_output=True, text=True)
            if state.stdout.strip() == "idle":
                break
            time.sleep(1)
        else:
            skip(f"Slurm does not start here: {state.stdout}{state.stderr}{(place / 'output').read_text()[-2000:]}")
        yield environment
    finally:
        for one in reversed(running):
            one.terminate()
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def on_a_cluster(search):
    search.write_script("--workers", "2", "--cpus", "1", "--memory", "1", "--sbatch", "partition=all")
    with slurm(search.folder) as environment:
        environment = {**search.environment, **environment, "PATH": search.environment["PATH"]}

        def ask(*command):
            return subprocess.run(command, env=environment, cwd=search.folder, check=True, capture_output=True, text=True).stdout

        job = ask("sbatch", "--parsable", search.script).strip()
        logs = [search.folder / f"quasar-{job}_{task}.log" for task in range(3)]

        def said():
            return "\n".join(log.read_text() for log in logs if log.exists())

        def is_over():
            return not ask("squeue", "--noheader", "--jobs", job).strip()

        try:
            wait_for(lambda: len(search.workers()) >= 2 or is_over(), f"trials of two processes\n{ask('squeue')}", 300)
            if is_over():
                fail(f"it ended before two processes had run trials\n{said()}")
            ask("scontrol", "requeue", f"{job}_1")  # as a node that is taken back does it
            wait_for(is_over, "the job's end")
        finally:
            if not is_over():
                ask("scancel", job)
                wait_for(is_over, "the end of a job that was cancelled", 100)
        search.check(said)
        if "from the study" in said():
            fail(f"files were fetched though all tasks see them\n{said()}")
        print(f"job {job} on Slurm: the same best.onnx as one process's; a worker was taken back and began again")


def main():
    quasar, sources = (os.path.abspath(one) for one in sys.argv[1:3])
    if not any(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        skip("there is no PostgreSQL server here")
    with tempfile.TemporaryDirectory(prefix="quasar-slurm-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)  # for the user as whom PostgreSQL runs where this is root
        check_codes(quasar, sources, folder)
        cluster = "--cluster" in sys.argv
        search = Search(quasar, sources, folder, 120 if cluster else 60)
        (on_a_cluster if cluster else as_processes)(search)


main()
