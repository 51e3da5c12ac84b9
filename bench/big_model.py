"""Quantizes a made-up model of more than 2 GB (weights in a file beside it) and compares the peak memory with the budget
3 × model + 256 MiB.
usage: PYTHON_WITH_ONNX bench/big_model.py QUASAR FOLDER [SCHEME ...] [--gib 2.2]"""
import argparse
import os
import pathlib
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

WIDTH = 8192


def make(folder, gib):
    """A chain of MatMuls [8192, 8192] with Relus between; -> path, bytes"""
    layers = int(np.ceil(gib * 2**30 / (4 * WIDTH * WIDTH)))
    nodes, tensors, value = [], [], "x"
    random = np.random.default_rng(1)
    with open(folder / "big.onnx.data", "wb") as data:
        for k in range(layers):
            offset = data.tell()
            for _ in range(16):
                data.write((random.standard_normal((WIDTH // 16, WIDTH), dtype=np.float32) / WIDTH**0.5).tobytes())
            tensor = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=[WIDTH, WIDTH], data_location=TensorProto.EXTERNAL)
            for key, text in (("location", "big.onnx.data"), ("offset", offset), ("length", data.tell() - offset)):
                tensor.external_data.add(key=key, value=str(text))
            tensors.append(tensor)
            nodes.append(helper.make_node("MatMul", [value, f"w{k}"], [f"m{k}"], f"matmul{k}"))
            nodes.append(helper.make_node("Relu", [f"m{k}"], [f"r{k}"], f"relu{k}"))
            value = f"r{k}"
    graph = helper.make_graph(nodes, "big", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, WIDTH])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, WIDTH])], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "big.onnx")
    return folder / "big.onnx", layers * WIDTH * WIDTH * 4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("quasar")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("schemes", nargs="*", default=["A8W8", "W4", "DYNAMIC", "BF16"])
    parser.add_argument("--gib", type=float, default=2.2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    model, size = make(options.folder, options.gib)
    np.savez(options.folder / "calib.npz", x=np.random.default_rng(2).standard_normal((2, WIDTH), dtype=np.float32))
    budget = 3 * size + (256 << 20)
    for scheme in options.schemes:
        out, start = options.folder / f"{scheme}.onnx", time.perf_counter()
        process = subprocess.Popen([options.quasar, "quantize", str(model), "-o", str(out), "--scheme", scheme, "--calib",
                                    str(options.folder / "calib.npz")], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        peak = usage.ru_maxrss * 1024
        written = sum(p.stat().st_size for p in options.folder.glob(f"{scheme}.onnx*"))
        print(f"{scheme}: exit {os.waitstatus_to_exitcode(status)}, model {size / 2**20:.0f} MiB, peak {peak / 2**20:.0f} MiB = "
              f"{peak / size:.2f} x model, budget {budget / 2**20:.0f} MiB: {'kept' if peak <= budget else 'MISSED'}, "
              f"written {written / 2**20:.0f} MiB, {time.perf_counter() - start:.0f} s", flush=True)
        for file in options.folder.glob(f"{scheme}.onnx*"):
            file.unlink()


if __name__ == "__main__":
    main()
