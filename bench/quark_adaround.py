"""Quark's own AdaRound (1000 and 3000 iterations) and our rounding on MobileNet, in one run: seconds, distance and top-1 of both, and the ratio.
usage: PYTHON bench/quark_adaround.py QUASAR SHARED PYTHON_OF_QUARK [repetitions of ours] [A8W8 | XINT8]
PYTHON: numpy, pillow. Either side does the whole job of one trial: calibration (100 images), rounding, and the distance over 400 evaluation images; Quark by
SHARED/peers/quark_one.py (imports not counted), ours as a search of one configuration (start of the process counted)."""
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from jobs import mobilenet, search, trials

A8W8 = {"activation": ["Int8Spec"], "activation_params": {"symmetric": [False], "calibration_method": ["MinMax"], "only_if": "activation"},
        "weight": ["Int8Spec"], "weight_params": {"symmetric": [True], "calibration_method": ["MinMax"], "quant_granularity": ["Tensor"], "only_if": "weight"}}
XINT8 = {"activation": ["XInt8Spec"], "activation_params": {"calibration_method": ["MinMSE"], "only_if": "activation"},
         "weight": ["XInt8Spec"], "weight_params": {"calibration_method": ["MinMSE"], "only_if": "weight"}}
SPACES = {"A8W8 per tensor": A8W8, "XINT8": XINT8}
ROUNDING = ("adaround", "adaquant", "gptq")
OURS_ALONE = {"XINT8": {"FitPowerOfTwo": [True]}}     # what Quark has nothing like


def with_rounding(space, method, **params):
    group = {name: [value] for name, value in params.items()}
    return {**space, "algorithms": [method], **({f"{method}_params": {**group, "only_if": {"algorithms": method}}} if params else {})}


def quark(python, shared, folder, space):
    """-> (seconds, distance, top-1)"""
    out = folder / "quark"
    done = subprocess.run([python, "-B", str(shared / "peers" / "quark_one.py"), json.dumps(space), str(out)], capture_output=True, text=True, cwd=folder)
    text = done.stdout + done.stderr + "".join(path.read_text(errors="replace") for path in out.glob("*.log"))
    found = [re.findall(pattern, text) for pattern in (r"SECONDS ([0-9.]+)", r"distance is: *([0-9.eE+-]+)", r"TOP1 ([0-9.]+)")]
    if not all(found):
        raise SystemExit("Quark ended without a result:\n" + text[-2000:])
    return [float(values[-1]) for values in found]


def ours(quasar, folder, model, space, repetitions):
    seconds = []
    for i in range(repetitions):
        took, _ = search(quasar, folder, model, space, f"ours{len(list(folder.glob('ours*.json')))}")
        seconds.append(took)
        name = f"ours{len(list(folder.glob('ours*.json'))) - 1}"
    metrics = list(trials(folder, name).values())[0]
    return statistics.median(seconds), metrics["L2"], metrics["top1"]


def main():
    quasar, shared, python = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    repetitions = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        model = mobilenet(shared, folder)
        print("| MobileNet | who | s | distance | top-1 % | Quark's 3000 iterations took |\n| --- | --- | --- | --- | --- | --- |", flush=True)
        for name, space in SPACES.items():
            if len(sys.argv) > 5 and not name.startswith(sys.argv[5]):
                continue
            mine = {method: ours(quasar, folder, model, with_rounding(space, method), repetitions) for method in ROUNDING}
            if name in OURS_ALONE:
                more = {**with_rounding(space, "adaquant"), **OURS_ALONE[name]}
                mine["adaquant, " + ", ".join(OURS_ALONE[name])] = ours(quasar, folder, model, more, repetitions)
            slowest = 0
            for iterations in (1000, 3000):
                settings = with_rounding(space, "adaround", num_iterations=iterations, learning_rate=0.1, batch_size=2)
                seconds, distance, top1 = quark(python, shared, folder, settings)
                slowest = max(slowest, seconds)
                print(f"| {name} | Quark AdaRound, {iterations} | {seconds:.1f} | {distance:.4f} | {100 * top1:.1f} | |", flush=True)
            for method, (seconds, distance, top1) in mine.items():
                print(f"| {name} | Quasar {method} | {seconds:.2f} | {distance:.4f} | {100 * top1:.1f} | {slowest / seconds:.0f} × as long |", flush=True)


if __name__ == "__main__":
    main()
