"""One model at a time."""
import unittest
from pathlib import Path

import numpy

import quasar
from digits import DIGITS, MODEL, Case


class Models(Case):
    def test_a_model_is_a_path_bytes_or_a_proto(self):
        class Proto:
            def SerializeToString(self):
                return Path(MODEL).read_bytes()

        by_path = quasar.quantize(MODEL, scheme="A8W8", calib=self.calibration[0])
        for model in [Path(MODEL), Path(MODEL).read_bytes(), Proto()]:
            self.assertEqual(quasar.quantize(model, scheme="A8W8", calib=self.calibration[0]).model, by_path.model)
        with self.assertRaisesRegex(TypeError, "not int"):
            quasar.quantize(3)
        with self.assertRaisesRegex(quasar.QuasarError, "no.onnx"):
            quasar.quantize("no.onnx")

    def test_quantize_says_what_it_did(self):
        done = quasar.quantize(MODEL, "int8.onnx", {"activation": "UInt8Spec", "weight": "Int8Spec"}, self.calibration[0])
        self.assertEqual(Path("int8.onnx").read_bytes(), done.model)
        self.assertGreater(len(done.nodes), 15)
        self.assertIn("config", vars(done))
        self.assertIn("image", done.ranges["tensors"])
        done.save("again.onnx")
        self.assertEqual(Path("again.onnx").read_bytes(), done.model)
        with self.assertRaisesRegex(quasar.QuasarError, "copy.npz.*would be replaced"):
            Path("copy.npz").write_bytes(Path(DIGITS, "calibration.npz").read_bytes())
            quasar.quantize(MODEL, "copy.npz", calib="copy.npz")
        for wrong in [lambda: quasar.quantize(MODEL, scheme="A8W9"), lambda: quasar.quantize(MODEL, scheme="A8W8"),
                      lambda: quasar.quantize("int8.onnx", "int8.onnx", calib=self.calibration[0])]:
            self.assertRaises(quasar.QuasarError, wrong)

    def test_arguments_of_other_kinds_are_named(self):
        images = self.calibration[0]
        quasar.inspect(MODEL, target=None)
        quasar.quantize(MODEL, None, "A8W8", images, target=None)
        self.assertEqual(list(quasar.evaluate(MODEL, images, metric=None, runtime=None, latency=False)["metrics"]), ["L2"])
        for ask, text in ((lambda: quasar.inspect(MODEL, target=["ort_cpu"]), r"target is \['ort_cpu'\], but must be the name of one"),
                          (lambda: quasar.quantize(MODEL, None, "A8W8", images, target=1), "target is 1, but must be the name of one"),
                          (lambda: quasar.evaluate(MODEL, images, metric=[{"top1": 1}]), r"metric is \{'top1': 1\}, but must be a name"),
                          (lambda: quasar.evaluate(MODEL, images, metric=1), "metric is 1, but must be a name or a list of names"),
                          (lambda: quasar.evaluate(MODEL, images, runtime=1), "runtime is 1, but must be a name")):
            with self.assertRaisesRegex(quasar.QuasarError, text):
                ask()

    def test_an_output_that_cannot_be_written_is_told_before_the_work(self):
        asked = []

        class Asked:
            def __len__(self):
                return 8

            def __getitem__(self, index):
                asked.append(index)
                return self.images[index]

        Asked.images = self.calibration[0]
        Path("file").write_bytes(b"")
        for output, why in (("new/int8.onnx", "No such file or directory"), ("file/int8.onnx", "Not a directory"), (".", "Is a directory")):
            with self.assertRaisesRegex(quasar.QuasarError, f"output: cannot write '{output}': {why}"):
                quasar.quantize(MODEL, output, "A8W8", Asked())
        self.assertEqual(asked, [])

    def test_weights_in_a_file_of_their_own_are_saved_too(self):
        words = {"scheme": "U8S8_CHANNEL", "use_external_data_format": True}
        whole = quasar.quantize(MODEL, None, "U8S8_CHANNEL", self.calibration[0][:8])
        self.assertIsNone(whole.weights)
        Path("one").mkdir()
        for output in (None, "one/int8.onnx"):
            done = quasar.quantize(MODEL, output, words, self.calibration[0][:8])
            images = self.evaluation[0][:4]
            for file in ("saved.onnx", "again.onnx", "one/beside.onnx"):
                done.save(file)
                numpy.testing.assert_array_equal(quasar.Session(file)(images)[0], quasar.Session(whole.model)(images)[0])
        Path("other").mkdir()
        Path("other", done.weights.name).write_bytes(b"another model's")
        with self.assertRaisesRegex(quasar.QuasarError, "with the weights of another model"):
            done.save("other/saved.onnx")
        self.assertFalse(Path("other/saved.onnx").exists())
        folder = quasar.quantize(MODEL, None, words, self.calibration[0][:8]).weights.parent
        self.assertFalse(folder.exists(), "it lives as long as the object")

    def test_libraries_of_operators_are_files_of_code(self):
        with self.assertRaisesRegex(quasar.QuasarError, "no.so' does not exist"):
            quasar.load_custom_operators("no.so")
        with self.assertRaisesRegex(quasar.QuasarError, "cannot be used"):
            quasar.load_custom_operators(MODEL)

    def test_a_session_runs_a_model(self):
        session = quasar.Session(MODEL)
        self.assertEqual(session.inputs, [("image", "float32", [-1, 1, 8, 8])])
        self.assertEqual(session.outputs[0][0], "probabilities")
        images, labels = self.evaluation
        (scores,) = session(images)
        self.assertEqual(scores.shape, (150, 10))
        self.assertGreater(numpy.mean(scores.argmax(1) == labels), 0.95)
        (same,) = session.run({"image": images.astype("float64")})
        numpy.testing.assert_array_equal(scores, same)
        with self.assertRaisesRegex(quasar.QuasarError, "'image'"):
            session({"img": images})
        with self.assertRaises(ValueError):
            scores[0, 0] = 1  # memory of ONNX Runtime's

    def test_evaluate_and_inspect(self):
        quasar.quantize(MODEL, "int8.onnx", "U8S8_CHANNEL", self.calibration[0])
        scores = quasar.evaluate("int8.onnx", self.evaluation, MODEL, ["L2", "top1"])
        self.assertLess(0, scores["metrics"]["L2"]["value"])
        self.assertEqual(len(scores["metrics"]["top1"]["per_sample"]), 150)
        self.assertGreater(scores["latency_ms"]["median"], 0)
        facts = quasar.inspect(MODEL, self.calibration[0])
        self.assertGreater(len(facts["examination"]["layers"]), 10)
        self.assertTrue(all("quantized" in node for node in facts["nodes"]))

    def test_a_quantized_model_compared_with_itself_is_told(self):
        words = {"latency": False, "metric": ["L2", "top1"]}
        for scheme, calib in (("U8S8_CHANNEL", self.calibration[0][:8]), ("W4", None)):
            quasar.quantize(MODEL, "small.onnx", scheme, calib)
            with self.assertLogs("quasar", "WARNING"):
                warned = quasar.evaluate("small.onnx", self.evaluation, **words)["warnings"]
            self.assertIn("no reference is given: L2 compares it with itself", warned[0])
        self.assertEqual(quasar.evaluate("small.onnx", self.evaluation, MODEL, **words)["warnings"], [])
        self.assertEqual(quasar.evaluate("small.onnx", self.evaluation, metric="top1", latency=False)["warnings"], [])
        self.assertEqual(quasar.evaluate(MODEL, self.evaluation, **words)["warnings"], [])

    def test_lists(self):
        self.assertIn("a8w8", quasar.listed("schemes"))
        self.assertIn("XINT8_SEARCH", quasar.listed("presets"))
        with self.assertRaisesRegex(quasar.QuasarError, "did you mean 'schemes'"):
            quasar.listed("scheme")

    def test_beside_onnxruntime_and_onnx(self):
        """The package's ONNX Runtime and protobuf, and PyPI's, in one process."""
        try:
            import onnx
            import onnxruntime
        except ImportError:
            self.skipTest("onnx and onnxruntime are not installed")
        images, _ = self.evaluation
        proto = onnx.load(MODEL)
        theirs = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"]).run(None, {"image": images})[0]
        numpy.testing.assert_allclose(quasar.Session(proto)(images)[0], theirs, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
