"""Time and memory on networks of real sizes, whose weights are random. A row per job: seconds of processor, seconds by the clock, peak MiB;
of a search with a goal also its trials and the operators that it gives up. FOLDER gets the networks and their samples once. What it holds
besides is measured too: minilm.onnx, calib.npz and eval.npz (bench/export_minilm.py); NAME.onnx, NAME_calib.npz and NAME_eval.npz of
fastestdet, ppocr4_rec and ppocr4_det. Programs are run in turn, and the median counts; with --beside all at once, so that they share
what else the machine does."""
import argparse
import json
import multiprocessing
import os
import pathlib
import shutil
import statistics
import sys
import threading
import time

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

rng = np.random.default_rng(0)


class Graph:
    def __init__(self):
        self.nodes, self.weights = [], []

    def constant(self, name, value, dtype=np.float32):
        self.weights.append(nh.from_array(np.ascontiguousarray(value, dtype), name))
        return name

    def __call__(self, op, inputs, name, **attributes):
        self.nodes.append(h.make_node(op, inputs, [name + "_out"], name=name, **attributes))
        return name + "_out"

    def save(self, path, inputs, output, shape):
        self.nodes[-1].output[0] = output
        graph = h.make_graph(self.nodes, path.stem, inputs, [h.make_tensor_value_info(output, T.FLOAT, shape)], self.weights)
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)

    def linear(self, x, name, inputs, outputs, bias=True):
        weight = self.constant(name + ".weight", rng.normal(0, inputs**-0.5, (inputs, outputs)))
        x = self("MatMul", [x, weight], name + "/MatMul")
        return self("Add", [self.constant(name + ".bias", rng.normal(0, 0.02, outputs)), x], name + "/Add") if bias else x

    # Gains as trained ones: near one, a few of a hundred ten times as large.
    def norm(self, x, name, size):
        gain = rng.normal(1, 0.1, size) * np.where(rng.random(size) < 0.01, 10, 1)
        return self("LayerNormalization",
                    [x, self.constant(name + ".weight", gain), self.constant(name + ".bias", rng.normal(0, 0.05, size))], name, axis=-1, epsilon=1e-5)

    def gelu(self, x, name):
        root, half, one = (self.constant(f"{name}.{k}", v) for k, v in (("root", 2**0.5), ("half", 0.5), ("one", 1)))
        erf = self("Add", [self("Erf", [self("Div", [x, root], name + "/Div")], name + "/Erf"), one], name + "/Add")
        return self("Mul", [self("Mul", [x, erf], name + "/Mul"), half], name + "/Mul_1")

    def attention(self, x, name, size, heads, mask=None):
        split, join = (self.constant(f"{name}.{k}", v, np.int64) for k, v in (("split", [0, 0, heads, size // heads]), ("join", [0, 0, size])))
        scale = self.constant(name + ".scale", (size // heads)**0.5)

        def part(which, order):
            y = self("Reshape", [self.linear(x, f"{name}/{which}", size, size), split], f"{name}/{which}/Reshape")
            return self("Transpose", [y], f"{name}/{which}/Transpose", perm=order)
        scores = self("MatMul", [part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1])], name + "/MatMul")
        scores = self("Div", [scores, scale], name + "/Div")
        if mask: scores = self("Add", [scores, mask], name + "/AddMask")
        shares = self("Softmax", [scores], name + "/Softmax", axis=-1)
        y = self("Transpose", [self("MatMul", [shares, part("value", [0, 2, 1, 3])], name + "/MatMul_1")], name + "/Transpose", perm=[0, 2, 1, 3])
        return self.linear(self("Reshape", [y, join], name + "/Reshape"), name + "/output", size, size)

    def feed_forward(self, x, name, size):
        return self.linear(self.gelu(self.linear(x, name + "/up", size, 4 * size), name + "/gelu"), name + "/down", 4 * size, size)

    def convolution(self, x, name, inputs, outputs, kernel, stride=1, gain=2):
        weight = rng.normal(0, (gain / (inputs * np.prod(kernel)))**0.5, (outputs, inputs, *kernel))
        bias = rng.normal(0, 0.02, outputs)
        pads = [k // 2 for k in kernel] * 2
        return self("Conv", [x, self.constant(name + ".weight", weight), self.constant(name + ".bias", bias)], name, kernel_shape=kernel, strides=[stride] * len(kernel), pads=pads)


def bert(folder, layers=12, size=768, heads=12, words=30522, length=128):
    g = Graph()
    x = g("Gather", [g.constant("word", rng.normal(0, 0.05, (words, size))), "input_ids"], "/embeddings/word")
    x = g("Add", [x, g.constant("position", rng.normal(0, 0.02, (length, size)))], "/embeddings/Add")
    x = g.norm(x, "/embeddings/LayerNorm", size)
    mask = g("Cast", [g("Unsqueeze", ["attention_mask", g.constant("axes", [1, 2], np.int64)], "/mask/Unsqueeze")], "/mask/Cast", to=T.FLOAT)
    mask = g("Mul", [g("Sub", [g.constant("one", 1), mask], "/mask/Sub"), g.constant("low", -3.4028235e38)], "/mask/Mul")
    for i in range(layers):
        name = f"/encoder/{i}"
        x = g.norm(g("Add", [g.attention(x, name + "/attention", size, heads, mask), x], name + "/Add"), name + "/norm", size)
        x = g.norm(g("Add", [g.feed_forward(x, name, size), x], name + "/Add_1"), name + "/norm_1", size)
    inputs = [h.make_tensor_value_info(k, T.INT64, ["batch", length]) for k in ("input_ids", "attention_mask")]
    g.save(folder / "bert.onnx", inputs, "last_hidden_state", ["batch", length, size])
    for name, count in (("bert", 8), ("bert16", 16), ("bert_eval", 32)):
        used = np.arange(length) < rng.integers(length // 4, length, (count, 1))
        np.savez(folder / f"{name}.npz", input_ids=np.where(used, rng.integers(0, words, (count, length)), 0), attention_mask=used.astype(np.int64))


# Smooth noise, as pictures are: every eighth point drawn, those between interpolated.
def pictures(count):
    coarse = rng.normal(0, 1, (count, 3, 29, 29)).astype(np.float32)
    at = np.arange(224) / 8
    low, share = at.astype(int), (at % 1).astype(np.float32)
    rows = coarse[:, :, low] * (1 - share[:, None]) + coarse[:, :, low + 1] * share[:, None]
    return rows[..., low] * (1 - share) + rows[..., low + 1] * share


# SqueezeNet 1.1.
def squeezenet(folder):
    g = Graph()
    x = g("Relu", [g.convolution("image", "/stem", 3, 64, [3, 3], 2)], "/stem/Relu")
    inputs = 64
    for i, width in enumerate([16, 16, 32, 32, 48, 48, 64, 64]):
        if i in (0, 2, 4): x = g("MaxPool", [x], f"/MaxPool_{i}", kernel_shape=[3, 3], strides=[2, 2])
        x = g("Relu", [g.convolution(x, f"/fire{i}/squeeze", inputs, width, [1, 1])], f"/fire{i}/Relu")
        sides = [g("Relu", [g.convolution(x, f"/fire{i}/expand{k}", width, 4 * width, [k, k])], f"/fire{i}/Relu_{k}") for k in (1, 3)]
        x, inputs = g("Concat", sides, f"/fire{i}/Concat", axis=1), 8 * width
    x = g("Relu", [g.convolution(x, "/classifier", inputs, 1000, [1, 1])], "/classifier/Relu")
    g("Flatten", [g("GlobalAveragePool", [x], "/pool")], "/Flatten")
    g.save(folder / "squeezenet.onnx", [h.make_tensor_value_info("image", T.FLOAT, ["batch", 3, 224, 224])], "logits", ["batch", 1000])
    np.savez(folder / "squeezenet.npz", image=pictures(100))


# Batch normalization is folded into the convolutions.
def resnet50(folder):
    g = Graph()
    x = g("Relu", [g.convolution("image", "/stem", 3, 64, [7, 7], 2)], "/stem/Relu")
    x = g("MaxPool", [x], "/MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inputs = 64
    for stage, blocks in enumerate([3, 4, 6, 3]):
        width = 64 * 2**stage
        for block in range(blocks):
            name, stride = f"/layer{stage + 1}/{block}", 2 if stage and not block else 1
            y = g("Relu", [g.convolution(x, name + "/conv1", inputs, width, [1, 1])], name + "/Relu")
            y = g("Relu", [g.convolution(y, name + "/conv2", width, width, [3, 3], stride)], name + "/Relu_1")
            y = g.convolution(y, name + "/conv3", width, 4 * width, [1, 1], gain=0.5)
            shortcut = x if block else g.convolution(x, name + "/shortcut", inputs, 4 * width, [1, 1], stride, gain=1)
            x = g("Relu", [g("Add", [y, shortcut], name + "/Add")], name + "/Relu_2")
            inputs = 4 * width
    x = g("Flatten", [g("GlobalAveragePool", [x], "/pool")], "/Flatten")
    weight, bias = g.constant("fc.weight", rng.normal(0, 0.02, (1000, 2048))), g.constant("fc.bias", np.zeros(1000))
    g("Gemm", [x, weight, bias], "/fc", transB=1)
    g.save(folder / "resnet50.onnx", [h.make_tensor_value_info("image", T.FLOAT, ["batch", 3, 224, 224])], "logits", ["batch", 1000])
    for split, count in (("resnet50", 32), ("resnet50_eval", 64)): np.savez(folder / f"{split}.npz", image=pictures(count))
    np.savez(folder / "resnet50_8.npz", image=np.load(folder / "resnet50.npz")["image"][:8])


def whisper(folder, layers=4, size=384, heads=6, frames=3000):
    g = Graph()
    x = g.gelu(g.convolution("mel", "/conv1", 80, size, [3]), "/conv1/gelu")
    x = g.gelu(g.convolution(x, "/conv2", size, size, [3], 2), "/conv2/gelu")
    x = g("Transpose", [x], "/Transpose", perm=[0, 2, 1])
    x = g("Add", [x, g.constant("position", rng.normal(0, 0.5, (frames // 2, size)))], "/position")
    for i in range(layers):
        name = f"/layers/{i}"
        x = g("Add", [x, g.attention(g.norm(x, name + "/norm", size), name + "/attention", size, heads)], name + "/Add")
        x = g("Add", [x, g.feed_forward(g.norm(x, name + "/norm_1", size), name, size)], name + "/Add_1")
    g.norm(x, "/norm", size)
    g.save(folder / "whisper.onnx", [h.make_tensor_value_info("mel", T.FLOAT, ["batch", 80, frames])], "states", ["batch", frames // 2, size])
    np.savez(folder / "whisper.npz", mel=np.clip(rng.normal(0, 0.5, (8, 80, frames)), -1, 1.5).astype(np.float32))


# name of the job, network, arguments
def jobs(folder):
    def quantize(model, samples, scheme, *more):
        return ["quantize", f"{folder}/{model}.onnx", "-o", f"{folder}/out.onnx", "--calib", f"{folder}/{samples}.npz", "--scheme", scheme, *more]
    yield "inspect bert", ["inspect", f"{folder}/bert.onnx"]
    yield "quantize bert, U8S8_CHANNEL", quantize("bert", "bert", "U8S8_CHANNEL")
    yield "quantize whisper, U8S8_CHANNEL", quantize("whisper", "whisper", "U8S8_CHANNEL")
    yield "search --dry-run of resnet50, cpu_int8_search", ["search", "--model", f"{folder}/resnet50.onnx", "--calib", f"{folder}/resnet50.npz", "--eval",
                                                            f"{folder}/resnet50_eval.npz", "--preset", "cpu_int8_search", "--output-dir", f"{folder}/dry", "--dry-run"]
    yield "quantize bert, A8W8, adaround, 16 sequences", quantize("bert", "bert16", "A8W8", "--set", "algorithms=adaround")
    yield "search bert, cpu_int8_search, 16 and 32 sequences", ["search", "--model", f"{folder}/bert.onnx", "--calib", f"{folder}/bert16.npz", "--eval", f"{folder}/bert_eval.npz",
                                                                "--preset", "cpu_int8_search", "--quiet", "--output-dir", f"{folder}/searched{{program}}"]
    yield "quantize resnet50, U8S8_CHANNEL, adaround, 8 pictures", quantize("resnet50", "resnet50_8", "U8S8_CHANNEL", "--set", "algorithms=adaround")
    yield "quantize squeezenet, A8W8, adaquant, 100 pictures", quantize("squeezenet", "squeezenet", "A8W8", "--set", "algorithms=adaquant")

    # {program} is the program's number: each has a folder of its own.
    def search(model, metric, loss, *more, calib="", evaluation=""):
        criterion = json.dumps({"criterion": "absolute", "tolerable_loss": loss})
        return ["search", "--model", f"{folder}/{model}.onnx", "--calib", f"{folder}/{calib or model + '_calib'}.npz", "--eval", f"{folder}/{evaluation or model + '_eval'}.npz",
                "--output-dir", f"{folder}/searched{{program}}", "--quiet", "--set", f"search_metric={metric}", "--set", f"accuracy_criterion={criterion}", *more]
    for model, metric, loss in (("fastestdet", "L2", 7), ("ppocr4_rec", "cos", 0.01), ("ppocr4_det", "cos", 0.01)):
        if not (folder / f"{model}.onnx").exists(): continue
        yield f"repair {model} to {loss} of {metric}", search(model, metric, loss, "--set", "strategy=repair")
    if (folder / "fastestdet.onnx").exists(): yield "mse_v2 on fastestdet to 7 of L2", search("fastestdet", "L2", 7, "--set", "strategy=mse_v2", "--set", "tuning_criterion.max_trials=60")
    if not (folder / "minilm.onnx").exists(): return
    yield "repair minilm to 0.002 of cos", search("minilm", "cos", 0.002, "--set", "strategy=repair", "--set", "eval_data_reader.limit=100", calib="calib", evaluation="eval")
    yield "inspect minilm", ["inspect", f"{folder}/minilm.onnx"]
    yield "quantize minilm, U8S8_CHANNEL", quantize("minilm", "calib", "U8S8_CHANNEL")
    for scheme, method in (("A8W8", "adaquant"), ("U8S8_CHANNEL", "adaround")):
        yield f"quantize minilm, {scheme}, {method}", quantize("minilm", "calib", scheme, "--set", f"algorithms={method}")


# What a search has come to: trials, operators above 8 bits, the value that it reached.
def outcome(folder):
    if not (folder / "result.json").exists(): return ""
    result = json.loads((folder / "result.json").read_text())
    shutil.rmtree(folder)
    best = result["best"]
    if best is None: return f", {result['status']}"
    metric = result["objectives"][0]["name"]
    given_up = f"{len(result['tuning']['float'])} given up, " if "tuning" in result else ""
    return f", {result['status']}, {result['trials']['executed']} trials, {given_up}{metric} {best['metrics'][metric]['value']:.4g}"


# Seconds of processor, by the clock, MiB; what came of it.
def measured(program, number, folder, arguments):
    arguments = [one.replace("{program}", str(number)).replace("/out.onnx", f"/out{number}.onnx") for one in arguments]
    shutil.rmtree(folder / f"searched{number}", ignore_errors=True)
    started = time.monotonic()
    child = os.posix_spawn(program, [program, *arguments], os.environ,
                           file_actions=[(os.POSIX_SPAWN_OPEN, k, os.devnull, os.O_WRONLY, 0) for k in (1, 2)])
    _, status, used = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 2): sys.exit(f"{program} {' '.join(arguments)}: exit status {status}")  # 2: a goal that was missed
    return used.ru_utime + used.ru_stime, time.monotonic() - started, used.ru_maxrss / 1024, outcome(folder / f"searched{number}")


def run_all(programs, folder, job, beside):
    out = [None] * len(programs)

    def run(number): out[number] = measured(programs[number], number, folder, job)
    threads = [threading.Thread(target=run, args=[number]) for number in range(len(programs))]
    for thread in threads:
        thread.start()
        if not beside: thread.join()
    for thread in threads: thread.join()
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="jobs that have one of these in their name, between commas")
    parser.add_argument("--beside", action="store_true", help="all programs at once")
    given = parser.parse_args()
    folder, programs = given.folder, given.programs
    folder.mkdir(parents=True, exist_ok=True)
    for make in (bert, resnet50, whisper, squeezenet):
        if (folder / f"{make.__name__}.npz").exists(): continue
        child = multiprocessing.Process(target=make, args=[folder])  # the peak of this process would count as its children's
        child.start()
        child.join()
    print("| job | " + " | ".join(programs) + " |\n| --- |" + " --- |" * len(programs))
    for name, job in jobs(folder):
        if not any(part in name for part in given.only.split(",")): continue
        runs = [[] for _ in programs]
        for _ in range(given.repeat):
            for of_it, run in zip(runs, run_all(programs, folder, job, given.beside)): of_it.append(run)
        cells = [[statistics.median(run[k] for run in of_it) for k in range(3)] + [of_it[-1][3]] for of_it in runs]
        print(f"| {name} | " + " | ".join(f"{cpu:.1f} s, {clock:.1f} s, {peak:.0f} MiB{came}" for cpu, clock, peak, came in cells) + " |", flush=True)


if __name__ == "__main__":
    main()
