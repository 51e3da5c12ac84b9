"""Made-up transcripts as outputs of a recognizer, and jiwer's error rates.
usage: error_rate.py OUT_FOLDER -> model.onnx (gives what it is fed), samples.npz (x, labels), expected.json"""
import json
import pathlib
import random
import sys

import jiwer
import numpy as np
from onnx import TensorProto, helper, save

BLANK, SPACE, CLASSES, MOST = 0, 1, 8, 40  # classes from 2 on are letters


def text_of(rng):
    return [int(letter) for letter in " ".join("".join(str(rng.randrange(2, CLASSES)) for _ in range(rng.randrange(1, 5))) for _ in range(rng.randrange(1, 6))).replace(" ", str(SPACE))]


def heard(rng, text):
    """With mistakes: left out, doubled, taken for another; spaces too."""
    out = []
    for letter in text:
        kind = rng.random()
        if kind < 0.1:
            continue
        out.append(rng.randrange(1, CLASSES) if kind < 0.2 else letter)
        if kind > 0.9:
            out.append(rng.randrange(1, CLASSES))
    return out


def frames(rng, text):
    """As CTC writes it: blanks between equal letters, and anywhere; letters repeated."""
    out = []
    for i, letter in enumerate(text):
        if (i > 0 and text[i - 1] == letter) or rng.random() < 0.3:
            out.append(BLANK)
        out += [letter] * rng.randrange(1, 3)
    return out


def words(text):
    return "".join(" " if letter == SPACE else str(letter) for letter in text)


def main():
    out, rng, count = pathlib.Path(sys.argv[1]), random.Random(5), 60
    truths = [text_of(rng) for _ in range(count)]
    answers = [heard(rng, text) for text in truths]
    rows = [frames(rng, text) for text in answers]
    length = max(len(row) for row in rows)
    x = np.zeros((count, length, CLASSES), np.float32)
    labels = np.full((count, MOST), -100, np.int64)
    for i, row in enumerate(rows):
        x[i, np.arange(length), row + [BLANK] * (length - len(row))] = 1
        labels[i, :len(truths[i])] = truths[i]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", length, CLASSES]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "given", value[:1], value[1:])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), out / "model.onnx")
    np.savez(out / "samples.npz", x=x, labels=labels)

    # jiwer strips spaces at both ends and merges runs of them; ours are letters like others where characters are compared.
    transform = jiwer.Compose([jiwer.ReduceToListOfListOfChars()])
    said, found = [words(text) for text in truths], [words(text) for text in answers]
    expected = {"cer": jiwer.cer(said, found, reference_transform=transform, hypothesis_transform=transform), "wer": jiwer.wer(said, found)}
    (out / "expected.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main()
