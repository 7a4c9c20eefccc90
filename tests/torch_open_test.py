#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX files of both exporters of PyTorch with open height, width or length run at any size.

Usage: torch_open_test.py PROGRAM

PROGRAM is halftone. Outputs are those of PyTorch at three sizes, and quantized files keep the
extents. Skips with exit code 77 if a package is absent: pip install numpy torch onnx onnxscript
"""

import logging
import sys
import warnings

from python_test import Program, check_quantized_sizes, check_sizes, np, run_checks, skip

try:
    import onnxscript  # noqa: F401
    import torch
    from torch import nn
    from torch.nn import functional as F
except ImportError as error:
    skip(f"{error}; pip install numpy torch onnx onnxscript")

# Three layers with sums of up to 256 products of numbers below 4, in another order.
TOLERANCE = 3 * 256 * 4 * 6e-8
IMAGES = [(32, 32), (40, 56), (48, 36)]
LENGTHS = [(32,), (57,), (40,)]
NEW, OLD = "new", "old"
BOTH = (NEW, OLD)


class Network(nn.Module):
    """Layers by name and what computes the output from an input."""

    def __init__(self, compute, **layers):
        super().__init__()
        self.compute = compute
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, x):
        return self.compute(self, x)


def conv(inputs, outputs, **options):
    return nn.Conv2d(inputs, outputs, 3, padding=1, **options)


def resized(scale, mode):
    """F.interpolate() by a scale that is not whole."""
    def compute(self, x):
        return self.b(F.interpolate(F.relu(self.a(x)), scale_factor=scale, mode=mode))
    return lambda: Network(compute, a=conv(3, 8), b=conv(8, 4))


def to_size_of_input():
    def compute(self, x):
        y = F.interpolate(self.b(F.relu(self.a(x))), size=x.shape[-2:], mode="bilinear")
        return self.c(torch.cat([y, x], 1))
    return Network(compute, a=conv(3, 8, stride=2), b=conv(8, 8, stride=2), c=conv(11, 2))


def windows():
    """Attention within shifted windows of 7, to a multiple of which the image is padded."""
    def compute(self, x):
        y = self.a(x).permute(0, 2, 3, 1)
        n, h, w, c = y.shape
        below, right = (7 - h % 7) % 7, (7 - w % 7) % 7
        y = torch.roll(F.pad(y, (0, 0, 0, right, 0, below)), (-3, -3), (1, 2))
        rows, cols = h + below, w + right
        y = y.view(n, rows // 7, 7, cols // 7, 7, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)
        y = torch.softmax(self.q(y) @ y.transpose(1, 2), -1) @ y
        y = y.view(n, rows // 7, cols // 7, 7, 7, c).permute(0, 1, 3, 2, 4, 5)
        y = torch.roll(y.reshape(n, rows, cols, c), (3, 3), (1, 2))[:, :h, :w]
        return self.b(y.permute(0, 3, 1, 2))
    return Network(compute, a=conv(3, 8), q=nn.Linear(8, 8), b=conv(8, 4))


def positions():
    """A table of positions that is resized to the patches."""
    def compute(self, x):
        rows, cols = x.shape[2] // 4, x.shape[3] // 4
        y = self.a(x).flatten(2).transpose(1, 2)
        table = self.table.reshape(1, 8, 8, 16).permute(0, 3, 1, 2)
        p = F.interpolate(table, size=(rows, cols), mode="bicubic")
        return self.b(y + p.permute(0, 2, 3, 1).reshape(1, -1, 16))
    network = Network(compute, a=nn.Conv2d(3, 16, 4, stride=4), b=nn.Linear(16, 5))
    network.table = nn.Parameter(torch.randn(1, 64, 16))
    return network


def folded():
    def compute(self, x):
        y = F.unfold(self.a(x), 3, padding=1, stride=2).transpose(1, 2)
        y = self.b(F.gelu(y)).transpose(1, 2)
        return self.c(F.fold(y, x.shape[-2:], 3, padding=1, stride=2))
    return Network(compute, a=conv(3, 4), b=nn.Linear(36, 36), c=conv(4, 2))


def unpooled():
    def compute(self, x):
        y, indices = F.max_pool2d(self.a(x), 2, return_indices=True)
        return self.b(F.max_unpool2d(F.relu(y), indices, 2))
    return Network(compute, a=conv(3, 8), b=conv(8, 4))


def transformed():
    def compute(self, x):
        z = torch.fft.fft(torch.fft.fft(self.a(x), dim=-1), dim=-2)
        return self.b(z.real / x.shape[1])
    return Network(compute, a=nn.Linear(8, 8), b=nn.Linear(8, 4))


def rotary():
    def compute(self, x):
        n, steps, _ = x.shape
        q, k, v = self.qkv(x).view(n, steps, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        angles = torch.arange(steps).float()[:, None] / torch.tensor([1.0, 10.0])
        turn = torch.cat([angles, angles], -1)
        q, k = (z * turn.cos() + torch.cat([-z[..., 2:], z[..., :2]], -1) * turn.sin()
                for z in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.b(y.transpose(1, 2).reshape(n, steps, 8))
    return Network(compute, qkv=nn.Linear(8, 24), b=nn.Linear(8, 4))


def relative():
    """Scores by relative positions, as in a Conformer."""
    def compute(self, x):
        n, steps, _ = x.shape
        p = torch.arange(steps - 1, -steps, -1).float()[:, None]
        s = self.q(x) @ torch.cat([torch.sin(p / 10), torch.cos(p / 10)] * 4, -1).t()
        s = F.pad(s, (1, 0)).view(n, 2 * steps, steps)[:, 1:].reshape(n, steps, 2 * steps - 1)
        return self.b(torch.softmax(s[..., :steps], -1) @ x)
    return Network(compute, q=nn.Linear(8, 8), b=nn.Linear(8, 4))


# Name, extents of an input before and behind the open ones, sizes, network, exporters.
NETWORKS = [
    ("scale 1.3", (1, 3), (), IMAGES, resized(1.3, "bilinear"), BOTH),
    ("scale 0.75", (1, 3), (), IMAGES, resized(0.75, "nearest"), BOTH),
    ("scale 0.7", (1, 3), (), IMAGES, resized(0.7, "bicubic"), BOTH),
    ("size of input", (1, 3), (), IMAGES, to_size_of_input, BOTH),
    ("windows", (1, 3), (), IMAGES, windows, BOTH),
    ("positions", (1, 3), (), IMAGES, positions, BOTH),
    ("fold", (1, 3), (), IMAGES, folded, (NEW,)),
    ("unpool", (1, 3), (), IMAGES, unpooled, (NEW,)),
    ("fft", (1,), (8,), LENGTHS, transformed, (NEW,)),
    ("rotary", (1,), (8,), LENGTHS, rotary, BOTH),
    ("relative", (1,), (8,), LENGTHS, relative, BOTH),
]


def numbers(shape):
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def export(network, x, axes, exporter, path):
    x = torch.from_numpy(x)
    if exporter == OLD:
        names = {"x": {axis: f"d{axis}" for axis in axes}}
        torch.onnx.export(network, (x,), path, dynamo=False, dynamic_axes=names,
                          input_names=["x"], opset_version=17)
    else:
        shapes = ({axis: torch.export.Dim.DYNAMIC for axis in axes},)
        torch.onnx.export(network, (x,), path, dynamo=True, dynamic_shapes=shapes,
                          input_names=["x"], opset_version=20, external_data=False, verbose=False)


def output_of(network, x):
    with torch.no_grad():
        return network(torch.from_numpy(x)).numpy()


def check(program, case, exporter, folder):
    name, before, behind, sizes, build, _ = case
    torch.manual_seed(3)
    network = build().eval()
    path = folder / "m.onnx"
    axes = range(len(before), len(before) + len(sizes[0]))
    export(network, numbers((*before, *sizes[1], *behind)), axes, exporter, path)
    inputs = [(size, numbers((*before, *size, *behind))) for size in sizes]
    expected = [(size, x, output_of(network, x)) for size, x in inputs]
    samples = numbers((8, *before[1:], *sizes[1], *behind))
    for text, right in (*check_sizes(program, path, expected, TOLERANCE, folder),
                        *check_quantized_sizes(program, path, inputs, samples, folder)):
        yield f"{name}, {text}", right


def main(path):
    program = Program(path)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    return run_checks([
        (f"{case[0]}, {exporter}",
         lambda folder, case=case, exporter=exporter: check(program, case, exporter, folder))
        for case in NETWORKS for exporter in case[-1]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
