"""Samples for the zoo: photographs, rendered text, synthetic speech, sentences. Everything is seeded; no two splits share a sample."""
import functools
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageDraw, ImageFont

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from sentences import sentence  # noqa: E402

SPLITS = ("calib", "eval", "holdout")
FONTS = [f"/usr/share/fonts/truetype/dejavu/DejaVu{name}.ttf" for name in ("Sans", "Serif", "SansMono", "Sans-Bold", "Serif-Bold")]
VOICES = ["en-us", "en-gb", "de", "fr", "es", "it", "en-us+f2", "en-gb+f4", "en-us+m3", "de+f3"]
MEAN, STD = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


def seed(split, salt=0):
    return 1000 * salt + SPLITS.index(split)


def photograph_files(shared, split, count):
    """Those of "holdout" come from the folder of "eval", from the other end of its order"""
    files = sorted((pathlib.Path(shared) / "data" / "imagenet" / ("calib" if split == "calib" else "eval")).glob("*.jpg"))
    order = np.random.default_rng(seed("calib" if split == "calib" else "eval")).permutation(len(files))
    return [files[k] for k in (order[::-1] if split == "holdout" else order)[:count]]


def photographs(shared, split, count, height, width=None):
    """-> RGB pictures of 0 … 255, float32 [height, width, 3]"""
    return [np.asarray(Image.open(file).convert("RGB").resize((width or height, height), Image.BILINEAR), np.float32) for file in photograph_files(shared, split, count)]


def normalized(pictures, mean=MEAN, std=STD):
    """0 … 255, channels last -> [1, 3, height, width]"""
    return [np.ascontiguousarray(((x / 255 - mean) / std).transpose(2, 0, 1)[None], np.float32) for x in pictures]


@functools.cache
def font(file, size):
    return ImageFont.truetype(file, size)


def texts(split, count, salt=1):
    rng, found = random.Random(seed(split, salt)), []
    while len(found) < count:
        text = sentence(rng)
        if text not in found: found.append(text)
    return found


def text_lines(split, count, height=48, width=320):
    return [picture for _, picture in drawn_lines(split, count, height, width)]


def drawn_lines(split, count, height=48, width=320):
    """Rendered lines of text -> the text, and RGB of 0 … 255, float32 [height, width, 3]"""
    rng, lines = random.Random(seed(split, 2)), []
    for text in texts(split, count, 3):
        words = " ".join(text.split()[:rng.randint(2, 4)]) if rng.random() < 0.8 else f"{rng.randint(10, 9999)}-{rng.randint(100, 999)} {text.split()[0]}"
        paper, ink = rng.randint(170, 255), rng.randint(0, 90)
        picture = Image.new("RGB", (width, height), (paper, paper, max(paper - rng.randint(0, 30), 0)))
        of_it, chosen = rng.randint(18, 30), rng.choice(FONTS)
        while font(chosen, of_it).getlength(words) > width - 10: of_it -= 1
        ImageDraw.Draw(picture).text((rng.randint(2, 8), height // 2), words, (ink, ink, ink), font(chosen, of_it), anchor="lm")
        noise = np.random.default_rng(rng.randint(0, 2**31)).normal(0, rng.choice([0, 4, 12]), (height, width, 1))
        lines.append((words, np.clip(np.asarray(picture, np.float32) + noise, 0, 255).astype(np.float32)))
    return lines


def pages(shared, split, count, height, width):
    """Rendered pages: a title, paragraphs, a table, a photograph -> RGB of 0 … 255, float32 [height, width, 3]"""
    rng, found = random.Random(seed(split, 4)), []
    pictures, words = photographs(shared, split, count, 256), iter(texts(split, 12 * count, 5))
    for photograph in pictures:
        page = Image.new("RGB", (width, height), (rng.randint(235, 255),) * 3)
        draw, size, y = ImageDraw.Draw(page), max(height // 55, 9), height // 20
        face, left, right = rng.choice(FONTS[:2]), width // 12, width - width // 12
        draw.text((left, y), next(words)[:36], (20, 20, 20), font(face, 2 * size))
        y += 4 * size
        for block in rng.sample(["text", "text", "picture", "table"], 4):
            if y > height - 12 * size: break
            if block == "text":
                line = ""
                for word in (next(words) + " " + next(words)).split():
                    if font(face, size).getlength(line + word) > right - left:
                        draw.text((left, y), line, (30, 30, 30), font(face, size))
                        y, line = y + int(1.4 * size), ""
                    line += word + " "
                draw.text((left, y), line, (30, 30, 30), font(face, size))
            elif block == "picture":
                page.paste(Image.fromarray(photograph.astype(np.uint8)).resize((14 * size, 10 * size)), (rng.randint(left, right - 14 * size), y))
                y += 10 * size
            else:
                for row in range(5):
                    for column in range(4):
                        x = left + column * (right - left) // 4
                        draw.rectangle((x, y, x + (right - left) // 4, y + int(1.8 * size)), outline=(60, 60, 60))
                        draw.text((x + 4, y + 3), str(rng.randint(1, 9999)), (30, 30, 30), font(face, size))
                    y += int(1.8 * size)
            y += 3 * size
        found.append(np.asarray(page, np.float32))
    return found


@functools.cache
def speech(split, count, call="", rate=16000):
    """Synthetic speech by espeak-ng, with pauses and some noise -> float32 [samples] of −1 … 1, 2 to 12 seconds each; every other clip begins with a call"""
    import scipy.io.wavfile
    import scipy.signal
    rng, clips = np.random.default_rng(seed(split, 6)), []
    with tempfile.TemporaryDirectory() as folder:
        for k, text in enumerate(texts(split, count, 7)):
            file, voice = f"{folder}/{k}.wav", VOICES[int(rng.integers(len(VOICES)))]
            words = ["-v", voice, "-s", str(int(rng.integers(130, 190))), "-p", str(int(rng.integers(30, 70)))]
            subprocess.run(["espeak-ng", *words, "-w", file, text if k % 2 else f"{call} {text}"], check=True)
            found, sound = scipy.io.wavfile.read(file)
            sound = scipy.signal.resample_poly(sound.astype(np.float32) / 32768, rate, found)
            quiet = np.zeros(int(rate * rng.uniform(0.3, 1)), np.float32)
            sound = np.concatenate([quiet, sound, quiet]) * rng.uniform(0.3, 1)
            clips.append((sound + rng.normal(0, 10**rng.uniform(-4, -1.7), len(sound))).astype(np.float32))
    return clips


def pieces(clips, size):
    """One piece of this many values a clip, repeated where the clip is shorter"""
    return [np.resize(clip, max(size, len(clip)))[k % 3 * (max(len(clip) - size, 0) // 2):][:size] for k, clip in enumerate(clips)]


def log_mel(clip, frames, bins=80, low=0, rate=16000, size=400, hop=160):
    """Logarithm of the mel spectrum [frames, bins]"""
    sound = np.resize(clip, size + hop * (frames - 1))
    power = np.abs(np.fft.rfft(np.lib.stride_tricks.sliding_window_view(sound, size)[::hop] * np.hanning(size)))**2
    edges = 700 * (10**(np.linspace(2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + rate / 1400), bins + 2) / 2595) - 1) * size / rate
    at = np.arange(power.shape[1])
    rise, fall = ((at[None] - edges[:-2, None]) / np.diff(edges)[:-1, None], (edges[2:, None] - at[None]) / np.diff(edges)[1:, None])
    area = 2 * size / rate / (edges[2:, None] - edges[:-2, None])  # each filter has the area one, as in librosa
    return np.log10(np.maximum(power @ (area * np.maximum(0, np.minimum(rise, fall))).T, 1e-10)).astype(np.float32)
