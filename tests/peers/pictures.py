"""Three usual ways to prepare pictures, by the images reader and by PIL and NumPy, on every photograph.
usage: pictures.py DUMP_SAMPLES FOLDER
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image

mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])


def imagenet(image):
    w, h = image.size
    w, h = (256, int(256 * h / w)) if w <= h else (int(256 * w / h), 256)
    image = image.resize((w, h), Image.BILINEAR)
    top, left = int(round((h - 224) / 2.0)), int(round((w - 224) / 2.0))
    return (np.asarray(image.crop((left, top, left + 224, top + 224))) / 255.0 - mean) / std


def mobilenet(image):
    w, h = image.size
    c = int(min(w, h) * 0.875)
    l, t = (w - c) // 2, (h - c) // 2
    return np.asarray(image.crop((l, t, l + c, t + c)).resize((128, 128), Image.BILINEAR)) / 127.5 - 1


def letterbox(image):
    w, h = image.size
    scale = min(320 / h, 320 / w)
    w, h = round(w * scale), round(h * scale)
    out = np.full((320, 320, 3), 114, np.uint8)
    t, l = (320 - h) // 2, (320 - w) // 2
    out[t:t + h, l:l + w] = np.asarray(image.resize((w, h), Image.BICUBIC))
    return out[..., ::-1] / 255.0


ways = [
    (imagenet, 224, {"resize": 256, "crop": 224, "mean": list(mean * 255), "std": list(std * 255)}),
    (mobilenet, 128, {"crop": 0.875, "mean": 127.5, "scale": 1 / 127.5}),
    (letterbox, 320, {"letterbox": True, "interpolation": "bicubic", "color": "BGR", "scale": 1 / 255.0}),
]
for folder in sorted(p for p in pathlib.Path(sys.argv[2]).iterdir() if p.is_dir()):
    files = sorted(folder.glob("*.jpg"))
    for way, size, options in ways:
        with tempfile.TemporaryDirectory() as scratch:
            description = pathlib.Path(scratch, "data.json")
            description.write_text(json.dumps({"reader": "images", "path": str(folder), **options}))
            raw = subprocess.run([sys.argv[1], description, str(size), str(size)], check=True, capture_output=True).stdout
        found = np.frombuffer(raw, np.float32).reshape(-1, 3, size, size)
        assert len(found) == len(files), (len(found), len(files))
        worst, different = 0.0, []
        for ours, file in zip(found, files):
            theirs = way(Image.open(file).convert("RGB")).transpose(2, 0, 1).astype(np.float32)
            difference = float(np.abs(ours - theirs).max())
            worst = max(worst, difference)
            if difference > 1e-6:
                different.append(file.name)
        print(f"{folder.name}, {way.__name__}: {len(files)} photographs, greatest difference {worst:.3g}, different {different}")
        # Three tall photographs are known to differ by up to 5 of 255 levels: docs/data.md.
        tall = {"0063.jpg", "0487.jpg", "0563.jpg"}
        assert worst <= 0.02 and set(different) <= (tall if way is letterbox else set()), (folder, way)
