"""What rounding is worth: nearest, adaround, adaquant and gptq on four models, on evaluation samples and on hold-out samples that nobody saw before.
usage: PYTHON bench/rounding_table.py QUASAR SHARED [MINILM_FOLDER] [--only MODEL] [--curves]
PYTHON: numpy, pillow, onnx, onnxruntime. Distance (mean 2-norm to float), then top-1 for MobileNet, agreement of the arg max for ResNet-8, cosine for the others;
evaluation | hold-out. Seconds: calibration, rounding and writing the model, the process's start included.
--curves instead: seconds, peak memory and distance against samples, depth and width of generated networks."""
import argparse
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from ort_static import photographs

METHODS = ["nearest", "adaround", "adaquant", "gptq"]
SCHEMES = ["A8W8", "XINT8", "W4A8_CHANNEL"]


def halves(samples):
    """evaluation and hold-out"""
    middle = len(samples) // 2
    return samples[:middle], samples[middle:]


def jobs(shared, minilm):
    """-> (name, model, calibration, (evaluation, hold-out), labels of both or None, name of the second figure); samples are dictionaries"""
    sys.path.insert(0, str(shared / "peers"))
    sys.dont_write_bytecode = True
    import inputs
    folder = shared / "data" / "models"

    def wrap(model, images):
        key = ort.InferenceSession(model).get_inputs()[0].name
        return [{key: image[None]} for image in images]

    cut = lambda split: inputs.load(split)[0].transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1
    yield ("mobilenet", inputs.MODEL, wrap(inputs.MODEL, cut("calib")), halves(wrap(inputs.MODEL, cut("eval"))), halves(inputs.load("eval")[1]), "top-1 %")
    for name, file, *how in (("resnet8", "resnet8_cifar.onnx", 32, 0, 1, False), ("fastestdet", "fastestdet.onnx", 352, 0, 1 / 255, True)):
        model = str(folder / file)
        yield (name, model, wrap(model, photographs(shared, "calib", *how)), halves(wrap(model, photographs(shared, "eval", *how))), None,
               "agreement %" if name == "resnet8" else "cosine")
    if minilm:
        model = str(minilm / "minilm.onnx")
        names = [value.name for value in ort.InferenceSession(model).get_inputs()]
        load = lambda split: (lambda arrays: [{name: arrays[name][i:i + 1] for name in names} for i in range(len(arrays[names[0]]))])(np.load(minilm / f"{split}.npz"))
        yield "minilm", model, load("calib"), halves(load("eval")), None, "cosine"


def outputs(path, samples):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return [np.concatenate([value.ravel() for value in session.run(None, sample)]) for sample in samples]


def figures(wanted, found, labels, second):
    distance = np.mean([np.linalg.norm(a - b) for a, b in zip(wanted, found)])
    if labels is not None:
        return f"{distance:.4g}, {100 * np.mean([b.argmax() - 1 == y for b, y in zip(found, labels)]):.1f}"
    if second == "agreement %":
        return f"{distance:.4g}, {100 * np.mean([a.argmax() == b.argmax() for a, b in zip(wanted, found)]):.1f}"
    return f"{distance:.4g}, {np.mean([a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(wanted, found)]):.4f}"


def quantize(quasar, model, out, calibration, words):
    """-> seconds; None: it failed"""
    start = time.time()
    done = subprocess.run([quasar, "quantize", model, "-o", str(out), "--calib", str(calibration), *words], capture_output=True, text=True)
    if done.returncode != 0:
        print("    " + done.stderr.strip().splitlines()[-1][:200], file=sys.stderr)
        return None
    return time.time() - start


def save(path, samples):
    np.savez(path, **{name: np.concatenate([sample[name] for sample in samples]) for name in samples[0]})


def table(options, folder):
    for name, model, calibration, parts, labels, second in jobs(options.shared.resolve(), options.minilm):
        if options.only not in (None, name):
            continue
        wanted = [outputs(model, part) for part in parts]
        save(folder / "c.npz", calibration)
        print(f"\n{name}: distance, {second} (evaluation | hold-out), s\n| | " + " | ".join(METHODS) + " |\n" + "| --- " * (1 + len(METHODS)) + "|", flush=True)
        for scheme in SCHEMES:
            cells = []
            for method in METHODS:
                words = ["--scheme", scheme, "--target", "ort_cpu"] + (["--set", f"algorithms={method}"] if method != "nearest" else [])
                if scheme == "A8W8":
                    words += ["--set", "activation_params.symmetric=false", "--set", "activation_params.calibration_method=MinMax"]
                seconds = quantize(options.quasar, model, folder / "q.onnx", folder / "c.npz", words)
                if seconds is None:
                    cells.append("fails")
                    continue
                scored = [figures(wanted[i], outputs(folder / "q.onnx", parts[i]), labels[i] if labels else None, second) for i in range(2)]
                cells.append(f"{scored[0]} / {scored[1]}, {seconds:.2f} s")
            print(f"| {scheme} | " + " | ".join(cells) + " |", flush=True)


def network(path, depth, width, size=16):
    """`depth` convolutions of `width` channels, 3x3, with Relu; random weights."""
    rng, nodes, weights, value = np.random.default_rng(1), [], [], "x"
    for i in range(depth):
        inputs = 3 if i == 0 else width
        weights += [numpy_helper.from_array((rng.standard_normal((width, inputs, 3, 3)) * (2 / 9 / inputs) ** 0.5).astype(np.float32), f"w{i}"),
                    numpy_helper.from_array((0.1 * rng.standard_normal(width)).astype(np.float32), f"b{i}")]
        nodes += [helper.make_node("Conv", [value, f"w{i}", f"b{i}"], [f"c{i}"], f"conv{i}", pads=[1, 1, 1, 1]),
                  helper.make_node("Relu", [f"c{i}"], [f"r{i}" if i + 1 < depth else "y"], f"relu{i}")]
        value = f"r{i}"
    graph = helper.make_graph(nodes, "generated", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, width, size, size])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def measured(quasar, model, calibration, out, words):
    """-> (seconds, peak MiB) of a process of its own"""
    code = ("import resource, subprocess, sys, time\nt = time.time()\nsubprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
            "print(time.time() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)")
    command = [quasar, "quantize", str(model), "-o", str(out), "--calib", str(calibration), *words]
    done = subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True, text=True).stdout.split()
    return float(done[0]), float(done[1])


def curves(options, folder):
    rng = np.random.default_rng(2)

    def samples(count, size=16):
        base = rng.standard_normal((count, 3, size // 4, size // 4)).repeat(4, 2).repeat(4, 3)
        np.savez(folder / "c.npz", x=(base + 0.3 * rng.standard_normal(base.shape)).astype(np.float32))

    def rows(title, cases):
        print(f"\n| {title} | nearest: s, MiB | adaquant: s, MiB | rounding alone: s |\n| --- | --- | --- | --- |", flush=True)
        for label, prepare in cases:
            prepare()
            words = ["--scheme", "A8W8", "--set", "activation_params.calibration_method=MinMax"]
            plain = min(measured(options.quasar, folder / "g.onnx", folder / "c.npz", folder / "q.onnx", words) for _ in range(2))
            tuned = min(measured(options.quasar, folder / "g.onnx", folder / "c.npz", folder / "q.onnx", [*words, "--set", "algorithms=adaquant"]) for _ in range(2))
            print(f"| {label} | {plain[0]:.2f}, {plain[1]:.0f} | {tuned[0]:.2f}, {tuned[1]:.0f} | {tuned[0] - plain[0]:.2f} |", flush=True)

    def case(count, depth, width):
        return lambda: (samples(count), network(folder / "g.onnx", depth, width))
    rows("samples (8 layers of 32 channels)", [(count, case(count, 8, 32)) for count in (50, 100, 500)])
    rows("depth (32 channels, 100 samples)", [(depth, case(100, depth, 32)) for depth in (4, 8, 16, 32)])
    rows("width (8 layers, 100 samples)", [(width, case(100, 8, width)) for width in (16, 32, 64, 128)])
    model = next(jobs(options.shared.resolve(), None))
    print("\n| MobileNet, samples | adaquant: s, MiB | distance, top-1 % (evaluation / hold-out) |\n| --- | --- | --- |", flush=True)
    _, path, calibration, parts, labels, second = model
    wanted = [outputs(path, part) for part in parts]
    for count in (10, 25, 50, 100):
        save(folder / "c.npz", calibration[:count])
        words = ["--scheme", "A8W8", "--set", "activation_params.calibration_method=MinMax", "--set", "activation_params.symmetric=false", "--set", "algorithms=adaquant"]
        seconds, memory = measured(options.quasar, path, folder / "c.npz", folder / "q.onnx", words)
        print(f"| {count} | {seconds:.2f}, {memory:.0f} | " +
              " / ".join(figures(wanted[i], outputs(folder / "q.onnx", parts[i]), labels[i], second) for i in range(2)) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("shared", type=pathlib.Path)
    parser.add_argument("minilm", type=pathlib.Path, nargs="?")
    parser.add_argument("--only")
    parser.add_argument("--curves", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        (curves if options.curves else table)(options, pathlib.Path(temporary))


if __name__ == "__main__":
    main()
