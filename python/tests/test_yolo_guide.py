"""AMD's guide for YOLOv3 (Auto Search with a custom evaluator) walked through with a network of its form: three raw heads with anchors, made-up
weights."""
import unittest

import numpy
import quasar
from digits import Case
from quasar import AutoSearch, CalibrationMethod, PowerOfTwoMethod, QuantType

ANCHORS = [10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326]  # the finest scale's first
SIZE, CLASSES = 64, 3


def network():
    """Convolutions of strides 2 to 32 with LeakyRelu and a sum, three scales joined by Resize and Concat, a head of single pixels each."""
    from onnx import TensorProto, checker, helper, numpy_helper

    random, nodes, weights = numpy.random.default_rng(3), [], []

    def constant(name, values):
        weights.append(numpy_helper.from_array(numpy.asarray(values, numpy.float32), name))
        return name

    def node(op_type, inputs, output, **attributes):
        nodes.append(helper.make_node(op_type, inputs, [output], name=output, **attributes))
        return output

    def conv(value, name, inside, outside, kernel=1, stride=1):
        size = (outside, inside, kernel, kernel)
        inputs = [value, constant(name + "_w", random.normal(0, 1.5 / (inside * kernel * kernel) ** 0.5, size)), constant(name + "_b", random.normal(0, 0.1, outside))]
        return node("LeakyRelu", [node("Conv", inputs, name, pads=[kernel // 2] * 4, strides=[stride] * 2)], name + "_act", alpha=0.1)

    def head(value, name, inside):
        """Box, objectness and classes of three anchors; sizes of boxes stay near the anchors'."""
        scale = numpy.tile([1, 1, 0.1, 0.1, 3] + [3] * CLASSES, 3)
        kernel = random.normal(0, 1 / inside ** 0.5, (len(scale), inside, 1, 1)) * scale[:, None, None, None]
        return node("Conv", [value, constant(name + "_w", kernel), constant(name + "_b", numpy.zeros(len(scale)))], name)

    def joined(coarse, fine, name):
        return node("Concat", [node("Resize", [coarse, "", constant(name + "_scales", [1, 1, 2, 2])], name + "_up", mode="nearest"), fine], name, axis=1)

    c2 = conv(conv("images", "stem", 3, 8, 3, 2), "down4", 8, 12, 3, 2)
    c2 = node("Add", [c2, conv(conv(c2, "squeeze", 12, 6), "expand", 6, 12, 3)], "residual")
    c3 = conv(c2, "down8", 12, 16, 3, 2)
    c4 = conv(c3, "down16", 16, 24, 3, 2)
    c5 = conv(c4, "down32", 24, 32, 3, 2)
    p4 = conv(joined(conv(c5, "lateral5", 32, 16), c4, "join4"), "merge4", 40, 24)
    p3 = conv(joined(conv(p4, "lateral4", 24, 12), c3, "join3"), "merge3", 28, 16)
    heads = [head(c5, "large", 32), head(p4, "medium", 24), head(p3, "small", 16)]
    cells = [SIZE // 32, SIZE // 16, SIZE // 8]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 3 * (5 + CLASSES), n, n]) for name, n in zip(heads, cells)]
    graph = helper.make_graph(nodes, "yolov3", [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, SIZE, SIZE])], outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    checker.check_model(model, full_check=True)
    return model.SerializeToString()


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def detections(outputs, least):
    """The cells that see something: {(scale, anchor, row, column): class}"""
    found = {}
    for scale, output in enumerate(outputs):
        fields = output.reshape(3, 5 + CLASSES, *output.shape[2:])
        score = sigmoid(fields[:, 4]) * sigmoid(fields[:, 5:].max(axis=1))
        for place in zip(*numpy.nonzero(score >= least)):
            found[(scale, *place)] = int(fields[place[0], 5:, place[1], place[2]].argmax())
    return found


class Reader:
    def __init__(self, pictures):
        self.iterator = iter([{"images": picture[None]} for picture in pictures])

    def get_next(self):
        return next(self.iterator, None)


class Guide(Case):
    def setUp(self):
        super().setUp()
        try:
            import onnx  # noqa: F401
        except ImportError:
            self.skipTest("without the package onnx")
        with open("yolov3.onnx", "wb") as file:
            file.write(network())
        self.pictures = numpy.random.default_rng(1).uniform(0, 1, (12, 3, SIZE, SIZE)).astype(numpy.float32)

    def test_the_head_is_recognized_and_decoded(self):
        self.assertEqual(quasar.inspect("yolov3.onnx")["head"]["name"], "yolov3")
        decoder = {"name": "yolov3", "anchors": ANCHORS}
        agreement = quasar.evaluate("yolov3.onnx", self.pictures, metric="mAP(truth=float)", decoder=decoder, latency=False)
        self.assertEqual(agreement["metrics"]["mAP(truth=float)"]["value"], 1)
        found = quasar.search("yolov3.onnx", calib=self.pictures[:8], eval=self.pictures, space={"activation": ["UInt8Spec"], "weight": ["Int8Spec"]},
                              metric="mAP(truth=float)", decoder=decoder, output_dir="out")
        self.assertGreater(found.metrics["mAP(truth=float)"], 0.3)
        with self.assertRaisesRegex(quasar.QuasarError, "needs a decoder: .*yolov3.*quasar inspect MODEL` says which one fits"):
            quasar.search("yolov3.onnx", calib=self.pictures, metric="mAP(truth=float)", space={"weight": ["Int8Spec"]}, output_dir="other")
        with self.assertRaisesRegex(quasar.QuasarError, "expects per scale an output .* and 4 anchors in all"):
            quasar.evaluate("yolov3.onnx", self.pictures, metric="mAP(truth=float)", decoder={"name": "yolov3", "anchors": ANCHORS[:8]}, latency=False)

    def test_the_guide(self):
        session = quasar.Session("yolov3.onnx")
        truth = [detections(session(picture[None]), 0.5) for picture in self.pictures]
        self.assertGreater(min(map(len, truth)), 3)
        pictures = self.pictures

        class AutoSearchConfig_Default:
            search_space_XINT8 = {
                "calibrate_method": [PowerOfTwoMethod.MinMSE],
                "activation_type": [QuantType.QUInt8],
                "weight_type": [QuantType.QInt8],
                "enable_npu_cnn": [True],
                "include_cle": [False, True],
                "include_fast_ft": [False],
                "extra_options": {"ActivationSymmetric": [True], "WeightSymmetric": [True]},
            }
            search_space = {
                "calibrate_method": [CalibrationMethod.MinMax, CalibrationMethod.Percentile],
                "activation_type": [QuantType.QInt8, QuantType.QInt16],
                "weight_type": [QuantType.QInt8],
                "include_cle": [False],
                "include_fast_ft": [False],
                "extra_options": {"ActivationSymmetric": [False], "WeightSymmetric": [True], "CalibMovingAverage": [False, True],
                                  "CalibMovingAverageConstant": [0.01]},
            }
            search_metric_tolerance = 0.25
            search_output_dir = "search"
            default_config = "S8S8_AAWS"
            search_stop_condition = {"find_n_candidates": -1, "iteration_limit": 1000, "time_limit": 3600}

            @staticmethod
            def custom_evaluator(onnx_path, **args):
                """The share of what the float model sees that the quantized one sees as the same class."""
                session, seen, all_of_them = quasar.Session(onnx_path), 0, 0
                for picture, wanted in zip(pictures, truth):
                    found = detections(session(picture[None]), 0.4)
                    seen += sum(found.get(place) == label for place, label in wanted.items())
                    all_of_them += len(wanted)
                return seen / all_of_them

            search_evaluator = custom_evaluator

        config = AutoSearchConfig_Default()
        search = AutoSearch(auto_search_config=config, model_input="yolov3.onnx", calibration_data_reader=Reader(self.pictures[:8]))
        search.all_configs = search.build_all_configs(config.search_space_XINT8) + search.build_all_configs(config.search_space)
        candidates = search.search_model()
        self.assertEqual(search.result.baseline["score"], 1)
        self.assertEqual(len(search.result.trials), 8)
        self.assertTrue(candidates, [trial.value for trial in search.result.trials])
        self.assertTrue(all(0 <= one["difference"] <= 0.25 for one in candidates))
        self.assertEqual([trial.params.get("enable_npu_cnn") for trial in search.result.trials], [True] * 2 + [None] * 6, "one space after the other")


if __name__ == "__main__":
    unittest.main()
