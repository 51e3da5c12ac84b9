"""The rules of target qnn_htp, each tried in the simulator of HTP on a small model of pairs: what Quasar writes, and what the rule forbids.
Distances are ‖y − ŷ‖ / ‖y‖ between the simulator and ONNX Runtime, which computes the same file in float between its pairs.
usage: PYTHON_WITH_ONNXRUNTIME_QNN_ONNX bench/qnn_rules.py [WORD …]        only rules whose names hold one of these words"""
import sys

import numpy as np
import onnx
import onnxruntime
import onnxruntime_qnn
from onnx import TensorProto, helper, numpy_helper

PROVIDER = onnxruntime_qnn.get_ep_name()
onnxruntime.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
DEVICES = [device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER][:1]
onnxruntime.set_default_logger_severity(4)
SHAPE = (1, 4, 8, 8)


class Made:
    """A model in the making; values are their names."""

    def __init__(self, wide):
        self.nodes, self.constants, self.type = [], [], np.uint16 if wide else np.uint8

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def number(self, value): return self.constant(np.float32(value))
    def integers(self, *values): return self.constant(np.int64(values))

    def op(self, kind, *inputs, **attributes):
        self.nodes.append(helper.make_node(kind, list(inputs), [f"v{len(self.nodes)}"], name=f"n{len(self.nodes)}", **attributes))
        return self.nodes[-1].output[0]

    def pair(self, value, low, high, scale=None):
        """Codes whose grid reaches from low to high; scale instead: from 0."""
        steps = np.iinfo(self.type).max
        scale = scale or (high - low) / steps
        words = [self.number(scale), self.constant(self.type(round(-low / scale)))]
        return self.op("DequantizeLinear", self.op("QuantizeLinear", value, *words), *words)

    def conv(self, value, axes=2):
        """Each channel by 1: values pass, through a kernel of integers."""
        weights = np.zeros((4, 4) + (1,) * axes, np.int8)
        for k in range(4): weights[k, k] = 100
        codes = self.op("DequantizeLinear", self.constant(weights), self.number(.01), self.constant(np.int8(0)))
        return self.op("Conv", value, codes)

    def model(self, shape):
        self.nodes[-1].output[0] = "y"
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def opened(model, there):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if there:
        options.add_provider_for_devices(DEVICES, {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
        return onnxruntime.InferenceSession(model, options)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def tried(body, wide, low=-2, high=2, end=(-2, 2), to_codes=True, shape=SHAPE):
    """Conv of codes, what `body` adds, and with to_codes a pair from end[0] to end[1], with another Conv behind it where it says "read"."""
    made = Made(wide)
    value = made.pair(made.conv(made.pair("x", low, high), len(shape) - 2), low, high)
    value = body(made, value)
    if to_codes: value = made.pair(value, *end)
    if to_codes == "read": value = made.pair(made.conv(value), *end)
    model = made.model(shape)
    feed = {"x": np.random.default_rng(0).uniform(low, high, shape).astype(np.float32)}
    expected = opened(model, False).run(None, feed)[0]
    try:
        found = opened(model, True).run(None, feed)[0]
    except Exception:
        return "does not compile"
    return f"{np.linalg.norm(found - expected) / np.linalg.norm(expected):.2g}"


def function(kind, **attributes): return lambda made, value: made.op(kind, value, **attributes)


def above_zero(kind):
    """In float between Abs, so that nothing about its argument is in doubt."""
    return lambda made, value: made.op("Abs", made.op(kind, made.op("Add", made.op("Abs", value), made.number(.5))))


def logarithm(made, value): return made.op("Log", made.pair(made.op("Add", value, made.pair(made.number([.5]), 0, 1)), 0, 3))


def divided(made, value):
    positive = made.op("Add", made.op("Abs", value), made.number(.5))
    return made.op("Abs", made.op("Div", positive, made.op("Abs", positive)))


def with_zeros(kind, scale):
    def body(made, value):
        zeros = made.pair(made.constant(np.zeros((1, 4, 1, 1) if kind != "Concat" else SHAPE, np.float32)), 0, 1, scale)
        return made.op(kind, value, zeros, **({"axis": 1} if kind == "Concat" else {}))
    return body


def clipped(low, high): return lambda made, value: made.op("Clip", value, made.number(low), made.number(high))


def one_behind_the_other(made, value):
    value = made.pair(made.op("Min", value, made.pair(made.number([.5]), -.6, .6)), -2, .5)
    return made.op("Max", value, made.pair(made.number([-.5]), -.6, .6))


def padded(number): return lambda made, value: made.op("Pad", value, made.integers(0, 0, 1, 1, 0, 0, 1, 1), made.number(number))


def resized(way, nearest, factor):
    return lambda made, value: made.op("Resize", value, "", made.constant(np.float32([1, 1, factor, factor])), mode="nearest",
                                       coordinate_transformation_mode=way, nearest_mode=nearest)


def in_float(body): return lambda made, value: made.op("Neg", body(made, made.op("Neg", value)))


def rules():
    """(rule, what, its distance by whether codes have 16 bits)"""
    for kind, attributes, least, right in (("Sigmoid", {}, 0, 1), ("HardSigmoid", {"alpha": 1 / 6}, 0, 1), ("Tanh", {}, -1, 1)):
        for factor in (1, .8, 1.25):
            end = (least * factor, right * factor * (65535 / 65536 if least == 0 else 1))
            yield "scale of its kernel", f"{kind}, scale × {factor}", lambda wide, k=kind, a=attributes, e=end: tried(function(k, **a), wide, -4, 4, e)
    for end in (1, .8): yield "whole range", f"LpNormalization to {end}", lambda wide, e=end: tried(function("LpNormalization", axis=1), wide, end=(-e, e))
    for kind in ("Max", "Min", "Concat"):
        for scale in (6e-5, .5, 1e4): yield "scale of zeros", f"{kind}, zeros of scale {scale}", lambda wide, k=kind, s=scale: tried(with_zeros(k, s), wide, -.1, .1, (-.1, .1))
    for end in ((0, .9), (0, 1.2)): yield "bounds", f"Clip(0.3, 0.9), pair to {end}", lambda wide, e=end: tried(clipped(.3, .9), wide, end=e)
    for end in (.5, .625): yield "bounds", f"Min(0.5), Max(-0.5), pair to {end}", lambda wide, e=end: tried(one_behind_the_other, wide, end=(-e, e))
    for number in (0, -3): yield "border", f"Pad with {number}", lambda wide, n=number: tried(padded(n), wide, end=(-4, 2))
    yield "border", "Pad with -3 in float", lambda wide: tried(in_float(padded(3)), wide, end=(-4, 2))
    yield "logarithm", "Log", lambda wide: tried(logarithm, wide, 0, 2, (-1, 1))
    for kind in ("Sqrt", "Exp", "Reciprocal", "Log", "Softplus"):
        for to_codes in ("read", True, False):
            where = {"read": ", codes that are read", True: ", codes at the end", False: ""}[to_codes]
            yield "functions in float", f"{kind} in float{where}", lambda wide, k=kind, c=to_codes: tried(above_zero(k), wide, end=(0, 16), to_codes=c)
    yield "functions in float", "Div in float, codes that are read", lambda wide: tried(divided, wide, end=(0, 2), to_codes="read")
    for attributes in ({"ceil_mode": 1}, {"pads": [1, 1, 1, 1]}, {}):
        for kind in ("AveragePool", "MaxPool"):
            body = function(kind, kernel_shape=[3, 3], strides=[2, 2], **attributes)
            yield "windows", f"{kind} {attributes or ''}", lambda wide, b=body: tried(b, wide)
    yield "windows", "AveragePool {'ceil_mode': 1} in float", lambda wide: tried(in_float(function("AveragePool", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)), wide)
    for way in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"):
        for nearest in ("round_prefer_ceil", "round_prefer_floor", "floor", "ceil"):
            yield "resize", f"{way}, {nearest}, × 2 and × 1.5", lambda wide, w=way, n=nearest: " ".join(tried(resized(w, n, f), wide) for f in (2, 1.5))


def main():
    print(f"onnxruntime-qnn {onnxruntime_qnn.__version__}, ONNX Runtime {onnxruntime.__version__}\n\n| rule | what | uint16 | uint8 |\n| --- | --- | --- | --- |")
    for rule, what, measure in rules():
        if sys.argv[1:] and not any(word in rule for word in sys.argv[1:]): continue
        print(f"| {rule} | {what} | {measure(True)} | {measure(False)} |", flush=True)


if __name__ == "__main__":
    main()
