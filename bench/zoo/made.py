"""Architectures with made-up weights, from both of PyTorch's exporters, with fixed and free shapes, opsets 7 to 24. Inputs are seeded; distances only."""
import numpy as np

from . import samples as data
from .real import Model, exported, photographs_of, single


# Weights as they are drawn, running means and variances of BatchNormalization as photographs give them
def settled(network, size, place, count=48):
    import torch
    pictures = np.concatenate(data.normalized(data.photographs(place.shared, "calib", count, size)))
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d): module.momentum = None
    network.train()
    with torch.no_grad(): network(torch.from_numpy(pictures))
    return network.eval()


def drawn(network):
    """Weights that begin at 0 (positions, last layers) as others do"""
    import torch
    for parameter in network.parameters():
        if parameter.dim() > 1 and not parameter.any(): torch.nn.init.normal_(parameter, 0, 0.02)


def by_dynamo(network, inputs, names, opset, outputs, shapes=None):
    import torch
    with torch.no_grad():
        program = torch.onnx.export(network.eval(), inputs, input_names=list(names), output_names=list(outputs), opset_version=opset, dynamic_shapes=shapes, dynamo=True,
                                    verbose=False)
    return program.model_proto


def export(network, example, opset, dynamo, free=(), outputs=("output",)):
    """example: {input: array}; free: {input: {axis: name}}"""
    import torch
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # has no form in ONNX
    inputs = tuple(torch.from_numpy(x) for x in example.values())
    if not dynamo: return exported(network, inputs, example, opset, outputs, dict(free))
    shapes = tuple({axis: torch.export.Dim.DYNAMIC for axis in free[name]} if name in free else None for name in example) if free else None
    return by_dynamo(network, inputs, example, opset, outputs, shapes)


class Only:
    """One output of a network that has several"""
    def __new__(cls, network, pick):
        import torch

        class Picked(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, *inputs):
                return pick(self.network(*inputs))
        return Picked()


def vision(name, what, opset, dynamo=False, free=False, size=224, pick=None, outputs=("output",), family="", batch_norm=True, arguments=None, **more):
    def make(place):
        import importlib

        import torch
        torch.manual_seed(0)
        network = getattr(importlib.import_module(f"torchvision.models{family}"), more.pop("of", name))(weights=None, **(arguments or {}))
        drawn(network)
        if batch_norm: network = settled(network, size, place)
        picture = np.concatenate(data.normalized(data.photographs(place.shared, "calib", 2 if free else 1, size)))
        return export(Only(network, pick) if pick else network.eval(), {"image": picture}, opset, dynamo, {"image": {0: "batch"}} if free else {}, outputs)
    known = {k: more.pop(k) for k in ("count", "large", "kind") if k in more}
    return Model(name, told(what, dynamo, free), make, photographs_of("image", size), **known)


def detector(name, what, opset, family, size, arguments=None, **known):
    def make(place):
        import importlib

        import torch
        torch.manual_seed(0)
        network = getattr(importlib.import_module(f"torchvision.models.{family}"), name)(weights=None, weights_backbone=None, **(arguments or {}))
        settled(network.backbone, size, place)
        picked = Only(network, lambda found: tuple(found[0][k] for k in ("boxes", "scores", "labels")))
        picture = np.concatenate(data.normalized(data.photographs(place.shared, "calib", 1, size), 0, 1))
        return export(picked, {"image": picture}, opset, False, outputs=("boxes", "scores", "labels"))
    return Model(name, told(what, False, False), make, photographs_of("image", size, 0, 1), **known)


def told(what, dynamo, free):
    return f"{what}; {'torch.export' if dynamo else 'TorchScript'}, {'free' if free else 'fixed'} shapes"


def raft(place):
    import torch
    import torchvision
    torch.manual_seed(0)
    network = Only(torchvision.models.optical_flow.raft_small(weights=None).eval(), lambda flows: flows[-1])
    network.network.forward = __import__("functools").partial(network.network.forward, num_flow_updates=3)
    return export(network, frames(place, "calib", 1)[0], 16, False, outputs=("flow",))


def frames(place, split, count):
    pictures = [2 * x - 1 for x in data.normalized(data.photographs(place.shared, split, count, 136), 0, 1)]
    return [{"first": np.ascontiguousarray(x[..., :128, :128]), "second": np.ascontiguousarray(x[..., 3:131, 5:133])} for x in pictures]


def ids(words, length, names=("input_ids", "attention_mask")):
    """Made-up tokens, each sample with its own number of them"""
    def make(place, split, count):
        rng, found = np.random.default_rng(data.seed(split, 20)), []
        for _ in range(count):
            used = (np.arange(length) < rng.integers(length // 4, length + 1))[None]
            arrays = {"input_ids": np.where(used, rng.zipf(1.2, (1, length)) % (words - 1) + 1, 0), "attention_mask": used, "token_type_ids": np.zeros((1, length)),
                      "decoder_input_ids": rng.integers(1, words, (1, length // 4))}
            found.append({name: arrays[name].astype(np.int64) for name in names})
        return found
    return make


def waves(place, split, count):
    found = data.pieces(data.speech(split, count), 2 * 16000)
    return single("input_values", [((x - x.mean()) / x.std())[None] for x in found])


def mels(place, split, count):
    found = [data.log_mel(x, 3000).T[None] for x in data.pieces(data.speech(split, count), 480000)]
    return single("input_features", [(np.maximum(x, x.max() - 8) + 4) / 4 for x in found])


def pictures_and_text(place, split, count):
    pictures = photographs_of("pixel_values", 96)(place, split, count)
    return [text | picture for text, picture in zip(ids(1000, 16)(place, split, count), pictures)]


def transformer(name, what, opset, dynamo, build, samples, pick, free=None, outputs=("output",), **known):
    """build(transformers) -> a model; pick: which attribute of what it returns"""
    def make(place):
        import torch
        import transformers
        torch.manual_seed(0)
        network = build(transformers).eval()
        drawn(network)
        network.config.use_cache = False
        example = samples(place, "calib", 1)[0]

        class Picked(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.network = network

            def forward(self, *inputs):
                found = self.network(**dict(zip(example, inputs)))
                return tuple(getattr(found, part) for part in pick.split()) if " " in pick else getattr(found, pick)
        return export(Picked(), example, opset, dynamo, free or {}, outputs)
    return Model(name, told(what, dynamo, bool(free)), make, samples, kind="transformer", **known)


def transformers_models():
    small = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 1024}
    free = {name: {0: "batch", 1: "length"} for name in ("input_ids", "attention_mask")}
    eager = {"attn_implementation": "eager"}
    yield transformer("bert", "BERT, 4 layers of 256", 14, False, lambda t: t.BertModel(t.BertConfig(vocab_size=8000, **small, **eager), add_pooling_layer=False),
                      ids(8000, 64), "last_hidden_state", free)
    yield transformer("albert", "ALBERT, one layer of 256 four times", 17, False, lambda t: t.AlbertModel(t.AlbertConfig(vocab_size=8000, embedding_size=128, **small, **eager), add_pooling_layer=False),
                      ids(8000, 64), "last_hidden_state", free)
    yield transformer("distilbert", "DistilBERT, 4 layers of 256", 21, True, lambda t: t.DistilBertModel(t.DistilBertConfig(vocab_size=8000, dim=256, n_layers=4, n_heads=4, hidden_dim=1024)),
                      ids(8000, 64), "last_hidden_state")
    yield transformer("deberta", "DeBERTa-v2, 4 layers of 256", 15, False,
                      lambda t: t.DebertaV2Model(t.DebertaV2Config(vocab_size=8000, relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=32, **small)),
                      ids(8000, 64), "last_hidden_state")
    yield transformer("t5", "T5, 3 + 3 layers of 256", 14, False,
                      lambda t: t.T5Model(t.T5Config(vocab_size=8000, d_model=256, d_ff=1024, d_kv=64, num_layers=3, num_decoder_layers=3, num_heads=4, decoder_start_token_id=0)),
                      ids(8000, 64, ("input_ids", "attention_mask", "decoder_input_ids")), "last_hidden_state")
    yield transformer("gpt2", "GPT-2, 4 layers of 256", 18, True, lambda t: t.GPT2LMHeadModel(t.GPT2Config(vocab_size=8000, n_embd=256, n_layer=4, n_head=4, n_positions=128)),
                      ids(8000, 64, ("input_ids",)), "logits")
    llama = {**small, "vocab_size": 8000, "num_key_value_heads": 2, "max_position_embeddings": 128}
    yield transformer("llama", "Llama-like, 4 layers of 256, grouped queries", 23, True, lambda t: t.LlamaForCausalLM(t.LlamaConfig(**llama)), ids(8000, 64, ("input_ids",)), "logits")
    yield transformer("llama_script", "Llama-like, 4 layers of 256, grouped queries", 17, False, lambda t: t.LlamaForCausalLM(t.LlamaConfig(**llama, **eager)),
                      ids(8000, 64), "logits", free)
    speech = {"d_model": 256, "encoder_layers": 3, "decoder_layers": 1, "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 1024, "decoder_ffn_dim": 1024}
    yield transformer("whisper_encoder", "Whisper's encoder, 3 layers of 256", 18, True, lambda t: t.WhisperModel(t.WhisperConfig(**speech)).encoder, mels, "last_hidden_state", count=(6, 8))
    yield transformer("wav2vec2", "wav2vec 2.0, 4 layers of 256", 16, False,
                      lambda t: t.Wav2Vec2Model(t.Wav2Vec2Config(conv_dim=(128,) * 7, num_conv_pos_embeddings=32, num_conv_pos_embedding_groups=4, **small, **eager)),
                      waves, "last_hidden_state", count=(12, 16))
    yield transformer("clip", "CLIP, 3 + 3 layers", 18, True, lambda t: t.CLIPModel(t.CLIPConfig(
        text_config={"vocab_size": 1000, "hidden_size": 192, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 768, "eos_token_id": 999},
        vision_config={"hidden_size": 192, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 768, "image_size": 96, "patch_size": 16}, projection_dim=128)),
        pictures_and_text, "text_embeds image_embeds", outputs=("text", "image"))
    yield transformer("sam", "SAM's encoder of pictures, 4 layers of 192", 17, False, lambda t: t.SamVisionModel(t.SamVisionConfig(
        hidden_size=192, num_hidden_layers=4, num_attention_heads=4, image_size=256, global_attn_indexes=[1, 3], window_size=7, output_channels=64, initializer_range=0.02)),
        photographs_of("pixel_values", 256), "last_hidden_state", count=(8, 12))
    yield transformer("detr", "DETR on ResNet-18, 2 + 2 layers", 16, False, lambda t: t.DetrForObjectDetection(t.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=128, encoder_layers=2, decoder_layers=2, encoder_ffn_dim=512, decoder_ffn_dim=512, num_queries=50,
        encoder_attention_heads=4, decoder_attention_heads=4,
        backbone_config=t.ResNetConfig(depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], layer_type="basic", out_features=["stage4"]))),
        photographs_of("pixel_values", 256), "logits pred_boxes", outputs=("classes", "boxes"), count=(8, 12))
    yield transformer("segformer", "SegFormer-B0", 18, True, lambda t: t.SegformerForSemanticSegmentation(t.SegformerConfig(num_labels=21)), photographs_of("pixel_values", 224), "logits",
                      count=(12, 16))


def unet(place):
    import torch

    class UNet(torch.nn.Module):
        def __init__(self, widths=(16, 32, 64, 128)):
            super().__init__()
            layers = lambda a, b: (torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.BatchNorm2d(b), torch.nn.LeakyReLU(0.1))
            block = lambda a, b: torch.nn.Sequential(*layers(a, b), *layers(b, b))
            self.down = torch.nn.ModuleList(block(a, b) for a, b in zip((3, *widths), widths))
            self.up = torch.nn.ModuleList(torch.nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
            self.join = torch.nn.ModuleList(block(2 * a, a) for a in widths[:-1])
            self.last = torch.nn.Conv2d(widths[0], 2, 1)

        def forward(self, x):
            kept = []
            for k, block in enumerate(self.down):
                x = block(torch.nn.functional.max_pool2d(x, 2) if k else x)
                kept.append(x)
            for k in reversed(range(len(self.up))): x = self.join[k](torch.cat([self.up[k](x), kept[k]], 1))
            return torch.sigmoid(self.last(x))
    torch.manual_seed(0)
    return export(settled(UNet(), 128, place), {"image": np.zeros((1, 3, 128, 128), np.float32)}, 10, False)


def yolov3(place):
    """Darknet-53, and three scales with three boxes of 80 classes each"""
    import torch
    from torch import nn

    def layer(a, b, size=3, stride=1):
        return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.1))

    class Residual(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.part = nn.Sequential(layer(width, width // 2, 1), layer(width // 2, width))

        def forward(self, x):
            return x + self.part(x)

    class Yolo(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = layer(3, 32)
            self.stages = nn.ModuleList(nn.Sequential(layer(w, 2 * w, 3, 2), *(Residual(2 * w) for _ in range(n))) for w, n in zip((32, 64, 128, 256, 512), (1, 2, 8, 8, 4)))
            self.necks = nn.ModuleList(nn.Sequential(*(layer(*(a, w, 1) if k % 2 == 0 else (w, 2 * w)) for k, a in enumerate((given, w, 2 * w, w, 2 * w))))
                                       for given, w in ((1024, 512), (768, 256), (384, 128)))
            self.up = nn.ModuleList(layer(w, w // 2, 1) for w in (512, 256))
            self.heads = nn.ModuleList(nn.Sequential(layer(w, 2 * w), nn.Conv2d(2 * w, 3 * 85, 1)) for w in (512, 256, 128))

        def forward(self, x):
            x, kept, found = self.first(x), [], []
            for stage in self.stages:
                x = stage(x)
                kept.append(x)
            for k, (neck, head) in enumerate(zip(self.necks, self.heads)):
                x = neck(x)
                found.append(head(x))
                if k < 2: x = torch.cat([nn.functional.interpolate(self.up[k](x), scale_factor=2.0), kept[3 - k]], 1)
            return tuple(found)
    torch.manual_seed(0)
    return export(settled(Yolo(), 320, place, 12), {"image": np.zeros((1, 3, 320, 320), np.float32)}, 12, False, outputs=("large", "middle", "small"))


def style(place):
    import torch
    from torch import nn
    torch.manual_seed(0)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.norm = nn.Conv2d(64, 64, 3, padding=1), nn.Conv2d(64, 64, 3, padding=1), nn.InstanceNorm2d(64, affine=True)

        def forward(self, x):
            return x + self.norm(self.b(torch.relu(self.norm(self.a(x)))))
    norm = lambda channels: nn.InstanceNorm2d(channels, affine=True)
    network = nn.Sequential(nn.ReflectionPad2d(4), nn.Conv2d(3, 16, 9), norm(16), nn.ReLU(), nn.Conv2d(16, 64, 3, 2, 1), norm(64), nn.ReLU(), Block(), Block(),
                            nn.ConvTranspose2d(64, 16, 3, 2, 1, 1), norm(16), nn.PReLU(), nn.ReflectionPad2d(4), nn.Conv2d(16, 3, 9), nn.Tanh())
    return export(network, {"image": np.zeros((1, 3, 128, 128), np.float32)}, 11, False, {"image": {2: "height", 3: "width"}})


def tagger(kind, opset, dynamo, free):
    def make(place):
        import torch
        torch.manual_seed(0)

        class Tagger(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.words = torch.nn.Embedding(5000, 128)
                self.layers = getattr(torch.nn, kind)(128, 128, 2, batch_first=True, bidirectional=True)
                self.tags = torch.nn.Linear(256, 17)

            def forward(self, input_ids):
                return self.tags(self.layers(self.words(input_ids))[0])
        return export(Tagger(), ids(5000, 40, ("input_ids",))(place, "calib", 1)[0], opset, dynamo, {"input_ids": {1: "length"}} if free else {})
    return Model(f"{kind.lower()}_tagger", told(f"two layers of {kind} in both directions", dynamo, free), make, ids(5000, 40, ("input_ids",)), kind="recurrent")


def squeezenet(place):
    """An old model, whose constants are inputs as well"""
    import onnx
    import torch
    import torchvision
    torch.manual_seed(0)
    model = exported(torchvision.models.squeezenet1_1(weights=None), torch.zeros(1, 3, 160, 160), ["image"], 8)
    model.ir_version = 3
    known = {i.name for i in model.graph.input}
    model.graph.input.extend(onnx.helper.make_tensor_value_info(w.name, w.data_type, w.dims) for w in model.graph.initializer if w.name not in known)
    return model


def models():
    slow = {"count": (8, 10)}
    yield vision("resnet50", "ResNet-50", 7, count=(12, 16))
    yield vision("mobilenet_v2", "MobileNetV2", 9, free=True)
    yield vision("mobilenet_v3_small", "MobileNetV3 small", 18, dynamo=True)
    yield vision("mobilenet_v3_large", "MobileNetV3 large", 14, free=True)
    yield vision("efficientnet_b0", "EfficientNet-B0", 20, dynamo=True, free=True, count=(12, 16))
    yield vision("convnext_tiny", "ConvNeXt-T", 18, dynamo=True, batch_norm=False, **slow)
    yield vision("regnet_y_400mf", "RegNetY-400MF", 11)
    yield vision("shufflenet_v2_x1_0", "ShuffleNetV2", 12)
    yield vision("densenet121", "DenseNet-121", 24, dynamo=True, count=(12, 16))
    yield vision("googlenet", "GoogLeNet", 9, arguments={"aux_logits": False, "init_weights": True}, count=(12, 16))
    yield Model("squeezenet", told("SqueezeNet 1.1, constants are inputs too", False, False), squeezenet, photographs_of("image", 160))
    yield vision("vit_b_16", "ViT-B/16", 17, batch_norm=False, count=(4, 6), large=True, kind="transformer")
    yield vision("swin_t", "Swin-T", 18, dynamo=True, batch_norm=False, kind="transformer", **slow)
    yield vision("deeplabv3_mobilenet_v3_large", "DeepLabV3 on MobileNetV3", 13, family=".segmentation", size=256, pick=lambda found: found["out"],
                 arguments={"weights_backbone": None}, **slow)
    yield detector("ssdlite320_mobilenet_v3_large", "SSDLite", 13, "detection", 320, count=(12, 16))
    yield detector("fasterrcnn_mobilenet_v3_large_320_fpn", "Faster R-CNN on MobileNetV3", 12, "detection", 320, count=(8, 12))
    yield Model("yolov3", told("YOLOv3, Darknet-53", False, False), yolov3, photographs_of("image", 320, 0, 1), **slow)
    yield Model("raft_small", told("RAFT small, 3 updates", False, False), raft, frames, count=(8, 12))
    yield from transformers_models()
    yield Model("unet", told("U-Net with ConvTranspose", False, False), unet, photographs_of("image", 128))
    yield Model("style", told("style transfer with InstanceNormalization", False, True), style, photographs_of("image", 128))
    yield tagger("LSTM", 14, False, True)
    yield tagger("GRU", 18, True, False)
