"""Accuracy goals on MobileNet: Intel Neural Compressor's basic to 1 % relative, NNCF's accuracy control to 0.5 points, and Quasar's repair to
the same goals, one after the other in one run. SECONDS: the peer's own call, Quasar's search to the end of its report; PROCESS: with the start of the program (imports);
MODEL: from the start of Quasar's process until best.onnx lies in the folder, after which it measures for the report what peers do not.
CPU: processor seconds of the whole process, which other work on the machine changes little.
usage: PYTHON bench/tuners.py QUASAR SHARED PYTHON_OF_INC PYTHON_OF_NNCF"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from jobs import READER, mobilenet


def cpu():
    """Processor seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def peer(python, script, arguments, folder):
    before, start = cpu(), time.time()
    out = subprocess.run([python, "-B", str(script), *arguments], cwd=folder, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        if any(word in line for word in ("SECONDS", "TOP1", "QuantizeLinear")):
            print("  ", line, flush=True)
    print(f"   PROCESS {time.time() - start:.2f} CPU {cpu() - before:.2f} (imports included)", flush=True)


def ours(quasar, folder, model, criterion):
    seconds, searching, until_model, before = [], [], [], cpu()
    for i in range(3):
        name = f"ours_{criterion['criterion']}_{i}"
        config = {"model_input": model, "calib_data_reader": {**READER, "path": "calib.npz"}, "eval_data_reader": {**READER, "path": "eval.npz"},
                  "search_metric": "top1", "accuracy_criterion": criterion, "output_dir": name}
        file = folder / f"{name}.json"
        file.write_text(json.dumps(config))
        start = time.time()
        subprocess.run([quasar, "search", str(file), "--quiet"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.time() - start)
        result = json.loads((folder / name / "result.json").read_text())
        searching.append(result["seconds"])
        until_model.append((folder / name / "best.onnx").stat().st_mtime - start)
    best = result["best"]
    print(f"   PROCESS {sorted(seconds)[1]:.2f} SECONDS {sorted(searching)[1]:.2f} MODEL {sorted(until_model)[1]:.2f} CPU {(cpu() - before) / 3:.2f} TRIALS {result['trials']['executed']} TOP1 {best['metrics']['top1']['value']} "
          f"operators {best['operators']} status {result['status']}", flush=True)


def main():
    quasar, shared, inc, nncf = sys.argv[1:5]
    peers = pathlib.Path(shared) / "peers"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = mobilenet(shared, folder)
        print("INC basic, 1 % relative")
        peer(inc, peers / "inc_tune.py", ["basic", "100", "0.01"], folder)
        print("Quasar repair, 1 % relative")
        ours(quasar, folder, model, {"criterion": "relative", "tolerable_loss": 0.01})
        print("NNCF accuracy control, 0.5 points")
        peer(nncf, peers / "nncf_control.py", ["0.005"], folder)
        print("Quasar repair, 0.5 points")
        ours(quasar, folder, model, {"criterion": "absolute", "tolerable_loss": 0.005})


if __name__ == "__main__":
    main()
