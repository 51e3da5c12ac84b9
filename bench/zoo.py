"""Many models, one row each: what Quasar makes of it beside onnxruntime's quantize_static and quantize_dynamic, and what that takes.
FOLDER keeps models, samples and one row.json a model, so that a run that was interrupted goes on; --table makes docs/zoo.md of them.
PYTHON needs torch, torchvision, transformers, onnx, onnxscript, onnxruntime (as Quasar's) and pillow; npm and espeak-ng must be on the path."""
import argparse
import json
import multiprocessing
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE / "zoo" / "work.py"


def measured(command, limit, folder, memory=16):
    """Runs it -> exit code (negative: a signal), output, last line of stderr, seconds, processor seconds, peak MB"""
    log = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / f"zoo-{os.getpid()}"
    with open(f"{log}.out", "w+") as out, open(f"{log}.err", "w+") as err:
        started = time.monotonic()
        child = subprocess.Popen([str(word) for word in command], stdout=out, stderr=err, cwd=folder, start_new_session=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (memory << 30, memory << 30)))
        timer = threading.Timer(limit, child.kill)
        timer.start()
        _, status, used = os.wait4(child.pid, 0)
        late = not timer.is_alive()
        timer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - started
        err.seek(0)
        out.seek(0)
        lines = [line for line in err.read().strip().split("\n") if line.strip()]
        found = {"code": child.returncode, "seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}
        if child.returncode not in (0, 2): found["error"] = f"not ended after {limit} s" if late else lines[-1][:400] if lines else "no word"
        notes = [line for line in lines if line.startswith("quant_pre_process")]
        if notes: found["note"] = notes[-1][:200]
        return found, out.read()


def prepare(model, at, place):
    """Model and samples"""
    import onnx
    from zoo import work
    shutil.rmtree(at, ignore_errors=True)
    at.mkdir(parents=True)
    os.chdir(at)  # exporters leave files
    try:
        made = model.make(place)
        if isinstance(made, pathlib.Path): shutil.copy(made, at / "model.onnx")
        else: onnx.save(made, at / "model.onnx")
        for split, count in zip(("calib", "eval"), model.count): work.save(model.samples(place, split, count), at / split)
    except BaseException as error:
        print(f"  cannot be made: {type(error).__name__}: {str(error)[:500]}", flush=True)
        shutil.rmtree(at, ignore_errors=True)
        raise SystemExit(1)


SEARCHES = ("search", "speed", "repair")
PEERS = ("static", "dynamic")


def jobs(model, at, quasar, limit, settings):
    calib, evaluation = (next(at.glob(f"{split}*")) for split in ("calib", "eval"))

    def quantize(name, scheme, *more):
        return name, at / f"{name}.onnx", [quasar, "quantize", at / "model.onnx", "-o", at / f"{name}.onnx", "--scheme", scheme,
                                               *([] if scheme == "DYNAMIC" else ["--calib", calib]), *more], 3 * (limit or 60)

    def search(name, *more):
        return name, at / name / "best.onnx", [quasar, "search", "--model", at / "model.onnx", "--calib", calib, "--eval", evaluation, "--quiet", "--output-dir", at / name,
                                               *(["--set", f"search_stop_condition.time_limit={limit}"] if limit else []), *settings, *more], 3 * limit + 120 if limit else 1800

    def peer(name):
        return name, at / f"{name}.onnx", [sys.executable, WORK, name, at / "model.onnx", at / f"{name}.onnx", calib], 240
    yield "inspect", None, [quasar, "inspect", "--json", at / "model.onnx"], 60
    yield quantize("channel", "U8S8_CHANNEL")
    yield quantize("ignore", "U8S8_CHANNEL", "--set", "saturation=ignore")
    if not model.large: yield quantize("tensor", "A8W8")
    yield quantize("dynamic8", "DYNAMIC")
    yield quantize("ignore8", "DYNAMIC", "--set", "saturation=ignore")
    if not model.large: yield quantize("adaquant", "U8S8_CHANNEL", "--set", "algorithms=adaquant")
    yield search("search", "--preset", "cpu_int8_search")
    if model.source == "made up": yield search("speed", "--preset", "cpu_int8_search", "--set", "least_agreement=0")  # made-up answers are no answers
    if not model.large: yield search("repair", "--set", "strategy=repair", "--set", "accuracy_criterion={criterion: absolute, tolerable_loss: 0.1}")
    yield peer("static")
    yield peer("dynamic")


def of_search(at):
    """What result.json says"""
    try:
        found = json.loads((at / "result.json").read_text())
    except (OSError, ValueError):
        return {}
    best, gate = found.get("best") or {}, found.get("speed_gate") or {}
    answers = best.get("answers") or {}
    return {"status": found["status"], "reason": found["reason"], "quality": found.get("quality"), "faster": found.get("faster"), "trials": found["trials"],
            "quality_why": answers.get("reasons") or answers.get("reason"), "warnings": found.get("warnings"), "operators": best.get("operators"),
            "times_told": (best.get("time_of_float") or {}).get("value"), "gate": gate.get("told"), "gate_moved": sum(len(x) for x in (gate.get("regions") or {}).values())}


def row(model, at, given):
    found = {"name": model.name, "what": model.what, "source": model.source, "licence": model.licence, "task": model.task and model.task[0], "count": model.count,
             "large": model.large, "kind": model.kind, "limit": given.limit, "bytes": (at / "model.onnx").stat().st_size, "jobs": {}}
    if given.jobs and (at / "row.json").exists(): found |= {k: v for k, v in json.loads((at / "row.json").read_text()).items() if k not in found or k == "jobs"}
    results = []
    for name, out, command, limit in jobs(model, at, given.quasar, given.limit, [word for setting in given.set for word in ("--set", setting)]):
        if given.jobs and name not in given.jobs:
            if out and out.exists(): results.append(f"{name}={out}")
            continue
        if name in SEARCHES: shutil.rmtree(at / name, ignore_errors=True)
        elif out: out.unlink(missing_ok=True)
        found["jobs"][name], output = measured(command, limit, at)
        print(f"  {name}: {json.dumps(found['jobs'][name])}", flush=True)
        if name == "channel":
            told = re.search(r"(\d+) of (\d+) quantizable nodes", output)
            if told: found["quantized"] = [int(told[1]), int(told[2])]
        if name == "inspect" and output.startswith("{"):
            found["why_not"] = {}
            for node in json.loads(output).get("nodes", []):
                of_it = node["targets"]["ort_cpu"]
                if not of_it["quantized"]: found["why_not"][of_it.get("why", "?")] = found["why_not"].get(of_it.get("why", "?"), 0) + 1
        if name in SEARCHES: found["jobs"][name] |= of_search(at / name)
        if out and out.exists():
            found["jobs"][name]["bytes"] = out.stat().st_size
            results.append(f"{name}={out}")
    found["measure"], _ = measured([sys.executable, WORK, "measure", at, given.shared, model.name, at / "measured.json", *results], 600, at)
    if found["measure"]["code"] < 0:  # a crash: of a peer's model, if the others run without
        others = [result for result in results if result.split("=")[0] not in PEERS]
        found["measure"], _ = measured([sys.executable, WORK, "measure", at, given.shared, model.name, at / "measured.json", *others], 600, at)
        for name in (result.split("=")[0] for result in set(results) - set(others)): found["jobs"][name]["fails"] = "not measured: ONNX Runtime crashes on one of the peers' models"
    if found["measure"]["code"] == 0:
        for name, values in json.loads((at / "measured.json").read_text()).items():
            if name in ("float", "header"): found[name] = values
            else: found["jobs"][name] |= values
    print(f"  measure: {json.dumps(found['measure'])}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quasar", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("shared", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--models", action="store_true", help="make models and samples, and stop")
    parser.add_argument("--table", action="store_true", help="print docs/zoo.md from the rows that are there, and stop")
    parser.add_argument("--searches", action="store_true", help="print what the searches came to, of the rows that have one, and stop")
    parser.add_argument("--note", default="", help="a sentence for the head of the page: what else the machine did")
    parser.add_argument("--again", action="store_true", help="measure models that have a row, too")
    parser.add_argument("--jobs", nargs="+", metavar="JOB", help="only these, the others stay as they are in the row")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="of searches, besides")
    parser.add_argument("--limit", type=int, default=60, help="time_limit of searches, seconds; 0: none, as without the key")
    given = parser.parse_args()
    sys.path.insert(0, str(HERE))
    from zoo import catalogue, table
    from zoo.real import Place
    if given.table: return print(table.page(given))
    if given.searches: return print(table.searches(given))
    for model in catalogue():
        at = given.folder / model.name
        if given.only and model.name not in given.only: continue
        if (at / "row.json").exists() and not (given.again or given.jobs or given.models): continue
        print(f"{model.name}: {model.what}", flush=True)
        if not list(at.glob("eval*")):
            maker = multiprocessing.get_context("fork").Process(target=prepare, args=(model, at, Place(given.folder, given.shared)))  # exporters keep much memory
            maker.start()
            maker.join()
            if maker.exitcode: continue
        if not given.models: (at / "row.json").write_text(json.dumps(row(model, at, given), indent=1))


if __name__ == "__main__":
    main()
