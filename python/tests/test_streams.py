"""Samples that are asked for one by one, arrays that are not copied, fixed batches, constants, labels per pixel."""
import threading
import unittest

import numpy

import quasar
from digits import DIGITS, MODEL, Case


class Dataset:
    """torch's map-style Dataset, without torch: no __iter__."""

    def __init__(self, images, labels):
        self.images, self.labels_of = images, labels
        self.asked, self.lock = [], threading.Lock()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError(index)
        with self.lock:
            self.asked.append(index)
        return self.images[index].copy(), int(self.labels_of[index])


class Streams(Case):
    def score(self, data, metric="top1"):
        return quasar.evaluate(MODEL, data, metric=metric, latency=False)["metrics"][metric]["per_sample"]

    def test_a_dataset_is_read_when_it_is_needed(self):
        images, labels = self.evaluation
        data = Dataset(images, labels)
        self.assertEqual(self.score(data), self.score((images, labels)))
        again = Dataset(images, labels)
        again.targets = labels  # torchvision's
        self.assertEqual(self.score(again), self.score((images, labels)))
        self.assertLess(len(again.asked), len(data.asked))
        self.assertEqual(quasar.quantize(MODEL, scheme="A8W8", calib=Dataset(images, labels)).model, quasar.quantize(MODEL, scheme="A8W8", calib=images).model)

    def test_a_dataset_that_only_iterates_is_iterated(self):
        class Abstract:  # torch.utils.data.Dataset
            __module__ = "torch.utils.data.dataset"

            def __getitem__(self, index):
                raise NotImplementedError

        class Iterated(Abstract):
            def __init__(self, pairs):
                self.pairs = list(pairs)

            def __len__(self):
                return len(self.pairs)

            def __iter__(self):
                return iter(self.pairs)

        images, labels = self.evaluation
        self.assertEqual(self.score(Iterated(zip(images, labels))), self.score((images, labels)))

    def test_a_search_with_threads(self):
        images, labels = self.evaluation
        found = self.search(calib=Dataset(*self.calibration), eval=Dataset(images, labels), metric="top1", n_jobs=2, output_dir="stream")
        held = self.search(calib=self.calibration[0], eval=(images, labels), metric="top1", output_dir="held")
        self.assertEqual(found.metrics, held.metrics)

    def test_what_it_raises_is_told(self):
        class Broken(Dataset):
            def __getitem__(self, index):
                if index == 3:
                    raise OSError("the disk is gone")
                return super().__getitem__(index)

        with self.assertRaisesRegex(quasar.QuasarError, "(?s)Broken.*item 3: OSError: the disk is gone"):
            quasar.quantize(MODEL, scheme="A8W8", calib=Broken(*self.evaluation))

    def test_a_dataset_of_batches_will_do(self):
        images, labels = self.evaluation

        class Batches(Dataset):  # keras' Sequence
            def __len__(self):
                return 15

            def __getitem__(self, index):
                return images[10 * index:10 * index + 10], labels[10 * index:10 * index + 10]

        self.assertEqual(self.score(Batches(images, labels)), self.score((images, labels)))

    def test_arrays_of_every_kind(self):
        images, labels = self.evaluation
        wanted = self.score((images, labels))
        numpy.save("images.npy", images)
        for given in (numpy.load("images.npy", mmap_mode="r"), numpy.asfortranarray(images), numpy.repeat(images, 2, axis=0)[::2], images.astype("float64")):
            self.assertEqual(self.score((given, labels)), wanted)
        swapped = images.astype(">f4")
        with self.assertRaisesRegex(quasar.QuasarError, "big-endian"):
            self.score((swapped, labels))

    def test_arrays_that_are_iterated_may_be_used_again(self):
        images, labels = self.evaluation

        def reused():
            buffer = numpy.empty_like(images[0])
            for image, label in zip(images, labels):
                buffer[:] = image
                yield {"image": buffer, "label": label}

        self.assertEqual(self.score(reused()), self.score((images, labels)))


@unittest.skipUnless(__import__("importlib").util.find_spec("onnx"), "needs onnx")
class Models(Case):
    def fixed(self, batch):
        import onnx

        model = onnx.load(MODEL)
        for value in list(model.graph.input) + list(model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = batch
        del model.graph.value_info[:]
        return model

    def test_a_fixed_batch(self):
        images, labels = self.evaluation
        wanted = quasar.evaluate(MODEL, (images, labels), metric="top1", latency=False)["metrics"]["top1"]
        for data in [(images, labels), ((images[i:i + 4], labels[i:i + 4]) for i in range(0, 148, 4)),
                     {"reader": "npz", "path": str(DIGITS / "evaluation.npz"), "labels": "label", "limit": 150}]:
            found = quasar.evaluate(self.fixed(4), data, metric="top1", latency=False)["metrics"]["top1"]
            self.assertEqual(found["per_sample"], wanted["per_sample"][:len(found["per_sample"])])
            self.assertIn(found["samples"], (148, 150))

        def by_outputs(reference, quantized, given):
            self.assertEqual(quantized.shape, (150, 10))
            return float((quantized.argmax(axis=1) == given).mean())

        searched = quasar.search(self.fixed(4), self.calibration[0], (images, labels), {"activation": ["UInt8Spec"], "weight": ["Int8Spec"]},
                                 evaluator=by_outputs, metric=["score", "top1"], output_dir="out")
        self.assertEqual(searched.metrics["score"], searched.metrics["top1"])

    def test_boxes_beside_samples(self):
        from onnx import TensorProto, helper

        # A detector that hands its second input on: [1, 6, boxes] as YOLOv8 has it, two classes.
        graph = helper.make_graph(
            [helper.make_node("Identity", ["raw"], ["out"]), helper.make_node("ReduceMean", ["picture"], ["mean"], keepdims=0)], "g",
            [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 3, 32, 32]), helper.make_tensor_value_info("raw", TensorProto.FLOAT, [1, 6, 2])],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 6, 2]), helper.make_tensor_value_info("mean", TensorProto.FLOAT, [])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        raw = numpy.array([[8, 24], [8, 24], [8, 8], [8, 8], [0.9, 0.1], [0, 0.8]], "float32")  # boxes 4 … 12 and 20 … 28
        feeds = {"picture": numpy.zeros((3, 32, 32), "float32"), "raw": raw}
        right = {"boxes": numpy.array([[4, 4, 12, 12], [20, 20, 28, 28]]), "labels": numpy.array([0, 1])}
        half = {"boxes": right["boxes"], "labels": numpy.array([0, 0])}
        for truth, value in ((right, 1.0), (half, 0.504950495)):  # recall reaches a half: 51 of 101 places
            found = quasar.evaluate(model, [(feeds, truth)], metric="mAP", decoder="yolov8", latency=False)["metrics"]["mAP"]["value"]
            self.assertAlmostEqual(found, value)
        with self.assertRaisesRegex(TypeError, "must hold boxes and labels"):
            quasar.evaluate(model, [(feeds, {"bbox": 1})], metric="mAP", decoder="yolov8", latency=False)

    def test_constants_and_labels_per_place(self):
        from onnx import TensorProto, helper

        # Two inputs; the output [1, 2, 2, 2] holds a class per pixel, x and the constant.
        graph = helper.make_graph(
            [helper.make_node("Mul", ["x", "one"], ["y"]), helper.make_node("Concat", ["y", "c"], ["out"], axis=1)], "g",
            [helper.make_tensor_value_info("c", TensorProto.FLOAT, [1, 1, 2, 2]), helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 2, 2])],
            [helper.make_tensor_value_info("out", TensorProto.FLOAT, [1, 2, 2, 2])], [helper.make_tensor("one", TensorProto.FLOAT, [], [1.0])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        x = numpy.random.default_rng(0).normal(size=(6, 1, 2, 2)).astype("float32")
        truth = (x[:, 0] < 0.5).astype("int64")  # class 1 where the constant is greater
        numpy.savez("x.npz", x=x, labels=truth)
        for data in ({"reader": "npz", "path": "x.npz", "constants": {"c": 0.5}}, {"x": x, "c": numpy.full_like(x, 0.5), "labels": truth},
                     [({"x": one, "c": numpy.full((1, 2, 2), 0.5, "float32")}, label) for one, label in zip(x, truth)]):
            self.assertEqual(quasar.evaluate(model, data, metric="mean_iou", latency=False)["metrics"]["mean_iou"]["value"], 1)


if __name__ == "__main__":
    unittest.main()
