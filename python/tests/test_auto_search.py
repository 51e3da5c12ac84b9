"""Scripts written for AMD Quark."""
import copy
import enum
import json
import subprocess
import sys
import unittest
import warnings
from pathlib import Path

import numpy

import quasar
from digits import DIGITS, MODEL, ROOT, Case
from quasar import (AutoSearch, AutoSearchConfig, AutoSearchPro, CalibrationMethod, Config, PowerOfTwoMethod, QuantType, SearchSpace, get_auto_search_config,
                    get_default_config)


class Reader:
    def __init__(self, images):
        self.iterator = iter([{"image": image[None]} for image in images])

    def get_next(self):
        return next(self.iterator, None)


SMALL = {
    "calibrate_method": [CalibrationMethod.MinMax, CalibrationMethod.Percentile],
    "activation_type": [QuantType.QInt8, QuantType.QInt16],
    "weight_type": [QuantType.QInt8],
    "include_cle": [False],
    "include_fast_ft": [False],
    "extra_options": {"ActivationSymmetric": [False], "WeightSymmetric": [True]},
}
SHIFTS = {"calibrate_method": [PowerOfTwoMethod.MinMSE], "activation_type": [QuantType.QInt8], "weight_type": [QuantType.QInt8]}


def accuracy_on(images, labels):
    def evaluate(onnx_path, **args):
        return numpy.mean(quasar.Session(onnx_path)(images)[0].argmax(axis=1) == labels)

    return evaluate


class Scripts(Case):
    """The examples, after `quark.onnx` was replaced by `quasar` and nothing else."""

    def run_changed(self, name):
        text = (ROOT / "examples" / "quark" / name).read_text()
        self.assertIn("from quark.onnx", text)
        Path("script.py").write_text(text.replace("quark.onnx", "quasar"))
        done = subprocess.run([sys.executable, "script.py", str(DIGITS), "out"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_auto_search_pro(self):
        printed = self.run_changed("auto_search_pro.py")
        self.assertIn("'algorithms'", printed)
        result = json.loads(Path("out/result.json").read_text())
        self.assertEqual(result["status"], "ok")
        self.assertLess(result["best"]["metrics"]["L2"]["value"], 0.2)
        self.assertEqual(json.loads(Path("out/best_params.json").read_text()), eval(printed.strip().splitlines()[-1]))

    def test_auto_search(self):
        try:
            import onnx  # noqa: F401
            import onnxruntime  # noqa: F401
        except ImportError:
            self.skipTest("onnx and onnxruntime are not installed")
        printed = self.run_changed("auto_search.py")
        result = json.loads(Path("out/result.json").read_text())
        self.assertEqual(result["objectives"], [{"name": "score", "direction": "maximize"}])
        self.assertGreater(result["best"]["metrics"]["score"]["value"], 0.5)
        for line in printed.strip().splitlines():
            self.assertTrue(Path(line.split()[2]).exists(), line)


class Pro(Case):
    def config(self, **more):
        return {"search_space": {"activation": ["Int8Spec"], "activation_params": {"symmetric": [True, False], "only_if": "activation"}, "weight": ["Int8Spec"],
                                 "algorithms": [None], "exclude": [None]},
                "n_trials": 2, "n_jobs": 1, "output_dir": "output", "temp_dir": "temp", "search_algo": "TPE", "search_evaluator": None, "direction": "minimize",
                "base_framework": "onnx", "model_input": MODEL, "calib_data_reader": Reader(self.calibration[0]), "eval_data_reader": None,
                "load_study_if_exists": False, "two_stage_search": False, **more}

    def test_the_documents_dictionary(self):
        instance = AutoSearchPro(self.config())
        best = instance.run()
        self.assertIn(best["activation_params_symmetric"], [True, False])
        self.assertEqual(instance.result.status, "ok")
        log = Path("output/auto_search.log").read_text()
        for line in ("trial 0 started: activation=Int8Spec", "trial 1 ", "float   default      best", "status=ok reason="):
            self.assertIn(line, log)

    def test_a_function_scores(self):
        images, labels = self.evaluation
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            instance = AutoSearchPro(self.config(search_evaluator=accuracy_on(images, labels)))
            instance.run()
        self.assertIn("smaller values", str(caught[0].message))
        self.assertEqual(instance.result.best_trial.value, min(t.value for t in instance.result.trials))
        self.assertTrue(any("better, say so by direction: maximize" in warning for warning in instance.result.result["warnings"]))
        better = AutoSearchPro(self.config(search_evaluator=accuracy_on(images, labels), direction="maximize", output_dir="other",
                                           calib_data_reader=Reader(self.calibration[0])))
        better.run()
        self.assertEqual(better.result.best_trial.value, max(t.value for t in better.result.trials))

    def test_a_script_may_run_twice(self):
        AutoSearchPro(self.config()).run()
        first = Path("output/best.onnx").read_bytes()
        with self.assertWarnsRegex(UserWarning, "output holds an earlier search: results go to .*output_2; load_study_if_exists"):
            AutoSearchPro(self.config(calib_data_reader=Reader(self.calibration[0]), n_trials=1)).run()
        self.assertTrue(Path("output_2/best.onnx").exists())
        self.assertEqual(Path("output/best.onnx").read_bytes(), first)

    def test_when_all_trials_fail_it_raises(self):
        def broken(onnx_path):
            if "float" in str(onnx_path) or not broken.called:  # the float model is scored first
                broken.called = True
                return 1.0
            raise RuntimeError("no such file")

        broken.called = False
        with self.assertRaisesRegex(quasar.QuasarError, "all 2 trials failed; the first: .*no such file"):
            AutoSearchPro(self.config(search_evaluator=broken, direction="maximize")).run()
        self.assertTrue(Path("output/result.json").exists())

    def test_presets_have_all_keys_of_quark(self):
        config = get_auto_search_config("A8W8_SEARCH")
        for key in ("output_dir", "temp_dir", "direction", "study_name", "plot_results", "calib_data_reader", "model_input"):
            self.assertIn(key, config)
        self.assertTrue(config["two_stage_search"])

    def test_presets_are_copies(self):
        first = get_auto_search_config("XINT8_SEARCH")
        before = copy.deepcopy(first)
        first["search_space"]["cle_algo"].append("other")
        self.assertEqual(get_auto_search_config("XINT8_SEARCH"), before)
        with self.assertRaisesRegex(quasar.QuasarError, "did you mean 'XINT8_SEARCH'"):
            get_auto_search_config("XINT8_SEARCHH")

    def test_what_is_missing_is_named(self):
        with self.assertRaisesRegex(quasar.QuasarError, "model_input is required"):
            AutoSearchPro({"search_space": {}}).run()
        with self.assertRaisesRegex(quasar.QuasarError, "calib_data_reader is required"):
            AutoSearchPro({"model_input": MODEL, "search_space": {"weight": ["Int8Spec"]}}).run()
        with self.assertRaisesRegex(quasar.QuasarError, "did you mean 'n_trials'"):
            AutoSearchPro(self.config(n_trial=3)).run()


class V1(Case):
    def searched_with(self, **settings):
        """What comes of a class with a small space and these attributes."""
        mine = type("Mine", (AutoSearchConfig,), {"search_space": SHIFTS, "search_output_dir": "out", **settings})
        return AutoSearch(MODEL, None, mine, None, Reader(self.calibration[0])).search_model()

    def test_misspelt_settings_are_named(self):
        for name, value, meant in (("search_spaces", SMALL, "did you mean 'search_space'"), ("search_metric_tolerence", 1, "did you mean 'search_metric_tolerance'"),
                                   ("metric", "L2", "did you mean 'search_metric'"), ("evaluator", len, "did you mean 'search_evaluator'"),
                                   ("time_limit", 3, r"belongs into search_stop_condition = \{'time_limit': 3\}")):
            with self.subTest(name), self.assertRaisesRegex(quasar.QuasarError, f"{name} is no setting of Auto Search.*{meant}"):
                self.searched_with(**{name: value})

    def test_attributes_without_effect_are_told(self):
        helpers = {"search_space_XINT8": SHIFTS, "custom_evaluator": staticmethod(len), "_private": 1}
        with self.assertWarnsRegex(UserWarning, "author, note are no settings of Auto Search, without effect") as told:
            self.searched_with(note="mine", author="me", **helpers)
        self.assertEqual(told.filename, __file__)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.searched_with(search_output_dir="out2", **helpers)

    def test_a_class_as_a_namespace(self):
        class Mine(AutoSearchConfig):
            pass

        config = Mine
        config.search_space = SMALL
        config.search_output_dir = "out"
        config.search_metric = "L2"
        config.search_stop_condition = {"find_n_candidates": -1, "find_best_candidate": -1, "iteration_limit": 1000, "time_limit": 3600}
        config.search_evaluator = None
        # The order of the documentation.
        instance = AutoSearch(get_default_config("S8S8_AAWS"), config, MODEL, Reader(self.calibration[0]))
        candidates = instance.search_model()
        self.assertEqual(len(instance.result.trials), 4)
        self.assertEqual(len(candidates), 2, "the 99.9999th percentile of so few samples is their greatest value")
        self.assertEqual(instance.result.result["objectives"][0]["name"], "v1_L2")
        for candidate in candidates:
            self.assertTrue(Path(candidate["model_path"]).exists())
            self.assertGreater(candidate["difference"], 0)
        self.assertIsNone(AutoSearchConfig.search_space)

    def test_evaluators_stand_in_a_class_or_are_assigned(self):
        evaluate = accuracy_on(*self.evaluation)

        class Static(AutoSearchConfig):
            search_space = SMALL
            search_output_dir = "static"
            search_metric_tolerance = 0.05

            @staticmethod
            def custom_evaluator(onnx_path, **args):
                return evaluate(onnx_path)

            search_evaluator = custom_evaluator

        class Plain(Static):
            search_output_dir = "plain"
            search_evaluator = evaluate

        class Method(Static):
            search_output_dir = "method"

            def search_evaluator(self, onnx_path):
                return evaluate(onnx_path)

        assigned = AutoSearchConfig()
        assigned.search_space, assigned.search_output_dir, assigned.search_metric_tolerance, assigned.search_evaluator = SMALL, "assigned", 0.05, evaluate
        found = []
        for config in (Static, Static(), Plain, Plain(), Method(), assigned):
            out = f"{len(found)}"
            if isinstance(config, type):
                config.search_output_dir = out
            else:
                config.search_output_dir = out
            # The order of the package.
            instance = AutoSearch(MODEL, Config(global_quant_config="S8S8_AAWS"), config, None, Reader(self.calibration[0]))
            found.append([(c["config_index"], round(c["difference"], 9)) for c in instance.search_model()])
        self.assertEqual(found, [found[0]] * 6)
        self.assertTrue(all(difference <= 0.05 for _, difference in found[0]))

    def test_spaces_are_concatenated(self):
        config = AutoSearchConfig()
        config.search_output_dir = "out"
        instance = AutoSearch(model_input=MODEL, config=Config(get_default_config("S8S8_AAWS")), auto_search_config=config,
                              calibration_data_reader=Reader(self.calibration[0]))
        shifts, small = instance.build_all_configs(SHIFTS), instance.build_all_configs(SMALL)
        self.assertEqual((len(shifts), len(small)), (1, 4))
        instance.all_configs = shifts + small
        self.assertEqual([c["activation_type"] for c in instance.all_configs], [QuantType.QInt8] * 3 + [QuantType.QInt16] * 2)
        self.assertEqual(len(instance.all_configs[1:3]), 2)
        instance.search_model()
        self.assertEqual(len(instance.result.trials), 5)
        self.assertIn("MinMSE", json.dumps(instance.result.trials[0].params))

    def test_a_list_of_configurations(self):
        config = AutoSearchConfig()
        config.search_output_dir = "out"
        instance = AutoSearch(MODEL, get_default_config("S8S8_AAWS"), config, calibration_data_reader=Reader(self.calibration[0]))
        instance.all_configs = [c for c in instance.build_all_configs(SMALL) if c["activation_type"] == QuantType.QInt8]
        instance.search_model()
        self.assertEqual(len(instance.result.trials), 2)

    def test_a_filter_that_nothing_passes_is_told(self):
        for nothing in ([], iter(())):
            instance = AutoSearch(MODEL, Config("S8S8_AAWS"), AutoSearchConfig(), calibration_data_reader=Reader(self.calibration[0][:8]))
            instance.all_configs = nothing
            with self.assertRaisesRegex(quasar.QuasarError, "all_configs is empty"):
                instance.search_model()

    def test_filtered_lists_have_all_options_and_the_same_metric(self):
        space = {**SMALL, "include_cle": [False, True], "include_fast_ft": [False, True],
                 "extra_options": {"ActivationSymmetric": [False], "CalibMovingAverage": [False, True], "CalibMovingAverageConstant": [0.01], "Percentile": [99.9, 99.99],
                                   "FastFinetune": {"OptimAlgorithm": ["adaround"], "NumIterations": [8, 16], "LearningRate": [0.1]}}}
        config = AutoSearchConfig()
        config.search_output_dir, config.search_metric_tolerance = "out", 1.0
        instance = AutoSearch(MODEL, Config("S8S8_AAWS"), config, calibration_data_reader=Reader(self.calibration[0][:8]))
        whole = instance.build_all_configs(space)
        first, last = whole[0], whole[-1]
        self.assertEqual(first["extra_options"], {"ActivationSymmetric": False, "CalibMovingAverage": False})
        self.assertEqual((first["calibrate_method"], first["include_cle"], first["include_fast_ft"]), (CalibrationMethod.MinMax, False, False))
        self.assertEqual(last["extra_options"], {"ActivationSymmetric": False, "Percentile": 99.99,
                                                 "FastFinetune": {"OptimAlgorithm": "adaround", "NumIterations": 16, "LearningRate": 0.1}})
        averages = [c for c in whole if c["extra_options"].get("CalibMovingAverage") and not c["include_fast_ft"]]
        percentiles = [c for c in whole if c["calibrate_method"] == CalibrationMethod.Percentile and c["include_fast_ft"]]
        self.assertEqual({c["extra_options"]["CalibMovingAverageConstant"] for c in averages}, {0.01})
        instance.all_configs = averages[:2] + percentiles[:2]
        candidates = instance.search_model()
        self.assertEqual(instance.result.result["objectives"][0]["name"], "v1_L2")
        self.assertEqual([trial.state for trial in instance.result.trials], ["complete"] * 4)
        self.assertEqual([trial.params.get("adaround_params_num_iterations") for trial in instance.result.trials], [None, None, 8, 16])
        self.assertEqual(candidates[0]["config"]["minmax_options_CalibMovingAverage"], True)

    def test_a_hierarchical_space_says_that_config_is_not_looked_at(self):
        class Mine(AutoSearchConfig):
            search_space = {"scheme": ["A8W8", "U8S8_CHANNEL"]}
            search_output_dir = "out"

        instance = AutoSearch(MODEL, Config(get_default_config("S8S8_AAWS")), Mine, calibration_data_reader=Reader(self.calibration[0][:8]))
        with self.assertWarnsRegex(UserWarning, "config is not looked at"):
            instance.search_model()
        self.assertEqual(len(instance.result.trials), 2, "a grid, as of Auto Search's own spaces")

    def test_spaces_tell_the_steps_of_their_ranges(self):
        whole = quasar.Space({"g": {"x": {"type": "float", "low": 0.0, "high": 1.0, "step": 0.25}, "only_if": True}})
        self.assertEqual(next(one for one in whole.parameters if one["name"] == "g_x")["step"], 0.25)

    def test_every_configuration_of_a_space_is_in_its_words(self):
        """Each, searched alone, is the trial that it was taken from."""
        space = {**SMALL, "include_sq": [True, False], "per_channel": [True, False], "nodes_to_exclude": [[], ["conv1"]],
                 "extra_options": {"SmoothAlpha": [0.5, 0.6], "WeightSymmetric": [True, False]}}
        whole = SearchSpace(space).get_all_configs()
        for number in range(0, len(whole), 7):
            alone = quasar.Space(quasar._configs.single_space(whole[number]))
            self.assertEqual(len(alone), 1)
            given = quasar.Space(quasar._words.plain(space))[number]
            self.assertEqual({key: alone[0].get(key) for key in alone[0]}, {key: given.get(key) for key in alone[0]})

    def test_advanced_fastft_search_gives_the_best_parameters(self):
        class Mine(AutoSearchConfig):
            advanced_fastft_search = True
            search_space = {"extra_options": {"FastFinetune": {"NumIterations": [100, 200], "LearningRate": [1e-3, 1e-7]}}}
            search_output_dir = "out"

        base = get_default_config("S8S8_AAWS_ADAROUND")
        instance = AutoSearch(MODEL, Config(base), Mine, calibration_data_reader=Reader(self.calibration[0][:8]))
        self.assertEqual(instance.search_model(), {"NumIterations": 100, "LearningRate": 1e-7})
        self.assertEqual(len(instance.result.trials), 1, "one model, one trial")

    def test_an_advanced_search_heeds_minimize_for_a_score_of_ones_own(self):
        def error(path):  # of the float model, then of each trial
            error.seen.append(path)
            return float(len(error.seen))

        error.seen = []
        options = {"search_space": {"extra_options": {"FastFinetune": {"NumIterations": [2, 9]}}}, "search_output_dir": "out", "advanced_fastft_search": True,
                   "advanced_fastft_params": {"n_trials": 3, "direction": "minimize"}, "search_evaluator": staticmethod(error)}
        instance = AutoSearch(MODEL, Config("S8S8_AAWS_ADAROUND"), type("Mine", (AutoSearchConfig,), options), calibration_data_reader=Reader(self.calibration[0][:8]))
        instance.search_model()
        self.assertEqual(instance.result.result["objectives"], [{"name": "score", "direction": "minimize"}])
        self.assertEqual(instance.result.best_trial.value, min(trial.value for trial in instance.result.trials if trial.values))

    def test_quarks_configurations_are_base_configurations(self):
        for name in ("XINT8_ADAQUANT", "U8U8_AAWA", "INT8_TRANSFORMER_ACCURATE", "BF16_ADAQUANT", "MATMUL_NBITS"):
            self.assertEqual(len(quasar.Space({}, get_default_config(name).words())), 1, name)
        self.assertEqual(get_default_config("A16W8_ADAROUND").extra_options["FastFinetune"], {"OptimAlgorithm": "adaround"})
        instance = AutoSearch(MODEL, Config(get_default_config("XINT8")), type("Mine", (AutoSearchConfig,), {"search_space": SHIFTS, "search_output_dir": "npu"}), None,
                              Reader(self.calibration[0]))
        instance.search_model()
        self.assertEqual(quasar.inspect(str(instance.result.best_model), target="xint8")["rules"]["violations"], [])
        with self.assertRaisesRegex(quasar.QuasarError, "scheme 'MX6' is not supported: ONNX has no microscaling types.*nearest that runs is"):
            get_default_config("MX6")
        with self.assertRaisesRegex(quasar.QuasarError, "did you mean 'U8S8_AAWS_ADAROUND'"):
            get_default_config("U8S8_AAWS_ADAROUN")

    def test_mistakes_are_named(self):
        Path("file").write_text("mine")
        reader = Reader(self.calibration[0][:8])
        while reader.get_next() is not None:
            pass
        fresh = lambda: Reader(self.calibration[0][:8])  # noqa: E731
        for config, message in [
            ({"output_dir": "file"}, "output_dir '.*file' is a file, but must be a folder"),
            ({"search_evaluator": "my_eval"}, "search_evaluator: unknown metric 'my_eval'.*in Python a function"),
            ({"calib_data_reader": reader}, "there are none; a reader or iterator that was read before gives nothing again"),
            ({"calib_data_reader": [numpy.zeros((1, 8, 8, 1), numpy.float32)] * 3}, "transpose samples in memory to NCHW"),
            ({"search_metric": "top1"}, "samples in memory have them in pairs"),
            ({"search_space": {"weight": {"type": "categorical", "choices": ["Int8Spec"]}}}, "the first level takes lists of choices"),
            ({"search_space": {"weight": ["QInt9"]}}, "did you mean 'Int8Spec'"),
            ({"search_space": {"activation": ["Int8Spec"], "weight": ["Int8Spec"], "exclude": [["stem/conv"]],
                               "weight_params": {"quant_granularity": ["Group"], "only_if": "weight"}}}, "^weight_params.quant_granularity is 'Group'.*opset 21"),
            ({"search_devices": "cuda:0"}, "this ONNX Runtime has cpu: use it"),
        ]:
            words = {"model_input": MODEL, "calib_data_reader": fresh(), "search_space": {"weight": ["Int8Spec"]}, "output_dir": "out", **config}
            with self.assertRaisesRegex(quasar.QuasarError, message):
                AutoSearchPro(words).run()

    def test_models_to_be_scored_stand_in_temp_dir(self):
        seen = []

        def evaluate(path):
            seen.append(Path(path).resolve())
            return 1.0

        AutoSearchPro({"model_input": MODEL, "calib_data_reader": Reader(self.calibration[0][:8]), "search_space": {"weight": ["Int8Spec"]}, "output_dir": "out",
                       "temp_dir": "scratch", "search_evaluator": evaluate, "direction": "maximize"}).run()
        self.assertTrue(any(Path("scratch").resolve() in path.parents for path in seen), seen)

    def test_enumerations_of_onnxruntime_will_do(self):
        class QuantType(enum.Enum):  # noqa: F811
            QInt8 = 0

        self.assertEqual(len(SearchSpace({**SMALL, "activation_type": [QuantType.QInt8]}).get_all_configs()), 2)
        self.assertEqual(len(SearchSpace(quasar.AutoSearchConfig_Default).remove_invalid_configs()) > 1000, True)

    def test_names_of_the_package(self):
        from quasar.quantization.auto_search.auto_search_pro import AutoSearchPro as pro
        from quasar.quantization.auto_search.auto_search_v1 import AutoSearchConfig as config

        self.assertIs(pro, AutoSearchPro)
        self.assertIs(config, AutoSearchConfig)
        space = {"calibrate_method": [quasar.LayerWiseMethod.LayerWisePercentile], "activation_type": [quasar.ExtendedQuantType.QInt16, quasar.ExtendedQuantType.QBFloat16],
                 "weight_type": [quasar.ExtendedQuantType.QInt8]}
        self.assertEqual([one["activation_type"] for one in SearchSpace(space).get_all_configs()],
                         [quasar.ExtendedQuantType.QInt16, quasar.ExtendedQuantType.QBFloat16])
        with self.assertRaisesRegex(NotImplementedError, "get_next"):
            quasar.CalibrationDataReader().get_next()

    def test_names_that_published_scripts_import(self):
        from quasar import quant_utils

        self.assertIs(quant_utils.PowerOfTwoMethod, quasar.PowerOfTwoMethod)
        self.assertIs(quant_utils.ExtendedQuantFormat, quasar.ExtendedQuantFormat)
        for name in quant_utils.__all__:
            self.assertTrue(hasattr(quasar, name), name)
        for written in (quasar.ExtendedQuantFormat.QDQ, quasar.ExtendedQuantFormat.QOperator):
            out = Path(f"{written.name}.onnx")
            quasar.quantize(MODEL, out, {"scheme": "S8S8_AAWS", "quant_format": written}, calib=Reader(self.calibration[0][:8]))
            self.assertEqual(b"QLinearConv" in out.read_bytes(), written is quasar.ExtendedQuantFormat.QOperator)

    def test_model_output_gets_the_best_model(self):
        class Small(AutoSearchConfig):
            search_space = SMALL
            search_output_dir = "out"

        for place, file in (("made/there.onnx", "made/there.onnx"), ("folder", "folder/best.onnx")):
            search = AutoSearch(config=Config(get_default_config("S8S8_AAWS")), auto_search_config=Small, model_input=MODEL, model_output=place,
                                calibration_data_reader=Reader(self.calibration[0][:8]))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the second search has a folder of its own
                search.search_model()
            self.assertEqual(Path(file).read_bytes(), Path(search.result.best_model).read_bytes())
        with self.assertRaisesRegex(quasar.QuasarError, "would be overwritten"):
            AutoSearch(model_input=MODEL, model_output=MODEL)

    def test_arguments(self):
        with self.assertRaisesRegex(TypeError, "model_input"):
            AutoSearch(config=get_default_config("XINT8"))
        with self.assertRaisesRegex(TypeError, "twice"):
            AutoSearch(MODEL, model_input=MODEL)
        base = get_default_config("S8S8_AAWS")
        base.extra_options["ActivationSymmetric"] = True
        self.assertEqual(Config(base).global_quant_config.words()["extra_options"]["ActivationSymmetric"], True)


if __name__ == "__main__":
    unittest.main()
