"""A small recognizer in two models, trained here: an encoder reads frames of noisy features, a decoder writes the text that they stand for.
usage: PYTHON examples/pipeline/train.py OUT_FOLDER [--width 32] [--steps 2000] [--threads 2] [--text FILE …]
PYTHON needs torch, onnx and onnxscript. The text: this repository's documents, unless files are named. Each letter is a pattern of 16 features that lasts two
to four frames, with noise and hum, so that the encoder has to find where one ends.
Writes encoder_model.onnx (input_features float32 [batch, frames, 16] -> last_hidden_state [batch, frames, width]), decoder_model.onnx (input_ids int64
[batch, positions], encoder_hidden_states -> logits [batch, positions, 32]), decoder_with_past_model.onnx (the same with caches: one token, past_key_values.N.key
and .value -> logits, present.N.key and .value), and calibration.npz, evaluation.npz and holdout.npz: input_features, input_ids (the text behind token 1) and labels
(the text and token 2 behind it; -100 does not count). Tokens: 0 padding, 1 start, 2 end, 3 space, 4 to 29 the letters. Prints how many texts come out as
they are. The same steps give the same models on one type of processor."""
import argparse
import glob
import math
import pathlib
import re

import numpy as np
import onnx
import torch
from torch import nn

START, END, SPACE, TOKENS, FEATURES, FRAMES, LENGTH = 1, 2, 3, 32, 16, 40, 12


class Attention(nn.Module):
    def __init__(self, width, heads=4):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    def forward(self, x, keys, values, hidden=None):
        scores = self.split(self.q(x)) @ keys.transpose(2, 3) / math.sqrt(self.size)
        if hidden is not None:
            scores = scores.masked_fill(hidden, -1e4)
        return self.o((torch.softmax(scores, -1) @ values).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, crosses):
        super().__init__()
        self.own, self.norm1, self.norm2 = Attention(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.cross, self.norm3 = (Attention(width), nn.LayerNorm(width)) if crosses else (None, None)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x, states=None, hidden=None, past=None):
        """-> states, keys and values of all positions so far"""
        own = self.norm1(x)
        keys, values = self.own.split(self.own.k(own)), self.own.split(self.own.v(own))
        if past is not None:
            keys, values = torch.cat((past[0], keys), 2), torch.cat((past[1], values), 2)
        x = x + self.own(own, keys, values, hidden)
        if self.cross is not None:
            x = x + self.cross(self.norm3(x), self.cross.split(self.cross.k(states)), self.cross.split(self.cross.v(states)))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x)))), keys, values


def positions(count, width, begin=0):
    at = torch.arange(count)[:, None] + begin
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(1e4) / width))
    return torch.stack((torch.sin(at * rate), torch.cos(at * rate)), -1).flatten(1)


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.enter, self.block, self.norm = nn.Linear(FEATURES, width), Block(width, False), nn.LayerNorm(width)
        self.register_buffer("places", positions(FRAMES, width), persistent=False)

    def forward(self, input_features):
        return self.norm(self.block(self.enter(input_features) + self.places[: input_features.shape[1]])[0])


class Decoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table, self.norm, self.last = nn.Embedding(TOKENS, width), nn.LayerNorm(width), nn.Linear(width, TOKENS)
        self.blocks = nn.ModuleList(Block(width, True) for _ in range(2))
        self.register_buffer("places", positions(FRAMES, width), persistent=False)

    def forward(self, input_ids, encoder_hidden_states, *past):
        before = past[0].shape[2] if past else 0
        count = input_ids.shape[1]
        x = self.table(input_ids) + self.places[before : before + count]
        hidden = torch.ones(count, before + count, dtype=torch.bool).triu(before + 1)
        caches = []
        for i, block in enumerate(self.blocks):
            x, keys, values = block(x, encoder_hidden_states, hidden, past[2 * i : 2 * i + 2] or None)
            caches += [keys, values]
        return (self.last(self.norm(x)), *caches)


class Plain(nn.Module):
    """The decoder without its caches."""

    def __init__(self, decoder):
        super().__init__()
        self.decoder = decoder

    def forward(self, input_ids, encoder_hidden_states):
        return self.decoder(input_ids, encoder_hidden_states)[0]


def words_of(files):
    text = " ".join(pathlib.Path(file).read_text(encoding="utf-8") for file in files).lower()
    return re.findall(r"[a-z]+", text)


def texts(words, count, rng):
    """Stretches of words of 4 to LENGTH letters, as tokens."""
    out = []
    while len(out) < count:
        begin = rng.integers(len(words) - 4)
        text = " ".join(words[begin : begin + 3])[: rng.integers(4, LENGTH)].strip()
        out.append([SPACE if letter == " " else 4 + ord(letter) - ord("a") for letter in text])
    return out


def spoken(tokens, patterns, rng):
    """Features of a text: each letter's pattern for two to four frames, with noise; silence behind."""
    frames = np.repeat(tokens, rng.integers(2, 5, len(tokens)))[:FRAMES]
    out = rng.normal(0, 0.15, (FRAMES, FEATURES))
    out[: len(frames)] += patterns[frames]
    out += 0.2 * np.sin(np.arange(FRAMES)[:, None] * rng.uniform(0.2, 0.6) + np.arange(FEATURES))
    return out.astype(np.float32)


def batch_of(words, patterns, count, rng):
    tokens = texts(words, count, rng)
    features = np.stack([spoken(one, patterns, rng) for one in tokens])
    ids, labels = np.zeros((count, LENGTH), np.int64), np.full((count, LENGTH), -100, np.int64)
    for row, one in enumerate(tokens):
        ids[row, : len(one) + 1] = [START, *one]
        labels[row, : len(one) + 1] = [*one, END]
    return features, ids, labels


def written(encoder, decoder, features):
    states, ids = encoder(features), torch.full((len(features), 1), START)
    for _ in range(LENGTH - 1):
        ids = torch.cat((ids, decoder(ids, states)[0][:, -1].argmax(-1, keepdim=True)), 1)
    return ids


def export(model, inputs, names, outputs, axes, path):
    torch.onnx.export(model, inputs, path, input_names=names, output_names=outputs, dynamic_axes=axes, opset_version=17, dynamo=False)
    onnx.checker.check_model(onnx.load(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--text", nargs="+", default=None)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    rng = np.random.default_rng(0)
    docs = pathlib.Path(__file__).parents[2] / "docs"
    words = words_of(options.text or sorted(glob.glob(str(docs / "*.md"))))
    patterns = rng.normal(0, 1, (TOKENS, FEATURES))
    encoder, decoder = Encoder(options.width), Decoder(options.width)
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], 3e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, options.steps)
    for step in range(options.steps):
        features, ids, labels = batch_of(words, patterns, 64, rng)
        logits = decoder(torch.from_numpy(ids), encoder(torch.from_numpy(features)))[0]
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(labels).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 250 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    encoder.eval(), decoder.eval()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, count in (("calibration", 24), ("evaluation", 40), ("holdout", 24)):
        features, ids, labels = batch_of(words, patterns, count, rng)
        np.savez_compressed(options.out / f"{name}.npz", input_features=features, input_ids=ids, labels=labels)
    with torch.no_grad():
        features, ids, labels = batch_of(words, patterns, 500, rng)
        out = written(encoder, decoder, torch.from_numpy(features)).numpy()
        whole = sum(np.array_equal(out[i, 1 : n + 1], labels[i, :n]) for i, n in enumerate((labels != -100).sum(1)) if n < LENGTH)
        print(f"{whole} of {sum((labels != -100).sum(1) < LENGTH)} texts come out as they are")
        features = torch.from_numpy(features[:2])
        states = encoder(features)
        batch, places = {0: "batch_size"}, {0: "batch_size", 1: "decoder_sequence_length"}
        export(encoder, (features,), ["input_features"], ["last_hidden_state"], {"input_features": batch, "last_hidden_state": batch},
               options.out / "encoder_model.onnx")
        first = torch.full((2, 3), START)
        names = [f"{i}.{side}" for i in range(2) for side in ("key", "value")]
        export(Plain(decoder), (first, states), ["input_ids", "encoder_hidden_states"], ["logits"],
               {"input_ids": places, "encoder_hidden_states": batch, "logits": places}, options.out / "decoder_model.onnx")
        past = decoder(first, states)[1:]
        caches = {0: "batch_size", 2: "past_sequence_length"}
        export(decoder, (first[:, :1], states, *past), ["input_ids", "encoder_hidden_states", *(f"past_key_values.{name}" for name in names)],
               ["logits", *(f"present.{name}" for name in names)],
               {"input_ids": places, "encoder_hidden_states": batch, "logits": places, **{f"past_key_values.{name}": caches for name in names},
                **{f"present.{name}": {0: "batch_size", 2: "total_sequence_length"} for name in names}},
               options.out / "decoder_with_past_model.onnx")


if __name__ == "__main__":
    main()
