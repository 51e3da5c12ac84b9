"""What bench/zoo.py runs in processes of their own, since it may fail or need much memory: peers and measurements.
usage: PYTHON bench/zoo/work.py static|dynamic MODEL OUT SAMPLES
       PYTHON bench/zoo/work.py measure FOLDER SHARED NAME OUT.json [RESULT=MODEL …]"""
import json
import pathlib
import sys
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))


def save(samples, at):
    """As .npz where each array is a batch of one and all are alike, else as a folder of .npy -> its path"""
    alike = all(x.ndim and len(x) == 1 and x.shape == samples[0][name].shape for sample in samples for name, x in sample.items())
    if alike:
        np.savez(at.with_suffix(".npz"), **{name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]})
        return at.with_suffix(".npz")
    for k, sample in enumerate(samples):
        for name, x in sample.items():
            (at / name).mkdir(parents=True, exist_ok=True)
            np.save(at / name / f"{k:04}.npy", x)
    return at


def load(at):
    if at.suffix == ".npz":
        arrays = dict(np.load(at))
        return [{name: x[k:k + 1] for name, x in arrays.items()} for k in range(len(next(iter(arrays.values()))))]
    names = [folder.name for folder in at.iterdir()]
    return [{name: np.load(at / name / file.name) for name in names} for file in sorted((at / names[0]).iterdir())]


def peer(kind, model, out, samples):
    import onnx
    import onnx.version_converter
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    prepared = str(pathlib.Path(out).with_suffix(".prepared.onnx"))
    given = onnx.load(model)
    version = next(o.version for o in given.opset_import if o.domain in ("", "ai.onnx"))
    if kind == "static" and version < 13:  # its pairs per channel need that
        model = str(pathlib.Path(out).with_suffix(".raised.onnx"))
        onnx.save(onnx.version_converter.convert_version(given, 13), model)
    for skipped in (False, True):
        try:
            quant_pre_process(model, prepared, skip_symbolic_shape=skipped)
            break
        except Exception as error:
            print(f"quant_pre_process: {str(error)[:200]}", file=sys.stderr)
    else:
        prepared = model
    if kind == "dynamic":
        quantize_dynamic(prepared, out, per_channel=True, weight_type=QuantType.QInt8)
    else:
        class Reader(CalibrationDataReader):
            def __init__(self):
                self.items = iter(load(samples))

            def get_next(self):
                return next(self.items, None)
        quantize_static(prepared, out, Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    for file in (pathlib.Path(out).with_suffix(f".{what}.onnx") for what in ("raised", "prepared")): file.unlink(missing_ok=True)


def opened(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def seconds_of_run(session, sample, short=0.005):
    """A short run is measured as one of a loop: what ran before leaves it a cache that is not its own."""
    for _ in range(2):
        started = time.perf_counter()
        session.run(None, sample)
        taken = time.perf_counter() - started
        if taken > short: break
    return taken


def in_turns(sessions, samples, seconds=5, least=5, most=60):
    """-> milliseconds of each session's runs, one of each a turn"""
    times, turn, stop = {name: [] for name in sessions}, 0, time.perf_counter() + seconds
    for runner in sessions.values(): runner.run(None, samples[0])
    while turn < least or turn < most and time.perf_counter() < stop:
        for name, runner in sessions.items(): times[name].append(1000 * seconds_of_run(runner, samples[turn % len(samples)]))
        turn += 1
    return times


def in_rows(sessions, samples, seconds=4, least=5, asleep=0.04, counted=0.03):
    """-> milliseconds of each session's runs on several threads, the median of a row of runs each turn. After a run ONNX Runtime's threads wait at full load, so that
    the first 40 ms of a row, in which those of another model do, count nothing"""
    times, turn, stop = {name: [] for name in sessions}, 0, time.perf_counter() + seconds
    for runner in sessions.values(): runner.run(None, samples[0])
    while turn < least or time.perf_counter() < stop:
        for name, runner in sessions.items():
            begun, row, sample = time.perf_counter(), [], samples[turn % len(samples)]
            while not row or time.perf_counter() < begun + asleep + counted:
                started = time.perf_counter()
                runner.run(None, sample)
                if started >= begun + asleep: row.append(time.perf_counter() - started)
            times[name].append(1000 * float(np.median(row)))
        turn += 1
    return times


def measure(folder, shared, name, out, results):
    import onnx

    from zoo import catalogue, real, tasks, truth
    model = next(m for m in catalogue() if m.name == name)
    samples = load(next(folder.glob("eval*")))
    found, runners, wanted = {"float": {}}, {"float": opened(folder / "model.onnx", 1)}, None
    for result, path in [("float", folder / "model.onnx"), *results.items()]:
        try:
            runner = opened(path, 1)
            got = [runner.run(None, sample) for sample in samples]
            wanted = wanted or got
            found[result] = {"rel": tasks.relative(wanted, got)} | ({"task": model.task[1](wanted, got)} if model.task else {})
            runners[result] = runner
        except Exception as error:
            found[result] = {"fails": str(error).split("\n")[0][:300]}
    if name in truth.TRUTHS:
        count, _, answers, score = truth.TRUTHS[name]
        place = real.Place(folder.parent, shared)
        unseen, right = model.samples(place, "holdout", count), answers(place, "holdout", count)
        for result, runner in runners.items(): found[result]["right"] = score(place, right, [runner.run(None, sample) for sample in unseen])
    times = in_turns(runners, samples)
    found["float"]["ms"] = float(np.median(times["float"]))
    for result in set(runners) - {"float"}: found[result]["times"] = float(np.median(np.array(times[result]) / times["float"]))
    kept = [result for result in ("search", "speed", "repair", "static", "dynamic") if result in runners]
    del runners
    threaded = {result: opened(folder / "model.onnx" if result == "float" else results[result], 0) for result in ("float", *kept)}
    times = in_rows(threaded, samples)
    found["float"]["ms_all"] = float(np.median(times["float"]))
    for result in kept: found[result]["times_all"] = float(np.median(np.array(times[result]) / times["float"]))
    header = onnx.load(folder / "model.onnx", load_external_data=False)
    found["header"] = {"opset": next(o.version for o in header.opset_import if o.domain in ("", "ai.onnx")), "producer": header.producer_name,
                       "types": sorted({node.op_type for node in header.graph.node})}
    out.write_text(json.dumps(found))


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "measure":
        measure(pathlib.Path(words[0]), pathlib.Path(words[1]), words[2], pathlib.Path(words[3]), dict(word.split("=", 1) for word in words[4:]))
    else:
        peer(what, words[0], words[1], pathlib.Path(words[2]))
