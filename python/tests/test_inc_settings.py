"""Settings of Intel Neural Compressor, one by one; and strategies in its form."""
import inspect
import unittest
import warnings
from pathlib import Path

import numpy

import quasar
from digits import MODEL
from fitting import Fitting
from quasar.neural_compressor import PostTrainingQuantConfig, options, quantization, set_random_seed, set_resume_from
from quasar.neural_compressor.config import AccuracyCriterion, TuningCriterion
from quasar.neural_compressor.strategy import STRATEGIES, TuneStrategy, strategy_registry


class Settings(Fitting):
    #: Every argument of PostTrainingQuantConfig: a value that acts (and what it makes of the search's keys), one that is warned of, one
    #: that is refused.
    acting = {
        "device": ("gpu", {"search_devices": "cuda:0"}), "backend": ("onnxrt_cuda_ep", {"target": "ort_cuda"}),
        "recipes": ({"first_conv_or_matmul_quantization": False}, {"recipes": {"first_conv_or_matmul_quantization": False}}),
        "approach": ("dynamic", {"approach": "dynamic"}), "op_type_dict": ({"Conv": {}}, {"op_type_dict": {"Conv": {}}}),
        "op_name_dict": ({"a": {}}, {"op_name_dict": {"a": {}}}), "reduce_range": (True, {"saturation": "reduce_range"}), "quant_level": (0, {"quant_level": 0}),
        "accuracy_criterion": (AccuracyCriterion(False, "absolute", 0.5), {"accuracy_criterion": {"higher_is_better": False, "criterion": "absolute", "tolerable_loss": 0.5}}),
        "tuning_criterion": (TuningCriterion("mse", None, 60, 7), {"tuning_criterion": {"strategy": "mse", "timeout": 60, "max_trials": 7}, "objectives": [{"metric": "latency"}]}),
    }
    elsewhere = {"calibration_sampling_size", "quant_format"}  # act, as test_neural_compressor.py shows
    warned = {"domain": "nlp", "inputs": ["image"], "outputs": ["out"], "example_inputs": numpy.zeros(1), "diagnosis": True,
              "ni_workload_name": "mine", "recipes": {"layer_wise_quant": True, "gemm_to_matmul": False, "graph_optimization_level": "ENABLE_ALL"}}
    refused_values = {
        "device": ("npu", "xint8"), "backend": ("onnxrt_trt_ep", "target='tensorrt'"), "domain": ("vision", "must be one of 'auto', 'cv'"),
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
            texts = [str(one.message) for one in caught if one.filename.endswith("fitting.py") and "has no effect: " in str(one.message)]
            self.assertEqual(len(texts), len(value) if name == "recipes" else 1, texts)
            self.assertTrue(all(name in text for text in texts), texts)
        for name, (value, text) in self.refused_values.items():
            self.refused(f"(?s){name}.*{text}|{text}.*{name}", lambda: PostTrainingQuantConfig(**{name: value}))

    def test_recipes(self):
        recipes = {"smooth_quant": False, "smooth_quant_args": {}, "layer_wise_quant": False, "fast_bias_correction": False, "weight_correction": False,
                   "add_qdq_pair_to_weight": False, "dedicated_qdq_pair": False, "optypes_to_exclude_output_quant": [], "rtn_args": {}, "gptq_args": None}
        conf = PostTrainingQuantConfig(recipes=recipes)
        self.assertEqual((list(conf._without_effect()), conf._words()["recipes"]), ([], {"smooth_quant": False, "smooth_quant_args": {}}))
        self.refused("smooth_quant_args.* has no 'alphas'.*did you mean 'alpha'", lambda: PostTrainingQuantConfig(recipes={"smooth_quant_args": {"alphas": 0.5}}))
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
        self.assertIsNone(options.resume_from, "of the next fit() alone: another one may have another model")
        options.workspace = None
        self.assertRegex(self.fit().model_path, r"nc_workspace/\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d")


class Strategies(Fitting):
    strict = {"accuracy_criterion": AccuracyCriterion(criterion="absolute", tolerable_loss=0)}

    def tune(self, name, max_trials=4, **given):
        return self.fit(PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy=name, max_trials=max_trials), **given))

    def test_one_configuration_after_another(self):
        @strategy_registry
        class LastOnlyTuneStrategy(TuneStrategy):
            def __init__(self, model, conf, q_dataloader, q_func=None, eval_dataloader=None, eval_func=None, dicts=None):
                super().__init__(model, conf, q_dataloader=q_dataloader, eval_func=eval_func)
                given.append((model, conf.quant_level, q_dataloader, eval_dataloader, eval_func, len(self.tuner.operators)))

            def next_tune_cfg(self):
                one = self.tuner.operators[-1]
                for choice in (one.options[0], {"activation": {"dtype": "fp32"}, "weight": {"dtype": "fp32"}}):
                    yield {(one.name, one.op_type): choice, self.tuner.operators[-2].name: "fp32"}
                given.append([trial.number for trial in self.trials])

        given = []
        self.assertIs(STRATEGIES["lastonly"], LastOnlyTuneStrategy)
        eval_func = lambda model: -float(b"DequantizeLinear" in model.SerializeToString())  # noqa: E731  nothing meets the goal
        conf = PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy="lastonly"), **self.strict)
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

        for name in ("whole", "WHOLE", "w-hole"):
            self.assertEqual(len(self.tune(name).result.trials), 1)
        found = self.search(strategy="whole", space=None, config={"search_metric": "top1", "accuracy_criterion": {}}, output_dir="by_search")
        self.assertEqual(found.result["tuning"]["strategy"], "whole")

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


if __name__ == "__main__":
    unittest.main()
