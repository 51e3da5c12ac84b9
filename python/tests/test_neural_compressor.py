"""Scripts written for Intel Neural Compressor: what they give to fit(), and what they get."""
import inspect
import logging
import os
import sys
import unittest
import warnings
from pathlib import Path
from unittest import mock

import numpy

import quasar
from digits import MODEL, Case
from quasar.neural_compressor import DataLoader, Metric, PostTrainingQuantConfig, options, quantization, set_random_seed, set_resume_from, set_workspace
from quasar.neural_compressor.config import AccuracyCriterion, TuningCriterion
from quasar.neural_compressor.model import ModelFile, ONNXModel
from quasar.neural_compressor.strategy import STRATEGIES, TuneStrategy, strategy_registry


class Loader:
    """As Neural Compressor's documents describe data loaders."""

    def __init__(self, images, labels, batch_size=16):
        self.images, self.labels, self.batch_size, self.read = images, labels, batch_size, 0

    def __iter__(self):
        for i in range(0, len(self.images), self.batch_size):
            self.read += 1
            yield self.images[i:i + self.batch_size], self.labels[i:i + self.batch_size]


class Fitting(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(options.__dict__.update, dict(options.__dict__))
        set_workspace("out")
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.filterwarnings("ignore", "out holds an earlier search")
        self.loader = Loader(*self.calibration)
        self.seen = []

    def eval_func(self, model):
        """The accuracy, as a user measures it who has the model's bytes."""
        self.seen.append(model)
        images, labels = self.evaluation
        return float((quasar.Session(model.SerializeToString())(images)[0].argmax(axis=1) == labels).mean())

    def fit(self, conf=None, **given):
        arguments = {"calib_dataloader": self.loader, "eval_func": self.eval_func, **given}
        return quantization.fit(arguments.pop("model", MODEL), conf or PostTrainingQuantConfig(quant_level=1), **arguments)

    def refused(self, text, call):
        with self.assertRaisesRegex(ValueError, text) as raised:
            call()
        self.assertIsInstance(raised.exception, quasar.QuasarError)


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
        self.assertTrue((quasar.Session(model.SerializeToString())(images)[0] == pairs).all())
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


class Settings(Fitting):
    #: Every argument of PostTrainingQuantConfig: a value that acts (and what it makes of the search's keys), one that is warned of, one
    #: that is refused.
    acting = {
        "device": ("gpu", {"search_devices": "cuda:0"}), "backend": ("onnxrt_cuda_ep", {"target": "ort_cuda"}),
        "recipes": ({"first_conv_or_matmul_quantization": False}, {"recipes": {"first_conv_or_matmul_quantization": False}}),
        "approach": ("dynamic", {"approach": "dynamic"}), "op_type_dict": ({"Conv": {}}, {"op_type_dict": {"Conv": {}}}),
        "op_name_dict": ({"a": {}}, {"op_name_dict": {"a": {}}}), "quant_level": (0, {"quant_level": 0}),
        "accuracy_criterion": (AccuracyCriterion(False, "absolute", 0.5), {"accuracy_criterion": {"higher_is_better": False, "criterion": "absolute", "tolerable_loss": 0.5}}),
        "tuning_criterion": (TuningCriterion("mse", None, 60, 7), {"tuning_criterion": {"strategy": "mse", "timeout": 60, "max_trials": 7}, "objectives": [{"metric": "latency"}]}),
    }
    elsewhere = {"calibration_sampling_size": Samples.test_no_more_is_read_than_asked_for, "quant_format": Models.test_operators_on_codes}
    warned = {"domain": "nlp", "inputs": ["image"], "outputs": ["out"], "reduce_range": True, "example_inputs": numpy.zeros(1), "diagnosis": True,
              "ni_workload_name": "mine", "recipes": {"layer_wise_quant": True, "gemm_to_matmul": False, "graph_optimization_level": "ENABLE_ALL"}}
    refused_values = {
        "device": ("npu", "xint8"), "backend": ("onnxrt_trt_ep", "ort_cuda"), "domain": ("vision", "must be one of 'auto', 'cv'"),
        "recipes": ({"smooth_qant": True}, "did you mean 'smooth_quant'"), "quant_format": ("QDG", "did you mean 'QDQ'"), "approach": ("statik", "did you mean 'static'"),
        "calibration_sampling_size": ([0], "at least 1"), "excluded_precisions": (["bf61"], "did you mean 'bf16'"), "quant_level": (2, "'auto', 0, 1"),
        "accuracy_criterion": ({"criterion": "relative"}, "must be of class AccuracyCriterion"), "tuning_criterion": ("basic", "must be of class TuningCriterion"),
        "diagnosis": ("yes", "True, False"), "reduce_range": (7, "None, True, False"),
    }

    def test_every_argument_acts_or_is_warned_of_or_refused(self):
        known = list(inspect.signature(PostTrainingQuantConfig).parameters)
        self.assertEqual(known.pop(), "unknown")
        told = {*self.acting, *self.elsewhere, *self.warned, *self.refused_values}
        self.assertEqual(set(known), told)
        for name, (value, words) in self.acting.items():
            more = {"backend": "onnxrt_cuda_ep"} if name == "device" else {}
            made = PostTrainingQuantConfig(**{**more, name: value})._words()
            self.assertEqual({key: made[key] for key in words}, words)
        for name, value in self.warned.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.fit(PostTrainingQuantConfig(quant_level=1, **{name: value}))
            texts = [str(one.message) for one in caught if one.filename == __file__ and "has no effect: " in str(one.message)]
            self.assertEqual(len(texts), len(value) if name == "recipes" else 1, texts)
            self.assertTrue(all(name in text for text in texts), texts)
        for name, (value, text) in self.refused_values.items():
            self.refused(f"(?s){name}.*{text}|{text}.*{name}", lambda: PostTrainingQuantConfig(**{name: value}))

    def test_recipes(self):
        recipes = {"smooth_quant": False, "smooth_quant_args": {}, "layer_wise_quant": False, "fast_bias_correction": False, "weight_correction": False,
                   "add_qdq_pair_to_weight": False, "dedicated_qdq_pair": False, "optypes_to_exclude_output_quant": [], "rtn_args": {}, "gptq_args": None}
        conf = PostTrainingQuantConfig(recipes=recipes)
        self.assertEqual((list(conf._without_effect()), conf._words()["recipes"]), ([], {"smooth_quant": False, "smooth_quant_args": {}}))
        for name, value in (("dedicated_qdq_pair", True), ("optypes_to_exclude_output_quant", ["Conv"]), ("gptq_args", {"a": 1})):
            self.refused(name + ".*no such recipe: ", lambda: PostTrainingQuantConfig(recipes={name: value}))

    def test_names_and_values(self):
        self.refused("PostTrainingQuantConfig has no 'quant_levl'.*did you mean 'quant_level'", lambda: PostTrainingQuantConfig(quant_levl=1))
        self.refused("TuningCriterion has no 'max_trial'.*did you mean 'max_trials'", lambda: TuningCriterion(max_trial=1))
        self.refused("criterion is 'relativ'.*did you mean 'relative'", lambda: AccuracyCriterion(criterion="relativ"))
        self.refused("tolerable_loss is '1 %'", lambda: AccuracyCriterion(tolerable_loss="1 %"))
        self.refused("takes one objective", lambda: TuningCriterion(objective=["performance", "modelsize"]))
        self.assertEqual(TuningCriterion(objective=["footprint"])._words()["objectives"], [{"metric": "peak_memory"}])
        self.refused("did you mean 'performance'", lambda: TuningCriterion(objective="performence"))
        conf = PostTrainingQuantConfig()
        with self.assertRaisesRegex(quasar.QuasarError, "did you mean 'quant_level'"):
            conf.quant_levels = 1
        conf.quant_level = 0
        self.assertEqual(conf._words()["quant_level"], 0)
        self.assertIn("quant_level=0", repr(conf))
        words = {"Conv": {"activation": {"dtype": ["bf16", "fp32"]}}}
        self.refused("excluded_precisions has 'bf16', but op_type_dict names it", lambda: PostTrainingQuantConfig(op_type_dict=words, excluded_precisions=["bf16"]))
        self.refused("backend='onnxrt_cuda_ep'", lambda: PostTrainingQuantConfig(device="gpu"))

    def test_arguments_of_fit(self):
        self.refused("fit\\(\\) has no 'calib_dataloder'.*did you mean 'calib_dataloader'", lambda: self.fit(calib_dataloder=self.loader))
        self.refused("conf is {}, but must be a PostTrainingQuantConfig", lambda: quantization.fit(MODEL, {}))
        self.refused("calib_func is for PyTorch", lambda: self.fit(calib_func=print))
        self.refused("eval_func is 1, but must be a function", lambda: self.fit(eval_func=1))
        self.refused("quant_level: 1 uses it", lambda: self.fit(PostTrainingQuantConfig(tuning_criterion=TuningCriterion(strategy="mse"))))
        for name, text in (("bayesain", "did you mean 'bayesian'"), ("abd", "abc.*did you mean 'abc'")):
            strategy_registry(type("AbcTuneStrategy", (TuneStrategy,), {}))
            self.refused(text, lambda: self.fit(PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy=name))))

    def test_options(self):
        self.fit()
        with self.assertWarnsRegex(UserWarning, r"out holds an earlier search: results go to .*out_2; set_resume_from\(\) continues"):
            self.fit()
        self.refused("history.snapshot", lambda: set_resume_from("out/history.snapshot"))
        self.assertIsNone(options.resume_from)
        set_random_seed(5)
        set_resume_from("out")
        self.assertEqual(Path(self.fit().model_path).parent.name, "out")
        options.resume_from = options.workspace = None
        self.assertRegex(self.fit().model_path, r"nc_workspace/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")


class Strategies(Fitting):
    strict = {"accuracy_criterion": AccuracyCriterion(criterion="absolute", tolerable_loss=0)}

    def tune(self, name, max_trials=4, **given):
        return self.fit(PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy=name, max_trials=max_trials), **given))

    def test_one_configuration_after_another(self):
        @strategy_registry
        class LastFirstTuneStrategy(TuneStrategy):
            def __init__(self, model, conf, q_dataloader, q_func=None, eval_dataloader=None, eval_func=None, dicts=None):
                super().__init__(model, conf, q_dataloader=q_dataloader, eval_func=eval_func)
                given.append((model, conf.quant_level, q_dataloader, eval_dataloader, eval_func, len(self.tuner.operators)))

            def next_tune_cfg(self):
                one = self.tuner.operators[-1]
                for choice in (one.options[0], {"activation": {"dtype": "fp32"}, "weight": {"dtype": "fp32"}}):
                    yield {(one.name, one.op_type): choice, self.tuner.operators[-2].name: "fp32"}
                given.append([trial.number for trial in self.trials])

        given = []
        self.assertIs(STRATEGIES["lastfirst"], LastFirstTuneStrategy)
        eval_func = lambda model: -float(b"DequantizeLinear" in model.SerializeToString())  # noqa: E731  nothing meets the goal
        conf = PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy="lastfirst"), **self.strict)
        self.assertIsNone(self.fit(conf, eval_func=eval_func))
        self.assertEqual(given[0][:5], (MODEL, 1, self.loader, None, eval_func))
        self.assertEqual(given[1], [0, 1])

    def test_the_whole_way(self):
        @strategy_registry
        class WholeTuneStrategy(TuneStrategy):
            def next_tune_cfg(self):
                yield {}

            def traverse(self):
                for tune_cfg in self.next_tune_cfg():
                    self.losses = [self.tuner.loss(self.evaluate(tune_cfg))]

        self.assertEqual(len(self.tune("whole").result.trials), 1)

    def test_mistakes(self):
        self.refused("whose name ends with TuneStrategy", lambda: strategy_registry(type("Abc", (TuneStrategy,), {})))
        self.refused("derived from TuneStrategy", lambda: strategy_registry(type("AbcTuneStrategy", (), {})))
        self.refused("basic", lambda: strategy_registry(type("BasicTuneStrategy", (TuneStrategy,), {})))
        for name, body, error in (("Empty", {}, "EmptyTuneStrategy must define next_tune_cfg"),
                                  ("Inner", {"next_tune_cfg": lambda self: [self.tuning_space]}, "has no 'tuning_space'.*self.tuner has the operators"),
                                  ("Wrong", {"next_tune_cfg": lambda self: [7]}, "next_tune_cfg yielded 7"),
                                  ("Unknown", {"next_tune_cfg": lambda self: [{"stem/cnv": "fp32"}]}, "did you mean 'stem/conv'")):
            strategy_registry(type(name + "TuneStrategy", (TuneStrategy,), body))
            with self.assertRaisesRegex((quasar.QuasarError, AttributeError, NotImplementedError), error):
                self.tune(name.lower())


class Package(unittest.TestCase):
    def test_everything_public_is_described(self):
        import quasar.neural_compressor as package

        for module in (package, package.config, package.data, package.metric, package.quantization, package.strategy):
            for name in module.__all__:
                self.assertTrue(getattr(module, name).__doc__, name)


if __name__ == "__main__":
    unittest.main()
