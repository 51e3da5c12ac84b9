"""Makes tests/unit/data/pictures: pictures of our own, and what PIL and NumPy make of them (expected.npz). Needs Pillow and NumPy.
usage: make_pictures.py FOLDER
"""
import pathlib
import sys

import numpy as np
from PIL import Image

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
height, width = 30, 41

# Waves, a hard edge and noise, so that every filter has something to get wrong.
y, x = np.mgrid[0:height, 0:width]
noise = np.random.default_rng(0).integers(0, 60, (height, width, 3))
waves = np.stack([np.sin(x / 3), np.cos(y / 4), np.sin((x + y) / 5)], -1) * 90 + 110
waves[8:20, 12:30] = [250, 5, 128]
picture = Image.fromarray(np.clip(waves + noise, 0, 255).astype(np.uint8))

picture.save(folder / "color.png")
picture.convert("L").save(folder / "gray.png")
picture.convert("1").save(folder / "black_and_white.png")
picture.quantize(16).save(folder / "palette.png")
alpha = picture.copy()
alpha.putalpha(Image.fromarray((x * 6).astype(np.uint8)))
alpha.save(folder / "alpha.png")
picture.save(folder / "color.jpg", quality=85)
picture.save(folder / "progressive.jpeg", quality=70, progressive=True)
picture.convert("L").save(folder / "gray.jpg", quality=85)
picture.convert("CMYK").save(folder / "cmyk.jpg", quality=85)

for i, pixels in enumerate([[1, 2], [3, 4]]):  # for tests/contracts
    Image.fromarray(np.array([pixels], np.uint8)).save(folder / f"pixels_{i}.png")

arrays = {}
for file in sorted(folder.iterdir()):
    if file.suffix in (".png", ".jpg", ".jpeg") and not file.name.startswith("pixels"):
        arrays["decoded_" + file.name.replace(".", "_")] = np.asarray(Image.open(file).convert("RGB"))

filters = {"nearest": Image.NEAREST, "box": Image.BOX, "bilinear": Image.BILINEAR, "bicubic": Image.BICUBIC, "lanczos": Image.LANCZOS}
for name, how in filters.items():
    for h, w in ((11, 17), (47, 60), (30, 7), (64, 41)):
        arrays[f"{name}_{h}_{w}"] = np.asarray(picture.resize((w, h), how))
arrays["luminance"] = np.asarray(picture.convert("L"))


def torchvision(image, shorter, crop):
    """Resize(shorter), CenterCrop(crop) as torchvision computes them from PIL's resize."""
    w, h = image.size
    w, h = (shorter, int(shorter * h / w)) if w <= h else (int(shorter * w / h), shorter)
    image = image.resize((w, h), Image.BILINEAR)
    top, left = int(round((h - crop) / 2.0)), int(round((w - crop) / 2.0))
    return np.asarray(image.crop((left, top, left + crop, top + crop)))


mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
cropped = torchvision(picture, 24, 21)
arrays["imagenet"] = ((cropped / 255.0 - mean) / std).transpose(2, 0, 1)[None].astype(np.float32)

side = int(min(width, height) * 0.875)
left, top = (width - side) // 2, (height - side) // 2
central = picture.crop((left, top, left + side, top + side)).resize((16, 16), Image.BILINEAR)
arrays["central"] = (np.asarray(central).transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)

scale = min(20 / height, 20 / width)
w, h = round(width * scale), round(height * scale)
box = np.full((20, 20, 3), 114, np.uint8)
t, l = (20 - h) // 2, (20 - w) // 2
box[t:t + h, l:l + w] = np.asarray(picture.resize((w, h), Image.BICUBIC))
arrays["letterbox_bgr"] = (box[..., ::-1].transpose(2, 0, 1)[None] / 255.0).astype(np.float32)

np.savez_compressed(folder / "expected.npz", **arrays)
