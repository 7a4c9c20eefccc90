# SPDX-License-Identifier: Apache-2.0
"""Networks of PyTorch for tests and benchmarks: ResNet-20 with the weights of a file, others with
random ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from halftone.torch._onnx import constants_of


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.more = stride, (outputs - inputs) // 2

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(functional.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1:
            x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.more, self.more))
        return functional.relu(y + x)


class ResNet20(nn.Module):
    """For CIFAR-10: pixels 0 to 1 [N, 3, 32, 32] -> scores [N, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(1, 3, 1, 1))
        self.register_buffer("std", torch.ones(1, 3, 1, 1))
        self.conv1, self.bn1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        widths = ((16, 16, 1), (16, 32, 2), (32, 64, 2))
        self.layer1, self.layer2, self.layer3 = (
            nn.Sequential(BasicBlock(i, o, s), BasicBlock(o, o, 1), BasicBlock(o, o, 1))
            for i, o, s in widths
        )
        self.linear = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.relu(self.bn1(self.conv1((x - self.mean) / self.std)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.linear(x.mean((2, 3)))


def resnet20(path: Path) -> ResNet20:
    """With the weights of resnet20_cifar10.onnx, whose tensors have the names of the module."""
    constants = constants_of(path.read_bytes())
    net = ResNet20()
    state = net.state_dict()
    for name in state:
        if not name.endswith("num_batches_tracked"):
            state[name] = torch.from_numpy(constants[name].copy()).reshape(state[name].shape)
    net.load_state_dict(state)
    return net.eval()


def folded(net: nn.Module) -> nn.Module:
    """The network with each batch normalization folded into the convolution before it."""
    for parent in net.modules():
        names = list(parent._modules)
        for conv, norm in zip(names, names[1:]):
            pair: Any = [parent._modules[conv], parent._modules[norm]]
            if isinstance(pair[0], nn.Conv2d) and isinstance(pair[1], nn.BatchNorm2d):
                setattr(parent, conv, nn.utils.fusion.fuse_conv_bn_eval(*pair))
                setattr(parent, norm, nn.Identity())
    return net


class Inverted(nn.Module):
    """A block of MobileNet v2."""

    def __init__(self, inputs: int, outputs: int, stride: int, expansion: int):
        super().__init__()
        hidden = inputs * expansion
        layers: list[nn.Module] = []
        if expansion > 1:
            layers += [nn.Conv2d(inputs, hidden, 1), nn.ReLU6()]
        layers += [nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden), nn.ReLU6()]
        self.layers = nn.Sequential(*layers, nn.Conv2d(hidden, outputs, 1))
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.layers(x) if self.is_residual else self.layers(x)


class MobileNetV2(nn.Module):
    """Of Sandler et al., 2018 (arXiv:1801.04381), table 2, with batch normalization folded."""

    BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
              (6, 160, 3, 2), (6, 320, 1, 1))  # fmt: skip

    def __init__(self, width: float = 1.0, classes: int = 1000):
        super().__init__()

        def channels(count: int) -> int:
            return max(8, int(count * width + 4) // 8 * 8)

        layers: list[nn.Module] = [nn.Conv2d(3, channels(32), 3, 2, 1), nn.ReLU6()]
        inputs = channels(32)
        for expansion, outputs, repeats, stride in self.BLOCKS:
            for index in range(repeats):
                layers.append(Inverted(inputs, channels(outputs), stride if index == 0 else 1,
                                       expansion))  # fmt: skip
                inputs = channels(outputs)
        self.features = nn.Sequential(*layers, nn.Conv2d(inputs, 1280, 1), nn.ReLU6())
        self.classifier = nn.Linear(1280, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).amax((2, 3)))


class Lstm(nn.Module):
    """Two layers of an LSTM behind an embedding: indices [N, T] -> scores [N, T, tokens]."""

    def __init__(self, tokens: int = 64, width: int = 48, hidden: int = 96):
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.lstm = nn.LSTM(width, hidden, 2, batch_first=True)
        self.head = nn.Linear(hidden, tokens)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embedding(tokens))[0])


class GptBlock(nn.Module):
    is_causal = True

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:2], 3, self.heads, x.shape[2] // self.heads)
        q, k, v = self.qkv(self.norm1(x)).reshape(shape).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.is_causal)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """A small GPT: indices [N, T] -> scores [N, T, tokens]."""

    def __init__(self, tokens: int = 64, width: int = 64, context: int = 32):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(tokens, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(GptBlock(width, 4), GptBlock(width, 4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(tokens.shape[1])
        x = self.tokens(tokens) + self.positions(positions)
        return self.head(self.norm(self.blocks(x)))


def records(path: Path) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of CIFAR-10 [N, 3, 32, 32], 0 to 1, and their classes."""
    rows = np.fromfile(path, np.uint8).reshape(-1, 3073)
    images = rows[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255
    return torch.from_numpy(images), torch.from_numpy(rows[:, 0].astype(np.int64))
