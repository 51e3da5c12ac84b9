"""What one quantization takes in other types and formats, in ONNX Runtime's CPU provider: the evidence for what the search need not try.
Variants of scheme U8S8_CHANNEL (nearest codes, `saturation: raise_scales`) run in turns with it and with the float model, one thread, in an order that
changes by chance; runs below 5 ms behind one of the same model. Printed are medians of ratios of the same turn, to the scheme's time (its own: to float's), and the
distance ‖y − ŷ‖ / ‖y‖ of the worst output over 24 evaluation samples. FOLDER is that of bench/zoo.py, with its models and samples.
usage: ORT_PYTHON bench/forms.py QUASAR FOLDER NAME [...] [--json FILE] [--seconds S] [--only VARIANT …]"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from zoo import tasks, work  # noqa: E402

BASE = "U8S8_CHANNEL"
INT8 = {"activation": "Int8Spec", "activation_params.symmetric": "false"}
VARIANTS = {
    BASE: {},
    "avoid": {"saturation": "avoid"},
    "QOperator": {"quant_format": "QOperator"},
    "products": {"form": "products"},
    "products, QOperator": {"form": "products", "quant_format": "QOperator"},
    "weights per tensor": {"weight_params.quant_granularity": "Tensor"},
    "uint8 weights": {"saturation": "unsigned"},
    "symmetric uint8": {"activation_params.symmetric": "true"},
    "int8": INT8,
    "int8, symmetric": {"activation": "Int8Spec", "activation_params.symmetric": "true"},
    "int8, QOperator": {**INT8, "quant_format": "QOperator"},
    "pairs before Relu and Clip": {"RemoveQDQConvRelu": "false", "RemoveQDQConvClip": "false"},
    "DYNAMIC": "DYNAMIC",
    "DYNAMIC_CONV": "DYNAMIC_CONV",
}


def quantized(quasar, model, out, calib, settings):
    scheme = settings if isinstance(settings, str) else BASE
    settings = {} if scheme != BASE else {"saturation": "raise_scales", **settings}
    command = [quasar, "quantize", model, "-o", out, "--scheme", scheme, "--calib", calib]
    made = subprocess.run([*command, *(word for key, value in settings.items() for word in ("--set", f"{key}={value}"))], capture_output=True, text=True)
    return "" if made.returncode == 0 else made.stderr.strip().split("\n")[-1][:300]


def measured(sessions, samples, seconds):
    """-> {name: median of ratios to float, to the first variant, half of what two halves of the turns differ by in the latter}"""
    times, end, turn, order, random = {name: [] for name in sessions}, time.monotonic() + seconds, 0, list(sessions), np.random.default_rng(0)
    while turn < 8 or turn < 1000 and time.monotonic() < end:
        random.shuffle(order)
        for name in order: times[name].append(work.seconds_of_run(sessions[name], samples[turn % len(samples)]))
        turn += 1
    out = {}
    for name, of_it in times.items():
        to_base = np.divide(of_it, times[BASE])
        halves = [np.median(half) for half in np.array_split(to_base, 2)]
        out[name] = {"float": float(np.median(np.divide(of_it, times["float"]))), "base": float(np.median(to_base)), "spread": float(abs(halves[0] - halves[1]) / 2)}
    return out


def of_model(quasar, at, given):
    samples, calib = work.load(next(at.glob("eval*"))), next(at.glob("calib*"))
    found, sessions = {}, {"float": work.opened(at / "model.onnx", 1)}
    wanted = [sessions["float"].run(None, sample) for sample in samples[:24]]
    with tempfile.TemporaryDirectory() as scratch:
        for name, settings in VARIANTS.items():
            if given.only and name not in (BASE, *given.only): continue
            out = pathlib.Path(scratch) / f"{len(found)}.onnx"
            why = quantized(quasar, at / "model.onnx", out, calib, settings)
            found[name] = {"fails": why}
            if why: continue
            try:
                runner = work.opened(out, 1)
                found[name] = {"rel": tasks.relative(wanted, [runner.run(None, sample) for sample in samples[:24]]), "bytes": out.stat().st_size}
                sessions[name] = runner
            except Exception as error:
                found[name]["fails"] = str(error).split("\n")[0][:300]
    if BASE in sessions:
        for name, times in measured(sessions, samples, given.seconds).items():
            if name in found: found[name] |= times
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quasar")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--json", type=pathlib.Path, help="keep what was found there, a line a model")
    parser.add_argument("--seconds", type=float, default=24, help="of measuring, a model")
    parser.add_argument("--only", nargs="+", default=[], metavar="VARIANT", choices=list(VARIANTS))
    given = parser.parse_args()
    shown = [name for name in VARIANTS if not given.only or name in (BASE, *given.only)]
    print("| model | " + " | ".join(shown) + " |\n|" + " --- |" * (len(shown) + 1))
    for name in given.names:
        found = of_model(given.quasar, given.folder / name, given)
        if given.json:
            with open(given.json, "a") as file: file.write(json.dumps({"model": name, "found": found}) + "\n")
        cells = [f"{of['float' if variant == BASE else 'base']:.2f}, {of['rel']:.2g}" if "base" in of else "✗" for variant in shown for of in (found.get(variant, {}),)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
