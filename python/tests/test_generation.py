"""Text that two models write."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy

import quasar
from quasar import _generation

LANGUAGE = Path(__file__).resolve().parents[2] / "examples" / "language"
VOCABULARY = 7


class Fake:
    """A Session of a model whose next token is a sum over all tokens so far; a cache keeps the sum. `wrong_from`: it errs from that length on."""

    def __init__(self, cached=False, more=(), wrong_from=10 ** 9):
        self.cached, self.wrong_from = cached, wrong_from
        self.inputs = [("input_ids", "int64", [-1, -1]), *more]
        self.outputs = [("logits", "float32", [-1, -1, VOCABULARY])]
        if cached:
            self.inputs.append(("past_key_values.0.key", "float32", [-1, 1, -1, 1]))
            self.outputs.append(("present.0.key", "float32", [-1, 1, -1, 1]))
        self.runs, self.last = 0, {}

    def __call__(self, feeds):
        self.runs, self.last = self.runs + 1, feeds
        ids = feeds["input_ids"]
        past = feeds.get("past_key_values.0.key", numpy.zeros((1, 1, 0, 1), numpy.float32))
        seen = numpy.concatenate((past[0, 0, :, 0], ids[0].astype(numpy.float32)))
        logits = numpy.zeros((1, ids.shape[1], VOCABULARY), numpy.float32)
        wrong = 1 if len(seen) >= self.wrong_from else 0
        logits[0, -1, (3 * int(seen.sum()) + len(seen) + wrong) % VOCABULARY] = 1
        return [logits, seen.reshape(1, 1, -1, 1)] if self.cached else [logits]


def agreement(reference, prompts, **more):
    with mock.patch.object(_generation, "Session", lambda model: model):
        return quasar.generation_agreement(reference, prompts, **more)


class Agreement(unittest.TestCase):
    def test_counts_tokens_before_the_first_difference(self):
        prompts = [[1, 2, 3], [4, 5]]
        agrees = agreement(Fake(), prompts, tokens=8)
        self.assertEqual(agrees(Fake()), {"generation_agreement": 8.0, "alike": 1.0})
        # A text of 6 tokens is continued wrongly: 3 tokens behind the first prompt, 4 behind the second.
        self.assertEqual(agrees(Fake(wrong_from=6)), {"generation_agreement": 3.5, "alike": 0.0})
        # A prompt longer than all texts that are right.
        self.assertEqual(agrees(Fake(wrong_from=2))["generation_agreement"], 0.0)
        self.assertEqual(agreement(Fake(), [[1, 2, 3], [1]], tokens=4)(Fake(wrong_from=5)), {"generation_agreement": 3.0, "alike": 0.5})

    def test_a_cache_gives_the_same_text_and_one_token_a_run(self):
        plain, cached = Fake(), Fake(cached=True)
        self.assertEqual(_generation._Writer(plain, "input_ids").tokens([1, 2, 3], 12), _generation._Writer(cached, "input_ids").tokens([1, 2, 3], 12))
        self.assertEqual(cached.runs, 12)
        self.assertEqual(cached.last["input_ids"].shape, (1, 1))
        self.assertEqual(cached.last["past_key_values.0.key"].shape, (1, 1, 13, 1))

    def test_masks_and_positions_follow(self):
        known = [("attention_mask", "int64", [-1, -1]), ("position_ids", "int64", [-1, -1])]
        session = Fake(cached=True, more=known)
        _generation._Writer(session, "input_ids").tokens([1, 2, 3], 3)
        numpy.testing.assert_array_equal(session.last["attention_mask"], [[1, 1, 1, 1, 1]])
        numpy.testing.assert_array_equal(session.last["position_ids"], [[4]])

    def test_what_is_not_known_is_named(self):
        for reference, prompts, more, said in (
                (Fake(more=[("pixels", "float32", [1, 3])]), [[1]], {}, "input 'pixels'"), (Fake(), [[1]], {"ids": "tokens"}, "no input 'tokens'"),
                (Fake(), [], {}, "one prompt at least"), (Fake(), [[]], {}, "each prompt needs a token"), (Fake(), [[1]], {"tokens": 0}, "tokens is 0"),
                (Fake(more=[("past_key_values.0.key", "float32", [-1, 1, -1, 1])]), [[1]], {}, "input 'past_key_values.0.key'")):
            with self.assertRaisesRegex(ValueError, said):
                agreement(reference, prompts, **more)

    def test_of_real_models_and_in_a_search(self):
        model = str(LANGUAGE / "gpt.onnx")
        windows = numpy.load(LANGUAGE / "evaluation.npz")["input_ids"]
        agrees = quasar.generation_agreement(model, windows[:4, :8], tokens=12)
        self.assertEqual(agrees(quasar.Session(model)), {"generation_agreement": 12.0, "alike": 1.0})
        with tempfile.TemporaryDirectory() as folder:
            scores = []
            for weight in ("UInt8Spec", "UInt2Spec"):
                out = str(Path(folder) / "out.onnx")
                quasar.quantize(model, out, {"scheme": "W4", "weight": weight})
                scores.append(agrees(quasar.Session(out))["generation_agreement"])
            self.assertGreater(scores[0], scores[1])
            found = quasar.search(model, calib=windows[:8], eval=windows[8:16], space={"scheme": ["W4"], "weight": ["UInt2Spec", "UInt8Spec"]},
                                  evaluator=agrees, sampler="grid", output_dir=str(Path(folder) / "search"))
            self.assertEqual(found.metrics["generation_agreement"], scores[0])


if __name__ == "__main__":
    unittest.main()
