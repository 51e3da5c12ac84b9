"""A small language model over bytes, trained here: RMSNorm, rotary embeddings, gated feed-forward layers, a last layer of its own.
usage: PYTHON examples/language/train.py OUT_FOLDER [--layers 4] [--width 256] [--window 128] [--steps 900] [--threads 1] [--old-exporter] [--tied]
  [--text FILE …]
PYTHON needs torch, onnx and onnxscript. The text: pod files of Debian's package perl-modules, which perl itself needs, unless files are named.
Writes gpt.onnx (input_ids int64 [batch, positions] -> logits [batch, positions, 256]), calibration.npz, evaluation.npz and holdout.npz (input_ids:
windows of that many bytes, one sample each). gpt_cache.onnx is the same model with a cache: it takes past_key_values.N.key and .value [batch, heads,
positions before, size] besides, and gives present.N.key and .value; cache_calibration.npz and cache_evaluation.npz hold second halves of windows with the
caches of their first halves. --tied: the last layer's weights are the table's, as in many small models. Prints the perplexity on the evaluation windows beside those of counted bytes and pairs of
bytes. The same steps give the same model on one type of processor."""
import argparse
import glob
import math
import pathlib
import time

import numpy as np
import onnx
import torch
from torch import nn

VOCABULARY = 256
BATCH = 8
CACHED = 40  # samples with recorded caches


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


def rotated(x, cos, sin):
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        hidden = 32 * math.ceil(width * 8 / 3 / 32)
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False), nn.Linear(hidden, width, bias=False)

    def forward(self, x, cos, sin, future, past=None):
        """-> states, keys and values of all positions so far"""
        batch, length = x.shape[0], x.shape[1]
        states = self.norm1(x)
        q, k, v = (layer(states).view(batch, length, self.heads, self.size).transpose(1, 2) for layer in (self.q, self.k, self.v))
        k = rotated(k, cos, sin)
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        scores = rotated(q, cos, sin) @ k.transpose(2, 3) / math.sqrt(self.size)
        shares = torch.softmax(scores.masked_fill(future, -1e4), -1)
        x = x + self.o((shares @ v).transpose(1, 2).reshape(batch, length, self.heads * self.size))
        states = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(states)) * self.up(states)), (k, v)


class Gpt(nn.Module):
    def __init__(self, layers, width, tied=False):
        super().__init__()
        heads = max(1, width // 64)
        self.table = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.last = Norm(width), nn.Linear(width, VOCABULARY, bias=False)
        half = width // heads // 2
        self.register_buffer("frequencies", 10000.0 ** -(torch.arange(half) / half))
        for weights in self.parameters():
            if weights.dim() > 1:
                nn.init.normal_(weights, std=0.02)
        if tied:
            self.last.weight = self.table.weight
        for block in self.blocks:
            for layer in (block.o, block.down):
                nn.init.normal_(layer.weight, std=0.02 / math.sqrt(2 * layers))

    def forward(self, input_ids):
        return self.with_cache(input_ids, [None] * len(self.blocks))[0]

    def with_cache(self, input_ids, past):
        """-> logits, keys and values of each block"""
        before = 0 if past[0] is None else past[0][0].shape[2]
        at = torch.arange(before + input_ids.shape[1])
        own = at[before:]
        angles = own[:, None] * self.frequencies
        cos, sin, future = angles.cos(), angles.sin(), at[None, :] > own[:, None]
        x, present = self.table(input_ids), []
        for block, cache in zip(self.blocks, past):
            x, now = block(x, cos, sin, future, cache)
            present.append(now)
        return self.last(self.norm(x)), present


class Cached(nn.Module):
    """The same model as its exported form with a cache takes it: ids, and keys and values of each block in turn."""
    def __init__(self, gpt):
        super().__init__()
        self.gpt = gpt

    def forward(self, input_ids, *caches):
        logits, present = self.gpt.with_cache(input_ids, list(zip(caches[::2], caches[1::2])))
        return logits, *(tensor for pair in present for tensor in pair)


def text_of(files):
    files = files or sorted(glob.glob("/usr/share/perl/[0-9]*/**/*.pod", recursive=True))
    if not files:
        raise SystemExit("no text: install Debian's package perl-modules-5.36, or name files with --text")
    return np.frombuffer(b"\n".join(pathlib.Path(file).read_bytes() for file in files), np.uint8).astype(np.int64)


def split(text, window):
    """Every tenth stretch of 32 windows is evaluated on, the one after it held out: kinds of text are in all three alike. -> training text, windows"""
    stretch = 32 * window
    pieces = [text[i:i + stretch] for i in range(0, len(text) - stretch + 1, stretch)]
    windows = [np.concatenate(pieces[k::10]).reshape(-1, window) for k in (3, 4)]
    return np.concatenate([piece for i, piece in enumerate(pieces) if i % 10 not in (3, 4)]), windows


def of_counts(training, windows):
    """Perplexity of bytes by their frequency, and by that behind the byte before (one is added to each count); the tokens are those that the model predicts."""
    single, pairs = np.ones(VOCABULARY), np.ones((VOCABULARY, VOCABULARY))
    np.add.at(single, training, 1)
    np.add.at(pairs, (training[:-1], training[1:]), 1)
    before, after = windows[:, :-1].ravel(), windows[:, 1:].ravel()
    one = -np.log(single / single.sum())[after].mean()
    two = -np.log(pairs / pairs.sum(1, keepdims=True))[before, after].mean()
    return math.exp(one), math.exp(two)


def train(model, text, options):
    generator = torch.Generator().manual_seed(1)
    text = torch.from_numpy(text)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.98), weight_decay=0.05)
    start = time.time()
    for step in range(options.steps):
        for group in optimizer.param_groups:
            group["lr"] = 2e-3 * min(1, (step + 1) / 30) * (1 - 0.98 * step / options.steps)
        begin = torch.randint(0, len(text) - options.window - 1, (BATCH,), generator=generator)
        rows = torch.stack([text[i:i + options.window + 1] for i in begin.tolist()])
        loss = nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: training loss {loss.item():.3f}", flush=True)
    print(f"{options.steps} steps in {time.time() - start:.0f} s, {time.process_time():.0f} s of processor")


def perplexity(model, windows):
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten(), reduction="none")
                  for rows in torch.from_numpy(windows).split(BATCH)]
    return math.exp(torch.cat(losses).double().mean().item())


def export(model, path, window, old, caches=()):
    """`caches`: their names, in turn keys and values; none: a model without."""
    # Two rows of another length than the window, so that neither size becomes a constant.
    example = torch.zeros((2, window // 2), dtype=torch.int64)
    gpt = model.gpt if caches else model
    size = 2 * len(gpt.frequencies)
    empty = [torch.zeros((2, gpt.blocks[0].heads, window // 4, size)) for _ in caches]
    past, present = ["past_key_values." + name for name in caches], ["present." + name for name in caches]
    names = {"input_names": ["input_ids", *past], "output_names": ["logits", *present]}
    if old:
        axes = {name: {0: "batch", 1: "positions"} for name in ("input_ids", "logits")}
        axes.update({name: {0: "batch", 2: "positions_before"} for name in past})
        axes.update({name: {0: "batch", 2: "positions_so_far"} for name in present})
        torch.onnx.export(model, (example, *empty), str(path), opset_version=17, dynamic_axes=axes, dynamo=False, **names)
    else:
        batch, positions = torch.export.Dim("batch"), torch.export.Dim("positions", min=2)
        sizes = {0: batch, 1: positions}
        held = tuple({0: batch, 2: torch.export.Dim("positions_before")} for _ in caches[:1]) * len(caches)
        torch.onnx.export(model, (example, *empty), str(path), opset_version=18, dynamic_shapes=(sizes, held) if caches else (sizes,), dynamo=True,
                          external_data=False, **names)
    forget_places(path)


def write_cached(gpt, names, windows, path):
    """Second halves of the windows, with what the float model keeps of the first ones."""
    half = windows.shape[1] // 2
    rows = torch.from_numpy(windows)
    with torch.no_grad():
        held = [tensor.numpy() for pair in gpt.with_cache(rows[:, :half], [None] * len(gpt.blocks))[1] for tensor in pair]
    caches = {"past_key_values." + name: tensor for name, tensor in zip(names, held)}
    np.savez_compressed(path, input_ids=windows[:, half:], **caches)


def forget_places(path):
    """Exporters note for each node where in which file it was written, with the folders of their machine."""
    model = onnx.load(path)
    for part in (model, model.graph, *model.graph.node, *model.graph.value_info):
        part.doc_string = ""
        del part.metadata_props[:]
    onnx.save(model, path)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    for name, kind, default in (("layers", int, 4), ("width", int, 256), ("window", int, 128), ("steps", int, 900), ("samples", int, 200), ("threads", int, 1)):
        parser.add_argument("--" + name, type=kind, default=default)
    parser.add_argument("--old-exporter", action="store_true")
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--text", nargs="+", default=[])
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    training, (evaluation, holdout) = split(text_of(options.text), options.window)
    model = Gpt(options.layers, options.width, options.tied)
    print(f"{len(training)} bytes, {sum(weights.numel() for weights in model.parameters())} parameters", flush=True)
    train(model, training, options)
    model.eval()

    options.out.mkdir(parents=True, exist_ok=True)
    export(model, options.out / "gpt.onnx", options.window, options.old_exporter)
    names = [f"{block}.{what}" for block in range(options.layers) for what in ("key", "value")]
    export(Cached(model), options.out / "gpt_cache.onnx", options.window, options.old_exporter, names)
    calibration = training[:len(training) // options.window * options.window].reshape(-1, options.window)
    for name, windows in (("calibration", calibration), ("evaluation", evaluation), ("holdout", holdout)):
        every = max(1, len(windows) // options.samples)
        chosen = windows[::every][:options.samples]
        np.savez_compressed(options.out / f"{name}.npz", input_ids=chosen)
        if name != "holdout":
            write_cached(model, names, chosen[:CACHED], options.out / f"cache_{name}.npz")
    evaluation = np.load(options.out / "evaluation.npz")["input_ids"]
    one, two = of_counts(training, evaluation)
    print(f"perplexity on {len(evaluation)} windows: model {perplexity(model, evaluation):.4f}, pairs of bytes {two:.2f}, bytes {one:.2f}")


if __name__ == "__main__":
    main()
