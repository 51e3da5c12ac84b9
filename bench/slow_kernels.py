"""What operators take on codes of 8 bits and in float between pairs, in ONNX Runtime's CPU provider: the evidence for quant::is_slower_in_codes.
usage: PYTHON_WITH_ONNX_AND_ONNXRUNTIME bench/slow_kernels.py [--repetitions N]
Each operator stands between two 1 × 1 convolutions in 8 bits (Softmax between two quantized products), one thread. Least time of the repetitions, in turns."""
import argparse
import time

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

FORMS = ("float", "on codes", "float between pairs")


class Graph:
    def __init__(self, form):
        self.form, self.nodes, self.constants = form, [], []
        self.constant("scale", np.float32(0.03))
        self.constant("zero", np.uint8(128))

    def constant(self, name, values):
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def pair(self, value):
        if self.form == "float": return value
        self.add("QuantizeLinear", [value, "scale", "zero"], value + "_codes")
        return self.add("DequantizeLinear", [value + "_codes", "scale", "zero"], value + "_pair")

    def weights(self, name, shape, in_float):
        values = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        if in_float: return self.constant(name, values)
        self.constant(name + "_codes", np.clip(np.round(values * 40), -127, 127).astype(np.int8))
        self.constant(name + "_scale", np.full(shape[0], 0.025, np.float32))
        self.constant(name + "_zero", np.zeros(shape[0], np.int8))
        return self.add("DequantizeLinear", [name + "_codes", name + "_scale", name + "_zero"], name, axis=0)

    def session(self, shape, output):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def between_convolutions(form, shape, op, weights=None, **attributes):
    g = Graph(form)
    channels = shape[1]
    convolve = lambda value, name, outputs, inputs: g.pair(g.add("Conv", [value, g.weights(name + "_w", (outputs, inputs, 1, 1), form == "float")], name))
    value = convolve(g.pair("x"), "before", channels, channels)
    if form == "float between pairs": value = g.add("Sum", [value], "apart")      # keeps ONNX Runtime from taking the operator onto codes
    inputs = [value] if weights is None else [value, g.weights("w", weights, form != "on codes")]
    value = g.pair(g.add(op, inputs, "operator", **attributes))
    return g.session(shape, convolve(value, "behind", channels, channels if weights is None else weights[0]))


def between_products(form, shape):
    g = Graph(form)
    value = g.pair("x")
    scores = g.pair(g.add("MatMul", [value, g.pair(g.add("Transpose", [value], "across", perm=[0, 1, 3, 2]))], "scores"))
    if form == "float between pairs": scores = g.add("Sum", [scores], "apart")
    return g.session(shape, g.pair(g.add("MatMul", [g.pair(g.add("Softmax", [scores], "operator", axis=-1)), value], "values")))


def cases():
    convolution = lambda channels, size, kernel, groups, outputs: (f"Conv {kernel}x{kernel}, {channels} to {outputs} channels, {groups} groups, {size}x{size}",
        lambda form: between_convolutions(form, (1, channels, size, size), "Conv", (outputs, channels // groups, kernel, kernel), group=groups, pads=[kernel // 2] * 4), (1, channels, size, size))
    for channels, size in ((12, 56), (24, 56), (36, 56), (40, 28), (60, 28), (72, 28), (92, 14), (120, 14), (16, 56), (32, 56), (48, 28), (128, 14)):
        for kernel in (3, 5): yield convolution(channels, size, kernel, channels, channels)
    for channels, size, groups, outputs in ((48, 32, 48, 96), (64, 32, 32, 64), (64, 32, 16, 64), (128, 28, 32, 128), (64, 32, 8, 64), (256, 14, 32, 256), (440, 7, 55, 440), (64, 32, 4, 64), (64, 32, 2, 64)):
        yield convolution(channels, size, 3, groups, outputs)
    pool = lambda op, kernel, stride, pad, channels, size: (f"{op} {kernel}x{kernel} by {stride}, {channels} channels, {size}x{size}",
        lambda form: between_convolutions(form, (1, channels, size, size), op, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4), (1, channels, size, size))
    for op, kernel, stride, pad, channels, size in (("AveragePool", 3, 1, 1, 64, 32), ("AveragePool", 2, 2, 0, 64, 32), ("AveragePool", 3, 1, 1, 256, 14), ("AveragePool", 7, 7, 0, 512, 7), ("MaxPool", 3, 2, 0, 64, 56)):
        yield pool(op, kernel, stride, pad, channels, size)
    for shape in ((4, 4, 256, 24), (1, 12, 128, 64), (1, 6, 32, 32)):
        yield f"Softmax of {shape[0]}x{shape[1]}x{shape[2]}x{shape[2]} between products", lambda form, shape=shape: between_products(form, shape), shape


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=40)
    given = parser.parse_args()
    print("| between two quantized layers | all in float, us | on codes | in float between pairs | on codes takes |\n| --- | ---: | ---: | ---: | ---: |")
    for name, make, shape in cases():
        sessions = [make(form) for form in FORMS]
        x = {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
        times = [[] for _ in FORMS]
        for _ in range(given.repetitions):
            for session, own in zip(sessions, times):
                start = time.perf_counter()
                session.run(None, x)
                own.append(1e6 * (time.perf_counter() - start))
        whole, codes, apart = (min(own) for own in times)
        print(f"| {name} | {whole:.0f} | {codes:.0f} | {apart:.0f} | {codes / apart:.2f} x |", flush=True)


if __name__ == "__main__":
    main()
