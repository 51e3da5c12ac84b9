"""Trains the models of examples/digits and writes them there with their samples. Run by hand; the results are committed.

    python3 -m venv build/venv && build/venv/bin/pip install torch==2.13.0 scikit-learn==1.9.1 onnx==1.22.0 onnxruntime==1.31.1
    build/venv/bin/python scripts/train_demo.py            # writes examples/digits, prints the figures of its README

Two classifiers of scikit-learn's 1797 handwritten digits, 8x8 pixels of 0..16, with batch normalization folded into the
convolutions:
    demo.onnx      mostly plain convolutions, which 8 bits make faster: what `make demo` searches on
    digits.onnx    depthwise-separable, MobileNetV1 in small: what documents and tests use
The split, drawn once with a fixed seed:
    training 697 (of which calibration 200) | evaluation 700 | hold-out 400
Seeded, single-threaded, deterministic algorithms: the same versions on the same type of machine give the same files.
"""
import argparse
import tempfile
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

SEED = 0
TRAINING, CALIBRATION, EVALUATION = 697, 200, 700
STEM, BLOCKS = 32, [(32, 1), (32, 1), (64, 2), (64, 1), (64, 1), (96, 2), (96, 1)]  # channels, stride
EPOCHS, BATCH, RATE, DECAY = 60, 32, 0.02, 5e-4
QUIET = -4.0  # bias of normalization at the beginning, in units of its deviation


def samples():
    """{split: (images [n, 1, 8, 8] float32, labels [n])}; every split holds the classes in equal shares."""
    digits = load_digits()
    x, y = digits.images[:, None].astype(np.float32), digits.target.astype(np.int64)
    x, rest_x, y, rest_y = train_test_split(x, y, train_size=TRAINING, random_state=SEED, stratify=y)
    eval_x, hold_x, eval_y, hold_y = train_test_split(rest_x, rest_y, train_size=EVALUATION, random_state=SEED, stratify=rest_y)
    calib_x, _, calib_y, _ = train_test_split(x, y, train_size=CALIBRATION, random_state=SEED, stratify=y)
    return {"training": (x, y), "calibration": (calib_x, calib_y), "evaluation": (eval_x, eval_y), "holdout": (hold_x, hold_y)}


class Layer(nn.Module):
    """Convolution, batch normalization, ReLU6; `name` is what its nodes are called in the ONNX file."""

    def __init__(self, name, inputs, outputs, kernel, stride=1, groups=1):
        super().__init__()
        self.name = name
        self.conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return nn.functional.relu6(self.norm(self.conv(x)))

    def folded(self):
        """(weights, bias) of the convolution that does the normalization too."""
        factor = (self.norm.weight / torch.sqrt(self.norm.running_var + self.norm.eps)).double()
        weights = self.conv.weight.double() * factor[:, None, None, None]
        bias = self.norm.bias.double() - self.norm.running_mean.double() * factor
        return weights.float().detach().numpy(), bias.float().detach().numpy()


def separable_layers():
    layers, channels = [Layer("stem", 1, STEM, 3)], STEM
    for number, (outputs, stride) in enumerate(BLOCKS, 1):
        layers.append(Layer(f"block{number}/depthwise", channels, channels, 3, stride, channels))
        layers.append(Layer(f"block{number}/pointwise", channels, outputs, 1))
        channels = outputs
    return layers


def plain_layers():
    layers = [Layer("stem", 1, 32, 3), Layer("depthwise", 32, 32, 3, groups=32), Layer("pointwise", 32, 64, 1), Layer("conv1", 64, 64, 3),
              Layer("conv2", 64, 64, 3)]
    # One channel hardly ever fires, as happens in networks that are trained for long: normalization makes up for it by large
    # weights in the depthwise kernel, so that one scale for all of its channels does not do.
    with torch.no_grad():
        layers[0].norm.bias[0] = QUIET
    return layers


NETWORKS = {"digits": separable_layers, "demo": plain_layers}


class Classifier(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)
        self.classifier = nn.Linear(layers[-1].conv.out_channels, 10)

    def forward(self, x):
        return self.classifier(self.layers(x / 16).mean(dim=(2, 3)))


def shifted(x, random):
    """Each image moved by up to one pixel in both directions, black coming in at the border."""
    padded = nn.functional.pad(x, (1, 1, 1, 1))
    moves = torch.randint(0, 3, (len(x), 2), generator=random)
    return torch.stack([image[:, i : i + 8, j : j + 8] for image, (i, j) in zip(padded, moves.tolist())])


def train(layers, x, y):
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    random = torch.Generator().manual_seed(SEED)
    model, x, y = Classifier(layers()), torch.from_numpy(x), torch.from_numpy(y)
    optimizer = torch.optim.SGD(model.parameters(), RATE, momentum=0.9, weight_decay=DECAY, nesterov=True)
    steps = (len(x) // BATCH) * EPOCHS
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5 * RATE, total_steps=steps)
    for _ in range(EPOCHS):
        order = torch.randperm(len(x), generator=random)
        for first in range(0, len(x) - BATCH + 1, BATCH):
            batch = order[first : first + BATCH]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(shifted(x[batch], random)), y[batch]).backward()
            optimizer.step()
            schedule.step()
    return model.eval()


def to_onnx(model):
    """The trained network as an ONNX model: input `image` [N, 1, 8, 8] of 0..16, output `probabilities` [N, 10]."""
    nodes, weights = [], []

    def constant(name, value):
        weights.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    low, high = constant("relu6/low", 0), constant("relu6/high", 6)
    value = "image"
    for number, layer in enumerate(model.layers):
        kernel, bias = layer.folded()
        if number == 0:
            kernel = kernel / 16  # the division of the input
        conv = layer.conv
        nodes.append(helper.make_node(
            "Conv", [value, constant(f"{layer.name}/weight", kernel), constant(f"{layer.name}/bias", bias)], [f"{layer.name}/conv_out"],
            f"{layer.name}/conv", kernel_shape=list(conv.kernel_size), strides=list(conv.stride), pads=2 * list(conv.padding), group=conv.groups))
        value = f"{layer.name}/out"
        nodes.append(helper.make_node("Clip", [f"{layer.name}/conv_out", low, high], [value], f"{layer.name}/relu6"))
    matrix, bias = (p.detach().numpy() for p in model.classifier.parameters())
    nodes += [
        helper.make_node("GlobalAveragePool", [value], ["pool/out"], "pool"),
        helper.make_node("Flatten", ["pool/out"], ["flatten/out"], "flatten", axis=1),
        helper.make_node("Gemm", ["flatten/out", constant("classifier/weight", matrix), constant("classifier/bias", bias)], ["logits"],
                         "classifier", transB=1),
        helper.make_node("Softmax", ["logits"], ["probabilities"], "softmax", axis=1),
    ]
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 1, 8, 8])],
                              [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", 10])], weights)
    result = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="quasar train_demo.py")
    onnx.checker.check_model(result, full_check=True)
    return result


def run(model, x):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).run(None, {"image": x})[0]


def report(float_model, data):
    """What ONNX Runtime's own quantizer makes of the model: mean L2 distance to float, agreement with float, top-1."""
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

    class Samples(CalibrationDataReader):
        def __init__(self, x):
            self.rest = iter([{"image": image[None]} for image in x])

        def get_next(self):
            return next(self.rest, None)

    print(f"{'distance, agreement, top-1':40}" + "".join(f"  {split:28}" for split in ("evaluation", "holdout")))
    variants = {"float": None}
    for symmetric in (False, True):
        for per_channel in (False, True):
            variants[f"int8 per {'channel' if per_channel else 'tensor'}, activations {'symmetric' if symmetric else 'asymmetric'}"] = (per_channel, symmetric)
    with tempfile.TemporaryDirectory() as temporary:
        for name, variant in variants.items():
            path = float_model
            if variant:
                path = Path(temporary, "quantized.onnx")
                quantize_static(float_model, path, Samples(data["calibration"][0]), quant_format=QuantFormat.QDQ, per_channel=variant[0],
                                activation_type=QuantType.QInt8, weight_type=QuantType.QInt8, calibrate_method=CalibrationMethod.MinMax,
                                extra_options={"ActivationSymmetric": variant[1]})
            line = f"{name:40}"
            for split in ("evaluation", "holdout"):
                x, y = data[split]
                reference, output = run(float_model, x), run(path, x)
                distance = np.linalg.norm(reference - output, axis=1).mean()
                agreement = np.mean(reference.argmax(1) == output.argmax(1))
                line += f"  {distance:.4f} {agreement:7.1%} {np.mean(output.argmax(1) == y):7.1%}    "
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path(__file__).parent.parent / "examples" / "digits")
    folder = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    data = samples()
    for name, layers in NETWORKS.items():
        onnx.save(to_onnx(train(layers, *data["training"])), folder / f"{name}.onnx")
    for split in ("calibration", "evaluation", "holdout"):
        np.savez_compressed(folder / f"{split}.npz", image=data[split][0], label=data[split][1])
    for name in NETWORKS:
        print(f"{name}.onnx: {(folder / f'{name}.onnx').stat().st_size} bytes")
        report(folder / f"{name}.onnx", data)


if __name__ == "__main__":
    main()
