"""Scripts written for Intel Neural Compressor: what they give to fit(), and what they get."""
import logging
import os
import sys
import unittest
from pathlib import Path
from unittest import mock

import numpy

import quasar
from digits import MODEL
from fitting import Fitting, Loader
from quasar.neural_compressor import DataLoader, Metric, PostTrainingQuantConfig, quantization
from quasar.neural_compressor.config import AccuracyCriterion, TuningCriterion
from quasar.neural_compressor.model import ModelFile, ONNXModel


class Models(Fitting):
    def test_what_scores_and_what_comes_out(self):
        model = self.fit()
        self.assertIsInstance(model, ONNXModel)
        self.assertEqual(len(self.seen), 2, "the float model, and the default configuration")
        self.assertEqual(model.result.baseline["accuracy"], self.eval_func(quantization.opened(MODEL)))
        self.assertEqual(model.result.metrics["accuracy"], self.eval_func(model))
        self.assertEqual((model.input_model, model.framework()), (MODEL, "onnxruntime"))
        self.assertEqual(Path(model.model_path), (self.folder / "out" / "best.onnx").resolve())
        self.assertIn("best.onnx", repr(model))
        for place, file in (("saved", "saved/best_model.onnx"), ("deep/er/int8.onnx", "deep/er/int8.onnx"), (Path("a") / "b.onnx", "a/b.onnx")):
            model.save(place)
            self.assertEqual(Path(file).read_bytes(), model.SerializeToString())

    def test_eval_func_gets_a_proto_or_what_is_like_it(self):
        with mock.patch.dict(sys.modules, {"onnx": None}):
            self.fit()
        self.assertEqual({type(model) for model in self.seen}, {ModelFile})
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not installed")
        self.seen.clear()
        model = self.fit(model=onnx.load(MODEL))
        self.assertEqual({type(one) for one in self.seen}, {onnx.ModelProto})
        self.assertIsInstance(model.model, onnx.ModelProto)
        self.assertEqual(self.fit(model=model.input_model.SerializeToString()).result.metrics, model.result.metrics)

    def test_weights_in_a_file_of_their_own(self):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not installed")
        onnx.save_model(onnx.load(MODEL), "big.onnx", save_as_external_data=True, location="big.onnx.data", size_threshold=0)
        paths = []

        def eval_func(model):
            paths.append(model)
            images, labels = self.evaluation
            return float((quasar.Session(model)(images)[0].argmax(axis=1) == labels).mean()) if isinstance(model, str) else self.eval_func(model)

        model = self.fit(model="big.onnx", eval_func=eval_func)
        self.assertEqual(Path(paths[0]).name, "big.onnx", "as Neural Compressor does with models of more than 2 GB")
        Path(model.model_path + ".data").write_bytes(b"weights")  # as for more than 2 GB
        model.save("first")
        self.assertEqual(Path("first/best.onnx.data").read_bytes(), b"weights")
        self.refused("is there already, and may hold the weights of another model", lambda: model.save("first/other.onnx"))

    def test_none_and_where_the_nearest_is(self):
        strict = PostTrainingQuantConfig(quant_level=1, accuracy_criterion=AccuracyCriterion(criterion="absolute", tolerable_loss=0),
                                         tuning_criterion=TuningCriterion(strategy="random", max_trials=2))
        with self.assertLogs("quasar", logging.ERROR) as logged:
            self.assertIsNone(self.fit(strict, eval_func=lambda model: 1.0 if b"DequantizeLinear" not in model.SerializeToString() else 0.25))
        self.assertRegex(logged.output[0], r"None is returned: max_trials of 2 reached; the nearest model, with accuracy 0.25 \(float: 1\), is .*best\.onnx")
        self.assertTrue(Path("out/best.onnx").exists())

    def test_when_all_trials_fail_it_raises(self):
        def broken(model):
            if b"DequantizeLinear" in model.SerializeToString():
                raise RuntimeError("no such input")
            return 1.0

        self.refused("all 2 trials failed; the first: .*no such input",
                     lambda: self.fit(PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy="random", max_trials=2)), eval_func=broken))
        self.assertTrue(Path("out/result.json").exists())

    def test_without_evaluation_one_trial(self):
        conf = PostTrainingQuantConfig(op_type_dict={"Gemm": {"weight": {"dtype": ["fp32"]}, "activation": {"dtype": ["fp32"]}}},
                                       tuning_criterion=TuningCriterion(max_trials=50))
        with self.assertLogs("quasar", logging.WARNING) as logged:
            model = self.fit(conf, eval_func=None)
        self.assertTrue(any("by the default configuration, without tuning" in line for line in logged.output))
        self.assertEqual(len(model.result.trials), 1)
        self.assertEqual([one["node"] for one in model.result.result["tuning"]["float"]], ["classifier"])

    def test_operators_on_codes(self):
        model = self.fit(PostTrainingQuantConfig(quant_level=1, quant_format="QOperator"))
        self.assertIn(b"QLinearConv", model.SerializeToString())
        images = self.evaluation[0]
        pairs = quasar.Session(str(model.result.best_model))(images)[0]
        self.assertLess(abs(quasar.Session(model.SerializeToString())(images)[0] - pairs).max(), 0.01)
        self.assertNotIn(b"QLinearConv", self.fit(PostTrainingQuantConfig(quant_level=1, quant_format="QDQ")).SerializeToString())
        with self.assertLogs("quasar", logging.WARNING) as logged:
            dynamic = PostTrainingQuantConfig(approach="auto", quant_format="QOperator", quant_level=1,
                                              op_type_dict={"Conv": {"activation": {"dtype": ["bf16"]}, "weight": {"dtype": ["bf16"]}}})
            model = self.fit(dynamic)
        self.assertTrue(model is not None and ("best.onnx" in model.model_path) == any("keeps its Q/DQ pairs" in line for line in logged.output))


class Samples(Fitting):
    def test_no_more_is_read_than_asked_for(self):
        model = self.fit(PostTrainingQuantConfig(quant_level=1, calibration_sampling_size=20))
        self.assertEqual((self.loader.read, len(model.result.trials)), (2, 1))
        log = Path("out/auto_search.log").read_text()
        self.assertIn("20", log)
        several = PostTrainingQuantConfig(quant_level=1, calibration_sampling_size=[10, 20, 1000], accuracy_criterion=AccuracyCriterion(tolerable_loss=0),
                                          tuning_criterion=TuningCriterion(strategy="exhaustive", max_trials=4, timeout=60))
        self.fit(several)
        sizes = {trial.params.get("CalibDataSize") for trial in quasar.Study("out_2").trials}
        self.assertLessEqual(sizes, {10, 20, 50}, "there are 50 samples")

    def test_forms_of_batches(self):
        images, labels = self.calibration
        wanted = self.fit().SerializeToString()
        loaders = {
            "inputs alone": [images[:25], images[25:]],
            "dictionaries": [({"image": images[:25]}, labels[:25]), ({"image": images[25:]}, labels[25:])],
            "a list of the one input": [([images[:25]], 0), ((images[25:],), 0)],
            "a generator": ((images[i:i + 10], None) for i in range(0, 50, 10)),
            "a DataLoader": DataLoader("onnxruntime", [(image, label) for image, label in zip(images, labels)], batch_size=20),
        }
        for name, loader in loaders.items():
            with self.subTest(name):
                self.assertEqual(self.fit(calib_dataloader=loader).SerializeToString(), wanted)
        self.refused("calib_dataloader yields 2 inputs, but the model has 1: image", lambda: self.fit(calib_dataloader=[([images, images], labels)]))
        self.refused("calib_dataloader yields nothing", lambda: self.fit(calib_dataloader=[]))
        self.refused("must be something to iterate over", lambda: self.fit(calib_dataloader=7))

    def test_several_inputs(self):
        try:
            from onnx import TensorProto, helper, numpy_helper, save
        except ImportError:
            self.skipTest("onnx is not installed")
        random = numpy.random.default_rng(0)
        weight = numpy_helper.from_array(random.normal(size=(8, 4)).astype(numpy.float32), "weight")
        value = lambda name, width: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])  # noqa: E731
        nodes = [helper.make_node("Add", ["a", "b"], ["sum"], "add"), helper.make_node("MatMul", ["sum", "weight"], ["out"], "matmul")]
        save(helper.make_model(helper.make_graph(nodes, "two", [value("a", 8), value("b", 8)], [value("out", 4)], [weight]),
                               opset_imports=[helper.make_opsetid("", 17)], ir_version=9), "two.onnx")
        a, b = random.normal(size=(2, 60, 8)).astype(numpy.float32)
        labels = ((a + b) @ numpy_helper.to_array(weight)).argmax(axis=1)
        conf = PostTrainingQuantConfig(quant_level=1, accuracy_criterion=AccuracyCriterion(tolerable_loss=0.1))
        models = []
        for batch in (([a, b], labels), ((a, b), labels), ({"b": b, "a": a}, labels)):
            model = self.fit(conf, model="two.onnx", calib_dataloader=[batch], eval_func=None, eval_dataloader=[batch], eval_metric={"topk": 1})
            self.assertEqual(model.result.baseline, {"accuracy": 1})
            models.append(model.SerializeToString())
        self.assertEqual(models, models[:1] * 3)
        self.refused("calib_dataloader yields 1 inputs, but the model has 2: a, b", lambda: self.fit(conf, model="two.onnx", calib_dataloader=[(a, labels)]))

    def test_a_loaders_batches(self):
        loader = DataLoader(framework="onnxruntime", dataset=[({"a": i}, i) for i in range(5)], batch_size=2)
        self.assertEqual([(batch["a"].tolist(), labels.tolist()) for batch, labels in loader], [([0, 1], [0, 1]), ([2, 3], [2, 3]), ([4], [4])])
        self.assertEqual(len(list(DataLoader("onnxruntime", iter(range(5)), 2, last_batch="discard"))), 2)
        self.refused("shuffle is True", lambda: DataLoader("onnxruntime", [], shuffle=True))
        self.refused("did you mean 'batch_size'", lambda: DataLoader("onnxruntime", [], batchsize=3))
        self.refused("framework is 'pytorch'", lambda: DataLoader("pytorch", []))

    def test_approaches_without_samples(self):
        for approach in ("dynamic", "post_training_dynamic_quant", "weight_only"):
            model = self.fit(PostTrainingQuantConfig(approach=approach, quant_level=1), calib_dataloader=None)
            self.assertLess(len(model.SerializeToString()), os.path.getsize(MODEL))
        self.refused("calib_dataloader is missing: approach 'static'", lambda: self.fit(calib_dataloader=None))


class Mine:
    """A metric of one's own: any class with these three methods."""

    def __init__(self, offset=0):
        self.offset = offset
        self.reset()

    def reset(self):
        self.right = self.all = 0

    def update(self, predictions, labels):
        self.right += int((predictions.argmax(axis=1) + self.offset == labels).sum())
        self.all += len(labels)

    def result(self):
        return self.right / self.all


class Metrics(Fitting):
    def test_metrics(self):
        evaluation = Loader(*self.evaluation)
        wanted = self.fit().result
        for metric in ({"topk": 1}, {"topk": {"k": 1}}, {"Accuracy": {}}, Metric(name="topk", k=1), Metric(metric_cls=Mine, name="mine"), Mine()):
            found = self.fit(eval_func=None, eval_dataloader=evaluation, eval_metric=metric).result
            self.assertEqual((found.baseline, found.metrics), (wanted.baseline, wanted.metrics))
        five = self.fit(eval_func=None, eval_dataloader=evaluation, eval_metric={"topk": 5}).result
        self.assertGreater(five.baseline["accuracy"], wanted.baseline["accuracy"])

    def test_lower_is_better(self):
        conf = PostTrainingQuantConfig(quant_level=1, accuracy_criterion=AccuracyCriterion(higher_is_better=False, criterion="absolute", tolerable_loss=0.5))
        model = self.fit(conf, eval_func=lambda model: 1.0 if b"DequantizeLinear" in model.SerializeToString() else 0.9)
        self.assertEqual((model.result.result["objectives"][0]["direction"], model.result.metrics["accuracy"]), ("minimize", 1.0))

    def test_mistakes(self):
        evaluation = Loader(*self.evaluation)
        score = lambda metric: self.fit(eval_func=None, eval_dataloader=evaluation, eval_metric=metric)  # noqa: E731
        self.refused("eval_metric is 'topj'.*did you mean 'topk'", lambda: score({"topj": 1}))
        self.refused("names 2 metrics", lambda: score({"topk": 1, "Accuracy": {}}))
        self.refused("'weight'.* would have no effect", lambda: score({"topk": 1, "weight": [1]}))
        self.refused("it lacks update, reset, result", lambda: score(object()))
        self.refused("eval_metric topk: .*kk", lambda: score(Metric("topk", kk=1)))
        self.refused("eval_dataloader is given without eval_metric", lambda: score(None))
        self.refused("eval_metric is given without eval_dataloader", lambda: self.fit(eval_func=None, eval_metric={"topk": 1}))
        self.refused(r"eval_func returned \[1, 2\], but must return one number", lambda: self.fit(eval_func=lambda model: [1, 2]))
        with self.assertWarnsRegex(UserWarning, "eval_metric has no effect: eval_func scores the models"):
            self.fit(eval_metric={"topk": 1})


class Package(unittest.TestCase):
    def test_everything_public_is_described(self):
        import quasar.neural_compressor as package

        for module in (package, package.config, package.data, package.metric, package.quantization, package.strategy):
            for name in module.__all__:
                self.assertTrue(getattr(module, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
