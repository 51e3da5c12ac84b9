"""A Llama of transformers with made-up weights, exported to ONNX, texts of several lengths (padded behind), and the perplexity of transformers' own loss.
usage: perplexity.py OUT_FOLDER -> model.onnx, samples.npz, labels.npz (labels as transformers takes them), expected.json"""
import json
import math
import pathlib
import sys

import numpy as np
import torch
import transformers


class Logits(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        return self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False).logits


def main():
    out = pathlib.Path(sys.argv[1])
    torch.manual_seed(3)
    config = transformers.LlamaConfig(vocab_size=120, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                                      max_position_embeddings=64, initializer_range=0.3, attn_implementation="eager")
    model = transformers.LlamaForCausalLM(config).eval()
    length, count = 24, 12
    ids = torch.randint(1, 120, (count, length))
    mask = torch.ones_like(ids)
    for i in range(count):
        mask[i, length - i:] = 0
    labels = torch.where(mask == 1, ids, -100)

    # The loop of transformers' guide "Perplexity of fixed-length models", one window per sample.
    losses, tokens = 0.0, 0
    with torch.no_grad():
        for i in range(count):
            known = int((labels[i, 1:] != -100).sum())
            losses += known * model(input_ids=ids[i:i + 1], attention_mask=mask[i:i + 1], labels=labels[i:i + 1], use_cache=False).loss.item()
            tokens += known
    sizes = {name: {0: torch.export.Dim("batch", min=1, max=8), 1: torch.export.Dim("positions", min=2, max=64)} for name in ("input_ids", "attention_mask")}
    torch.onnx.export(Logits(model), (ids[:2], mask[:2]), str(out / "model.onnx"), input_names=["input_ids", "attention_mask"], output_names=["logits"],
                      opset_version=18, dynamic_shapes=sizes, dynamo=True, external_data=False, verbose=False)
    np.savez(out / "samples.npz", input_ids=ids.numpy(), attention_mask=mask.numpy())
    np.savez(out / "labels.npz", input_ids=ids.numpy(), attention_mask=mask.numpy(), labels=labels.numpy())
    (out / "expected.json").write_text(json.dumps({"perplexity": math.exp(losses / tokens), "tokens": tokens}))


if __name__ == "__main__":
    main()
