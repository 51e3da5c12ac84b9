"""Quantizes a decoder of made-up weights (in a file beside it) and compares the peak memory with a budget: of schemes without
samples 2 GiB and twice the largest layer, of the others 3 × model + 256 MiB.
usage: PYTHON_WITH_ONNX bench/big_model.py QUASAR FOLDER [SCHEME ...] [--width 2048 --layers 15 --inner 5632 --vocabulary 128000]
(these: 4.8 GiB; 4096, 32, 11008 and 128000: 28 GiB, 7.5 billion parameters)"""
import argparse
import os
import pathlib
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEAD = 128  # width of an attention head
WITHOUT_SAMPLES = ("W4", "W8", "DYNAMIC", "HQQ_G32ASYM", "RTN_G32ASYM", "K_QUANT_DOWN", "K_QUANT_MIXED")


class Decoder:
    """Layers with RMSNorm, attention and a gated product; weights are written as they are drawn"""

    def __init__(self, folder, options):
        self.file, self.random = folder / "big.onnx", np.random.default_rng(0)
        self.tensors, self.nodes, self.largest = [], [], 0
        with open(folder / "big.onnx.data", "wb") as self.data:
            self.build(options.width, options.layers, options.inner, options.vocabulary)
            self.size = self.data.tell()
        graph = helper.make_graph(self.nodes, "big", [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "positions"])],
                                  [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "positions", options.vocabulary])],
                                  self.tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.file)

    def weight(self, name, *shape):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.EXTERNAL)
        offset, left = self.data.tell(), int(np.prod(shape))
        self.largest = max(self.largest, 4 * left)
        while left > 0:
            values = self.random.standard_normal(min(left, 1 << 24), dtype=np.float32)
            self.data.write((values * np.float32(0.02) if len(shape) > 1 else 1 + values * np.float32(0.1)).tobytes())
            left -= len(values)
        for key, text in (("location", "big.onnx.data"), ("offset", offset), ("length", self.data.tell() - offset)):
            tensor.external_data.add(key=key, value=str(text))
        self.tensors.append(tensor)
        return name

    def constant(self, name, value):
        self.tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], f"{output}_{kind}", **attributes))
        return output

    def product(self, value, name, inputs, outputs):
        return self.node("MatMul", [value, self.weight(f"{name}.weight", inputs, outputs)], name)

    def norm(self, value, name, width):
        mean = self.node("ReduceMean", [self.node("Mul", [value, value], f"{name}.squares"), "last"], f"{name}.mean", keepdims=1)
        root = self.node("Sqrt", [self.node("Add", [mean, "epsilon"], f"{name}.above")], f"{name}.root")
        return self.node("Mul", [self.node("Div", [value, root], f"{name}.unit"), self.weight(f"{name}.weight", width)], f"{name}.scaled")

    def attention(self, value, name, width):
        def split(part, order):
            made = self.node("Reshape", [self.product(value, f"{name}.{part}", width, width), "heads"], f"{name}.{part}.split")
            return self.node("Transpose", [made], f"{name}.{part}.heads", perm=order)

        query, key, values = split("query", [0, 2, 1, 3]), split("key", [0, 2, 3, 1]), split("value", [0, 2, 1, 3])
        scores = self.node("Mul", [self.node("MatMul", [query, key], f"{name}.scores"), "scale"], f"{name}.scaled")
        mixed = self.node("MatMul", [self.node("Softmax", [scores], f"{name}.shares", axis=-1), values], f"{name}.mixed")
        joined = self.node("Reshape", [self.node("Transpose", [mixed], f"{name}.back", perm=[0, 2, 1, 3]), "joined"], f"{name}.joined")
        return self.product(joined, f"{name}.output", width, width)

    def gated(self, value, name, width, inner):
        gate, up = self.product(value, f"{name}.gate", width, inner), self.product(value, f"{name}.up", width, inner)
        swish = self.node("Mul", [self.node("Sigmoid", [gate], f"{name}.sigmoid"), gate], f"{name}.swish")
        return self.product(self.node("Mul", [swish, up], f"{name}.inner"), f"{name}.down", inner, width)

    def build(self, width, layers, inner, vocabulary):
        self.constant("last", np.array([-1]))
        self.constant("epsilon", np.float32(1e-5))
        self.constant("scale", np.float32(HEAD**-0.5))
        self.constant("heads", np.array([0, 0, width // HEAD, HEAD]))
        self.constant("joined", np.array([0, 0, width]))
        value = self.node("Gather", [self.weight("table", vocabulary, width), "input_ids"], "embedded")
        for k in range(layers):
            added = self.attention(self.norm(value, f"{k}.norm", width), f"{k}.attention", width)
            value = self.node("Add", [value, added], f"{k}.attended")
            added = self.gated(self.norm(value, f"{k}.norm2", width), f"{k}.feed", width, inner)
            value = self.node("Add", [value, added], f"{k}.fed")
        self.node("MatMul", [self.norm(value, "norm", width), self.weight("last_layer", width, vocabulary)], "logits")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("schemes", nargs="*", default=["W4", "HQQ_G32ASYM", "DYNAMIC", "A8W8"])
    for name, value in (("width", 2048), ("layers", 15), ("inner", 5632), ("vocabulary", 128000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    model = Decoder(options.folder, options)
    calibration = options.folder / "calibration.npz"
    np.savez(calibration, input_ids=np.random.default_rng(2).integers(0, options.vocabulary, (2, 1, 32)))
    print(f"model: {model.size / 2**30:.1f} GiB, largest layer {model.largest / 2**30:.1f} GiB", flush=True)
    for scheme in options.schemes:
        free = scheme.upper() in WITHOUT_SAMPLES
        budget = (2 << 30) + 2 * model.largest if free else 3 * model.size + (256 << 20)
        out, start = options.folder / f"{scheme}.onnx", time.perf_counter()
        process = subprocess.Popen([options.quasar, "quantize", str(model.file), "-o", str(out), "--scheme", scheme,
                                    *([] if free else ["--calib", str(calibration)])], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        peak, seconds = usage.ru_maxrss * 1024, time.perf_counter() - start
        written = sum(p.stat().st_size for p in options.folder.glob(f"{scheme}.onnx*"))
        print(f"{scheme}: exit {os.waitstatus_to_exitcode(status)}, peak {peak / 2**30:.2f} GiB, budget {budget / 2**30:.2f} GiB: "
              f"{'kept' if peak <= budget else 'MISSED'}; {seconds:.0f} s, {seconds / model.size * 2**30:.1f} s a GiB, "
              f"user {usage.ru_utime:.0f} s; written {written / 2**30:.2f} GiB", flush=True)
        for file in options.folder.glob(f"{scheme}.onnx*"):
            file.unlink()


if __name__ == "__main__":
    main()
