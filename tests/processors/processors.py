"""Whether quantized models mean the same on every processor: kernels that add two products in 16 bits may overflow, silently.
usage: python3 tests/processors/processors.py QUASAR SHARED [--models NAME …] [--schemes S,…] [--rounding R,…] [--samples N] [--processors P,…]
Needs numpy; pillow for the models of SHARED (mobilenet, resnet8, fastestdet), none for the demo (digits) nor for FILE.onnx=CALIB.npz,EVAL.npz.
Every result of `quasar quantize` runs natively and under qemu-user as other processors, on samples and on extreme inputs: every element
at the least value that calibration has seen, at the greatest, and each at one of the two by chance.
Printed is the distance to the float model by exact arithmetic (the same file without graph optimization: Q/DQ pairs in float), then by
each processor's kernels, with the ratio to exact. Distance: relative L2, the mean over outputs and samples.
Float and integers round differently, which moves a ratio by some hundredths on few samples, without any overflow. The column
`native` shows by how much where this machine has VNNI; there `--against native` compares integers with integers.
Exit code: 2 where a ratio is above --limit, 1 where a model could not be made or run, else 0. A processor that cannot be had is skipped,
and so is one whose kernels do not overflow where its like do: an emulator without AVX2 would call every model safe.
Debian: qemu-user, and g++-aarch64-linux-gnu for the ARM ones."""
import argparse
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODELS = ["mobilenet", "resnet8", "fastestdet", "digits"]
# name: machine that its code is for, processor of qemu-user (none: this one)
PROCESSORS = {"native": (platform.machine(), None), "haswell": ("x86_64", "Haswell"), "nehalem": ("x86_64", "Nehalem"),
              "a53": ("aarch64", "cortex-a53"), "arm_max": ("aarch64", "max")}
FLOOR = 1e-5  # distances below it are float's own rounding, and their ratio says nothing
# A processor's description as Linux on a Cortex-A53 gives it; what the processor can do, the emulator tells by other means.
CPUINFO = """processor\t: 0
Features\t: fp asimd
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x0
CPU part\t: 0xd03
CPU revision\t: 4
"""


# What kernels make of 255 · 127 + 255 · 127 there; True: no more than 16 bits hold. What is not named may do either.
OVERFLOWS = {"haswell": True, "nehalem": False, "a53": False, "arm_max": False}


class Missing(Exception):
    """What a processor would need and is not here."""


def photographs(shared, split, size, mean, scale, bgr, count, crop=1.0):
    """-> float32 [n,3,size,size]; the middle square of `crop` of the shorter side, or the whole picture where crop is 1"""
    from PIL import Image
    images = []
    for path in sorted((shared / "data" / "imagenet" / split).glob("*.jpg"))[:count]:
        image = Image.open(path).convert("RGB")
        if crop < 1:
            c = int(min(image.size) * crop)
            left, top = (image.width - c) // 2, (image.height - c) // 2
            image = image.crop((left, top, left + c, top + c))
        x = np.asarray(image.resize((size, size), Image.BILINEAR), np.float32)
        images.append(((x[..., ::-1] if bgr else x) - mean).transpose(2, 0, 1) * scale)
    return np.ascontiguousarray(images, np.float32)


def data(name, shared, samples):
    """-> model, {input: calibration array}, {input: evaluation array}"""
    if "=" in name:
        model, files = name.split("=", 1)
        calibration, evaluation = (dict(np.load(file)) for file in files.split(","))
        return pathlib.Path(model), calibration, {k: v[:samples] for k, v in evaluation.items()}
    if name == "digits":
        folder = ROOT / "examples" / "digits"
        load = lambda split, count: {"image": np.load(folder / f"{split}.npz")["image"][:count].astype(np.float32)}
        return folder / "digits.onnx", load("calibration", None), load("evaluation", samples)
    how = {"mobilenet": ("mobilenet_v1_025_128.onnx", "input", 128, 127.5, 1 / 127.5, False, 0.875),
           "resnet8": ("resnet8_cifar.onnx", "input_1", 32, 0, 1, False, 1.0), "fastestdet": ("fastestdet.onnx", "input.1", 352, 0, 1 / 255, True, 1.0)}
    if name not in how:
        raise SystemExit(f"processors: unknown model {name}; known: {', '.join(MODELS)}, or FILE.onnx=CALIB.npz,EVAL.npz")
    file, key, size, mean, scale, bgr, crop = how[name]
    arrays = lambda split, count: {key: photographs(shared, split, size, mean, scale, bgr, count, crop)}
    return shared / "data" / "models" / file, arrays("calib", 100), arrays("eval", samples)


def extremes(calibration, samples):
    """Every element at an end of its input's range -> {input: array}; integers (tokens, for one) have no such meaning, and none then"""
    if any(v.dtype.kind != "f" for v in calibration.values()):
        return None
    random, out = np.random.default_rng(1), {}
    for key, values in calibration.items():
        low, high, shape = values.min(), values.max(), values.shape[1:]
        corners = [np.where(random.random(shape) < 0.5, low, high) for _ in range(max(1, samples - 2))]
        out[key] = np.stack([np.full(shape, low), np.full(shape, high), *corners]).astype(values.dtype)
    return out


def write_inputs(folder, arrays, order):
    """One folder per sample; `order`: names of the inputs as the model has them"""
    for k in range(len(next(iter(arrays.values())))):
        sample = folder / f"{k:05}"
        sample.mkdir(parents=True)
        for i, name in enumerate(order):
            np.save(sample / f"{i}.npy", np.ascontiguousarray(arrays[name][k:k + 1]))


def ask(words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode:
        raise Missing((done.stderr.strip() or f"{words[0]} failed").splitlines()[-1])
    return done.stdout.strip()


def program(name):
    found = shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed")
    return found


class Runners:
    """run_model for each machine, made when it is first asked for; `command` gives how a processor runs it."""

    def __init__(self, folder):
        self.folder, self.made = folder, {}

    def build(self, machine):
        if machine not in self.made:
            try:
                self.made[machine] = self.compiled(machine)
            except Missing as missing:
                self.made[machine] = missing
        if isinstance(self.made[machine], Missing):
            raise self.made[machine]
        return self.made[machine]

    def compiled(self, machine):
        copy = pathlib.Path(ask([ROOT / "scripts" / "onnxruntime.sh", "--where"]))
        headers = copy / "include" if copy.is_dir() else pathlib.Path("/usr/include/onnxruntime")
        if not headers.is_dir():
            raise Missing("no headers of ONNX Runtime; scripts/onnxruntime.sh fetches them")
        native = machine == platform.machine()
        if native:
            compiler, library = program("g++"), copy / "lib" if copy.is_dir() else None
        elif machine == "aarch64":
            compiler, library = program("aarch64-linux-gnu-g++"), self.library(machine)
        else:
            raise Missing(f"no library of ONNX Runtime for {machine} on this machine")
        out = self.folder / f"run_model_{machine}"
        link = ["-lonnxruntime"] if library is None else [library / "libonnxruntime.so.1", f"-Wl,-rpath,{library}"]
        # The cross compiler's libraries lack what only this library asks for, which the emulator finds.
        ask([compiler, "-std=c++20", "-O1", "-I", headers, HERE / "run_model.cpp", "-o", out, *link, "-Wl,--allow-shlib-undefined"])
        return out

    @staticmethod
    def library(machine):
        script = [ROOT / "scripts" / "onnxruntime.sh", "--for", machine]
        ask(script)
        return pathlib.Path(ask([*script, "--where"])) / "lib"

    def root(self, machine):
        """The folder in which an emulated processor finds its system. ONNX Runtime on ARM reads the processor's caches from Linux,
        does not understand those of an x86 machine, and crashes; so it finds one processor without a description of caches."""
        root = self.folder / f"root_{machine}"
        if not root.exists():
            (root / "sys/devices/system/cpu").mkdir(parents=True)
            (root / "proc").mkdir()
            for name in ("possible", "present", "online", "kernel_max"):
                (root / "sys/devices/system/cpu" / name).write_text("0\n")
            (root / "proc/cpuinfo").write_text(CPUINFO)
            libc = pathlib.Path(ask([program(f"{machine}-linux-gnu-g++"), "-print-file-name=libc.so.6"]))
            (root / "lib").symlink_to(libc.resolve().parent)
        return root

    def command(self, processor):
        """-> words that run run_model there; Missing says why they cannot"""
        machine, emulated = PROCESSORS[processor]
        runner = self.build(machine)
        if emulated is None:
            return [runner]
        emulator = [program(f"qemu-{machine}"), *(["-L", self.root(machine)] if machine != platform.machine() else []), "-cpu", emulated]
        done = subprocess.run([*emulator, runner], capture_output=True, text=True)
        if "usage: run_model" not in done.stderr:
            raise Missing(f"run_model does not start: {(done.stderr.strip() or str(done.returncode)).splitlines()[-1]}")
        return [*emulator, runner]


def run(command, jobs, folder):
    """jobs: (model, inputs, out, flags …); one process for all -> error text or None"""
    folder.mkdir(parents=True, exist_ok=True)
    listing = folder / "jobs"
    listing.write_text("".join(" ".join(map(str, job)) + "\n" for job in jobs))
    done = subprocess.run([*map(str, command), "--list", str(listing)], capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith("run_model: ") or "signal" in line]
    return (lines or [f"exit code {done.returncode}"])[-1] if done.returncode else None


def message(*fields):
    """A message of protobuf: (number, integer, text, bytes or message). onnx would do it, and is needed for nothing else here."""
    def number(value):
        out = bytearray()
        while value > 127:
            out.append(value & 127 | 128)
            value >>= 7
        return bytes([*out, value])
    parts = [(n, v.encode() if isinstance(v, str) else v) for n, v in fields]
    return b"".join(number(n << 3) + number(v) if isinstance(v, int) else number(n << 3 | 2) + number(len(v)) + v for n, v in parts)


def control(command, folder):
    """MatMulInteger of [255, 255] and the constant [127, 127] there: does the sum overflow?"""
    kinds = {"x": (2, (1, 2)), "y": (6, (1, 1))}  # uint8 and int32 by ONNX's numbers
    value = lambda name: message((1, name), (2, message((1, message((1, kinds[name][0]), (2, message(*((1, message((1, n))) for n in kinds[name][1]))))))))
    node = message((1, "x"), (1, "w"), (2, "y"), (4, "MatMulInteger"))
    weight = message((1, 2), (1, 1), (2, 3), (8, "w"), (9, bytes([127, 127])))  # int8
    graph = message((1, node), (2, "control"), (5, weight), (11, value("x")), (12, value("y")))
    write_inputs(folder / "in", {"x": np.full((1, 2), 255, np.uint8)}, ["x"])
    (folder / "control.onnx").write_bytes(message((1, 8), (7, graph), (8, message((2, 13)))))
    failure = run(command, [(folder / "control.onnx", folder / "in", folder / "out")], folder)
    if failure:
        raise Missing(failure)
    found = int(np.load(folder / "out" / "00000" / "0.npy")[0, 0])
    if found not in (255 * 254, 32767):
        raise Missing(f"255 · 127 + 255 · 127 is {found} there")
    return found == 32767


def distance(wanted, found):
    """Mean relative L2 over outputs and samples; not a number where an output is missing"""
    values = []
    for sample in sorted(wanted.iterdir()):
        for file in sorted(sample.iterdir()):
            other = found / sample.name / file.name
            if not other.exists():
                return float("nan")
            a, b = np.load(file).astype(float), np.load(other).astype(float)
            values.append(np.linalg.norm(a - b) / max(np.linalg.norm(a), 1e-12) if a.shape == b.shape else float("inf"))
    return float(np.mean(values)) if values else float("nan")


def input_names(model, arrays):
    """The model's inputs in their order, which an .npz file need not have."""
    if len(arrays) == 1:
        return list(arrays)
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    weights = {w.name for w in graph.initializer}
    return [i.name for i in graph.input if i.name not in weights]


def quantized(options, model, calibration, scheme, rounding, out):
    words = [options.quasar, "quantize", model, "-o", out, "--scheme", scheme, "--calib", calibration]
    changes = [*options.set, *([f"algorithms={rounding}"] if rounding != "nearest" else [])]
    done = subprocess.run([str(w) for w in [*words, *(["--set", *changes] if changes else [])]], capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stderr.strip() or "quasar failed").splitlines()[-1]


def model_rows(options, name, commands, folder, say):
    """-> rows of the table; says what failed"""
    model, calibration, evaluation = data(name, options.shared, options.samples)
    np.savez(folder / "calib.npz", **calibration)
    order = input_names(model, calibration)
    sets = {"real": evaluation, "extreme": extremes({k: calibration[k] for k in order}, options.samples)}
    sets = {kind: arrays for kind, arrays in sets.items() if arrays is not None}
    for kind, arrays in sets.items():
        write_inputs(folder / "in" / kind, arrays, order)
    failure = run(commands["native"], [(model, folder / "in" / k, folder / "float" / k) for k in sets], folder / "native")
    if failure:
        return say(f"{name}: the float model does not run: {failure}") or []
    made = []
    for scheme in options.schemes:
        for rounding in options.rounding:
            file = folder / f"{scheme}-{rounding}.onnx"
            failure = quantized(options, model, folder / "calib.npz", scheme, rounding, file)
            say(f"{name} {scheme} {rounding}: {failure}") if failure else made.append((scheme, rounding, file))
    flags = ["--precise"] if options.precise else []
    places = {(file, kind): folder / "out" / file.stem / kind for _, _, file in made for kind in sets}
    runs = {"exact": (commands["native"], ["--exact"]), **{processor: (command, flags) for processor, command in commands.items()}}
    for processor, (command, more) in runs.items():
        failure = run(command, [(f, folder / "in" / k, place / processor, *more) for (f, k), place in places.items()], folder / processor)
        if failure:
            say(f"{name}, {processor}: {failure}")
    return [(name, scheme, rounding, kind, [distance(folder / "float" / kind, places[file, kind] / p) for p in ("exact", *commands)])
            for scheme, rounding, file in made for kind in sets]


def cell(base, found):
    return "failed" if np.isnan(found) else f"{found:.4f}, {found / base:.3f} ×" if base > FLOOR else f"{found:.2g}"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    listed = lambda text: [word for word in text.split(",") if word]
    parser.add_argument("quasar", type=pathlib.Path)
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("--models", nargs="+", default=MODELS[:1], help=f"{', '.join(MODELS)}, or FILE.onnx=CALIB.npz,EVAL.npz")
    parser.add_argument("--schemes", type=listed, default=["A8W8", "A8W8_CHANNEL", "U8S8_CHANNEL", "W4A8_CHANNEL"])
    parser.add_argument("--rounding", type=listed, default=["nearest"], help="nearest,adaround,adaquant,gptq")
    parser.add_argument("--samples", type=int, default=8, help="as many real and as many extreme inputs")
    parser.add_argument("--processors", type=listed, default=list(PROCESSORS), help=",".join(PROCESSORS))
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="further settings of `quasar quantize`")
    parser.add_argument("--precise", action="store_true", help="with the session option session.x64quantprecision")
    parser.add_argument("--against", choices=["exact", "native"], default="exact", help="what ratios are to")
    parser.add_argument("--limit", type=float, default=1.05)
    options = parser.parse_args()
    for processor in options.processors:
        if processor not in PROCESSORS:
            parser.error(f"unknown processor {processor}; known: {', '.join(PROCESSORS)}")
    options.quasar, options.shared = options.quasar.resolve(), options.shared.resolve()
    if not os.access(options.quasar, os.X_OK):
        parser.error(f"{options.quasar} is no program")
    return options


def main():
    options, said = parsed(), []
    say = lambda text: said.append(text)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        runners, commands = Runners(scratch), {}
        try:
            commands["native"] = runners.command("native")  # float and exact results come from it
        except Missing as missing:
            raise SystemExit(f"processors: {missing}")
        for processor in options.processors:
            try:
                commands[processor] = runners.command(processor)
                overflows = control(commands[processor], scratch / f"control_{processor}")
                if overflows != OVERFLOWS.get(processor, overflows):
                    del commands[processor]
                    raise Missing(f"its kernels should {'' if OVERFLOWS[processor] else 'not '}overflow, and do{' not' if OVERFLOWS[processor] else ''}")
                print(f"{processor}: sums of two products {'overflow' if overflows else 'are exact'}", file=sys.stderr)
            except Missing as missing:
                print(f"{processor} skipped: {missing}", file=sys.stderr)
        print("| model | scheme | rounding | inputs | exact | " + " | ".join(commands) + " |\n" + "| --- " * (5 + len(commands)) + "|", flush=True)
        far = False
        for k, name in enumerate(options.models):
            folder = scratch / str(k)
            folder.mkdir()
            for model, scheme, rounding, kind, (exact, *found) in model_rows(options, name, commands, folder, say):
                base = exact if options.against == "exact" else found[0]
                print(f"| {model.split('=')[0]} | {scheme} | {rounding} | {kind} | {exact:.4f} | " + " | ".join(cell(base, f) for f in found) + " |", flush=True)
                if any(map(np.isnan, (exact, *found))):  # what is no number is above no limit
                    say(f"{name} {scheme} {rounding} {kind}: no distance for {', '.join(p for p, f in zip(('exact', *commands), (exact, *found)) if np.isnan(f))}")
                far = far or any(f > options.limit * max(base, FLOOR) for f in found)
            shutil.rmtree(folder)
    for text in said:
        print(f"processors: {text}", file=sys.stderr)
    return 2 if far else 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
