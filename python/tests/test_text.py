"""Text as windows of token ids."""
import json
import tempfile
import unittest
from pathlib import Path

import numpy

import quasar

try:
    import tokenizers
except ImportError:
    tokenizers = None

LABELLED = "perplexity(ids=labels,shift=1)"
LANGUAGE = Path(__file__).resolve().parents[2] / "examples" / "language"


def of_bytes(text):
    return list(text.encode())


class Marking:
    """transformers' interface: marks at the ends unless they are refused."""

    def encode(self, text, add_special_tokens=True):
        return [1, *of_bytes(text), 2] if add_special_tokens else of_bytes(text)


class Plain:
    """sentencepiece's: it knows no marks."""

    def encode(self, text):
        return of_bytes(text)


class Windows(unittest.TestCase):
    def test_every_tokenizer_gives_the_same_windows(self):
        expected = numpy.frombuffer(b"abcdefghij", numpy.uint8).astype(numpy.int64)[:9].reshape(3, 3)
        for tokenizer in (of_bytes, Marking(), Plain()):
            for text in ("abcdefghij", ["abc", "defgh", "ij"], iter(["abcdefghi", "j"])):
                found = quasar.text_samples(text, tokenizer, length=3)
                self.assertEqual(list(found), ["input_ids"])
                numpy.testing.assert_array_equal(found["input_ids"], expected)
                self.assertEqual(found["input_ids"].dtype, numpy.int64)

    def test_paths_are_files_of_text(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "c.txt")
            file.write_text("abcdefghij", encoding="utf-8")
            expected = quasar.text_samples("abcdefghij", of_bytes, length=3)["input_ids"]
            for text in (file, [file], ["abcde", Path(folder, "d.txt")]):
                Path(folder, "d.txt").write_text("fghij", encoding="utf-8")
                numpy.testing.assert_array_equal(quasar.text_samples(text, of_bytes, length=3)["input_ids"], expected)
            with self.assertRaisesRegex(ValueError, "a window takes 512; '.*c.txt' is a file: give pathlib.Path"):
                quasar.text_samples(str(file), of_bytes)
        with self.assertRaisesRegex(TypeError, "text holds 3, but must be a text"):
            quasar.text_samples(["abc", 3], of_bytes)

    def test_names_masks_and_limits(self):
        found = quasar.text_samples("abcdefghij", of_bytes, length=2, most=4, name="tokens", attention_mask=True)
        self.assertEqual(found["tokens"].shape, (4, 2))
        numpy.testing.assert_array_equal(found["attention_mask"], numpy.ones((4, 2)))

    def test_with_a_stride_each_token_counts_once(self):
        text = "".join(map(chr, range(40, 100)))
        for length, stride in ((8, 3), (8, 7), (8, 1), (9, 4)):
            found = quasar.text_samples(text, of_bytes, length=length, stride=stride)
            counted = numpy.concatenate([row[row != -100] for row in found["labels"]])
            end = (len(found["input_ids"]) - 1) * stride + length
            numpy.testing.assert_array_equal(counted, numpy.arange(40, 40 + end))

    def test_wrong_arguments_are_named(self):
        for more, said in (({"length": 1}, "length is 1"), ({"length": 4, "stride": 5}, "stride is 5"), ({"length": 4, "stride": 0}, "stride is 0"),
                           ({"length": 4, "most": 0}, "most is 0"), ({"length": 40}, "has 10 tokens"), ({"length": 2.5}, "length is 2.5")):
            with self.assertRaisesRegex(ValueError, said):
                quasar.text_samples("abcdefghij", of_bytes, **more)
        with self.assertRaisesRegex(TypeError, "tokenizer is int"):
            quasar.text_samples("abc", 3)

    def test_a_tokenizer_that_is_not_the_models_is_found(self):
        class Sized(Plain):
            def __init__(self, size):
                self.vocab_size = size

        model = LANGUAGE / "gpt.onnx"
        rows = numpy.load(LANGUAGE / "evaluation.npz")["input_ids"].max() + 1
        plain = quasar.text_samples("abcdefghij", of_bytes, length=3)["input_ids"]
        for tokenizer in (of_bytes, Sized(256), Sized(250)):  # tables are filled up
            numpy.testing.assert_array_equal(quasar.text_samples("abcdefghij", tokenizer, length=3, model=model)["input_ids"], plain)
        self.assertLessEqual(rows, 256)
        for size, why in ((300, "cannot be looked up"), (50257, "cannot be looked up"), (100, "another model's")):
            with self.assertRaisesRegex(ValueError, f"the tokenizer has {size} tokens, but the model's table '.*' is for 256: .*{why}"):
                quasar.text_samples("abcdefghij", Sized(size), length=3, model=model)
        with self.assertRaisesRegex(ValueError, "gives the id 300, but the model's table '.*' is for 256 tokens"):
            quasar.text_samples("abc", lambda text: [1, 300, 2], length=3, model=model)
        with self.assertRaisesRegex(ValueError, "has no input 'tokens'"):
            quasar.text_samples("abc", of_bytes, length=3, name="tokens", model=model)
        with self.assertRaisesRegex(ValueError, "in no table that can be found"):
            quasar.text_samples("abc", of_bytes, length=3, name="input_features", model=LANGUAGE.parent / "pipeline" / "encoder_model.onnx")

    def test_ids_that_the_model_does_not_know_are_named_before_it_runs(self):
        model = str(LANGUAGE / "gpt.onnx")
        windows = numpy.tile(numpy.arange(32), (4, 1))
        windows[2, 5] = 256
        for ask in (lambda: quasar.evaluate(model, {"input_ids": windows}, metric="perplexity", latency=False),
                    lambda: quasar.quantize(model, scheme="GPTQ_G32ASYM", calib={"input_ids": windows})):
            with self.assertRaisesRegex(quasar.QuasarError, r"sample 2: input 'input_ids' holds the id 256 at \[0,5\], .* has 256 rows"):
                ask()
        windows[2, 5] = -100
        made = quasar.quantize(model, scheme="GPTQ_G32ASYM", calib={"input_ids": windows})
        self.assertTrue(any("holds the id -100 at [0,5], which counts from the end" in note for note in made.notes), made.notes)

    def test_perplexity_of_windows_that_overlap(self):
        def perplexity(samples, metric):
            found = quasar.evaluate(str(LANGUAGE / "gpt.onnx"), samples, metric=metric, latency=False)["metrics"]
            return next(iter(found.values()))["value"]

        text = (LANGUAGE / "README.md").read_text()
        whole = quasar.text_samples(text, of_bytes, length=64, most=2)
        self.assertAlmostEqual(perplexity(dict(whole, labels=whole["input_ids"]), LABELLED), perplexity(whole, "perplexity"), places=4)
        # More text before each token: the same tokens are foreseen better.
        near = quasar.text_samples(text, of_bytes, length=64, stride=8, most=30)
        far = quasar.text_samples(text, of_bytes, length=8, most=37)
        self.assertLess(perplexity(near, LABELLED), perplexity(far, "perplexity"))


class Files(unittest.TestCase):
    @unittest.skipIf(tokenizers is None, "needs the package tokenizers")
    def test_a_tokenizer_json(self):
        from tokenizers import Tokenizer, models, pre_tokenizers
        made = Tokenizer(models.WordLevel({"[UNK]": 0, "one": 1, "two": 2, "three": 3}, unk_token="[UNK]"))
        made.pre_tokenizer = pre_tokenizers.Whitespace()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "tokenizer.json"
            made.save(str(path))
            found = quasar.text_samples("one two three two one four", path, length=3)
            numpy.testing.assert_array_equal(found["input_ids"], [[1, 2, 3], [2, 1, 0]])
            made.enable_truncation(2)
            made.enable_padding(length=9)
            made.save(str(path))
            for tokenizer in (path, made):  # what it is told of single sentences is nothing for windows
                again = quasar.text_samples("one two three two one four", tokenizer, length=3)
                numpy.testing.assert_array_equal(again["input_ids"], found["input_ids"])
            self.assertEqual(len(made.encode("one two three").ids), 9, "the caller's own stays as it is")
            path.write_text(json.dumps({"a": 1}))
            with self.assertRaisesRegex(ValueError, "is no tokenizer.json"):
                quasar.text_samples("one", path)
            with self.assertRaisesRegex(FileNotFoundError, "no such file"):
                quasar.text_samples("one", Path(folder) / "other.json")

    @unittest.skipIf(tokenizers is not None, "the package tokenizers is there")
    def test_without_the_package_it_is_named(self):
        with self.assertRaisesRegex(ImportError, "pip install tokenizers"):
            quasar.text_samples("one", "tokenizer.json")


if __name__ == "__main__":
    unittest.main()
