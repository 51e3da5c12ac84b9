"""quasar.auto(): a search for somebody who has a model and samples only."""
import shutil
import unittest
from pathlib import Path
from unittest import mock

import numpy
import quasar
from digits import DIGITS, Case


class Auto(Case):
    def setUp(self):
        super().setUp()
        shutil.copy(DIGITS / "digits.onnx", "model.onnx")
        shutil.copy(DIGITS / "evaluation.npz", "evaluation.npz")

    def test_a_file_leaves_the_configuration_that_says_the_same(self):
        with self.assertLogs("quasar", "INFO") as log:
            found = quasar.auto("model.onnx", "evaluation.npz", output_dir="out")
        self.assertEqual(found.status, "ok")
        self.assertIn("task: classes", "\n".join(log.output))
        again = quasar.dry_run("model.onnx", **{key: value for key, value in quasar._core.read_words("out/search.yaml").items()
                                                if key not in ("model_input", "output_dir")})
        self.assertEqual(again["samples"]["holdout"], 175)

    def test_arrays_and_keys_of_ones_own(self):
        samples = numpy.load("evaluation.npz")
        found = quasar.auto("model.onnx", (samples["image"][:60], samples["label"][:60]), metric="agreement", loss=0.05, output_dir="out",
                            split={"calibration": 20, "evaluation": 40}, search_stop_condition={"n_trials": 2})
        self.assertIn(found.status, ("ok", "goal_missed"))
        self.assertFalse((found.output_dir / "search.yaml").exists())
        self.assertLessEqual(len(found.trials), 2 + 2)

    def test_keys_of_ones_own_replace_what_is_taken(self):
        samples = numpy.load("evaluation.npz")
        one, other = samples["image"][:40], (samples["image"][40:80], samples["label"][40:80])
        said = {}

        def looked_at(configuration, model, base):
            said.clear()
            said.update(quasar._core.canonical_keys(configuration.words), strategy=quasar._core.dry_run(configuration.words, base)["strategy"])

        class Mine(quasar.TuningStrategy):
            pass

        with mock.patch.object(quasar._auto, "_run", looked_at):
            def auto(**keys):
                with self.assertLogs("quasar", "INFO") as log:
                    quasar.auto("model.onnx", (samples["image"][100:], samples["label"][100:]), **keys)
                return {line.split(":")[2] for line in log.output}

            self.assertLessEqual({"split", "goal", "way"}, auto())
            self.assertNotIn("split", auto(eval_data_reader=other))
            self.assertEqual((said["calibration_sampling_size"], "split" in said), (128, False))
            auto(calib_data_reader=one)
            self.assertEqual(("calibration_sampling_size" in said, "eval_data_reader" in said), (False, True))
            auto(calib_data_reader=one, eval_data_reader=other, holdout_data_reader=other)
            auto(holdout_data_reader=other)
            self.assertEqual(sorted(said["split"]), ["calibration", "evaluation", "seed"])
            for keys, strategy in (({"strategy": "mse"}, "mse"), ({"tuning_criterion": {"strategy": "basic"}}, "basic"), ({"quant_level": 1}, "basic"),
                                   ({"strategy": Mine}, "Mine"), ({"budget": {"bytes": 0.7}}, "budget")):
                self.assertNotIn("way", auto(**keys))
                self.assertEqual(said["strategy"].lower(), strategy.lower())
            auto(search_spaces=[{"weight": ["Int8Spec"]}, {"weight": ["UInt8Spec"]}])
            auto(objectives=[{"metric": "top1"}, {"metric": "bytes"}])
            self.assertNotIn("accuracy_criterion", said)
            self.assertNotIn("goal", auto(evaluator=lambda path: 1.0))
            self.assertEqual(said["accuracy_criterion"], {"criterion": "relative", "tolerable_loss": 0.01})
            self.assertIn("goal", auto(evaluator=lambda path: 1.0, metric="top1"))
            self.assertEqual(said["accuracy_criterion"]["metrics"], {"top1": 1})

    def test_labels_of_usual_names_are_found_in_arrays(self):
        samples = numpy.load("evaluation.npz")
        images, labels = samples["image"][:60], samples["label"][:60]
        pairs = zip(images, labels)
        for data, keys in (({"image": images, "target": labels}, {}), ([{"image": image, "class": label} for image, label in pairs], {}),
                           ({"image": images, "truth": labels}, {"labels": "truth"}), ({"image": images, "target": labels.astype("f4")}, {})):
            with self.assertLogs("quasar", "INFO") as log, mock.patch.object(quasar._auto, "_run"):
                quasar.auto("model.onnx", data, **keys)
            self.assertIn("60 samples, with labels", log.output[1])
            self.assertIn("of top1", log.output[3])
        for data in ({"image": images, "target": labels + 0.5}, {"image": images, "other": labels}):
            with self.assertLogs("quasar", "INFO") as log, mock.patch.object(quasar._auto, "_run"):
                quasar.auto("model.onnx", data)
            self.assertIn("without labels", log.output[1])
        with self.assertRaisesRegex(quasar.QuasarError, "holds no array 'truht' for the labels; it holds image, truth; did you mean 'truth'"):
            quasar.auto("model.onnx", {"image": images, "truth": labels}, labels="truht")

    def test_a_score_of_ones_own(self):
        samples = numpy.load("evaluation.npz")
        found = quasar.auto("model.onnx", samples["image"][:60], evaluator=lambda path: 0.5, strategy="basic", output_dir="out")
        self.assertEqual((found.status, found.metrics["score"]), ("ok", 0.5))

    def test_a_stop_condition_stands_beside_the_time(self):
        for given, limit in (({"SearchStopCondition": {"n_trials": 1}}, 40), ({"search_stop_condition": {"n_trials": 1, "TimeLimit": 30}}, 30)):
            said = {}
            with mock.patch.object(quasar._auto, "_run", lambda words, *_: said.update(words.words)):
                quasar.auto("model.onnx", numpy.load("evaluation.npz")["image"][:30], time="40s", **given)
            conditions = {name.replace("_", "").lower(): value for name, value in said["search_stop_condition"].items()}
            self.assertEqual(conditions, {"timelimit": limit, "ntrials": 1})

    def test_mistakes(self):
        for words, text in (({"time": "3x"}, "5m"), ({"metric": "topp1"}, "top1"), ({"target": "ort_cpuu"}, "ort_cpu")):
            with self.assertRaisesRegex(quasar.QuasarError, text):
                quasar.auto("model.onnx", "evaluation.npz", **words)
        images = numpy.load("evaluation.npz")["image"][:20]
        for words, text in (({"metric": ["top1", "L2"]}, r"metric is \['top1', 'L2'\], but must be one name; search\(\) takes several"),
                            ({"labels": images}, r"labels is an array of shape \(20, 1, 8, 8\), but must be the name of an array"),
                            ({"loss": "1%"}, "loss is '1%', but must be a number: 1 % of"), ({"target": 3}, "target is 3, but must be the name of one"),
                            ({"output_dir": 3}, "output_dir is 3, but must be a folder")):
            with self.assertRaisesRegex(quasar.QuasarError, text):
                quasar.auto("model.onnx", "evaluation.npz", **words)
        with self.assertRaisesRegex(quasar.QuasarError, "data is None, but must be samples"):
            quasar.auto("model.onnx", None)
        with self.assertLogs("quasar", "INFO") as log, mock.patch.object(quasar._auto, "_run"):
            quasar.auto("model.onnx", images, metric=None, target=None, labels=None, loss=None, time=None, output_dir=None)
        self.assertIn("at most 300 s", log.output[-1])
        with mock.patch.object(quasar._auto, "_run") as run:
            run.return_value.output_dir = Path(".")
            quasar.auto("model.onnx", Path("evaluation.npz"), labels=Path("label"))
        with self.assertRaisesRegex(quasar.QuasarError, "at least 8"):
            quasar.auto("model.onnx", numpy.zeros((5, 1, 8, 8), numpy.float32))


if __name__ == "__main__":
    unittest.main()
