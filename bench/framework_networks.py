# SPDX-License-Identifier: Apache-2.0
"""The networks of frameworks.py: modules of PyTorch, samples, and how outputs are judged."""

import dataclasses
import typing

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

from torch_networks import GptBlock, MobileNetV2, folded, records, resnet20


@dataclasses.dataclass
class Case:
    """A module in eval mode. Test samples without classes are judged by the distance from float."""

    title: str
    module: nn.Module
    samples: torch.Tensor  # to calibrate and fit
    test: np.ndarray
    classes: np.ndarray | None
    bits: tuple[int, int]  # of weights and activations
    options: dict[str, typing.Any]  # of quantize(), beside the bits
    kind: str = "conv"  # of most of its work: or "linear", "recurrent"


QUICK = {"recipe": {"fit": {"error_feedback": False, "refine": False}}}


class DsCnn(nn.Module):
    """A depthwise separable network for keywords: features [N, 1, 49, 10] -> scores [N, 12]."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 64, (10, 4), 2)
        layers = []
        for _ in range(4):
            layers += [nn.Conv2d(64, 64, 3, 1, 1, groups=64), nn.ReLU(), nn.Conv2d(64, 64, 1),
                       nn.ReLU()]
        self.layers, self.head = nn.Sequential(*layers), nn.Linear(64, 12)

    def forward(self, x):
        x = functional.relu(self.first(functional.pad(x, (1, 1, 4, 5))))
        return self.head(self.layers(x).mean((2, 3)))


class Lstm(nn.Module):
    """Two layers of an LSTM: features [N, T, 64] -> scores [N, T, 32]."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(64, 256, 2, batch_first=True), nn.Linear(256, 32)

    def forward(self, x):
        return self.head(self.lstm(x)[0])


class BertBlock(GptBlock):
    is_causal = False


class Bert(nn.Module):
    """A small encoder: indices [N, T] -> a vector for each [N, T, 256]."""

    def __init__(self, tokens=1000, width=256, context=64):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(BertBlock(width, 4) for _ in range(4)))
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        positions = torch.arange(tokens.shape[1])
        return self.norm(self.blocks(self.tokens(tokens) + self.positions(positions)))


def _resnet(data):
    samples, _ = records(data / "cifar10" / "lossless_train_7292.bin")
    test, classes = records(data / "cifar10" / "lossless_test_761.bin")
    module = folded(resnet20(data / "models" / "resnet20_cifar10.onnx"))
    return Case("ResNet-20", module, samples[:512], test.numpy()[:752], classes.numpy()[:752],
                (2, 2), {"ends": 8})


def _ds_cnn(data):
    import halftone

    model = onnx.load_from_string(
        halftone.load(data / "models" / "kws_dscnn.tflite").to_bytes("onnx"))
    values = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    weights = []
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear":  # of int8 with one scale
            codes, scale = (values[name] for name in node.input[:2])
            values[node.output[0]] = codes.astype(np.float32) * scale
        elif node.op_type in ("Conv", "Gemm"):
            weights += [torch.from_numpy(values[name].copy()) for name in node.input[1:]]
    module = DsCnn()
    module.load_state_dict(dict(zip(module.state_dict(), weights, strict=True)))
    x = np.load(data / "kws" / "x.npy").transpose(0, 3, 1, 2)
    return Case("DS-CNN", module, torch.from_numpy(x[:200].copy()), x[200:488],
                np.load(data / "kws" / "y.npy")[200:488], (4, 4), {"ends": 8})


def _random(title, module, shape, bits, indices=0, options=None, **more):
    numbers = torch.Generator().manual_seed(1)
    shape = (192, *shape)
    x = torch.randint(indices, shape, generator=numbers) if indices else \
        torch.randn(shape, generator=numbers)
    return Case(title, module, x[:128], x[128:].numpy(), None, bits,
                {**QUICK, **(options or {})}, **more)


def _mobilenet(_):
    return _random("MobileNet v2, 96 x 96", MobileNetV2(), (3, 96, 96), (4, 4),
                   options={"ends": 8})


def _lstm(_):
    return _random("LSTM, 2 layers of 256, 32 steps", Lstm(), (32, 64), (4, 8),
                   kind="recurrent")


def _bert(_):
    return _random("BERT, 4 layers of 256, 64 tokens", Bert(), (64,), (4, 8), 1000,
                   options={"ends": 8}, kind="linear")


def _linear(_):
    module = nn.Sequential(nn.Linear(4096, 4096, bias=False))
    return _random("Linear 4096 x 4096", module, (4096,), (2, 2), kind="linear")


CASES = {"resnet20": _resnet, "mobilenet": _mobilenet, "ds_cnn": _ds_cnn, "lstm": _lstm,
         "bert": _bert, "linear": _linear}


def case_of(name, data):
    """@param data: the folder with models, cifar10 and kws"""
    torch.manual_seed(0)
    case = CASES[name](data)
    case.module.eval()
    return case
