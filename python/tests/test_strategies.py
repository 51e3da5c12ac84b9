"""Strategies of one's own that tune operators; and how strategies end."""
import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy

import quasar
from digits import Case


class Tuning(Case):
    goal = {"search_metric": "L2", "accuracy_criterion": {"criterion": "absolute", "tolerable_loss": 0.00108}}

    def tune(self, strategy, **keys):
        return self.search(config=self.goal, strategy=strategy, space=None, pruner="none",
                           **{"calib": self.calibration, "tuning_criterion": {"max_trials": 30}, **keys})

    def test_one_configuration_after_another_by_name(self):
        class LastFirst(quasar.TuningStrategy):
            def next(self, tuner, history):
                self.operators, self.left = tuner.operators, tuner.left
                if len(history) < len(tuner.operators):
                    return {one.name: "float32" for one in tuner.operators[len(tuner.operators) - len(history):]}

        mine = LastFirst()
        quasar.register_strategy("last_first", mine)
        found = self.tune("last_first", op_name_dict={"stem/conv": {"weight": {"granularity": ["per_tensor"]}}})
        self.assertEqual(found.status, "ok")
        self.assertEqual([one["node"] for one in found.result["tuning"]["float"]], [mine.operators[-1].name])
        self.assertIn("without it the loss is", found.result["tuning"]["float"][0]["why"])
        self.assertEqual(mine.left, 30 - len(found.trials) + 1)
        stem = next(one for one in mine.operators if one.name == "stem/conv")
        self.assertEqual((stem.op_type, stem.floats), ("Conv", ["float32"]))
        self.assertTrue(all(option["weight_params"]["quant_granularity"] == "Tensor" for option in stem.options))
        named = self.tune(None, tuning_criterion={"strategy": "last_first", "max_trials": 1}, output_dir="named")
        self.assertEqual((named.status, len(named.trials)), ("goal_missed", 1))
        given = self.tune(None, tuning_criterion={"strategy": LastFirst(), "max_trials": 1}, output_dir="given")
        self.assertEqual(len(given.trials), 1)
        with self.assertRaisesRegex(quasar.QuasarError, "basic"):
            quasar.register_strategy("basic", LastFirst)
        with self.assertRaisesRegex(quasar.QuasarError, "known: .*last_first.*did you mean 'last_first'"):
            self.tune("lastfirst2")
        program = "import quasar\nquasar.register_strategy('mine', quasar.TuningStrategy)"
        self.assertEqual(subprocess.run([sys.executable, "-c", program]).returncode, 0, "the program ends with a strategy that is known")
        with self.assertRaisesRegex(TypeError, "quasar.Strategy"):
            quasar.register_strategy("number", 7)
        with self.assertRaisesRegex(TypeError, "takes a name and then the strategy, but the name is 5"):
            quasar.register_strategy(5, LastFirst)
        for name in ("", " "):
            with self.assertRaisesRegex(quasar.QuasarError, "must have a letter or a digit"):
                quasar.register_strategy(name, LastFirst)

    def test_the_whole_way_and_its_mistakes(self):
        class Way(quasar.TuningStrategy):
            def traverse(self, tuner):
                tuner.tell("all of them")
                first, last = tuner.operators[0], tuner.operators[-1]
                trials = tuner.evaluate_all([{}, {first.name: first.options[-1]}])
                self.losses = [tuner.loss(trial) for trial in trials]
                self.best, self.met = tuner.best, tuner.met
                for wrong in ({"stem/cnv": "float32"}, {"node stem/conv": "float33"}):
                    try:
                        tuner.evaluate(wrong)
                    except quasar.QuasarError as error:
                        self.errors.append(str(error))
                try:
                    tuner.evaluate([{}, {}])
                except TypeError as error:
                    self.errors.append(str(error))
                self.explored = tuner.explore({last.name: "float32"})
                try:
                    tuner.evaluate({last.name: "float32"})
                finally:
                    self.after = tuner.met

        way = Way()
        way.errors = []
        found = self.tune(way)
        self.assertEqual((found.status, found.result["reason"]), ("ok", "the accuracy criterion is met"))
        self.assertEqual(found.best_trial.number, way.explored.number)
        self.assertEqual(min(way.losses), way.best.value)
        self.assertEqual((way.met, way.after), (False, True))
        self.assertIn("did you mean 'stem/conv'", way.errors[0])
        self.assertIn("did you mean 'float32'", way.errors[1])
        self.assertIn("evaluate_all takes several", way.errors[2])

        class Broken(quasar.TuningStrategy):
            def traverse(self, tuner):
                tuner.evaluate({})
                raise LookupError("no way")

        with self.assertRaisesRegex(LookupError, "no way"):
            self.tune(Broken, output_dir="broken")
        result = json.loads(Path("broken/result.json").read_text())
        self.assertEqual(result["status"], "strategy_failed")
        self.assertIn("LookupError: no way", result["reason"])
        with self.assertRaisesRegex(NotImplementedError, "must define next"):
            self.tune(quasar.TuningStrategy, output_dir="nothing")

    def test_a_tuner_that_is_kept_answers_until_the_search_is_over(self):
        class Keeps(quasar.TuningStrategy):
            def traverse(self, tuner):
                self.tuner = tuner
                self.first = tuner.evaluate({})

        kept = Keeps()
        self.tune(kept)
        for use in (lambda: kept.tuner.left, lambda: kept.tuner.best, lambda: kept.tuner.met, lambda: kept.tuner.loss(kept.first),
                    lambda: kept.tuner.evaluate({}), lambda: kept.tuner.tell("late")):
            with self.assertRaisesRegex(quasar.QuasarError, "the search is over, and its tuner with it"):
                use()

        class Bench(quasar.Strategy):
            def run(self, bench):
                self.bench, self.space = bench, bench.space
                bench.evaluate(bench.default())

        kept = Bench()
        self.search(strategy=kept, pruner="none", output_dir="bench")
        self.assertEqual(len(kept.space), 4, "a space is the strategy's own")
        for use in (lambda: kept.bench.trials, lambda: kept.bench.default(), lambda: kept.bench.space, lambda: kept.bench.evaluate({})):
            with self.assertRaisesRegex(quasar.QuasarError, "the search is over, and its bench with it"):
                use()

    def test_a_tuner_serves_one_thread_at_a_time(self):
        class Threads(quasar.TuningStrategy):
            def traverse(self, tuner):
                self.errors = []

                def work():
                    try:
                        for operator in tuner.operators:
                            tuner.explore({operator.name: "float32"})
                    except quasar.QuasarError as error:
                        self.errors.append(str(error))

                for thread in [threading.Thread(target=work) for _ in range(2)]:
                    thread.start()  # and never joined: one may still be at work when this ends

        way = Threads()
        self.tune(way)
        self.assertTrue(all("evaluate_all" in error or "is over" in error for error in way.errors), way.errors)

    def test_the_same_class_continues_its_trials(self):
        class Grow(quasar.TuningStrategy):
            def next(self, tuner, history):
                return {one.name: "float32" for one in tuner.operators[:len(history)]}

        strict = {"criterion": "absolute", "tolerable_loss": 1e-6}
        for count, resume in ((3, False), (6, True), (6, True)):
            found = self.tune(Grow(), accuracy_criterion=strict, tuning_criterion={"max_trials": count}, load_study_if_exists=resume)
            self.assertEqual(found.result["trials"]["executed"], count)
            self.assertEqual(len(found.trials), count)
        self.assertEqual(found.result["tuning"]["strategy"], "Grow")

        class Basic(Grow):
            pass

        named = self.tune(Basic(), accuracy_criterion=strict, tuning_criterion={"max_trials": 2}, output_dir="basic")
        self.assertEqual(len(named.trials), 2, "the name is taken, by a strategy of Quasar's")

    def test_what_is_no_exception_reaches_the_caller_and_keeps_the_study(self):
        class Way(quasar.TuningStrategy):
            def traverse(self, tuner):
                tuner.evaluate({})
                raise self.raised

        class Run(quasar.Strategy):
            def run(self, bench):
                bench.evaluate(bench.default())
                raise self.raised

        for raised in (KeyboardInterrupt(), SystemExit(3)):
            name = type(raised).__name__
            for strategy, search in ((Way(), self.tune), (Run(), self.search)):
                strategy.raised = raised
                folder = name + type(strategy).__name__
                with self.assertRaises(type(raised)):
                    search(strategy=strategy, output_dir=folder)
                result = json.loads(Path(folder, "result.json").read_text())
                self.assertEqual(result["status"], "interrupted")
                self.assertRegex(result["reason"], f"^interrupted: the strategy raised {name}[^\n]*$")
                self.assertTrue(Path(folder, "best.onnx").exists())

        def loss(output, target, criterion):
            raise KeyboardInterrupt

        with self.assertRaises(KeyboardInterrupt):
            self.tune("hawq_v2", output_dir="loss", tuning_criterion={"max_trials": 3, "strategy_kwargs": {"hawq_v2_loss": loss}})
        result = json.loads(Path("loss/result.json").read_text())
        self.assertEqual((result["status"], result["warnings"]), ("interrupted", []))

    def test_an_exception_that_was_raised_is_not_raised_again(self):
        class AtOnce(quasar.Strategy):
            def run(self, bench):
                raise LookupError("at once")

        quasar.register_strategy("at_once", AtOnce)
        with self.assertRaises(LookupError):
            self.search(strategy="at_once", output_dir="first")
        self.assertEqual(self.search(output_dir="second").status, "ok")

    def test_the_end_passes_through_except_exception(self):
        class Stubborn(quasar.TuningStrategy):
            def traverse(self, tuner):
                self.calls = 0
                for operator in tuner.operators:
                    try:
                        self.calls += 1
                        tuner.explore({operator.name: "float32"})
                    except Exception:
                        pass

        way = Stubborn()
        self.assertEqual(len(self.tune(way, tuning_criterion={"max_trials": 2}).trials), 2)
        self.assertEqual(way.calls, 3)

    def test_what_is_no_configuration(self):
        class Wrong(quasar.TuningStrategy):
            def traverse(self, tuner):
                self.errors = []
                for wrong in (None, [], "float32"):
                    try:
                        tuner.evaluate(wrong)
                    except TypeError as error:
                        self.errors.append(str(error))
                trial = tuner.evaluate({})
                for wrong in (lambda: tuner.tell(5), lambda: tuner.loss(None), lambda: tuner.loss(trial.number),
                              lambda: tuner.evaluate({"stem/conv": "float32", "node stem/conv": "float32"})):
                    try:
                        wrong()
                    except (TypeError, quasar.QuasarError) as error:
                        self.errors.append(str(error))

        way = Wrong()
        self.assertEqual(len(self.tune(way).trials), 1)
        self.assertEqual(len(way.errors), 7)
        self.assertIn("is None, but must be a mapping", way.errors[0])
        self.assertEqual(way.errors[3], "tell takes a text, the name of what follows, not 5")
        self.assertEqual(way.errors[4], "loss takes a trial, as evaluate() and explore() give it, not None")
        self.assertEqual(way.errors[6], "the strategy's configuration names one operator twice: 'stem/conv' and 'node stem/conv'")
        for wrong in (7, ["mse"]):
            with self.assertRaisesRegex(TypeError, "must be a function of output, target and criterion, or the name of a loss"):
                self.tune("hawq_v2", tuning_criterion={"strategy_kwargs": {"hawq_v2_loss": wrong}})

    def test_what_quantizes_nothing_is_no_trial(self):
        class All(quasar.TuningStrategy):
            def next(self, tuner, history):
                self.left, self.losses = tuner.left, [tuner.loss(trial) for trial in history]
                if len(history) < 4:
                    return {} if len(history) == 2 else {one.name: "float32" for one in tuner.operators}
                self.history = history

        way = All()
        found = self.tune(way)
        self.assertEqual([trial.number for trial in way.history], [-1, -1, 0, -1])
        self.assertEqual([trial.state for trial in way.history], ["failed", "failed", "complete", "failed"])
        self.assertIn("nothing in this model is quantized", way.history[0].error)
        self.assertEqual((way.left, way.losses[0], len(found.trials)), (29, float("inf"), 1))

    def test_what_a_loss_is_called_with(self):
        for calibration in (self.calibration, self.calibration[0]):
            seen = []

            def loss(output, target, criterion):
                seen.append((output, target, criterion(output, target)))
                return seen[-1][2]

            self.tune("hawq_v2", calib=calibration, tuning_criterion={"max_trials": 1, "strategy_kwargs": {"hawq_v2_loss": loss}}, output_dir=f"loss{len(calibration)}")
            output, target, usual = seen[0]
            self.assertEqual((output.shape, str(output.dtype)), ((1, 10), "float32"))
            if len(calibration) == 2:
                self.assertIs(type(target), int)
                self.assertIn(target, self.calibration[1])  # samples come in any order
                self.assertAlmostEqual(usual, -float(numpy.log(output[0, target])), places=5)
            else:
                self.assertEqual((target.shape, str(target.dtype)), ((1, 10), "float32"))
                self.assertAlmostEqual(usual, float(((output - target) ** 2).mean()))
