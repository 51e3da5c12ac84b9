"""Whisper's spectrum beside transformers' own.
usage: speech.py PATH_OF_quasar/_speech.py"""
import importlib.util
import pathlib
import sys
import tempfile
import wave

import numpy
from transformers import WhisperFeatureExtractor

spec = importlib.util.spec_from_file_location("speech", sys.argv[1])
speech = importlib.util.module_from_spec(spec)
spec.loader.exec_module(speech)
random = numpy.random.default_rng(0)
worst = 0.0
with tempfile.TemporaryDirectory() as folder:
    for mels, seconds in ((80, 7.3), (80, 31), (128, 2)):
        time = numpy.arange(round(16000 * seconds)) / 16000
        sound = 0.3 * numpy.sin(2 * numpy.pi * (200 + 300 * time) * time) + 0.05 * random.standard_normal(len(time))
        codes = numpy.clip(numpy.round(sound * 32767), -32768, 32767).astype("<i2")
        path = pathlib.Path(folder) / "a.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(1), file.setsampwidth(2), file.setframerate(16000)
            file.writeframes(codes.tobytes())
        theirs = WhisperFeatureExtractor(feature_size=mels)(codes / 32768, sampling_rate=16000, return_tensors="np").input_features
        ours = speech.speech_samples(path, mels=mels)["input_features"]
        assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
        worst = max(worst, float(abs(ours - theirs).max()))
print("largest difference", worst)
assert worst < 1e-4
