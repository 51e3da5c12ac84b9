"""Target qnn_htp in the simulator of HTP itself: skipped where neither this Python nor the one that scripts/setup.sh --qnn brings has the wheels."""
import json
import os
import subprocess
import unittest
from pathlib import Path

import numpy

import quasar
from digits import MODEL, Case, arrays, fake_judge

cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "quasar", "qnn", "bin", "python")
python = os.environ.get("QUASAR_QNN") or (str(cache) if cache.exists() else "")
needs_qnn = unittest.skipIf(not python, "QNN HTP is not here: pip install 'onnxruntime>=1.32' onnxruntime-qnn, or scripts/setup.sh --qnn")

FIXED = {"FixShapes": "image:[1,1,8,8]"}

# Assigns and runs a model in a process of its own: {"parts": partitions, "on_cpu": [nodes], "outputs": …}.
IN_SIMULATOR = """
import json, sys
import numpy, onnxruntime, onnxruntime_qnn
name = onnxruntime_qnn.get_ep_name()
onnxruntime.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())
options = onnxruntime.SessionOptions()
options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
options.add_provider_for_devices([d for d in onnxruntime.get_ep_devices() if d.ep_name == name][:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
session = onnxruntime.InferenceSession(sys.argv[1], options)
parts = session.get_provider_graph_assignment_info()
outputs = [session.run(None, {"image": image[None]})[0].tolist() for image in numpy.load(sys.argv[2])]
print(json.dumps({"parts": sum(p.ep_name == name for p in parts), "outputs": outputs,
                  "on_cpu": [n.op_type for p in parts if p.ep_name != name for n in p.get_nodes()]}))
"""


def in_simulator(model, images):
    numpy.save("images.npy", images)
    done = subprocess.run([python, "-c", IN_SIMULATOR, model, "images.npy"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@needs_qnn
class InSimulator(Case):
    def made(self, scheme):
        config = {"scheme": scheme, **FIXED}
        return quasar.quantize(MODEL, f"{scheme}.onnx", config, self.calibration[0], target="qnn_htp")

    def test_models_are_one_partition_and_scores_are_those_of_its_arithmetic(self):
        images, distances = arrays("evaluation", 40)[0], {}
        original = quasar.Session(MODEL)
        expected = numpy.concatenate([original(image[None])[0] for image in images])
        for scheme in ("w8a8", "w8a16"):
            self.made(scheme)
            self.assertEqual(quasar.inspect(f"{scheme}.onnx", target="qnn_htp")["rules"]["violations"], [])
            found = in_simulator(f"{scheme}.onnx", images)
            self.assertEqual(found["parts"], 1)
            self.assertLessEqual(set(found["on_cpu"]), {"QuantizeLinear", "DequantizeLinear"})
            by_hand = float(numpy.mean(numpy.linalg.norm(numpy.concatenate(found["outputs"]) - expected, axis=1)))
            said = quasar.evaluate(f"{scheme}.onnx", images, MODEL, ["L2"], runtime="qnn_htp")["metrics"]["L2"]["value"]
            self.assertAlmostEqual(said, by_hand, delta=1e-3 * by_hand)
            distances[scheme] = by_hand
        self.assertLess(distances["w8a16"], distances["w8a8"])

    def test_what_the_checker_names_comes_out_wrong_there(self):
        scheme = {"activation": "UInt8Spec", "activation_params": {"symmetric": True}, "weight": "Int8Spec", **FIXED}
        images = arrays("evaluation", 10)[0]
        quasar.quantize(MODEL, "wrong.onnx", scheme, self.calibration[0], target="ort_cpu")
        rules = {one["rule"] for one in quasar.inspect("wrong.onnx", target="qnn_htp")["rules"]["violations"]}
        self.assertEqual(rules, {"clip"})
        there, here = (quasar.evaluate("wrong.onnx", images, MODEL, ["relative"], runtime=runtime, latency=False)["metrics"]["relative"]["value"]
                       for runtime in ("qnn_htp", "onnxruntime"))
        self.assertGreater(there, 3 * here)
        self.assertGreater(there, 0.5)

    def test_a_search_is_judged_there(self):
        space = {"scheme": ["w8a8", "w8a16"], "FixShapes": FIXED["FixShapes"]}
        found = self.search(target="qnn_htp", metric=["L2", "agreement"], space=space, n_trials=2)
        self.assertEqual(found.status, "ok")
        judge = found.result["judge"]
        self.assertEqual(judge["library"], "QNN HTP")
        self.assertIn("ONNX Runtime", judge["version"])
        self.assertIn("simulator", judge["times"])
        again = quasar.evaluate(found.best_model, self.evaluation[0], MODEL, ["L2"], runtime="qnn_htp")["metrics"]["L2"]["value"]
        self.assertAlmostEqual(found.metrics["L2"], again, delta=1e-6 * again)

    def test_a_model_that_does_not_compile_costs_one_trial(self):
        quasar.quantize(MODEL, "q.onnx", {"scheme": "A16W8", **FIXED}, self.calibration[0], target="generic")
        with self.assertRaisesRegex(quasar.QuasarError, "QNN HTP cannot open the model"):
            quasar.evaluate("q.onnx", self.evaluation[0], MODEL, runtime="qnn_htp")


class WithAFake(Case):
    def named(self, place):
        before = os.environ.get("QUASAR_QNN")
        self.addCleanup(lambda: os.environ.pop("QUASAR_QNN", None) if before is None else os.environ.update(QUASAR_QNN=before))
        os.environ["QUASAR_QNN"] = str(place)

    def test_a_crash_and_a_refusal_cost_one_trial_each(self):
        self.named(fake_judge(self.folder, dies=1, refuses=2))
        space = {"activation": ["UInt8Spec", "UInt16Spec"], "activation_params": {"symmetric": [False], "only_if": "activation"}, "weight": ["Int8Spec"],
                 "weight_params": {"calibration_method": ["MinMax", "MinMSE"], "only_if": "weight"}, "FixShapes": FIXED["FixShapes"]}
        found = self.search(target="qnn_htp", space=space, n_trials=4, n_jobs=1)
        self.assertEqual(found.result["judge"]["library"], "Fake")
        failed = [trial.error for trial in quasar.Study(Path(found.output_dir, "auto_search.db")).trials if trial.state == "failed"]
        self.assertEqual(len(failed), 2)
        self.assertTrue(any("ended with signal 11" in why and "bad luck" in why for why in failed), failed)
        self.assertTrue(any("cannot open the model: no such operator" in why for why in failed), failed)

    def test_a_missing_simulator_is_one_clear_message(self):
        self.named("nowhere")
        space = {"scheme": ["w8a16"], "FixShapes": FIXED["FixShapes"]}
        with self.assertRaisesRegex(quasar.QuasarError, "runtime is qnn_htp, but QUASAR_QNN is 'nowhere'.*setup.sh --qnn"):
            self.search(runtime="qnn_htp", space=space, n_trials=1)
        found = self.search(target="qnn_htp", space=space, n_trials=1)
        self.assertEqual(found.result["judge"]["library"], "ONNX Runtime")
        self.assertTrue(any("scored and timed by ONNX Runtime" in warning for warning in found.result["warnings"]))

    def test_open_shapes_and_wrong_types_are_told_before_the_first_trial(self):
        with self.assertRaisesRegex(quasar.QuasarError, r'FixShapes: "image:\[1,1,8,8\]"'):
            quasar.quantize(MODEL, "q.onnx", "w8a16", self.calibration[0], target="qnn_htp")
        with self.assertRaisesRegex(quasar.QuasarError, "the nearest that does are the schemes w8a16"):
            self.search(target="qnn_htp", space={"scheme": ["A8W8"], "FixShapes": FIXED["FixShapes"]}, n_trials=1)


if __name__ == "__main__":
    unittest.main()
