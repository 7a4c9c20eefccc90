#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ONNX files of residual networks with any number of layers, with the standard library.

Usage: many_layers.py LAYERS FILE.onnx
"""

import random
import struct
import sys
from pathlib import Path

CHANNELS = 8
SIZE = 8
CLASSES = 10
# Fields of ONNX's protocol buffers: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
FLOAT = 1
INTS = 7


def varint(value):
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def number(field, value):
    return varint(field << 3) + varint(value)


def block(field, content):
    data = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, extents, values):
    data = b"".join(number(1, extent) for extent in extents)
    return data + number(2, FLOAT) + block(8, name) + block(9, struct.pack(f"<{len(values)}f", *values))


def port(name, extents):
    shape = b"".join(block(1, block(2, each) if isinstance(each, str) else number(1, each))
                     for each in extents)
    return block(1, name) + block(2, block(1, number(1, FLOAT) + block(2, shape)))


def node(name, operator, inputs, pads=None):
    data = b"".join(block(1, each) for each in inputs) + block(2, name) + block(3, name)
    data += block(4, operator)
    if pads:
        data += block(5, block(1, "pads") + b"".join(number(8, pad) for pad in pads) +
                      number(20, INTS))
    return data


def network(num_layers, scope="stage{stage}/block{block}"):
    """The bytes of a network of `num_layers` layers with weights, in residual blocks of two; the
    names of its nodes begin with `scope`."""
    values = random.Random(1)
    nodes, constants = [], []

    def convolution(name, source, channels, scale):
        extents = (CHANNELS, channels, 3, 3)
        weights = [values.gauss(0, scale) for _ in range(CHANNELS * channels * 9)]
        constants.append(tensor(name + ".weight", extents, weights))
        nodes.append(node(name, "Conv", [source, name + ".weight"], [1, 1, 1, 1]))
        return name

    def operator(name, kind, *inputs):
        nodes.append(node(name, kind, inputs))
        return name

    last = operator("stem/relu", "Relu", convolution("stem/conv", "image", 3, 0.3))
    for i in range((num_layers - 2) // 2):
        prefix = scope.format(stage=i // 16, block=i)
        inner = convolution(prefix + "/conv1", last, CHANNELS, 0.1)
        inner = operator(prefix + "/relu1", "Relu", inner)
        inner = convolution(prefix + "/conv2", inner, CHANNELS, 0.05)
        last = operator(prefix + "/out", "Relu", operator(prefix + "/sum", "Add", inner, last))
    if num_layers % 2 == 1:
        last = operator("odd/relu", "Relu", convolution("odd/conv", last, CHANNELS, 0.1))
    constants.append(tensor("head.weight", (CHANNELS, CLASSES),
                            [values.gauss(0, 0.5) for _ in range(CHANNELS * CLASSES)]))
    pooled = operator("head/flat", "Flatten", operator("head/pool", "GlobalAveragePool", last))
    operator("scores", "MatMul", pooled, "head.weight")
    graph = b"".join(block(1, each) for each in nodes) + block(2, "many_layers")
    graph += b"".join(block(5, each) for each in constants)
    graph += block(11, port("image", ("N", 3, SIZE, SIZE))) + block(12, port("scores", ("N", CLASSES)))
    return number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 17))


if __name__ == "__main__":
    Path(sys.argv[2]).write_bytes(network(int(sys.argv[1])))
