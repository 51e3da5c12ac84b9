"""Text that two models write."""
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy

import quasar
from quasar import _generation

try:
    import onnx
except ImportError:
    onnx = None

LANGUAGE = Path(__file__).resolve().parents[2] / "examples" / "language"
VOCABULARY = 7


class Fake:
    """A Session of a model whose next token is a sum over all tokens so far; a cache keeps the sum. `wrong_from`: it errs from that length on."""

    def __init__(self, cached=False, more=(), wrong_from=10 ** 9, kind="float32"):
        self.cached, self.wrong_from = cached, wrong_from
        self.inputs = [("input_ids", "int64", [-1, -1]), *more]
        self.outputs = [("logits", "float32", [-1, -1, VOCABULARY])]
        if cached:
            self.inputs.append(("past_key_values.0.key", kind, [-1, 1, -1, 1]))
            self.outputs.append(("present.0.key", kind, [-1, 1, -1, 1]))
        self.kind, self.runs, self.last = kind, 0, {}

    def __call__(self, feeds):
        self.runs, self.last = self.runs + 1, feeds
        ids = feeds["input_ids"]
        past = feeds.get("past_key_values.0.key", numpy.zeros((1, 1, 0, 1), self.kind))
        if past.dtype != self.kind:
            raise TypeError(f"the cache is {past.dtype}, but must be {self.kind}")
        seen = numpy.concatenate((past[0, 0, :, 0], ids[0].astype(self.kind)))
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

    def test_a_cache_in_half_precision_starts_in_half_precision(self):
        halves = Fake(cached=True, kind="float16")
        self.assertEqual(agreement(halves, [[1, 2, 3]], tokens=6)(Fake(cached=True, kind="float16")), {"generation_agreement": 6.0, "alike": 1.0})
        self.assertEqual(halves.last["past_key_values.0.key"].dtype, numpy.float16)
        with self.assertRaisesRegex(ValueError, "input 'past_key_values.0.key' holds float64"):
            agreement(Fake(cached=True, kind="float64"), [[1]])

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


@unittest.skipUnless(onnx, "needs onnx")
class Caches(unittest.TestCase):
    """Samples with recorded caches."""

    @staticmethod
    def model(folder, kind=numpy.float32):
        """A table, an attention over what the cache and the tokens hold, and logits: [batch, 2 heads, positions, 4]."""
        rng, helper = numpy.random.default_rng(0), onnx.helper
        weights = [onnx.numpy_helper.from_array(rng.normal(0, 0.5, shape).astype(kind), name)
                   for name, shape in (("table", (VOCABULARY, 8)), ("wq", (8, 8)), ("wk", (8, 8)), ("wv", (8, 8)), ("last", (8, VOCABULARY)))]
        weights += [onnx.numpy_helper.from_array(numpy.array(value, numpy.int64), name) for name, value in (("split", [0, 0, 2, 4]), ("join", [0, 0, 8]))]
        nodes = [helper.make_node("Gather", ["table", "input_ids"], ["x"])]
        for one in "qkv":
            nodes += [helper.make_node("MatMul", ["x", "w" + one], [one + "0"]), helper.make_node("Reshape", [one + "0", "split"], [one + "1"]),
                      helper.make_node("Transpose", [one + "1"], [one], perm=[0, 2, 1, 3])]
        values, number = [], helper.np_dtype_to_tensor_dtype(numpy.dtype(kind))
        for one, name in (("k", "0.key"), ("v", "0.value")):
            nodes.append(helper.make_node("Concat", ["past_key_values." + name, one], ["present." + name], axis=2))
            values.append([helper.make_tensor_value_info(word + name, number, ["batch", 2, positions, 4])
                           for word, positions in (("past_key_values.", "before"), ("present.", "after"))])
        nodes += [helper.make_node("Transpose", ["present.0.key"], ["kt"], perm=[0, 1, 3, 2]), helper.make_node("MatMul", ["q", "kt"], ["scores"]),
                  helper.make_node("Softmax", ["scores"], ["shares"], axis=-1), helper.make_node("MatMul", ["shares", "present.0.value"], ["mixed"]),
                  helper.make_node("Transpose", ["mixed"], ["rows"], perm=[0, 2, 1, 3]), helper.make_node("Reshape", ["rows", "join"], ["joined"]),
                  helper.make_node("MatMul", ["joined", "last"], ["logits"])]
        graph = helper.make_graph(nodes, "small", [helper.make_tensor_value_info("input_ids", onnx.TensorProto.INT64, ["batch", "positions"]),
                                                   *(one[0] for one in values)],
                                  [helper.make_tensor_value_info("logits", number, ["batch", "positions", VOCABULARY]), *(one[1] for one in values)], weights)
        path = str(Path(folder, "cached.onnx"))
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path

    def test_hold_what_the_model_kept_of_the_tokens_before(self):
        windows = numpy.random.default_rng(1).integers(0, VOCABULARY, (4, 9))
        with tempfile.TemporaryDirectory() as folder:
            path = self.model(folder)
            prompt = quasar.cache_samples(path, windows, held=0)
            self.assertEqual({name: array.shape for name, array in prompt.items()},
                             {"input_ids": (4, 9), "past_key_values.0.key": (4, 2, 0, 4), "past_key_values.0.value": (4, 2, 0, 4)})
            later = quasar.cache_samples(path, windows, held=8)  # the last token alone, as while a text is written
            self.assertEqual(later["past_key_values.0.key"].shape, (4, 2, 8, 4))
            numpy.testing.assert_array_equal(later["input_ids"], windows[:, 8:])
            session = quasar.Session(path)
            numpy.testing.assert_allclose(session(later)[0][:, -1], session(prompt)[0][:, -1], rtol=1e-4, atol=1e-5)
            # What every function takes: one archive, or both kinds in a list.
            out = str(Path(folder, "out.onnx"))
            self.assertTrue(quasar.quantize(path, out, "U8S8_CHANNEL", calib=[prompt, later]).nodes)
            numpy.savez(Path(folder, "later.npz"), **later)
            scores = quasar.evaluate(out, Path(folder, "later.npz"), reference=path, metric="cos", latency=False)["metrics"]
            self.assertGreater(scores["cos"]["value"], 0.9)

    def test_half_precision_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.model(folder, numpy.float16)
            self.assertEqual(quasar.cache_samples(path, [[1, 2, 3]], held=2)["past_key_values.0.key"].dtype, numpy.float16)
            self.assertEqual(quasar.generation_agreement(path, [[1, 2]], tokens=5)(quasar.Session(path))["alike"], 1.0)

    def test_what_is_wrong_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = self.model(folder)
            for windows, held, said in (([[1, 2], [1]], 1, "rows of one length, but have 1, 2"), ([], 0, "but have none"), ([[1, 2]], 2, "held is 2"),
                                        ([[1, 2]], -1, "from 0 to 1"), ([[1, 2]], 0.5, "held is 0.5")):
                with self.assertRaisesRegex(ValueError, said):
                    quasar.cache_samples(path, windows, held=held)
        with self.assertRaisesRegex(ValueError, "takes no caches"):
            quasar.cache_samples(LANGUAGE / "gpt.onnx", [[1, 2]], held=1)


if __name__ == "__main__":
    unittest.main()
