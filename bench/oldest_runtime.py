"""The oldest ONNX Runtime that loads a model, by trying, beside what Quasar says of it (runtime/oldest_release.cpp has the table).
RELEASES holds a folder for each release (1.17.3): its wheel unpacked, and a program `python` that it fits, with numpy.
usage: PYTHON_WITH_ONNX bench/oldest_runtime.py QUASAR RELEASES [MODEL…]
Without models: a table of models of one node, stamped with each operator set and IR version, and with ONNX Runtime's own operators."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

MS = "com.microsoft"
OPENS = """
import sys
sys.path.insert(0, sys.argv[1])
import onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level, options.intra_op_num_threads = 4, 1
for model in sys.argv[2:]:
    try:
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        print(model)
    except Exception:
        pass
"""


def constant(name, kind, values):
    values = np.array(values)
    return helper.make_tensor(name, kind, list(values.shape), values.flatten().tolist())


S, Z = constant("s", T.FLOAT, 0.1), constant("z", T.UINT8, 3)
W, WZ = constant("w", T.INT8, [[1, 2], [3, 4]]), constant("wz", T.INT8, 0)
COMMON = [S, Z, W, WZ]


def model(nodes, inputs, outputs, constants=(), opset=13, ir=7, domains=()):
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(*one) for one in inputs], [helper.make_tensor_value_info(*one) for one in outputs],
                              [one for one in [*COMMON, *constants] if one.name in read])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(*one) for one in domains)], ir_version=ir)


def own(op, inputs, kind, shape, output, constants=(), ir=7, **attributes):
    values = [(name, kind, shape) for name in ("a", "b") if name in inputs]
    if "c" in inputs: values.append(("c", T.BOOL, shape))
    return model([helper.make_node(op, inputs, ["y"], domain=MS, **attributes)], values, [("y", *output)], constants, domains=[(MS, 1)], ir=ir)


def pair(op, kind, domain, opset, ir):
    to = op == "QuantizeLinear"
    return model([helper.make_node(op, ["a", "s", "zero"], ["y"], domain=domain)], [("a", T.FLOAT if to else kind, [2, 2])], [("y", kind if to else T.FLOAT, [2, 2])],
                 [constant("zero", kind, 0)], opset, ir, [(MS, 1)] if domain else [])


def four_bits(domain, opset):
    nodes = [helper.make_node("QuantizeLinear", ["a", "s", "zero"], ["q"], domain=domain), helper.make_node("DequantizeLinear", ["q", "s", "zero"], ["y"], domain=domain)]
    return model(nodes, [("a", T.FLOAT, [2, 2])], [("y", T.FLOAT, [2, 2])], [constant("zero", T.INT4, 0)], opset, 10, [(MS, 1)] if domain else [])


def half_scales():
    nodes = [helper.make_node("QuantizeLinear", ["a", "half"], ["q"]), helper.make_node("DequantizeLinear", ["q", "half"], ["y"])]
    return model(nodes, [("a", T.FLOAT16, [2, 2])], [("y", T.FLOAT16, [2, 2])], [constant("half", T.FLOAT16, 0.1)], 19, 9)


def blocks(bits, inputs, **attributes):
    constants = [constant("B", T.UINT8, np.ones((2, 1, 4 * bits), int)), constant("S", T.FLOAT, [0.1, 0.1]), constant("bias", T.FLOAT, [0.0, 0.0])]
    return own("MatMulNBits", inputs, T.FLOAT, [2, 32], (T.FLOAT, [2, 2]), constants, K=32, N=2, bits=bits, block_size=32, **attributes)


def cases():
    add = lambda opset, ir, domains=(): model([helper.make_node("Add", ["a", "a"], ["y"])], [("a", T.FLOAT, [1])], [("y", T.FLOAT, [1])], (), opset, ir, domains)
    out = {f"opset {n}": add(n, 4) for n in range(11, 29)} | {f"IR version {n}": add(11, n) for n in range(5, 16)}
    for n in range(1, 6):
        scaler = helper.make_node("Scaler", ["a"], ["y"], domain="ai.onnx.ml", offset=[0.0], scale=[1.0])
        out[f"ai.onnx.ml opset {n}"] = model([scaler], [("a", T.FLOAT, [1])], [("y", T.FLOAT, [1])], (), 11, 4, [("ai.onnx.ml", n)])
    u8 = (T.UINT8, [2, 2], (T.UINT8, [2, 2]))
    for op in ("QLinearAdd", "QLinearMul"): out[op] = own(op, ["a", "s", "z", "b", "s", "z", "s", "z"], *u8)
    for op, options in {"QLinearSigmoid": {}, "QLinearLeakyRelu": {"alpha": 0.1}, "QLinearSoftmax": {"opset": 13}}.items():
        out[op] = own(op, ["a", "s", "z", "s", "z"], *u8, **options)
    out["QLinearAveragePool"] = own("QLinearAveragePool", ["a", "s", "z", "s", "z"], T.UINT8, [1, 1, 4, 4], (T.UINT8, [1, 1, 3, 3]), kernel_shape=[2, 2])
    out["QLinearGlobalAveragePool"] = own("QLinearGlobalAveragePool", ["a", "s", "z", "s", "z"], T.UINT8, [1, 1, 4, 4], (T.UINT8, [1, 1, 1, 1]))
    out["QLinearConcat"] = own("QLinearConcat", ["s", "z", "a", "s", "z", "b", "s", "z"], T.UINT8, [2, 2], (T.UINT8, [4, 2]), axis=0)
    out["QLinearWhere"] = own("QLinearWhere", ["c", "a", "s", "z", "b", "s", "z", "s", "z"], *u8)
    out["QGemm"] = own("QGemm", ["a", "s", "z", "w", "s", "wz", "", "s", "z"], *u8)
    out["MatMulIntegerToFloat"] = own("MatMulIntegerToFloat", ["a", "w", "s", "s", "z", "wz"], T.UINT8, [2, 2], (T.FLOAT, [2, 2]))
    out["DynamicQuantizeMatMul"] = own("DynamicQuantizeMatMul", ["a", "w", "s", "wz"], T.FLOAT, [2, 2], (T.FLOAT, [2, 2]))
    lstm = [constant("W", T.INT8, np.ones((1, 4, 16), int)), constant("scale", T.FLOAT, [0.1]), constant("zero", T.INT8, [0])]
    out["DynamicQuantizeLSTM"] = own("DynamicQuantizeLSTM", ["a", "W", "W", *5 * [""], *2 * ["scale", "zero"]], T.FLOAT, [3, 1, 4], (T.FLOAT, [3, 1, 1, 4]), lstm, hidden_size=4)
    table = [constant("d", T.INT4, np.ones((4, 32), int)), constant("S", T.FLOAT, np.ones((4, 2))), constant("i", T.INT64, [1, 2])]
    out["GatherBlockQuantized"] = own("GatherBlockQuantized", ["d", "i", "S"], T.FLOAT, [], (T.FLOAT, [2, 32]), table, 10, block_size=16, quantize_axis=1, gather_axis=0)
    out["MatMulNBits"] = blocks(4, ["a", "B", "S"])
    out["MatMulNBits with accuracy_level"] = blocks(4, ["a", "B", "S"], accuracy_level=4)
    out["MatMulNBits with a bias"] = blocks(4, ["a", "B", "S", "", "", "bias"])
    out["MatMulNBits of 8 bits"] = blocks(8, ["a", "B", "S"])
    floats = (T.FLOAT, [2, 2], (T.FLOAT, [2, 2]))
    for op in ("Gelu", "FastGelu", "QuickGelu"): out[op] = own(op, ["a"], *floats)
    out["FusedMatMul"] = own("FusedMatMul", ["a", "b"], *floats)
    out["BiasGelu"] = own("BiasGelu", ["a", "bias"], *floats, [constant("bias", T.FLOAT, [0.0, 0.0])])
    for op in ("QuantizeLinear", "DequantizeLinear"):
        out[f"{MS} {op} of 8 bits"] = pair(op, T.INT8, MS, 13, 7)
        out[f"{MS} {op} of 16 bits"] = pair(op, T.UINT16, MS, 13, 7)
        out[f"{op} of 16 bits"] = pair(op, T.INT16, "", 21, 10)
    out[f"{MS} pairs of 4 bits"], out["pairs of 4 bits"], out["scales of float16"] = four_bits(MS, 13), four_bits("", 21), half_scales()
    return out


def main():
    quasar, releases, *given = sys.argv[1:]
    folders = sorted((one for one in pathlib.Path(releases).iterdir() if (one / "python").exists()), key=lambda one: [int(x) for x in one.name.split(".")])
    with tempfile.TemporaryDirectory() as there:
        names = {name: name for name in given}
        for name, one in ({} if given else cases()).items():
            path = f"{there}/{name.replace(' ', '_')}.onnx"
            onnx.save(one, path)
            names[path] = name
        loads = {path: [] for path in names}
        for folder in folders:
            opened = subprocess.run([folder / "python", "-W", "ignore", "-c", OPENS, folder, *names], capture_output=True, text=True)
            for path in opened.stdout.splitlines(): loads[path].append(folder.name)
        print("| model | first release that loads it | newer ones that do not | Quasar says |\n| --- | --- | --- | --- |")
        for path, name in names.items():
            found = loads[path]
            newer = [one.name for one in folders if found and folders.index(one) > [f.name for f in folders].index(found[0]) and one.name not in found]
            facts = json.loads(subprocess.run([quasar, "inspect", path, "--json"], capture_output=True, text=True).stdout or "{}").get("needs", {})
            says = facts.get("onnxruntime", "refuses the model") + (f", or newer for {', '.join(facts['unknown'])}" if "unknown" in facts else "")
            print(f"| {name} | {found[0] if found else 'none'} | {', '.join(newer)} | {says} |")


main()
