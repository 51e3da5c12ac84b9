"""What threads of ONNX Runtime that wait for the next run at full load do to times of two models in turns: the evidence for runtime::times_in_turn.
usage: PYTHON_WITH_ONNX_AND_ONNXRUNTIME bench/waiting_threads.py [--repetitions N]
Two equal models of 1 × 1 convolutions, a session each with as many threads as there are cores: one's time by the other's is 1 where nothing disturbs it. In turns each runs once;
in rows each runs for 50 ms, and the first 40 do not count."""
import argparse
import os
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

CHANNELS, SIDE, LAYERS = 64, 28, 6


def model():
    values = np.random.default_rng(0).standard_normal((CHANNELS, CHANNELS, 1, 1)).astype(np.float32) / 8
    nodes = [helper.make_node("Conv", [f"x{i}", "weights"], [f"x{i + 1}"]) for i in range(LAYERS)]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, CHANNELS, SIDE, SIDE])
    graph = helper.make_graph(nodes, "chain", [value("x0")], [value(f"x{LAYERS}")], [numpy_helper.from_array(values, "weights")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def opened(threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(model(), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=30)
    given = parser.parse_args()
    threads = os.cpu_count()
    first, second = opened(threads), opened(threads)
    feed = {"x0": np.zeros((1, CHANNELS, SIDE, SIDE), np.float32)}

    def run(session):
        started = time.perf_counter()
        session.run(None, feed)
        return 1000 * (time.perf_counter() - started)

    def row(session, milliseconds):
        """-> (begin, time) of each run, milliseconds"""
        begun, out = time.perf_counter(), []
        while not out or out[-1][0] < milliseconds: out.append((1000 * (time.perf_counter() - begun), run(session)))
        return out

    alone = np.median([ms for begin, ms in row(first, 200) if begin > 60])
    turns = [(run(first), run(second)) for _ in range(20 * given.repetitions)]
    rows = [tuple(np.median([ms for begin, ms in row(session, 50) if begin > 40]) for session in (first, second)) for _ in range(given.repetitions)]
    print(f"ONNX Runtime {ort.__version__}, {threads} threads; medians of {given.repetitions} repetitions")
    print(f"a run in a row takes {alone:.3f} ms, in turns {np.median(turns):.3f} ms; in rows without the first 40 ms {np.median(rows):.3f} ms")
    for what, pairs in (("turns", turns), ("rows", rows)):
        low, middle, high = np.percentile([a / b for a, b in pairs], [5, 50, 95])
        print(f"one model's time by the other's, in {what}: {middle:.3f} (5 to 95 %: {low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()
