"""Runs models in Qualcomm's HTP behind ONNX Runtime's QNN provider for Quasar (runtime/judge_process.cpp), in a process of its own.

Questions and answers are lines of JSON; tensors lie in files, one behind the other. The first question is {"hello": 1}, its answer {"library", "version", "device"}.
{"model": path} is answered by {"partitions": so many parts run there, "on_cpu": [nodes that do not]}, {"inputs": [{name, type, shape}], "from": path, "to": path} by
{"outputs": [{type, shape}]}. What goes wrong is answered by {"error": text}.
"""
import json
import math
import os
import sys

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what the libraries print is no answer


class Judge:
    def __init__(self):
        try:
            import numpy
            import onnxruntime
            import onnxruntime_qnn
        except ImportError as error:
            raise RuntimeError(f"{sys.executable} lacks a package: {error}")
        self.numpy, self.onnxruntime, self.qnn = numpy, onnxruntime, onnxruntime_qnn
        self.types = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64", 12: "uint32",
                      13: "uint64"}
        self.numbers = {name: number for number, name in self.types.items()}
        provider = onnxruntime_qnn.get_ep_name()
        try:
            onnxruntime.register_execution_provider_library(provider, onnxruntime_qnn.get_library_path())
        except Exception as error:
            raise RuntimeError(f"onnxruntime {onnxruntime.__version__} cannot take the provider of onnxruntime-qnn {onnxruntime_qnn.__version__} (1.32 or newer can): {error}")
        self.devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == provider][:1]
        if not self.devices:
            raise RuntimeError("onnxruntime-qnn finds no device here")
        self.session = None

    def hello(self, _):
        kind = str(self.devices[0].device.type).rsplit(".", 1)[-1]
        return {"library": "QNN HTP", "version": f"{self.qnn.__version__} (ONNX Runtime {self.onnxruntime.__version__})",
                "device": "NPU" if kind == "NPU" else "simulator of HTP"}

    def model(self, question):
        self.session = None
        options = self.onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        options.add_provider_for_devices(self.devices, {"backend_path": self.qnn.get_qnn_htp_path()})
        self.session = self.onnxruntime.InferenceSession(question["model"], options)
        parts = self.session.get_provider_graph_assignment_info()
        there = [part for part in parts if part.ep_name == self.qnn.get_ep_name()]
        if not there:
            self.session = None
            raise RuntimeError("the QNN provider takes no node of the model (are its shapes fixed?)")
        return {"partitions": len(there), "on_cpu": [node.name for part in parts if part not in there for node in part.get_nodes()]}

    def inputs(self, question):
        feeds, at = {}, 0
        with open(question["from"], "rb") as file:
            data = file.read()
        for value in question["inputs"]:
            kind = self.numpy.dtype(self.types[value["type"]])
            count = math.prod(value["shape"])
            feeds[value["name"]] = self.numpy.frombuffer(data, kind, count, at).reshape(value["shape"])
            at += count * kind.itemsize
        known = {value.name for value in self.session.get_inputs()}
        found = self.session.run(None, {name: array for name, array in feeds.items() if name in known})
        with open(question["to"], "wb") as file:
            for array in found:
                file.write(self.numpy.ascontiguousarray(array).tobytes())
        return {"outputs": [{"type": self.numbers[array.dtype.name], "shape": list(array.shape)} for array in found]}

    def answer(self, question):
        return getattr(self, next(kind for kind in ("hello", "model", "inputs") if kind in question))(question)


judge = None
for line in sys.stdin:
    try:
        judge = judge or Judge()
        said = judge.answer(json.loads(line))
    except Exception as error:
        said = {"error": str(error) or type(error).__name__}
    answers.write(json.dumps(said) + "\n")
    answers.flush()
