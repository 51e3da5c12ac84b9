"""Samples in every form give the same scores."""
import os
import unittest
from pathlib import Path

import numpy

import quasar
from digits import DIGITS, MODEL, Case, product
from quasar._samples import items_of


class Reader:
    """onnxruntime's CalibrationDataReader, without onnxruntime."""

    def __init__(self, images):
        self.iterator = iter([{"image": image[None]} for image in images])

    def get_next(self):
        return next(self.iterator, None)


class Loader:
    """torch's DataLoader, without torch: batches of (images, labels)."""

    def __init__(self, images, labels, size):
        self.batches = [(images[i:i + size], labels[i:i + size]) for i in range(0, len(images), size)]

    def __iter__(self):
        return iter(self.batches)


class Tensor:
    """torch's Tensor, without torch."""

    def __init__(self, array):
        self.array = array
        self.shape, self.dtype = array.shape, array.dtype

    def detach(self):
        return self

    def cpu(self):
        return self.array


class Forms(Case):
    def score(self, data):
        return quasar.evaluate(MODEL, data, metric="top1", latency=False)["metrics"]["top1"]["per_sample"]

    def test_every_form_is_the_same_data(self):
        images, labels = self.evaluation
        expected = self.score({"reader": "npz", "path": str(DIGITS / "evaluation.npz"), "labels": "label", "limit": 150})
        self.assertEqual(len(expected), 150)
        for data in [
            (images, labels),
            {"image": images, "label": labels},
            [{"image": image[None], "label": [label]} for image, label in zip(images, labels)],
            ((image, label) for image, label in zip(images, labels)),
            ({"image": image, "labels": numpy.array(label)} for image, label in zip(images, labels)),
            Loader(images, labels, 32),
            [(Tensor(images[:100]), Tensor(labels[:100])), (Tensor(images[100:]), Tensor(labels[100:]))],
            [({"image": images}, labels)],
        ]:
            self.assertEqual(self.score(data), expected)

    def test_without_labels(self):
        images, _ = self.evaluation
        wanted = quasar.quantize(MODEL, scheme="A8W8", calib=images).model
        for data in [Reader(images), (image for image in images), list(images), {"pixels": images}, images.astype("float64"), Loader(images, images[:, 0, 0, 0].astype(int), 7)]:
            self.assertEqual(quasar.quantize(MODEL, scheme="A8W8", calib=data).model, wanted)

    def test_a_reader_is_wound_back(self):
        class Rewinding(Reader):
            def __init__(self, images):
                self.images = images
                self.rewind()

            def rewind(self):
                super().__init__(self.images)

        reader = Rewinding(self.calibration[0])
        self.assertEqual(len(list(items_of(reader))), 50)
        self.assertEqual(len(list(items_of(reader))), 50)

    def test_one_source_for_two_purposes_is_read_once(self):
        with self.assertLogs("quasar", "WARNING"):
            found = self.search(calib=Reader(self.calibration[0]), eval=None)
        self.assertEqual(found.result["best"]["metrics"]["parts"]["samples"], 50)

    def test_classes_have_names(self):
        images, labels = self.evaluation
        names = [f"the {number}" for number in range(10)]
        for given in (names, dict(enumerate(names))):
            data = {"image": images, "label": labels, "class_names": given}
            self.assertEqual(self.score(data), self.score((images, labels)))
            flips = self.search(eval=data, metric="agreement", output_dir=f"named-{type(given).__name__}").result["best"]["flips"]
            self.assertEqual({number: f"the {number}" for number in flips["names"]}, flips["names"])
            self.assertTrue(flips["names"])

    def test_options_stand_beside_arrays(self):
        images, labels = self.evaluation
        plain = quasar.quantize(MODEL, scheme="A8W8", calib=images).model
        for data in ({"image": images * 255, "scale": 1 / 255}, {"image": images * 255, "scale": numpy.float64(1 / 255)},
                     {"pixels": images * 255 + 3, "mean": [3], "scale": numpy.array([1 / 255])}, {"image": images.transpose(0, 2, 3, 1), "layout": "NHWC"},
                     {"image": numpy.concatenate([images, images * 9]), "limit": len(images)}):
            self.assertEqual(quasar.quantize(MODEL, scheme="A8W8", calib=data).model, plain)
        score = self.score((images, labels))
        self.assertEqual(self.score({"image": images, "label": labels - 1, "label_offset": 1}), score)
        self.assertEqual(self.score(({"image": images * 255, "scale": 1 / 255}, labels)), score)
        self.assertEqual(len(self.score({"image": images, "label": labels, "limit": 20, "seed": 3})), 20)
        for data, message in (({"image": images, "limit": "ten"}, "option 'limit' is \"ten\", but must be a whole number"),
                              ({"image": images, "layout": "abc"}, "option 'layout' is \"abc\""),
                              ({"image": images, "scale": "big"}, "option 'scale' is \"big\", but must be a number")):
            with self.assertRaisesRegex(quasar.QuasarError, message):
                quasar.quantize(MODEL, scheme="A8W8", calib=data)

    def test_arrays_that_feed_nothing_are_told(self):
        images, labels = self.evaluation
        for data, message in (({"image": images, "lables": labels}, "samples: the array 'lables' feeds no input of the model, and is passed over (labels stand "
                                                                    "under labels, label or y, or labels: ARRAY names them); did you mean 'labels'"),
                              ([{"image": image, "label": label, "index": 3} for image, label in zip(images, labels)],
                               "samples: the array 'index' feeds no input of the model, and is passed over")):
            with self.assertLogs("quasar", "WARNING") as log:
                warned = quasar.evaluate(MODEL, data, latency=False)["warnings"]
            self.assertEqual(len(warned), 1)
            self.assertIn(message, warned[0])
            self.assertIn(message, log.output[0])
        self.assertTrue(any("'lables'" in note for note in quasar.quantize(MODEL, scheme="A8W8", calib={"image": images, "lables": labels}).notes))
        with self.assertLogs("quasar", "WARNING") as log:
            self.search(eval={"image": images, "label": labels, "index": labels})
        self.assertEqual(sum("the array 'index' feeds no input" in line for line in log.output), 1)
        self.assertEqual(self.score({"image": images, "target": labels, "labels": "target"}), self.score((images, labels)))

    def test_texts_beside_the_inputs_are_passed_over(self):
        images, labels = self.evaluation
        score = self.score((images, labels))
        rows = [{"text": "seven", "name": None, "tokens": [[1], [2, 3]], "image": image, "label": label} for image, label in zip(images, labels)]
        for data in (rows, {"pixels": images, "name": ["a"] * len(images), "label": labels}, iter(rows)):
            self.assertEqual(self.score(data), score)
        for data, message in (([{"image": images[0]}, {"image": "1.png"}], "item 1: 'image' holds texts, objects or lists of different lengths"),
                              ({"image": [[1], [2, 3]]}, "item 0: 'image' holds texts, objects or lists of different lengths"),
                              ({"text": ["a"]}, "holds no array of numbers for the model's input 'image'; it holds text"),
                              ({"image": images.astype(complex)}, "'image': an array of type complex128 cannot feed a model"),
                              ({"image": images, "truth": ["a"] * 150, "labels": "truth"}, "labels 'truth' are texts, but must be whole numbers")):
            with self.assertRaisesRegex(quasar.QuasarError, message):
                quasar.quantize(MODEL, scheme="A8W8", calib=data)
        notes = quasar.quantize(MODEL, scheme="A8W8", calib={"image": images, "label": ["a"] * 150}).notes
        self.assertTrue(any("'label' holds texts, which are no numbers of classes" in note for note in notes), notes)

    def test_an_input_may_be_called_as_an_option(self):
        Path("scaled.onnx").write_bytes(product({"a": ["n", 2], "scale": [1]}))
        for scale in (2.0, [2.0], numpy.float32(2), numpy.ones(5, numpy.float32)):
            values = {"a": numpy.ones((5, 2), numpy.float32), "scale": scale}
            self.assertEqual(quasar.evaluate("scaled.onnx", values, latency=False)["metrics"]["L2"]["samples"], 5)

    def test_files_behind_arrays_are_not_replaced(self):
        numpy.save("images.npy", self.evaluation[0])
        numpy.savez("images.npz", image=self.evaluation[0])
        foreign = os.fsdecode(b"images-\xff.npy")
        numpy.save(foreign, self.evaluation[0])
        Path("alias.npy").symlink_to("images.npy")
        mapped = numpy.load("images.npy", mmap_mode="r")

        class Asked:
            def __init__(self):
                self.images = mapped

            def __len__(self):
                return 20

            def __getitem__(self, index):
                return self.images[index]

        before = [Path(name).read_bytes() for name in ("images.npy", "images.npz")]
        for output, data in [("images.npy", mapped), ("alias.npy", mapped[5:]), ("images.npy", list(mapped[:20])), ("images.npy", Reader(mapped[:20])),
                             ("images.npy", numpy.asarray(mapped)), ("images.npy", (mapped, self.evaluation[1])), ("images.npy", Asked()),
                             ("images.npz", numpy.load("images.npz")), ("images.npy", [numpy.load(foreign, mmap_mode="r")[:20], mapped])]:
            with self.assertRaisesRegex(quasar.QuasarError, "is the calibration data, which would be replaced"):
                quasar.quantize(MODEL, output, "A8W8", calib=data)
        self.assertEqual([Path(name).read_bytes() for name in ("images.npy", "images.npz")], before)
        Path("out").mkdir()
        Path("images.npy").rename("out/best.onnx")
        mapped = numpy.load("out/best.onnx", mmap_mode="r")
        for role, name in [("calib", "calibration"), ("eval", "evaluation"), ("holdout", "hold-out")]:
            with self.assertRaisesRegex(quasar.QuasarError, f"is the {name} data, which would be replaced"):
                self.search(**{role: mapped}, load_study_if_exists=True)
        self.assertEqual(Path("out/best.onnx").read_bytes(), before[0])
        copied = quasar.quantize(MODEL, "model.onnx", "A8W8", calib=mapped + 0)
        self.assertEqual(copied.model, quasar.quantize(MODEL, scheme="A8W8", calib=mapped).model)

    def test_mistakes_are_named(self):
        images, labels = self.evaluation
        for data, message in [
            ([], "there are none"),
            ({"image": images, "label": labels[:3]}, "150 samples, but 3 labels"),
            ({"picture": images, "other": images}, "no array of numbers for the model's input 'image'"),
            (images[:, :, :4], r"expected shape \[\?,1,8,8\], found \[1,1,4,8\]"),
            ([{"image": images}, {"img": images}], "item 1 holds no array 'image'"),
            ("nowhere.npz", "nowhere.npz"),
        ]:
            with self.assertRaisesRegex(quasar.QuasarError, message):
                quasar.quantize(MODEL, scheme="A8W8", calib=data)
        with self.assertRaisesRegex(TypeError, "not int"):
            quasar.quantize(MODEL, scheme="A8W8", calib=3)
        with self.assertRaisesRegex(TypeError, "not str"):
            quasar.quantize(MODEL, scheme="A8W8", calib=["a"])


if __name__ == "__main__":
    unittest.main()
