"""Several models as one: the recognizer of examples/pipeline."""
import tempfile
import unittest
from pathlib import Path

import numpy

import quasar

try:
    import onnx
except ImportError:
    onnx = None

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "pipeline"
CONNECTED = {"encoder_hidden_states": "encoder.last_hidden_state"}
START, END = 1, 2


def models(decoder="decoder_model.onnx"):
    return {"encoder": str(FOLDER / "encoder_model.onnx"), "decoder": {"path": str(FOLDER / decoder), "inputs": CONNECTED}}


def three():
    """With the decoder that takes caches for the first tokens, and again for the others."""
    return {**models("decoder_with_past_model.onnx"), "next": {"path": str(FOLDER / "decoder_with_past_model.onnx"), "inputs": CONNECTED}}


def samples(name="evaluation"):
    return dict(numpy.load(FOLDER / f"{name}.npz"))


def texts_of(labels):
    return [[int(token) for token in row if token not in (-100, END)] for row in labels]


def letters(tokens):
    return "".join(" " if token == 3 else chr(ord("a") + token - 4) for token in tokens)


class Running(unittest.TestCase):
    def test_runs_one_model_after_the_other(self):
        data = samples()
        pipeline = quasar.Pipeline(models())
        self.assertEqual(pipeline.models, ["encoder", "decoder"])
        feeds = {name: data[name][:3] for name in ("input_features", "input_ids")}
        found = pipeline(feeds)
        whole = quasar.Session(models())
        expected = dict(zip((name for name, _, _ in whole.outputs), whole(feeds)))
        for name in ("logits", "last_hidden_state"):
            numpy.testing.assert_array_equal(found[name], expected[name])
        with self.assertRaisesRegex(ValueError, "model 'decoder' needs input_ids"):
            pipeline({"input_features": data["input_features"][:1]})

    def test_a_decoder_with_caches_behind_another_is_quantized_and_split(self):
        given = quasar.pipeline_samples(three(), {"input_features": samples("calibration")["input_features"][:8]}, start=START, end=END, tokens=11)
        given = {name: value for name, value in given.items() if name != "labels"}
        with tempfile.TemporaryDirectory() as folder:
            for scheme in ({"scheme": "W8", "models": {"encoder": "DYNAMIC"}}, {"scheme": "U8S8_CHANNEL"}):
                out = Path(folder, "small.onnx")
                self.assertTrue(quasar.quantize(three(), out, scheme, calib=given).nodes)
                files = quasar.split(out, folder)
                self.assertEqual(list(files), ["encoder", "decoder", "next"])
                whole = quasar.Session(out)
                expected = dict(zip((name for name, _, _ in whole.outputs), whole(given)))
                joined = {"encoder": str(files["encoder"]), **{name: {"path": str(files[name]), "inputs": CONNECTED} for name in ("decoder", "next")}}
                for name, found in quasar.Pipeline(joined)(given).items():
                    numpy.testing.assert_array_equal(found, expected[name], str(scheme))

    def test_wrong_descriptions(self):
        with self.assertRaisesRegex(quasar.QuasarError, "has no output 'last'"):
            quasar.Pipeline({**models(), "decoder": {"path": str(FOLDER / "decoder_model.onnx"), "inputs": {"encoder_hidden_states": "encoder.last"}}})
        with self.assertRaisesRegex(quasar.QuasarError, "it is not one that was joined of several"):
            quasar.Pipeline(FOLDER / "encoder_model.onnx")
        with self.assertRaisesRegex(TypeError, "keep one of them"):
            quasar.search(FOLDER / "encoder_model.onnx", models=models())


@unittest.skipUnless(onnx, "needs onnx")
class Branches(unittest.TestCase):
    def test_branches_that_read_what_crosses_are_split_bit_by_bit(self):
        rng, helper, kind = numpy.random.default_rng(0), onnx.helper, onnx.TensorProto.FLOAT

        def weights(name, *shape):
            return onnx.numpy_helper.from_array((rng.normal(0, 1, shape) / numpy.sqrt(shape[0])).astype(numpy.float32), name)

        def value(name, *shape):
            return helper.make_tensor_value_info(name, kind, list(shape))

        def saved(graph, path):
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

        def branch(name):
            nodes = [helper.make_node("MatMul", ["states", "w" + name], ["t"], name="inner"), helper.make_node("Relu", ["t"], [name], name="relu")]
            return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, kind, None)], [weights("w" + name, 32, 64)])

        with tempfile.TemporaryDirectory() as folder:
            first, second = str(Path(folder, "first.onnx")), str(Path(folder, "second.onnx"))
            saved(helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["states"], name="product")], "first", [value("x", "batch", 16)],
                                    [value("states", "batch", 32)], [weights("w", 16, 32)]), first)
            nodes = [helper.make_node("If", ["flag"], ["z"], name="merged", then_branch=branch("a"), else_branch=branch("b")),
                     helper.make_node("MatMul", ["z", "w"], ["y"], name="product")]
            saved(helper.make_graph(nodes, "second", [helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, []), value("states", "batch", 32)],
                                    [value("y", "batch", 8)], [weights("w", 64, 8)]), second)
            both = {"first": first, "second": second}
            data = {"x": rng.normal(0, 1, (16, 16)).astype(numpy.float32), "flag": numpy.arange(16) % 2 == 0}
            samples_file = Path(folder, "samples.npz")
            numpy.savez(samples_file, **data)
            for scheme in ("U8S8_CHANNEL", "A8W8", "DYNAMIC", "W4"):
                out = Path(folder, scheme + ".onnx")
                made = quasar.quantize(both, out, scheme, calib=samples_file)
                self.assertTrue(any(node.startswith("second/merged/then_branch/") for node in made.nodes), made.nodes)
                for flag in (False, True):
                    feeds = {"x": data["x"][:4], "flag": numpy.array(flag)}
                    whole = quasar.Session(out)
                    expected = dict(zip((name for name, _, _ in whole.outputs), whole(feeds)))
                    for name, found in quasar.Pipeline(out)(feeds).items():
                        numpy.testing.assert_array_equal(found, expected[name], scheme)


class Writing(unittest.TestCase):
    def test_writes_what_the_labels_say(self):
        data = samples()
        written = quasar.generate(models(), {"input_features": data["input_features"]}, start=START, end=END, tokens=11)
        right = sum(a == b for a, b in zip(written, texts_of(data["labels"])))
        self.assertGreater(right, 0.8 * len(written))

    def test_caches_give_the_same_text(self):
        features = {"input_features": samples()["input_features"][:8]}
        plain = quasar.generate(models(), features, start=START, end=END, tokens=11)
        for other in (models("decoder_with_past_model.onnx"), three()):
            self.assertEqual(quasar.generate(other, features, start=START, end=END, tokens=11), plain)

    def test_start_may_be_several_tokens_and_tokens_a_limit(self):
        features = {"input_features": samples()["input_features"][:4]}
        whole = quasar.generate(models(), features, start=START, end=END, tokens=11)
        begun = quasar.generate(models("decoder_with_past_model.onnx"), {"input_features": features["input_features"][:1]},
                                start=[START, *whole[0][:2]], end=END, tokens=3)
        self.assertEqual(begun[0], whole[0][2:5])

    def test_what_is_wrong(self):
        features = {"input_features": samples()["input_features"][:1]}
        with self.assertRaisesRegex(ValueError, "found none of encoder, decoder"):
            quasar.generate(models(), features, start=START, end=END, ids="tokens")
        with self.assertRaisesRegex(ValueError, "tokens is 0"):
            quasar.generate(models(), features, start=START, end=END, tokens=0)
        with self.assertRaisesRegex(ValueError, "model 'encoder' needs input_features"):
            quasar.generate(models(), {"features": features["input_features"]}, start=START, end=END)
        with self.assertRaisesRegex(ValueError, "first axes count the same samples"):
            quasar.generate(models(), {"input_features": numpy.zeros((0, 40, 16))}, start=START, end=END)


class Merged:
    """A part of a pipeline: a decoder whose branch for caches hands out empty ones of the encoder, as Optimum's merged decoders do. The next
    token is the number of tokens so far, if both caches are as they should be."""
    name = "decoder"
    inputs = {name: name for name in ("input_ids", "use_cache_branch", "attention_mask", "past_key_values.0.decoder.key", "past_key_values.0.encoder.key")}
    outputs = {name: name for name in ("logits", "present.0.decoder.key", "present.0.encoder.key")}
    types = {"input_ids": ("int64", [-1, -1]), "use_cache_branch": ("bool", [1]), "attention_mask": ("int64", [-1, -1]),
             "past_key_values.0.decoder.key": ("float32", [-1, 1, -1, 1]), "past_key_values.0.encoder.key": ("float32", [-1, 1, -1, 1])}

    def run(self, feeds):
        ids, past, other = feeds["input_ids"], feeds["past_key_values.0.decoder.key"], feeds["past_key_values.0.encoder.key"]
        cached = bool(feeds["use_cache_branch"][0])
        assert cached == (past.shape[2] > 0) == (other.shape[2] == 3), (cached, past.shape, other.shape)
        seen = past.shape[2] + ids.shape[1]
        assert feeds["attention_mask"].shape == (1, seen)
        logits = numpy.zeros((1, ids.shape[1], 9), numpy.float32)
        logits[0, -1, seen] = 1
        return {"logits": logits, "present.0.decoder.key": numpy.zeros((1, 1, seen, 1), numpy.float32),
                "present.0.encoder.key": numpy.zeros((1, 1, 0 if cached else 3, 1), numpy.float32)}


class MergedDecoders(unittest.TestCase):
    def test_keep_the_caches_of_the_encoder(self):
        pipeline = quasar.Pipeline.__new__(quasar.Pipeline)
        pipeline._parts = [Merged()]
        self.assertEqual(quasar.generate(pipeline, {"unused": numpy.zeros((2, 1))}, start=[0, 0], end=7, tokens=9), [[2, 3, 4, 5, 6]] * 2)


class Samples(unittest.TestCase):
    def test_of_right_texts_are_those_of_the_training_script(self):
        data = samples()
        made = quasar.pipeline_samples(models(), {"input_features": data["input_features"]}, start=START, end=END, texts=texts_of(data["labels"]))
        numpy.testing.assert_array_equal(made["labels"], data["labels"][:, :made["labels"].shape[1]])
        counted = made["labels"] != -100
        numpy.testing.assert_array_equal(made["input_ids"][counted], data["input_ids"][:, :counted.shape[1]][counted])

    def test_of_the_float_model_are_right_to_itself(self):
        made = quasar.pipeline_samples(models(), {"input_features": samples()["input_features"][:8]}, start=START, end=END, tokens=11)
        scored = quasar.evaluate(models(), made, metric="token_accuracy", latency=False)
        self.assertEqual(scored["metrics"]["token_accuracy"]["value"], 1.0)

    def test_with_caches_hold_what_each_decoder_reads(self):
        features = {"input_features": samples()["input_features"][:8]}
        one = quasar.pipeline_samples(models("decoder_with_past_model.onnx"), features, start=START, end=END, tokens=11)
        self.assertEqual(one["past_key_values.0.key"].shape[2], 0)
        two = quasar.pipeline_samples(three(), features, start=START, end=END, tokens=11)
        self.assertEqual(two["next.input_ids"].shape, (8, 1))
        texts = quasar.generate(models(), features, start=START, end=END, tokens=11)
        lengths = sorted(map(len, texts))
        self.assertLess(lengths[4], lengths[-1])
        self.assertEqual(two["decoder.input_ids"].shape[1], lengths[4])  # so that half of the last tokens are no filling
        self.assertEqual([row[lengths[4] - 1] for row in texts if len(row) >= lengths[4]], [token for token in two["next.input_ids"][:, 0] if token != END])
        scored = quasar.evaluate(three(), two, metric="token_accuracy", latency=False)
        self.assertEqual(scored["metrics"]["token_accuracy"]["value"], 1.0)


class Searching(unittest.TestCase):
    def test_words_that_are_wrong_are_the_score(self):
        data = samples()
        kept = {"input_features": data["input_features"][:16]}
        truth = [letters(text) for text in texts_of(data["labels"])[:16]]
        errors = quasar.transcription_errors(models(), kept, truth, start=START, end=END, tokens=11, decode=letters)
        with tempfile.TemporaryDirectory() as folder:
            result = quasar.search(models=models(), calib=FOLDER / "calibration.npz", eval={name: data[name] for name in ("input_features", "input_ids")},
                                   space={"models": {"encoder": ["U8S8_CHANNEL", "Float32Spec"], "decoder": ["W4", "DYNAMIC"]}}, evaluator=errors,
                                   sampler="Grid", output_dir=folder)
            self.assertEqual(list(result.best_models), ["encoder", "decoder"])
            self.assertTrue(all(path.is_file() for path in result.best_models.values()))
            self.assertEqual(len(result.trials), 4)
            score = result.metrics["wer"]
            self.assertLess(score, 0.3)
            self.assertEqual(errors(str(result.best_model))["wer"], score)
            split = quasar.split(result.best_model, Path(folder, "again"))
            for name, path in result.best_models.items():
                self.assertEqual(path.read_bytes(), split[name].read_bytes())
        with self.assertRaisesRegex(ValueError, "texts are 1, but there are 16 samples"):
            quasar.transcription_errors(models(), kept, ["a"], start=START, end=END, decode=letters)

    def test_rates_are_edits_by_length(self):
        data = samples()
        kept = {"input_features": data["input_features"][:3]}
        own = quasar.transcription_errors(models(), kept, start=START, end=END, tokens=11)
        path = quasar.quantize(models(), scheme="W8")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "w8.onnx")
            path.save(file)
            self.assertEqual(own(file), {"wrong_tokens": 0.0, "alike": 1.0})
            written = quasar.generate(models(), kept, start=START, end=END, tokens=11)
            wrong = quasar.transcription_errors(models(), kept, [text[:-1] for text in written], start=START, end=END, tokens=11)(file)
            self.assertAlmostEqual(wrong["wrong_tokens"], 3 / sum(len(text) - 1 for text in written))
            self.assertEqual(wrong["alike"], 0.0)
            found = quasar.search(models=models(), calib=FOLDER / "calibration.npz", eval={name: data[name] for name in ("input_features", "input_ids")},
                                  space={"models": {"decoder": ["W8"]}}, evaluator=own, sampler="Grid", output_dir=str(Path(folder, "search")))
            self.assertEqual(found.metrics["wrong_tokens"], 0.0)

    def test_configuration_files_and_dry_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "pipeline.yaml")
            file.write_text(f"models:\n  encoder: {FOLDER / 'encoder_model.onnx'}\n  decoder: {FOLDER / 'decoder_model.onnx'}\n", encoding="utf-8")
            facts = quasar.inspect(file)
            self.assertEqual(facts["models"][1]["inputs"]["encoder_hidden_states"], "input encoder_hidden_states")
            facts = quasar.dry_run(models=models(), calib=FOLDER / "calibration.npz", eval=FOLDER / "evaluation.npz",
                                   space={"models": {"decoder": ["W4", "W8"]}}, output_dir=str(Path(folder, "out")))
            self.assertFalse(Path(folder, "out").exists())
            self.assertTrue(facts)


if __name__ == "__main__":
    unittest.main()
