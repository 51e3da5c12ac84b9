"""Recordings as models of speech take them: log-mel spectra, or the waveform itself."""
from __future__ import annotations

import os
import pathlib
import wave
from typing import Any, Dict, Iterable, List, Optional, Union

import numpy

_Path = Union[str, "os.PathLike[str]"]

# Of Whisper's spectrum, by its article (arXiv 2212.04356, section 2.2) and as its tokens of time ask: windows of 25 ms, one each 10 ms.
_WINDOW, _STEP = 0.025, 0.010
_LEAST_POWER, _RANGE = 1e-10, 8.0  # powers of ten

def _recordings(files: Union[_Path, Iterable[_Path]]) -> List[pathlib.Path]:
    if isinstance(files, (str, os.PathLike)):
        folder = pathlib.Path(files)
        if not folder.is_dir():
            return [folder]
        found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".wav")
        if not found:
            raise ValueError(f"'{folder}' holds no .wav file")
        return found
    paths = [pathlib.Path(file) for file in files]
    if not paths:
        raise ValueError("no recordings were given")
    return paths

def _values(frames: bytes, width: int) -> numpy.ndarray:
    """Whole numbers of 1 to 4 bytes, little endian, as values of -1 to 1"""
    if width == 1:  # without a sign, as WAV has it
        return (numpy.frombuffer(frames, numpy.uint8).astype(numpy.float32) - 128) / 128
    if width == 3:
        wide = numpy.zeros((len(frames) // 3, 4), numpy.uint8)
        wide[:, 1:] = numpy.frombuffer(frames, numpy.uint8).reshape(-1, 3)
        return (wide.view("<i4")[:, 0] / numpy.float64(2**31)).astype(numpy.float32)
    return (numpy.frombuffer(frames, f"<i{width}") / numpy.float64(2 ** (8 * width - 1))).astype(numpy.float32)

def _read(path: pathlib.Path, rate: int) -> numpy.ndarray:
    """The mean of a recording's channels"""
    try:
        with wave.open(str(path), "rb") as file:
            own, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError) as error:
        raise ValueError(f"'{path}' is no WAV file of whole numbers ({error}); convert it: ffmpeg -i FILE -ar {rate} -ac 1 -c:a pcm_s16le OUT.wav") from error
    if own != rate:
        raise ValueError(f"'{path}' has {own} values a second, but the model takes {rate}; convert it: ffmpeg -i '{path}' -ar {rate} -ac 1 OUT.wav")
    if not frames:
        raise ValueError(f"'{path}' holds no sound")
    whole = len(frames) - len(frames) % (width * channels)
    return _values(frames[:whole], width).reshape(-1, channels).mean(axis=1, dtype=numpy.float32)

def _mel_of(hertz: numpy.ndarray) -> numpy.ndarray:
    """Slaney's scale (Auditory Toolbox, 1998): linear below 1000 Hz, 15 mels; logarithmic above, 27 steps to 6.4 times the frequency"""
    hertz = numpy.asarray(hertz, numpy.float64)
    return numpy.where(hertz < 1000, hertz * 3 / 200, 15 + numpy.log(numpy.maximum(hertz, 1) / 1000) * 27 / numpy.log(6.4))

def _hertz_of(mel: numpy.ndarray) -> numpy.ndarray:
    return numpy.where(mel < 15, mel * 200 / 3, 1000 * numpy.exp((mel - 15) * numpy.log(6.4) / 27))

def _mel_filters(mels: int, bins: int, rate: int) -> numpy.ndarray:
    """[bins, mels]: triangles over the frequencies, each of area 1 (in hertz, twice)"""
    corners = _hertz_of(numpy.linspace(0, _mel_of(rate / 2), mels + 2))
    frequencies = numpy.linspace(0, rate / 2, bins)[:, None]
    rising = (frequencies - corners[:-2]) / (corners[1:-1] - corners[:-2])
    falling = (corners[2:] - frequencies) / (corners[2:] - corners[1:-1])
    return numpy.maximum(0, numpy.minimum(rising, falling)) * 2 / (corners[2:] - corners[:-2])

def _log_mel(values: numpy.ndarray, mels: int, rate: int) -> numpy.ndarray:
    """[mels, steps of time], as Whisper takes it"""
    length, step = round(_WINDOW * rate), round(_STEP * rate)
    window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(length) / length)
    padded = numpy.pad(values.astype(numpy.float64), length // 2, mode="reflect")
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, length)[::step][:-1]
    power = numpy.abs(numpy.fft.rfft(frames * window)) ** 2
    spectrum = numpy.log10(numpy.maximum(power @ _mel_filters(mels, length // 2 + 1, rate), _LEAST_POWER))
    spectrum = numpy.maximum(spectrum, spectrum.max() - _RANGE)
    return ((spectrum.T + 4) / 4).astype(numpy.float32)

def _check(**sizes: Any) -> None:
    for name, value in sizes.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, numpy.integer, numpy.floating)) or not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value!r}, but must be a number above 0")
        if name != "seconds" and value != int(value):
            raise ValueError(f"{name} is {value!r}, but must be a whole number")

def speech_samples(files: Union[_Path, Iterable[_Path]], *, mels: Optional[int] = 80, rate: int = 16000, seconds: float = 30, most: Optional[int] = None,
                   name: Optional[str] = None) -> Dict[str, numpy.ndarray]:
    """Samples of recordings for a model of speech, one a file, by the name of the model's input.

    files: WAV files of whole numbers (PCM); a folder takes all below it, in the order of their names. Several channels are averaged.
    mels: bands of the log-mel spectrum that Whisper takes (80; 128 for large-v3). None: the waveform, values of -1 to 1.
    rate: values a second that the model takes. A file of another rate is refused.
    seconds: each sample is cut, or filled with silence, to so many.
    most: at most so many recordings, from the beginning.
    name: the model's input; input_features for spectra and input_values for waveforms where it is left out.
    -> {name: float32 [recordings, mels, 100 * seconds] or [recordings, rate * seconds]}, which every function that takes samples takes.
    Raises ValueError for what is no such file, and FileNotFoundError.
    """
    _check(**({} if mels is None else {"mels": mels}), rate=rate, seconds=seconds, **({} if most is None else {"most": most}))
    count = round(seconds * rate)
    if mels is not None and count <= round(_WINDOW * rate):
        raise ValueError(f"seconds is {seconds!r}, but a spectrum takes more than one window of {_WINDOW} seconds")
    samples = []
    for path in _recordings(files)[:most]:
        values = _read(path, int(rate))[:count]
        values = numpy.pad(values, (0, count - len(values)))
        samples.append(values if mels is None else _log_mel(values, int(mels), int(rate)))
    return {name or ("input_values" if mels is None else "input_features"): numpy.stack(samples)}

__all__ = ["speech_samples"]
