"""A model, samples and an evaluation as users of Intel Neural Compressor have them."""
import warnings

import quasar
from digits import MODEL, Case
from quasar.neural_compressor import PostTrainingQuantConfig, options, quantization, set_workspace


class Loader:
    """As Neural Compressor's documents describe data loaders."""

    def __init__(self, images, labels, batch_size=16):
        self.images, self.labels, self.batch_size, self.read = images, labels, batch_size, 0

    def __iter__(self):
        for i in range(0, len(self.images), self.batch_size):
            self.read += 1
            yield self.images[i:i + self.batch_size], self.labels[i:i + self.batch_size]


class Fitting(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(options.__dict__.update, dict(options.__dict__))
        set_workspace("out")
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.filterwarnings("ignore", "out holds an earlier search")
        self.loader = Loader(*self.calibration)
        self.seen = []

    def eval_func(self, model):
        """The accuracy, as a user measures it who has the model's bytes."""
        self.seen.append(model)
        images, labels = self.evaluation
        return float((quasar.Session(model.SerializeToString())(images)[0].argmax(axis=1) == labels).mean())

    def fit(self, conf=None, **given):
        arguments = {"calib_dataloader": self.loader, "eval_func": self.eval_func, **given}
        return quantization.fit(arguments.pop("model", MODEL), conf or PostTrainingQuantConfig(quant_level=1), **arguments)

    def refused(self, text, call):
        with self.assertRaisesRegex(ValueError, text) as raised:
            call()
        self.assertIsInstance(raised.exception, quasar.QuasarError)
