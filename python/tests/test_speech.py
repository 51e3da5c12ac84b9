"""Recordings as spectra and waveforms."""
import tempfile
import unittest
import wave
from pathlib import Path

import numpy

import quasar

try:
    import onnx
except ImportError:
    onnx = None

RATE = 16000


def tone(hertz, seconds=1.0, rate=RATE):
    return 0.5 * numpy.sin(2 * numpy.pi * hertz * numpy.arange(round(seconds * rate)) / rate)


class Recordings(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def write(self, name, channels, width=2, rate=RATE):
        """channels: [channels, values] of -1 to 1"""
        path = self.folder / name
        codes = numpy.round(numpy.atleast_2d(channels).T * (2 ** (8 * width - 1) - 1)).astype(numpy.int64) + (128 if width == 1 else 0)
        path.parent.mkdir(exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(codes.shape[1])
            file.setsampwidth(width)
            file.setframerate(rate)
            file.writeframes(codes.astype("<i8").reshape(-1, 1).view(numpy.uint8)[:, :width].tobytes())
        return path

    def test_waveforms_of_all_widths(self):
        values = tone(440, 0.1)
        for width in (1, 2, 3, 4):
            found = quasar.speech_samples(self.write("a.wav", values, width), mels=None, seconds=0.1)["input_values"]
            self.assertEqual(found.dtype, numpy.float32)
            self.assertEqual(found.shape, (1, 1600))
            self.assertLess(abs(found[0] - values).max(), 2.0 ** (2 - 8 * width) + 1e-6)

    def test_channels_are_averaged_and_lengths_made_alike(self):
        path = self.write("a.wav", [tone(440, 0.2), numpy.zeros(3200)])
        for seconds, heard in ((0.1, 1600), (0.3, 3200)):
            found = quasar.speech_samples([path], mels=None, seconds=seconds, name="wave")["wave"][0]
            self.assertEqual(len(found), round(seconds * RATE))
            numpy.testing.assert_allclose(found[:heard], tone(440, 0.2)[:heard] / 2, atol=1e-4)
            self.assertFalse(found[heard:].any())

    def test_a_folder_in_the_order_of_names(self):
        self.write("b.wav", tone(200)), self.write("sub/c.WAV", tone(300)), self.write("a.wav", tone(100))
        found = quasar.speech_samples(self.folder, mels=None, seconds=1)["input_values"]
        expected = numpy.stack([tone(hertz) for hertz in (100, 200, 300)])
        numpy.testing.assert_allclose(found, expected, atol=1e-4)
        self.assertEqual(len(quasar.speech_samples(self.folder, mels=None, seconds=1, most=2)["input_values"]), 2)

    def test_a_tone_stands_in_its_band(self):
        for mels in (80, 128):
            centres = quasar._speech._hertz_of(numpy.linspace(0, quasar._speech._mel_of(RATE / 2), mels + 2))[1:-1]
            for hertz in (500, 1000, 4000):
                spectrum = quasar.speech_samples(self.write("a.wav", tone(hertz)), mels=mels, seconds=2)["input_features"][0]
                self.assertEqual(spectrum.shape, (mels, 200))
                loudest = spectrum[:, 10:90].argmax(axis=0)
                self.assertLess(abs(centres[loudest] / hertz - 1).max(), 0.06)
                self.assertAlmostEqual(float(spectrum.max() - spectrum.min()), 2, places=4)  # 8 powers of ten, by 4
                self.assertEqual(spectrum[:, 110:].max(), spectrum.min())                   # silence

    @unittest.skipIf(onnx is None, "no package onnx")
    def test_quantization_takes_them(self):
        from onnx import TensorProto, helper
        weights = helper.make_tensor("w", TensorProto.FLOAT, [80, 4], numpy.random.default_rng(0).standard_normal(320).tolist())
        turned = helper.make_node("Transpose", ["input_features"], ["t"], "turn", perm=[0, 2, 1])
        graph = helper.make_graph([turned, helper.make_node("MatMul", ["t", "w"], ["y"], "product")], "g",
                                  [helper.make_tensor_value_info("input_features", TensorProto.FLOAT, ["batch", 80, 100])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 100, 4])], [weights])
        model = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        samples = quasar.speech_samples([self.write(f"{hertz}.wav", tone(hertz)) for hertz in (300, 900)], seconds=1)
        made = quasar.quantize(model, self.folder / "int8.onnx", "A8W8", calib=samples)
        self.assertIn("product", made.nodes)

    def test_refusals(self):
        good = self.write("good.wav", tone(440))
        text = self.folder / "text.wav"
        text.write_text("no sound at all")
        empty = self.folder / "empty"
        empty.mkdir()
        for files, options, words in ((self.write("slow.wav", tone(440, 1, 8000), rate=8000), {}, "8000 values a second, but the model takes 16000"),
                                      (text, {}, "is no WAV file of whole numbers"), (empty, {}, "holds no .wav file"), ([], {}, "no recordings"),
                                      (self.write("silent.wav", numpy.zeros((1, 0))), {}, "holds no sound"),
                                      (good, {"seconds": 0.01}, "more than one window"), (good, {"mels": 0}, "mels is 0"),
                                      (good, {"mels": 80.5}, "must be a whole number"), (good, {"most": True}, "most is True")):
            with self.assertRaises(ValueError) as raised:
                quasar.speech_samples(files, **options)
            self.assertIn(words, str(raised.exception))
        with self.assertRaises(FileNotFoundError):
            quasar.speech_samples(self.folder / "nowhere.wav")


if __name__ == "__main__":
    unittest.main()
