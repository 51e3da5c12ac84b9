"""Searches with functions and classes of one's own."""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import numpy

import quasar
from digits import DIGITS, MODEL, SPACE, Case, arrays


def accuracy(scores, labels):
    return float(numpy.mean(scores.argmax(axis=1) == labels))


class Evaluators(Case):
    def test_the_three_kinds_and_the_built_in_metric_agree(self):
        images, labels = self.evaluation
        built_in = self.search(metric="top1", pruner="none", output_dir="built-in")

        def by_path(path):
            return accuracy(quasar.Session(path)(images)[0], labels)

        def by_inference(infer):
            self.assertTrue(Path(infer.model_path).exists())
            return accuracy(infer({"image": images})[0], labels)

        def by_outputs(reference, quantized, given):
            self.assertGreater(accuracy(reference, given), 0.9)
            return accuracy(quantized, given)

        for function in (by_path, by_inference, by_outputs):
            found = self.search(evaluator=function, output_dir=function.__name__, n_jobs=2)
            self.assertEqual(found.status, "ok")
            self.assertIs(found.faster, found.result["best"]["time_of_float"]["high"] < 1)
            self.assertAlmostEqual(found.baseline["score"], built_in.baseline["top1"])
            self.assertEqual({json.dumps(t.params): round(t.values[0], 9) for t in found.trials},
                             {json.dumps(t.params): round(t.values[0], 9) for t in built_in.trials})

    def test_kinds(self):
        class Scorer:
            def __call__(self, onnx_path):
                return 1

        self.assertEqual(quasar.kind_of(lambda onnx_path, **args: 1), "path")
        self.assertEqual(quasar.kind_of(lambda session: 1), "inference")
        self.assertEqual(quasar.kind_of(lambda a, b, c: 1), "outputs")
        self.assertEqual(quasar.kind_of(Scorer()), "path")
        self.assertEqual(quasar.kind_of(quasar.scoring("inference")(lambda x: 1)), "inference")
        with self.assertRaisesRegex(TypeError, "takes 2 parameters"):
            quasar.kind_of(lambda a, b: 1)
        with self.assertRaisesRegex(ValueError, "path, inference, outputs"):
            quasar.scoring("model")

    def test_several_metrics_and_constraints(self):
        @quasar.scoring(metrics={"error": "minimize", "size": "minimize"})
        def both(path):
            return {"error": numpy.float32(os.path.getsize(path) % 7), "size": os.path.getsize(path), "extra": 3}

        found = self.search(evaluator=both, metric=["error", "L2"], constraints=[{"metric": "size", "max": 1e6}])
        self.assertEqual(found.result["objectives"][0], {"name": "error", "direction": "minimize"})
        self.assertEqual(found.best_trial.values[0], min(t.values[0] for t in found.trials))
        self.assertEqual(found.metrics["size"], Path("out/best.onnx").stat().st_size)
        self.assertEqual(found.metrics["extra"], 3)
        self.assertIn("L2", found.metrics)
        self.assertIn("both (path)", json.dumps(found.study.attributes["job"]))

    def test_hold_out_samples_are_scored_by_evaluators_of_outputs_only(self):
        def distance(reference, quantized, labels):
            self.assertIsNone(labels)
            return -float(numpy.abs(reference - quantized).max())

        holdout = arrays("holdout", 60)[0]
        found = self.search(evaluator=distance, eval=self.evaluation[0], holdout=holdout)
        self.assertIn("score", found.result["best"]["holdout"])
        found = self.search(evaluator=lambda path: 1.0, holdout=holdout, output_dir="other")
        self.assertNotIn("holdout", found.result["best"])

    def test_an_exception_is_a_failed_trial_with_its_traceback(self):
        calls = []

        def moody(path):
            calls.append(path)
            if len(calls) == 2:
                raise RuntimeError("the camera is off")
            if len(calls) == 3:
                return None
            if len(calls) == 4:
                return float("nan")
            return 1.0

        found = self.search(evaluator=moody)
        failed = [t for t in found.trials if t.state == "failed"]
        self.assertEqual(failed[0].error, "RuntimeError: the camera is off")
        self.assertIn("in moody", failed[0].attributes["traceback"])
        self.assertIn("returned None", failed[1].error)
        self.assertIn("score is not finite", failed[2].error)
        self.assertEqual(quasar.Study("out").trials[failed[0].number].attributes["traceback"], failed[0].attributes["traceback"])
        self.assertFalse(any(Path(path).exists() for path in calls if path != MODEL))

    def test_an_exception_on_the_float_model_ends_it_at_once(self):
        def broken(path):
            return undefined_name  # noqa: F821

        with self.assertRaisesRegex(quasar.QuasarError, "(?s)cannot score the float model: NameError.*in broken"):
            self.search(evaluator=broken)
        self.assertFalse(Path("out/auto_search.db").exists())

    def test_time_limits_hold_for_python_too(self):
        calls = []

        def slow(path):
            calls.append(path)
            if len(calls) > 1:
                time.sleep(0.6)
            return 1.0

        found = self.search(evaluator=slow, trial_time_limit=0.3)
        self.assertIn("trial_time_limit", found.trials[0].error)
        self.assertEqual(found.status, "no_candidate")

    def test_detections_of_different_sizes_come_as_lists(self):
        # A model whose output's size depends on the sample: the places of pixels above a threshold.
        onnx = self.onnx()
        helper, kind = onnx.helper, onnx.TensorProto.FLOAT
        model = onnx.load(MODEL)
        limit = helper.make_tensor("limit", kind, [], [0.02])
        nodes = [helper.make_node("Greater", ["probabilities", "limit"], ["above"]), helper.make_node("NonZero", ["above"], ["found"])]
        model.graph.node.extend(nodes)
        model.graph.initializer.append(limit)
        del model.graph.output[:]
        model.graph.output.append(helper.make_tensor_value_info("found", onnx.TensorProto.INT64, [2, None]))

        def overlap(reference, quantized, labels):
            self.assertIsInstance(reference, list)
            return float(numpy.mean([a.shape == b.shape and bool((a == b).all()) for a, b in zip(reference, quantized)]))

        found = quasar.search(model, self.calibration[0], self.evaluation[0], SPACE, evaluator=overlap, output_dir="out")
        self.assertGreater(found.metrics["score"], 0.5)

    def onnx(self):
        try:
            import onnx
        except ImportError:
            self.skipTest("onnx is not installed")
        return onnx


class OwnClasses(Case):
    def test_a_sampler(self):
        class Backwards(quasar.Sampler):
            def ask(self, space, trials, rng):
                self.seen = [t.state for t in trials]
                self.rng = rng.random()
                left = [c for c in reversed(list(space)) if all(c["weight_params"] != {"quant_granularity": t.params["weight_params_quant_granularity"]}
                        or c["activation_params"] != {"calibration_method": t.params["activation_params_calibration_method"]} for t in trials)]
                return left[0] if left else None

        mine = Backwards()
        found = self.search(sampler=mine, n_trials=10, pruner="none")
        self.assertEqual([t.params["activation_params_calibration_method"] for t in found.trials], ["MinMax", "Percentile", "Percentile", "MinMax"])
        self.assertEqual(mine.seen, ["complete", "complete", "complete", "complete"][:len(mine.seen)])
        self.assertIn("Backwards", found.result["environment"]["search_algo"])

    def test_a_sampler_that_fails_ends_the_search_with_its_exception(self):
        class Broken(quasar.Sampler):
            def ask(self, space, trials, rng):
                raise LookupError("nothing comes to mind")

        with self.assertRaisesRegex(LookupError, "nothing comes to mind"):
            self.search(sampler=Broken)

        class Wrong(quasar.Sampler):
            def ask(self, space, trials, rng):
                return {"weigth": "Int8Spec"}

        with self.assertRaisesRegex(quasar.QuasarError, "weigth"):
            self.search(sampler=Wrong, output_dir="other")

    def test_a_stop_condition(self):
        class Enough(quasar.StopCondition):
            def met(self, progress):
                return "two are enough" if progress["complete"] >= 2 else False

        found = self.search(stop=[Enough(), {"time_limit": 1000}], pruner="none")
        self.assertEqual(len(found.trials), 2)
        self.assertEqual(found.result["reason"], "two are enough")

    def test_a_loss_for_hawq_v2(self):
        targets = []

        def mine(output, target, criterion):
            targets.append(target)
            return criterion(output, target)

        goal = {"accuracy_criterion": {"criterion": "absolute", "tolerable_loss": 0}}
        found = self.search(config={"search_metric": "L2", **goal}, calib=self.calibration, strategy="hawq_v2", space=None, pruner="none",
                            tuning_criterion={"max_trials": 3, "strategy_kwargs": {"hawq_v2_loss": mine}})
        self.assertEqual(len(found.trials), 3)
        self.assertGreater(len(targets), 10)
        self.assertTrue(all(isinstance(target, int) for target in targets), "the samples' labels")
        with self.assertRaisesRegex(quasar.QuasarError, "hawq_v2_loss|known"):
            self.search(config=goal, strategy="hawq_v2", space=None, output_dir="other", tuning_criterion={"strategy_kwargs": {"hawq_v2_loss": "hinge"}})

    def test_a_loss_that_gives_nan_or_raises_keeps_the_best_so_far(self):
        def gives_nan(output, target, criterion):
            return float("nan")

        def raises(output, target, criterion):
            raise ValueError("no such target")

        goal = {"accuracy_criterion": {"criterion": "absolute", "tolerable_loss": 0}}
        for loss, message in ((gives_nan, "gives NaN"), (raises, "ValueError: no such target")):
            found = self.search(config={"search_metric": "L2", **goal}, calib=self.calibration, strategy="hawq_v2", space=None, pruner="none",
                                output_dir=loss.__name__, tuning_criterion={"max_trials": 5, "strategy_kwargs": {"hawq_v2_loss": loss}})
            self.assertEqual(found.status, "goal_missed")
            self.assertTrue(found.best_model.exists())
            told = [w for w in found.result["warnings"] if loss.__name__ in w]
            self.assertEqual(len(told), 1)
            self.assertIn(message, told[0])
            self.assertIn("the best trial so far", told[0])

    def test_the_criterion_of_a_loss_compares_value_by_value(self):
        from quasar._guests import usual_loss
        self.assertEqual(usual_loss(numpy.ones((1, 3)), numpy.zeros((1, 3))), 1)
        with self.assertRaisesRegex(ValueError, r"shape \(1, 3\), the float model's \(2, 3\)"):
            usual_loss(numpy.ones((1, 3)), numpy.zeros((2, 3)))

    def test_a_strategy_that_goes_round_in_circles_is_ended(self):
        class Circles(quasar.Strategy):
            def run(self, bench):
                while True:
                    bench.evaluate(bench.default())

        found = self.search(strategy=Circles, n_trials=5, pruner="none")
        self.assertIn("nothing new", found.result["reason"])
        self.assertEqual(len(found.trials), 1)

    def test_a_strategy(self):
        class Climb(quasar.Strategy):
            def run(self, bench):
                best = bench.evaluate(bench.default())
                for config in bench.space:
                    trial = bench.evaluate(config)
                    if trial.value is not None and trial.value < best.value:
                        best = trial
                self.seen = len(bench.trials)
                return best

        mine = Climb()
        found = self.search(strategy=mine, pruner="none", n_jobs=2)
        self.assertEqual(mine.seen, 4)
        self.assertEqual(found.best_trial.value, min(t.value for t in found.trials))
        self.assertEqual(self.search(strategy=Climb(), n_trials=2, output_dir="two").result["trials"]["requested"], 2)

        class Worst(quasar.Strategy):
            def run(self, bench):
                return max(bench.evaluate_all(list(bench.space)), key=lambda trial: trial.value)

        found = self.search(strategy=Worst, pruner="none", n_jobs=2, output_dir="worst")
        self.assertEqual(found.best_trial.value, max(t.value for t in found.trials))

        class Broken(quasar.Strategy):
            def run(self, bench):
                raise KeyError("plan")

        with self.assertRaises(KeyError):
            self.search(strategy=Broken, output_dir="broken")

    def test_what_comes_out_of_a_strategy_is_raised_when_the_results_are_written(self):
        class Late(quasar.Strategy):
            def run(self, bench):
                bench.evaluate(bench.default())
                raise RuntimeError("boom")

        with self.assertRaisesRegex(RuntimeError, "boom"):
            self.search(strategy=Late, pruner="none", output_dir="late")
        result = json.loads(Path("late/result.json").read_text())
        self.assertEqual(result["status"], "strategy_failed")
        self.assertIn("RuntimeError: boom", result["reason"])
        self.assertTrue(Path("late/best.onnx").exists())


class Running(Case):
    def test_the_result(self):
        events = []
        found = self.search(config={"search_metric": ["L2", "top1"], "n_jobs": 1}, pruner="none", on_trial=events.append)
        self.assertEqual(found.status, "ok")
        self.assertEqual(found.best_model.read_bytes()[:2], Path(MODEL).read_bytes()[:2])
        self.assertEqual(found.best_params, json.loads(Path("out/best_params.json").read_text()))
        self.assertEqual([e["kind"] for e in events], ["started", "finished"] * 4)
        self.assertEqual(events[-1]["total"], 4)
        self.assertEqual(len(quasar.Study("out").trials), 4)
        self.assertEqual(quasar.Study("out").best_trial.number, found.best_trial.number)
        self.assertIn("top1", found.table)
        self.assertTrue(Path("out/report.html").exists())
        self.assertTrue(Path("out/auto_search.log").exists())
        with self.assertRaisesRegex(quasar.QuasarError, "holds an earlier search"):
            self.search()
        elsewhere = self.search(output_dir="elsewhere", storage="sqlite:///studies.db", study_name="mine")
        self.assertEqual((len(elsewhere.study.trials), elsewhere.study.name), (4, "mine"))
        again = self.search(load_study_if_exists=True, pruner="none", metric=["L2", "top1"])
        self.assertEqual(again.result["best"]["metrics"]["L2"]["value"], found.metrics["L2"])

    def test_every_search_has_its_own_log(self):
        """Quark's failure 40: the second search in a process writes into the first one's log, and files into the working directory."""
        for name in ("north", "south"):
            self.search(output_dir=name, config={"study_name": f"study of the {name}"})
        for name, other in (("north", "south"), ("south", "north")):
            log = Path(name, "auto_search.log").read_text()
            self.assertIn("search space", log)
            self.assertNotIn(other, log)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["north", "south"])

    def test_a_configuration_file(self):
        found = quasar.search(config=DIGITS / "search.yaml", output_dir="out")
        self.assertEqual(found.status, "ok")
        self.assertGreater(found.metrics["top1"], 0.98)

    def test_a_configuration_is_not_replaced_by_results(self):
        config = Path("out", "best_config.yaml")
        config.parent.mkdir()
        config.write_text("n_trials: 1\n")
        with self.assertRaisesRegex(quasar.QuasarError, "is the configuration, which would be replaced"):
            self.search(config=config)
        self.assertEqual(config.read_text(), "n_trials: 1\n")

    def test_dry_run(self):
        facts = quasar.dry_run(MODEL, self.calibration[0], self.evaluation[0], SPACE, sampler="Grid")
        self.assertEqual(facts["trials"], 4)
        self.assertEqual(list(self.folder.iterdir()), [])
        with_more = quasar.dry_run(MODEL, self.calibration[0], self.evaluation[0], SPACE, sampler="Grid", metric=["cos", "top1"], stop={"n_trials": 3},
                                   holdout=self.evaluation[0], evaluator=lambda path: 1.0)
        self.assertEqual(with_more["trials"], 3)

    def test_mistakes(self):
        for keys, message in [({"n_trial": 3}, "did you mean 'n_trials'"), ({"sampler": "TPP"}, "unknown sampler"), ({"metric": "L3"}, "unknown metric"),
                              ({"evaluator": {"comand": []}}, "exactly one of"), ({"direction": "maximize", "metric": "L2"}, "direction")]:
            with self.assertRaisesRegex(quasar.QuasarError, message):
                self.search(**keys)
        with self.assertRaisesRegex(TypeError, "search_metric|a configuration holds"):
            self.search(metric=object())
        with self.assertRaisesRegex(TypeError, "needs a model"):
            quasar.search()

    def test_an_exception_of_on_trial_ends_the_search(self):
        def on_trial(event):
            if event["kind"] == "finished":
                raise ArithmeticError("seen enough")

        with self.assertRaisesRegex(ArithmeticError, "seen enough"):
            self.search(on_trial=on_trial)
        self.assertEqual(json.loads(Path("out/result.json").read_text())["status"], "interrupted")

    def test_other_threads_run_meanwhile(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(time.process_time())
                time.sleep(0.001)

        thread = threading.Thread(target=tick)
        thread.start()
        start = time.process_time()  # of this process alone, whatever else the machine does
        quasar.search(config=DIGITS / "search.yaml", output_dir="out")
        elapsed = time.process_time() - start
        done.set()
        thread.join()
        longest = max(b - a for a, b in zip(ticks, ticks[1:]))
        self.assertLess(longest, elapsed / 2, "the interpreter's lock was held")

    def test_ctrl_c(self):
        script = f"""
import quasar, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background of a shell
sys.path.insert(0, {str(Path(__file__).parent)!r})
from digits import *
def slow(path):
    time.sleep(0.2)
    print("scored", flush=True)
    return 1.0
try:
    quasar.search(MODEL, arrays("calibration", 50)[0], arrays("evaluation", 50), {{**SPACE, "exclude": [None] + [[f"x{{i}}"] for i in range(0)], "PercentileCandidates": [[99.0 + i / 1000] for i in range(500)]}},
                  evaluator=slow, output_dir="out", sampler="Random", n_trials=500)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(3):
            self.assertEqual(process.stdout.readline().strip(), "scored")
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=1000)[0]
        self.assertTrue(rest.endswith("interrupted\n"), rest)
        found = json.loads(Path("out/result.json").read_text())
        self.assertEqual(found["status"], "interrupted")
        self.assertLess(found["trials"]["complete"], 500)
        self.assertTrue(Path("out/best.onnx").exists())


class Studies(Case):
    def test_ask_and_tell(self):
        space = {"kind": ["near", "far"], "near": {"x": {"type": "float", "low": -5, "high": 5}, "only_if": {"kind": "near"}}}
        study = quasar.Study("study.db", directions=["minimize"])
        for _ in range(30):
            trial = study.ask(space, {"name": "TPE", "n_startup_trials": 5}, seed=1)
            study.tell(trial, (trial.params["near_x"] - 2) ** 2 if "near_x" in trial.params else 8)
        self.assertLess(study.best_trial.value, 0.5)
        failed = study.tell(study.ask(space), None)
        self.assertEqual(failed.state, "failed")
        with self.assertRaisesRegex(quasar.QuasarError, "has ended already"):
            study.tell(failed, 1)
        with self.assertRaisesRegex(quasar.QuasarError, "in use"):  # one Study object at a time
            quasar.Study("study.db")
        del study, trial, failed
        again = quasar.Study("study.db")
        self.assertEqual((len(again.trials), again.directions), (31, ["minimize"]))

    def test_what_is_mistyped_is_not_made(self):
        Path("empty.db").touch()
        Path("folder").mkdir()
        before = sorted(os.listdir())
        for place in ("typo.db", "sqlite:///typo.db", f"sqlite:///{os.getcwd()}/typo.db", "missing/typo.db", "folder", "memory"):
            for directions in (None, []):
                with self.assertRaisesRegex(FileNotFoundError, "no study in .*" + place.rsplit("/", 1)[-1]):
                    quasar.Study(place, directions=directions)
        with self.assertRaisesRegex(quasar.QuasarError, "no study in empty.db"):
            quasar.Study("empty.db")
        with self.assertRaisesRegex(quasar.QuasarError, "no study in sqlite:///empty.db"):
            quasar.Study("sqlite:///empty.db", "mine")
        self.assertEqual((sorted(os.listdir()), os.listdir("folder"), Path("empty.db").stat().st_size), (before, [], 0))

    def test_a_study_that_is_elsewhere_is_named(self):
        Path("out").mkdir()
        for study, message in [("postgresql://me@server/quasar", r"postgresql://me@server/quasar, says its .* say so: quasar.Study\(ADDRESS, \"mine\"\)"),
                               ("other.db", "is in out/other.db, says its result.json: name that"), ("auto_search.db", "there is no study in out/auto_search.db")]:
            Path("out/result.json").write_text(json.dumps({"study": study, "study_name": "mine"}))
            for directions in (None, ["minimize"])[:1 if study == "auto_search.db" else 2]:
                with self.assertRaisesRegex((quasar.QuasarError, FileNotFoundError), message):
                    quasar.Study("out", directions=directions)
        self.assertEqual(os.listdir("out"), ["result.json"])

    def test_spaces(self):
        space = quasar.Space(SPACE)
        self.assertEqual(len(space), 4)
        self.assertEqual(space[-1], list(space)[3])
        self.assertEqual(space[0]["weight_params"], {"quant_granularity": "Tensor"})
        self.assertIn(space.sample(3), list(space))
        self.assertRaises(IndexError, lambda: space[4])
        ranged = quasar.Space({"a": ["x"], "g": {"lr": {"type": "float", "low": 0, "high": 1}, "only_if": "a"}})
        self.assertFalse(ranged.is_finite)
        self.assertRaises(TypeError, len, ranged)


class Budgets(Case):
    def within(self, budget):
        return quasar.search(MODEL, calib=self.calibration[0], eval=self.evaluation, metric="L2", budget=budget, output_dir="out", n_trials=8)

    def test_a_dictionary_of_shares_and_quantities(self):
        found = self.within({"bytes": "80 kB", "groups": 4})
        self.assertEqual(found.status, "ok")
        self.assertLessEqual(Path("out/best.onnx").stat().st_size, 80000)
        told = json.loads(Path("out/result.json").read_text())["tuning"]
        self.assertEqual((told["strategy"], told["budget"]["bounds"]), ("budget", {"bytes": 80000.0}))
        self.assertTrue(told["budget"]["front"]["bytes"])

    def test_what_is_wrong_in_it(self):
        for budget, words in (({"byte": 0.3}, "did you mean 'bytes'"), ({"bytes": 2}, "at most 1"), ({"bytes": 0.001}, "the smallest model has")):
            with self.subTest(budget=budget), self.assertRaisesRegex(quasar.QuasarError, words):
                self.within(budget)


if __name__ == "__main__":
    unittest.main()
