"""Arguments beside a configuration file in another folder."""
import logging
import os
import unittest
from pathlib import Path
from unittest import mock

import quasar
from digits import DIGITS, MODEL, SPACE, Case

FILE = f"""
model-input: {MODEL}
calib_data_reader: {{reader: npz, path: {DIGITS / "calibration.npz"}, limit: 20}}
eval_data_reader: {{reader: npz, path: {DIGITS / "evaluation.npz"}, limit: 20}}
search_space: {{activation: [UInt8Spec], weight: [Int8Spec], weight_params: {{quant_granularity: [Tensor, Channel], only_if: weight}}}}
objectives: [{{metric: cos}}]
storage: sqlite:///there.db
output_dir: results
"""


class BesideAFile(Case):
    def setUp(self):
        super().setUp()
        Path("conf").mkdir()
        Path("conf/search.yaml").write_text(FILE)

    def facts(self, **arguments):
        return quasar.dry_run(config="conf/search.yaml", **arguments)

    def test_a_space_stands_in_for_the_files(self):
        self.assertEqual(self.facts()["space"]["points"], 2)
        for space in (SPACE, [SPACE], "XINT8_SEARCH"):
            self.assertNotEqual(self.facts(space=space)["space"]["points"], 2, space)
        self.assertNotEqual(self.facts(preset="XINT8_SEARCH")["space"]["points"], 2)

    def test_a_metric_is_the_objective(self):
        found = quasar.search(config="conf/search.yaml", metric="top1", n_trials=2, speed_gate="off")
        self.assertEqual(found.result["objectives"][0]["name"], "top1")
        self.assertEqual(found.output_dir, Path("conf/results").absolute(), "the file's folder")

    def test_a_metric_of_the_files_evaluator_keeps_it(self):
        Path("conf/score.py").write_text("def score(reference, outputs, labels):\n    return {'first': 1.0, 'second': 2.0}\n")
        with open("conf/search.yaml", "a") as file:
            file.write("search_evaluator: {python: 'score.py:score', metrics: {first: maximize, second: minimize}}\n")
        Path("conf/search.yaml").write_text(Path("conf/search.yaml").read_text().replace("objectives", "# objectives"))
        with mock.patch.dict(os.environ, PATH=os.defpath):  # where no python3 has the package: this one runs it
            found = quasar.search(config="conf/search.yaml", metric="second", n_trials=1, speed_gate="off")
        self.assertEqual(found.result["objectives"], [{"name": "second", "direction": "minimize"}])
        found = quasar.search(config="conf/search.yaml", metric=["second", "top1"], n_trials=1, speed_gate="off", study_storage_db="list.db", output_dir="list")
        self.assertEqual(found.result["objectives"], [{"name": "second", "direction": "minimize"}])
        found = quasar.search(config="conf/search.yaml", metric="top1", n_trials=1, speed_gate="off", study_storage_db="other.db", output_dir="other")
        self.assertEqual(found.result["objectives"][0]["name"], "top1", "no metric of the evaluator's")

    def test_keys_are_the_files_however_they_are_spelt(self):
        found = quasar.search(config="conf/search.yaml", study_storage_db="sqlite:///mine.db", n_trials=1, speed_gate="off")
        self.assertEqual(len(found.trials), 1)
        self.assertEqual(self.facts(model=MODEL)["space"]["points"], 2, "model-input is model_input")

    def test_a_model_may_be_a_key(self):
        words = {"model_input": "no.onnx", "calib_data_reader": str(DIGITS / "calibration.npz"), "search_space": SPACE}
        Path("mine.onnx").write_bytes(Path(MODEL).read_bytes())
        for key in ("model_input", "model-input"):  # it wins over the dictionary's, which is not there, and stands alone
            self.assertIn("space", quasar.dry_run(config=words, **{key: "mine.onnx"}))
            self.assertIn("space", quasar.dry_run(calib=words["calib_data_reader"], space=SPACE, **{key: "mine.onnx"}))
        self.assertIn("space", quasar.dry_run("mine.onnx", config=words, model_input=self.folder / "mine.onnx"))
        for call in (lambda: quasar.dry_run(MODEL, config=words, model_input="mine.onnx"),
                     lambda: quasar.auto(MODEL, str(DIGITS / "evaluation.npz"), model_input="mine.onnx")):
            with self.assertRaisesRegex(TypeError, "model and model_input are given, and differ"):
                call()

    def test_paths_of_arguments_start_from_here(self):
        Path("here.npz").write_bytes((DIGITS / "calibration.npz").read_bytes())
        self.facts(calib={"reader": "npz", "path": "here.npz"}, calib_data_reader=None)
        self.facts(data_reader=None, calib="here.npz")
        with self.assertRaisesRegex(quasar.QuasarError, "old_run"):
            self.facts(warm_start="old_run/auto_search.db")
        first = quasar.search(config="conf/search.yaml", n_trials=2, output_dir="old_run", study_storage_db="own.db", speed_gate="off")
        self.assertEqual(first.output_dir, Path("old_run").absolute())


if __name__ == "__main__":
    unittest.main()
