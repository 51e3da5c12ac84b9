"""A language model in all of Quasar's forms beside ONNX Runtime's own quantizers, NNCF's and Olive's: perplexity, size, speed.
usage: PYTHON bench/language.py QUASAR FOLDER [--only WORD …]
PYTHON: numpy, onnx, onnxruntime, onnx_ir, torch for HQQ, and nncf and olive-ai where they are installed. FOLDER is what examples/language/train.py wrote.
Perplexity is counted here, from logits alone, on evaluation and hold-out windows; time is the processor's for one window on one thread, the best of 60 runs,
in turns with the float model; seconds are of the whole job, Quasar's with loading and saving."""
import contextlib
import importlib
import importlib.util
import itertools
import json
import logging
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort

sys.path.remove(str(pathlib.Path(__file__).resolve().parent))  # whose openvino.py NNCF would take for the package

STATIC = ["A8W8", "U8S8_CHANNEL", "A16W8"]
MIXED = ["K_QUANT_MIXED", "K_QUANT_DOWN"]
BITS = {2: "UInt2Spec", 4: "UInt4Spec", 8: "UInt8Spec"}


def ours():
    """-> name, scheme, settings"""
    yield "W8", "W8", []
    for name in ("RTN_G32ASYM", "HQQ_G32ASYM", "GPTQ_G32ASYM", "AWQ_G32ASYM", "W4"):
        yield name, name, []
    yield "W4, gptq", "W4", ["algorithms=gptq"]
    yield "W4, adaquant", "W4", ["algorithms=adaquant"]
    yield "GPTQ_G128ASYM", "GPTQ_G128ASYM", []
    for name in MIXED:
        yield name, name, []
        yield f"{name}, gptq", name, ["algorithms=gptq"]
    for bits in (4, 8):
        table = f"layer_kinds.table=UInt{bits}Spec"
        yield f"W4, table of {bits} bits", "W4", [table]
        yield f"RTN_G32ASYM, table of {bits} bits", "RTN_G32ASYM", [table]
        yield f"W4, gptq, table of {bits} bits", "W4", ["algorithms=gptq", table]
    ends = ["layer_kinds.table=UInt8Spec", "layer_kinds.last=UInt8Spec"]
    yield "W4, table and last layer of 8 bits", "W4", ends
    yield "W4, gptq, table and last layer of 8 bits", "W4", ["algorithms=gptq", *ends]
    yield "4 bits, symmetric, rtn, table and last layer of 8 bits", "RTN_G32ASYM", ["weight=Int4Spec", "weight_params.symmetric=true", *ends]
    yield "W4A8_CHANNEL", "W4A8_CHANNEL", []
    yield "W4A8_CHANNEL, adaquant", "W4A8_CHANNEL", ["algorithms=adaquant"]
    for bits in (2, 4, 8):
        for size in (16, 32, 64, 128, 256):
            yield f"{bits} bits, groups of {size}, rtn", "RTN_G32ASYM", [f"weight={BITS[bits]}", f"weight_params.group_size={size}"]
    yield "2 bits, groups of 32, gptq", "GPTQ_G32ASYM", ["weight=UInt2Spec"]
    yield "4 bits, groups of 32, symmetric, rtn", "RTN_G32ASYM", ["weight=Int4Spec", "weight_params.symmetric=true"]
    yield "8 bits, groups of 32, symmetric, rtn", "RTN_G32ASYM", ["weight=Int8Spec", "weight_params.symmetric=true"]
    yield "W4, activations of 8 bits at run time", "W4", ["activation=DynamicSpec"]
    yield "W8, activations of 8 bits at run time", "W8", ["activation=DynamicSpec"]
    yield "DYNAMIC", "DYNAMIC", []
    yield "DYNAMIC, saturation=ignore", "DYNAMIC", ["saturation=ignore"]
    for name in STATIC:
        yield name, name, []
    yield "U8S8_CHANNEL, adaquant", "U8S8_CHANNEL", ["algorithms=adaquant"]


class Samples:
    """ONNX Runtime's calibration reader protocol."""
    def __init__(self, rows):
        self.rows, self.at = rows, 0

    def get_next(self):
        self.at += 1
        return {"input_ids": self.rows[self.at - 1:self.at]} if self.at <= len(self.rows) else None

    def rewind(self):
        self.at = 0

    def __iter__(self):
        return ({"input_ids": self.rows[i:i + 1]} for i in range(len(self.rows)))


def peers(model, calibration, eight):
    """`eight`: mix -> names of nodes that have 8 bits. -> (name, function that writes the model)"""
    from onnxruntime.quantization import QuantFormat, QuantType, matmul_nbits_quantizer as nbits, quantize_dynamic, quantize_static

    def writer(size=32, **how):
        def write(path):
            tool = nbits.MatMulNBitsQuantizer(onnx.load(model), block_size=size, is_symmetric=False, **how)
            with contextlib.redirect_stdout(None):  # a line of progress for each node
                tool.process()
            tool.model.save_model_to_file(path, False)
        return write
    for bits in (2, 4, 8):
        yield f"MatMulNBits default, {bits} bits", writer(bits=bits)
    yield "MatMulNBits default, 4 bits, groups of 128", writer(128)
    yield "MatMulNBits default, 4 bits, accuracy_level 4", writer(accuracy_level=4)
    yield "MatMulNBits HQQ", writer(algo_config=nbits.HQQWeightOnlyQuantConfig(block_size=32, bits=4))
    yield "MatMulNBits k_quant", writer(algo_config=nbits.KQuantWeightOnlyQuantConfig())
    for name, nodes in eight.items():
        own = {node: {"bits": 8} for node in nodes}
        yield f"MatMulNBits k_quant, 8 bits where {name} has them", writer(algo_config=nbits.KQuantWeightOnlyQuantConfig(customized_weight_config=own))
    for bits in (4, 8):
        yield f"MatMulNBits default, {bits} bits, table too", writer(bits=bits, op_types_to_quantize=("MatMul", "Gather"))
    yield "MatMulNBits RTN", writer(algo_config=nbits.RTNWeightOnlyQuantConfig())
    yield "MatMulNBits GPTQ", lambda path: writer(algo_config=nbits.GPTQWeightOnlyQuantConfig(calibration_data_reader=Samples(calibration), block_size=32,
                                                                                            actorder=True))(path)
    static = {"quant_format": QuantFormat.QDQ, "activation_type": QuantType.QUInt8, "weight_type": QuantType.QInt8}
    for channels in (False, True):
        yield "quantize_static" + ", per_channel" * channels, lambda path: quantize_static(model, path, Samples(calibration), per_channel=channels, **static)
    yield "quantize_dynamic", lambda path: quantize_dynamic(model, path, weight_type=QuantType.QInt8)
    yield "quantize_dynamic, per_channel", lambda path: quantize_dynamic(model, path, weight_type=QuantType.QInt8, per_channel=True)


def nncf_peers(model, calibration):
    """NNCF's compression of weights. Its zero points of 4 bits need operators of opset 21: with those of older ones ONNX Runtime refuses the file."""
    import nncf

    def writer(mode, opset=None, data=False, **how):
        def write(path):
            given = onnx.load(model) if opset is None else onnx.version_converter.convert_version(onnx.load(model), opset)
            how_data = {"dataset": nncf.Dataset([{"input_ids": row[None]} for row in calibration])} if data else {}
            with contextlib.redirect_stdout(None):  # bars of progress
                onnx.save(nncf.compress_weights(given, mode=getattr(nncf.CompressWeightsMode, mode), **how, **how_data), path)
        return write
    for mode in ("INT8_ASYM", "INT8_SYM"):
        yield f"NNCF {mode}", writer(mode)
    for name, mode, opset in (("NNCF INT4_SYM", "INT4_SYM", None), ("NNCF INT4_ASYM, opset 21", "INT4_ASYM", 21)):
        yield name, writer(mode, opset, group_size=32)
        yield f"{name}, awq", writer(mode, opset, True, group_size=32, awq=True)
        yield f"{name}, scale_estimation", writer(mode, opset, True, group_size=32, scale_estimation=True)
        yield f"{name}, awq and scale_estimation", writer(mode, opset, True, group_size=32, awq=True, scale_estimation=True)
    yield "NNCF INT4_ASYM", writer("INT4_ASYM", group_size=32)
    yield "NNCF INT4_SYM, table and last layer too", writer("INT4_SYM", group_size=32, all_layers=True)
    yield "NNCF INT4_SYM, gptq", writer("INT4_SYM", None, True, group_size=32, gptq=True)


def olive_peers(model):
    """Olive's passes that take ONNX files. Its Gptq, Rtn and KQuant take models of PyTorch."""
    import olive
    from olive.model import ONNXModelHandler
    from olive.passes.olive_pass import create_pass_from_dict
    known = json.loads((pathlib.Path(olive.__file__).parent / "olive_config.json").read_text())["passes"]

    def writer(name, **how):
        def write(path):
            module, _, type_of_pass = known[name]["module_path"].rpartition(".")
            one = create_pass_from_dict(getattr(importlib.import_module(module), type_of_pass), how, disable_search=True)
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(onnx.load(one.run(ONNXModelHandler(model_path=model), f"{folder}/out").model_path), path)
        return write
    for bits in (4, 8):
        yield f"Olive OnnxBlockWiseRtnQuantization, {bits} bits, table too", writer("OnnxBlockWiseRtnQuantization", bits=bits, block_size=32, is_symmetric=False)
    yield "Olive OnnxBlockWiseRtnQuantization, 4 bits, symmetric, table too", writer("OnnxBlockWiseRtnQuantization", bits=4, block_size=32)
    yield "Olive OnnxHqqQuantization", writer("OnnxHqqQuantization", block_size=32)
    for bits in (4, 8):
        yield f"Olive OnnxKQuantQuantization, {bits} bits", writer("OnnxKQuantQuantization", bits=bits, block_size=32)
    yield "Olive OnnxBnb4Quantization, nf4", writer("OnnxBnb4Quantization", precision="nf4")
    yield "Olive OnnxDynamicQuantization", writer("OnnxDynamicQuantization")
    yield "Olive OnnxDynamicQuantization, per_channel", writer("OnnxDynamicQuantization", per_channel=True)


def others(model, calibration):
    """Peers of packages that may be missing"""
    for package, of in (("nncf", lambda: nncf_peers(model, calibration)), ("olive", lambda: olive_peers(model))):
        if importlib.util.find_spec(package):
            yield from of()
        else:
            print(f"({package} is not installed: its rows are left out)", file=sys.stderr)


def nodes_of_8_bits(quasar, model, scheme, path):
    subprocess.run([quasar, "quantize", model, "-o", path, "--scheme", scheme], check=True, capture_output=True)
    found = [node for node in onnx.load(path).graph.node if node.op_type == "MatMulNBits"]
    return [node.name for node in found if any(one.name == "bits" and one.i == 8 for one in node.attribute)]


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def perplexity(one, windows):
    total = 0.0
    for row in windows:
        logits = one.run(None, {"input_ids": row[None]})[0][0, :-1].astype(np.float64)
        top = logits.max(1)
        total += (np.log(np.exp(logits - top[:, None]).sum(1)) + top - logits[np.arange(len(row) - 1), row[1:]]).sum()
    return math.exp(total / (len(windows) * (windows.shape[1] - 1)))


def speed(one, base, row):
    """-> times as fast as float, by the best runs in turns; tokens in a second, both of the processor's time, as others may use the machine"""
    times = ([], [])
    for _ in range(60):
        for each, into in ((base, times[0]), (one, times[1])):
            start = time.process_time()
            each.run(None, {"input_ids": row})
            into.append(time.process_time() - start)
    return min(times[0]) / min(times[1]), row.size / min(times[1])


def main():
    logging.disable(logging.INFO)
    quasar, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    words = [word for word in sys.argv[3:] if word != "--only"]
    calibration, evaluation, holdout = (np.load(folder / f"{name}.npz")["input_ids"] for name in ("calibration", "evaluation", "holdout"))
    model = str(folder / "gpt.onnx")
    base = session(model)
    floats = [perplexity(base, windows) for windows in (evaluation, holdout)]
    print("| | perplexity | more than float | hold-out, more | MB | times as fast as float | tokens/s | s |\n" + "| --- " + "| ---: " * 7 + "|")
    print(f"| float | {floats[0]:.4f} | | ({floats[1]:.4f}) | {pathlib.Path(model).stat().st_size / 1e6:.2f} | 1 | "
          f"{speed(base, base, evaluation[:1])[1]:.0f} | |", flush=True)

    def row(name, path, seconds):
        one = session(path)
        found = [perplexity(one, windows) for windows in (evaluation, holdout)]
        ratio, tokens = speed(one, base, evaluation[:1])
        more = [f"{100 * (a / b - 1):+.2f} %" for a, b in zip(found, floats)]
        print(f"| {name} | {found[0]:.4f} | {more[0]} | {more[1]} | {pathlib.Path(path).stat().st_size / 1e6:.2f} | "
              f"{ratio:.2f} | {tokens:.0f} | {seconds:.1f} |", flush=True)

    def wanted(name):
        return not words or any(word in name for word in words)

    with tempfile.TemporaryDirectory() as temporary:
        out = str(pathlib.Path(temporary) / "out.onnx")
        eight = {name: nodes_of_8_bits(quasar, model, name, out) for name in MIXED}
        for name, write in itertools.chain(peers(model, calibration, eight), others(model, calibration)):
            if not wanted(name):
                continue
            start = time.time()
            try:
                write(out)
                row(name, out, time.time() - start)
            except Exception as error:
                print(f"| {name} | fails: {str(error)[:160]} | | | | | | |", flush=True)
        for name, scheme, settings in ours():
            if not wanted("Quasar, " + name):
                continue
            words_of = [word for setting in settings for word in ("--set", setting)]
            start = time.time()
            done = subprocess.run([quasar, "quantize", model, "-o", out, "--scheme", scheme, "--calib", str(folder / "calibration.npz"), *words_of],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                print(f"| Quasar, {name} | fails: {done.stderr.strip().splitlines()[-1][:300]} | | | | | | |", flush=True)
            else:
                row("Quasar, " + name, out, time.time() - start)


if __name__ == "__main__":
    main()
