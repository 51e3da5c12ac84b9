"""Target openvino in OpenVINO itself: skipped where the wheel `openvino` is neither installed nor brought by scripts/setup.sh --openvino."""
import os
import sys
import unittest
from pathlib import Path

import numpy

import quasar
from digits import MODEL, Case, fake_judge
from quasar import _core, _openvino

cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "quasar", "openvino")
sys.path.append(str(cache))
try:
    import openvino
except ImportError:
    openvino = None
try:
    import onnx
except ImportError:
    onnx = None
needs_openvino = unittest.skipIf(openvino is None, "OpenVINO is not here: pip install openvino, or scripts/setup.sh --openvino")

EIGHT_BITS = {"u8", "i8"}


def compiled(model):
    return openvino.Core().compile_model(openvino.Core().read_model(model=model, weights=b""), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def precisions(model):
    """{name of a layer as it was: [what OpenVINO computes it in]}, from its runtime model."""
    out = {}
    for operation in compiled(model).get_runtime_model().get_ordered_ops():
        facts = operation.get_rt_info()
        said = {key: facts[key].astype(str) for key in ("layerType", "runtimePrecision", "originalLayersNames") if key in facts}
        if said["layerType"] == "FullyConnected":  # of one with compressed weights it says their precision; what it reads tells
            said["runtimePrecision"] = operation.input(0).get_element_type().get_type_name()
        for name in said.get("originalLayersNames", "").split(","):
            if said["layerType"] not in ("Const", "Reorder"):
                out.setdefault(name, []).append(said["runtimePrecision"])
    return out


def stands_for(name, node):
    """A convolution with a bias is two operations there."""
    return name in (node, node + "/WithoutBiases")


def in_eight_bits(node, found):
    """Whether every operation that stands for the node computes in 8 bits; one that is gone was taken into its neighbours."""
    names = [name for name in found if stands_for(name, node)]
    return all(precision in EIGHT_BITS for name in names for precision in found[name])


@needs_openvino
class InOpenVino(Case):
    def test_every_promised_node_computes_in_8_bits(self):
        products = {node["name"] for node in quasar.inspect(MODEL)["nodes"] if node["type"] in ("Conv", "Gemm", "MatMul")}
        for spec, symmetric in (("UInt8Spec", False), ("Int8Spec", True)):
            scheme = {"activation": spec, "activation_params": {"symmetric": symmetric}, "weight": "Int8Spec",
                      "weight_params": {"symmetric": True, "quant_granularity": "Channel"}}
            made = quasar.quantize(MODEL, scheme=scheme, calib=self.calibration[0], target="openvino")
            found = precisions(made.model)
            self.assertGreater(len(made.nodes), 15)
            self.assertEqual([node for node in made.nodes if not in_eight_bits(node, found)], [])
            self.assertTrue(products <= set(made.nodes))
            # A product is never gone: at least its own operation is found.
            self.assertEqual([node for node in products if not any(stands_for(name, node) for name in found)], [])

    def test_uint8_weights_fall_out_of_integers_as_the_checker_says(self):
        made = quasar.quantize(MODEL, "q.onnx", {"scheme": "U8S8_CHANNEL", "saturation": "unsigned"}, self.calibration[0])
        found = precisions(made.model)
        broken = {one["node"] for one in quasar.inspect("q.onnx", target="openvino")["rules"]["violations"]}
        self.assertGreater(len(broken), 5)
        self.assertEqual([node for node in broken if in_eight_bits(node, found)], [])

    def test_scores_are_those_of_its_arithmetic(self):
        quasar.quantize(MODEL, "q.onnx", "U8S8_CHANNEL", self.calibration[0], target="openvino")
        images = self.evaluation[0]
        said = quasar.evaluate("q.onnx", images, MODEL, ["L2"], latency=True, runtime="openvino")
        quantized, original = compiled(Path("q.onnx").read_bytes()), compiled(Path(MODEL).read_bytes())
        distances = [numpy.linalg.norm(quantized(image[None])[0] - original(image[None])[0]) for image in images]
        self.assertAlmostEqual(said["metrics"]["L2"]["value"], float(numpy.mean(distances)), delta=1e-4 * float(numpy.mean(distances)))
        self.assertGreater(said["latency_ms"]["median"], 0)

    # OpenVINO 2026.4 gave wrong values for such a model when two streams of it ran.
    def test_runs_beside_each_other_do_not_disturb_each_other(self):
        scheme = {"activation": "UInt16Spec", "weight": "Int8Spec", "weight_params": {"symmetric": True, "quant_granularity": "Channel"}}
        quasar.quantize(MODEL, "q.onnx", scheme, self.calibration[0], target="generic")
        there, here = (quasar.evaluate("q.onnx", self.evaluation[0], MODEL, ["relative"], runtime=runtime)["metrics"]["relative"]["value"]
                       for runtime in ("openvino", "onnxruntime"))
        self.assertLess(abs(there - here), 0.01)

    def test_a_search_is_judged_there(self):
        found = self.search(target="openvino", metric=["L2", "agreement"])
        self.assertEqual(found.status, "ok")
        judge = found.result["judge"]
        self.assertEqual((judge["library"], judge["device"]), ("OpenVINO", "CPU"))
        self.assertTrue(openvino.get_version().startswith(judge["version"]))
        self.assertIsNotNone(found.faster)
        again = quasar.evaluate(found.best_model, self.evaluation[0], MODEL, ["L2"], runtime="openvino")["metrics"]["L2"]["value"]
        self.assertAlmostEqual(found.metrics["L2"], again, delta=1e-6 * again)
        self.assertEqual(quasar.inspect(str(found.best_model), target="openvino")["rules"]["violations"], [])
        operators = found.result["best"]["operators"]
        self.assertEqual(operators["by"], "OpenVINO")
        self.assertEqual(operators["quantized"], 33)
        self.assertEqual({layer["runs"] for layer in found.result["best"]["layers"] if layer["type"] == "Conv"}, {"integer"})

    # uint8 weights: its plan says integers, and OpenVINO runs the layers in float.
    def test_what_it_ran_in_float_is_told(self):
        found = self.search(runtime="openvino", target="ort_cpu", n_trials=1, space={"scheme": ["U8S8_CHANNEL"], "saturation": ["unsigned"]})
        precision = precisions(Path(found.best_model).read_bytes())
        layers = {layer["node"]: layer for layer in found.result["best"]["layers"] if layer["type"] in ("Conv", "Gemm")}
        self.assertEqual({node: in_eight_bits(node, precision) for node in layers}, {node: layer["runs"] == "integer" for node, layer in layers.items()})
        in_float = [layer for layer in layers.values() if layer["runs"] == "float"]
        self.assertGreater(len(in_float), 5)
        self.assertIn("OpenVINO runs it in float", in_float[0]["why"])

    def test_another_runtime_begins_another_study(self):
        self.search(target="openvino", n_trials=1)
        with self.assertRaisesRegex(quasar.QuasarError, "another runtime"):
            self.search(target="openvino", n_trials=1, runtime="onnxruntime", load_study_if_exists=True)

    # Odd channels, and inputs at both ends: what a pair of products cannot hold in 16 bits would be lost.
    def test_no_sum_overflows(self):
        made = quasar.quantize(MODEL, scheme="U8S8_CHANNEL", calib=self.calibration[0], target="openvino").model
        rng = numpy.random.default_rng(0)
        low, high = self.calibration[0].min(), self.calibration[0].max()
        images = rng.choice(numpy.array([low, high], numpy.float32), size=(64, 1, 8, 8))
        Path("q.onnx").write_bytes(made)
        there, here = compiled(made), quasar.Session("q.onnx")  # which adds exactly
        difference = [numpy.abs(there(image[None])[0] - here(image[None])[0]).mean() for image in images]
        self.assertLess(float(numpy.mean(difference)), 0.02)


def lstm(batch):
    """x [12, batch, 8] -> LSTM of 16 units in both directions, with states of zeros as PyTorch's exporters write them -> y."""
    rng = numpy.random.default_rng(4)
    weights = {"w": (2, 64, 8), "r": (2, 64, 16), "b": (2, 128)}
    held = [onnx.numpy_helper.from_array(rng.normal(0, 0.3, shape).astype(numpy.float32), name) for name, shape in weights.items()]
    held.append(onnx.numpy_helper.from_array(numpy.zeros((2, 1, 16), numpy.float32), "state"))
    node = onnx.helper.make_node("LSTM", ["x", "w", "r", "b", "", "state", "state"], ["y"], "lstm", hidden_size=16, direction="bidirectional")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph([node], "g", [value("x", 1, [12, batch, 8])], [value("y", 1, [12, 2, batch, 16])], held)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


@needs_openvino
@unittest.skipIf(onnx is None, "the package onnx is not here")
class Recurrent(Case):
    def test_lstm_computes_in_8_bits_where_a_rule_asks_for_it(self):
        samples = numpy.random.default_rng(5).normal(0, 1, (16, 12, 1, 8)).astype(numpy.float32)
        onnx.save(lstm(1), "lstm.onnx")
        config = {"scheme": "U8S8_CHANNEL", "layer_type_config": [{"spec": "Int8Spec", "op_types": ["LSTM"]}]}
        made = quasar.quantize("lstm.onnx", "q.onnx", config, [{"x": x} for x in samples], target="openvino")
        self.assertIn("lstm", made.nodes)
        model = compiled(made.model)
        kinds = {facts["layerType"].astype(str): facts["runtimePrecision"].astype(str)
                 for facts in (one.get_rt_info() for one in model.get_runtime_model().get_ordered_ops())}
        self.assertIn(kinds["RNNSeq"], EIGHT_BITS)
        reference = compiled(Path("lstm.onnx").read_bytes())
        error = sum(numpy.sum((model(x)[0] - reference(x)[0]) ** 2) for x in samples) / sum(numpy.sum(reference(x)[0] ** 2) for x in samples)
        self.assertLess(error ** 0.5, 0.1)


@needs_openvino
class ForTheNpu(Case):
    def test_its_cpu_judges_and_says_so(self):
        space = {"scheme": ["U8S8_CHANNEL"], "FixShapes": ["image:[1,1,8,8]"]}
        found = self.search(target="openvino_npu", n_trials=1, space=space)
        self.assertEqual(found.result["judge"]["library"], "OpenVINO")
        self.assertTrue(any("judged on OpenVINO's CPU" in warning for warning in found.result["warnings"]))
        self.assertIsNone(found.faster)
        self.assertEqual(quasar.inspect(str(found.best_model), target="openvino_npu")["rules"]["violations"], [])

    def test_open_shapes_are_told_before_the_first_trial(self):
        with self.assertRaisesRegex(quasar.QuasarError, "FixShapes: \"image:"):
            self.search(target="openvino_npu", n_trials=1, space={"scheme": ["U8S8_CHANNEL"]})


class WithoutOpenVino(Case):
    def test_a_missing_library_is_one_clear_message(self):
        before = os.environ.get("QUASAR_OPENVINO")
        self.addCleanup(lambda: os.environ.pop("QUASAR_OPENVINO") if before is None else os.environ.update(QUASAR_OPENVINO=before))
        os.environ["QUASAR_OPENVINO"] = "nowhere"
        with self.assertRaisesRegex(quasar.QuasarError, "runtime is openvino, but .*QUASAR_OPENVINO is 'nowhere'.*pip install openvino"):
            self.search(runtime="openvino", n_trials=1)
        found = self.search(target="openvino", n_trials=1)
        self.assertEqual(found.result["judge"]["library"], "ONNX Runtime")
        self.assertTrue(any("scored and timed by ONNX Runtime" in warning for warning in found.result["warnings"]))
        with self.assertRaisesRegex(quasar.QuasarError, "did you mean 'openvino'"):
            self.search(runtime="openvin", n_trials=1)

    def test_a_crash_and_a_refusal_cost_one_trial_each(self):
        self.addCleanup(_openvino.offer)
        _core.judge_by([str(fake_judge(self.folder, dies=1, refuses=2))])
        found = self.search(runtime="openvino", n_trials=4, n_jobs=1, metric=["L2"])
        self.assertEqual(found.result["judge"]["library"], "Fake")
        failed = [trial.error for trial in quasar.Study(Path(found.output_dir, "auto_search.db")).trials if trial.state == "failed"]
        self.assertEqual(len(failed), 2)
        self.assertTrue(any("the process of OpenVINO ended with signal 11" in why and "bad luck" in why for why in failed), failed)
        self.assertTrue(any("OpenVINO cannot open the model: no such operator" in why for why in failed), failed)


if __name__ == "__main__":
    unittest.main()
