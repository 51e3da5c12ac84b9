"""Peak memory of `quasar evaluate` on data sets of 64 MB and of 640 MB, as npz, as a folder of npy files and as pictures: it must not grow
with them beyond the 128 MiB of samples and 256 MiB of pictures that are kept on purpose.
usage: PYTHON_WITH_NUMPY bench/streaming.py build/quasar SHARED      (SHARED: the folder with models and images; for pictures)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

quasar, shared = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
model = shared / "data/models/mobilenet_v1_025_128.onnx"


def measure(what, data):
    """-> peak in MB"""
    pid = os.posix_spawn(quasar, [str(quasar), "evaluate", str(model), "--data", str(data), "--json"], os.environ,
                         file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
    _, status, usage = os.wait4(pid, 0)
    assert status == 0, status
    print(f"{what}: {usage.ru_maxrss / 1e3:.0f} MB at most, {usage.ru_utime + usage.ru_stime:.1f} s of processor time")
    return usage.ru_maxrss / 1e3


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    rng = np.random.default_rng(0)
    for count in (320, 3200):  # of 196 kB each
        size = f"{count * 3 * 128 * 128 * 4 / 1e6:.0f} MB"
        samples = rng.standard_normal((count, 3, 128, 128), np.float32)
        np.savez(folder / "data.npz", input=samples)
        (folder / "files").mkdir(exist_ok=True)
        for i, sample in enumerate(samples):
            np.save(folder / "files" / f"{i:05}.npy", sample)
        del samples
        measure(f"npz of {size}", folder / "data.npz")
        measure(f"npy files of {size}", folder / "files")
    for copies in (1, 10):
        pictures = folder / f"pictures{copies}"
        pictures.mkdir()
        for photo in sorted((shared / "data/imagenet/eval").glob("*.jpg")):
            for k in range(copies):
                (pictures / f"{k}_{photo.name}").symlink_to(photo)
        (folder / "pictures.json").write_text('{"reader": "images", "path": "%s", "crop": 0.875, "mean": 127.5, "scale": 0.00784}' % pictures)
        measure(f"{400 * copies} photographs", folder / "pictures.json")
