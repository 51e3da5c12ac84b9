"""The uses that Neural Compressor's document on tuning strategies shows, with nothing changed but the imports: written anew here; and, where
the document lies beside the repository, its own blocks."""
import re

from digits import MODEL, ROOT
from fitting import Fitting
from quasar.neural_compressor import quantization
from quasar.neural_compressor.config import AccuracyCriterion, PostTrainingQuantConfig, TuningCriterion
from quasar.neural_compressor.strategy.strategy import STRATEGIES, TuneStrategy, strategy_registry

DOCUMENT = ROOT.parent / "shared" / "seeds" / "inc_tuning_strategies.txt"


class Uses(Fitting):
    """Every use is a whole call of fit() that ends with a model."""

    def model_of(self, **settings):
        model = quantization.fit(MODEL, PostTrainingQuantConfig(**settings), calib_dataloader=self.loader, eval_func=self.eval_func)
        self.assertEqual(model.result.status, "ok")
        return model.result.result

    def test_criteria(self):
        criterion = TuningCriterion(timeout=0, max_trials=100, strategy="basic", strategy_kwargs=None)
        goal = AccuracyCriterion(higher_is_better=True, criterion="relative", tolerable_loss=0.01)
        self.assertEqual(self.model_of(quant_level=1, tuning_criterion=criterion, accuracy_criterion=goal)["trials"]["executed"], 1)

    def test_levels(self):
        for level, strategy in (("auto", "automatic"), (0, "conservative"), (1, "basic")):
            found = self.model_of(quant_level=level, tuning_criterion=TuningCriterion(timeout=0, max_trials=100))
            self.assertEqual(found["tuning"]["strategy"], strategy)

    def test_strategies(self):
        kwargs = {"mse_v2": {"confidence_batches": 2},
                  "sigopt": {"sigopt_api_token": "a-token", "sigopt_project_id": "a-project", "sigopt_experiment_name": "nc-tune"}}
        for name in ("basic", "mse", "mse_v2", "bayesian", "exhaustive", "random", "sigopt", "tpe"):
            criterion = TuningCriterion(timeout=0, max_trials=100, strategy=name, strategy_kwargs=kwargs.get(name))
            self.assertEqual(self.model_of(quant_level=1, tuning_criterion=criterion)["tuning"]["strategy"], name)

    def test_a_loss_for_hawq_v2(self):
        calls = []

        def model_loss(output, target, criterion):
            calls.append(target)
            return criterion(output, target)

        conf = PostTrainingQuantConfig(quant_level=1, tuning_criterion=TuningCriterion(strategy="hawq_v2", strategy_kwargs={"hawq_v2_loss": model_loss}, max_trials=3),
                                       accuracy_criterion=AccuracyCriterion(criterion="absolute", tolerable_loss=0))
        quantization.fit(MODEL, conf, calib_dataloader=self.loader, eval_func=lambda model: -float(b"DequantizeLinear" in model.SerializeToString()))
        self.assertIn(calls[0], self.loader.labels)

    def test_a_strategy_of_ones_own(self):
        @strategy_registry
        class OwnTuneStrategy(TuneStrategy):
            def __init__(self, model, conf, q_dataloader, q_func=None, eval_dataloader=None, eval_func=None, dicts=None): ...

            def next_tune_cfg(self):
                yield {}

            def traverse(self):
                for tune_cfg in self.next_tune_cfg():
                    self.evaluate(tune_cfg)

        self.assertEqual(self.model_of(quant_level=1, tuning_criterion=TuningCriterion(strategy="own"))["tuning"]["strategy"], "OwnTuneStrategy")


class Document(Fitting):
    def run_block(self, block):
        """-> the names that the block has defined."""
        names = {"model": MODEL, "dataloader": self.loader, "eval_func": self.eval_func, "TuneStrategy": TuneStrategy, "strategy_registry": strategy_registry}
        exec(compile(re.sub(r"^(from|import) neural_compressor\b", r"\1 quasar.neural_compressor", block, flags=re.M), DOCUMENT.name, "exec"), names)
        return names

    def test_every_block(self):
        if not DOCUMENT.exists():
            self.skipTest("the document is not beside the repository")
        blocks = re.findall(r"^``` ?python\n(.*?)^```", DOCUMENT.read_text(errors="replace"), re.M | re.S)
        self.assertGreaterEqual(len(blocks), 14)
        fitted = 0
        for block in blocks:
            with self.subTest(block):
                names = self.run_block(block)
                given = {name: names[name] for name in ("tuning_criterion", "accuracy_criterion") if name in names}
                conf = names.get("conf") or (PostTrainingQuantConfig(quant_level=1, **given) if given else None)
                if conf is None:
                    self.assertIs(STRATEGIES["abc"], names["AbcTuneStrategy"])
                    continue
                model = quantization.fit(names["model"], conf, calib_dataloader=names["dataloader"], eval_func=names["eval_func"])
                self.assertEqual(model.result.status, "ok")
                fitted += 1
        self.assertEqual(fitted, len(blocks) - 1)
