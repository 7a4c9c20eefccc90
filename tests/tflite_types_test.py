#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite files with integers of 16 and 4 bits, halves and sparse weights read as in LiteRT.

Usage: tflite_types_test.py PROGRAM

PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert

Weights of 4 bits multiply codes of 8 bits: the codes of LiteRT's reference kernels, bit for bit.
Activations of 16 bits are computed in float32: a sum of n products of codes, each rounded to 24
bits, is off by n eps sum |w| |x| at most, and may then be rounded to the other of two codes.
"""

import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import Scale, np, schema

numbers = np.random.default_rng(4)


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def packed(codes):
    """Integers of 4 bits, two in a byte, the lower half first."""
    flat = codes.reshape(-1).astype(np.int64) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.int64))
    return (flat[0::2] | flat[1::2] << 4).astype(np.uint8).tobytes()


def layer(file, kind, dtype, w_bits, channels=6):
    """A layer of codes; returns the input codes. Weights have a scale per output."""
    graph = file.main
    wide = dtype == np.int16
    x_scale = Scale(1 / 3000 if wide else 1 / 60, 0 if wide else 3)
    y_scale = Scale(1 / 2000 if wide else 1 / 25, 0 if wide else -5)
    shape = {"FULLY_CONNECTED": [channels, 20], "CONV_2D": [channels, 3, 3, 5],
             "DEPTHWISE_CONV_2D": [1, 3, 3, 5]}[kind]
    axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
    most = 2 ** (w_bits - 1) - 1
    scales = np.linspace(0.5, 1, shape[axis]).astype(np.float32) / most
    codes = numbers.integers(-most, most + 1, shape).astype(np.int8)
    w_scale = Scale(scales, 0, axis)
    if w_bits == 4:
        w = graph.tensor("w", shape, schema.TensorType.INT4, w_scale, packed(codes))
    else:
        w = graph.constant("w", codes, w_scale)
    b_type = np.int64 if wide else np.int32
    bias = numbers.integers(-3000, 3000, shape[axis]).astype(b_type)
    b = graph.constant("b", bias, Scale(scales * x_scale.scale[0]))
    x_shape = [1, 20] if kind == "FULLY_CONNECTED" else [1, 7, 6, 5]
    y_shape = [1, channels] if kind == "FULLY_CONNECTED" else [1, 7, 6, shape[axis]]
    x = graph.input("x", x_shape, dtype, x_scale)
    y = graph.tensor("y", y_shape, dtype, y_scale)
    made = {"FULLY_CONNECTED": lambda: options("FullyConnected"),
            "CONV_2D": lambda: options("Conv2D", padding=0, strideH=1, strideW=1),
            "DEPTHWISE_CONV_2D": lambda: options("DepthwiseConv2D", padding=0, strideH=1,
                                                 strideW=1, depthMultiplier=1)}[kind]()
    graph.op(kind, [x, w, b], [y], made)
    graph.table.outputs = [y]
    limits = np.iinfo(dtype)
    return numbers.integers(limits.min, limits.max, x_shape).astype(dtype)


def check_layer(program, kind, dtype, w_bits, folder):
    file = tf.File()
    x = layer(file, kind, dtype, w_bits)
    path = file.write(folder / "m.tflite")
    expected = tf.run_litert(path, [x])[0].astype(np.int64)
    found = program.run(path, [x], folder)[0].astype(np.int64)
    off = np.max(np.abs(found - expected))
    # With at most 45 products, n eps sum |w| |x| / y_scale is below 0.1 codes.
    yield f"{kind} {np.dtype(dtype)} {w_bits}: {off}", off <= (dtype == np.int16)
    program("convert", path, folder / "again.tflite")
    again = program.run(folder / "again.tflite", [x], folder)[0].astype(np.int64)
    yield f"{kind} {np.dtype(dtype)} {w_bits}: written again", np.array_equal(again, found)
    opened = tf.run_litert(folder / "again.tflite", [x])[0].astype(np.int64)
    off = np.max(np.abs(opened - expected))
    yield f"{kind} {np.dtype(dtype)} {w_bits}: in LiteRT {off}", off <= (dtype == np.int16)


def check_arithmetic(program, folder):
    """ADD, MUL, TANH and AVERAGE_POOL_2D of 16 bits, to a code."""
    file = tf.File()
    graph = file.main
    scale = Scale(1 / 8192)
    x = graph.input("x", [1, 4, 4, 3], np.int16, scale)
    values = [graph.tensor(name, shape, np.int16, s) for name, shape, s in
              (("a", [1, 4, 4, 3], Scale(1 / 4096)), ("b", [1, 4, 4, 3], Scale(1 / 2048)),
               ("c", [1, 4, 4, 3], Scale(1 / 32768)), ("y", [1, 2, 2, 3], Scale(1 / 32768)))]
    graph.op("ADD", [x, x], [values[0]], options("Add", potScaleInt16=False))
    graph.op("MUL", [values[0], x], [values[1]], options("Mul"))
    graph.op("TANH", [values[1]], [values[2]])
    graph.op("AVERAGE_POOL_2D", [values[2]], [values[3]],
             options("Pool2D", padding=1, strideW=2, strideH=2, filterWidth=2, filterHeight=2))
    graph.table.outputs = [values[3]]
    path = file.write(folder / "m.tflite")
    codes = numbers.integers(-9000, 9000, [1, 4, 4, 3]).astype(np.int16)
    expected = tf.run_litert(path, [codes])[0].astype(np.int64)
    found = program.run(path, [codes], folder)[0].astype(np.int64)
    # ADD, MUL and TANH of 16 bits are each off by a code at most; MUL enlarges that of ADD by the
    # ratio of their scales and |x|, tanh by 16.
    off = np.max(np.abs(found - expected))
    yield f"arithmetic of 16 bits: {off}", off <= 32


def check_half(program, folder, sparse):
    """Weights of float16 behind DENSIFY and DEQUANTIZE."""
    file = tf.File()
    graph = file.main
    dense = numbers.uniform(-1, 1, (6, 8)).astype(np.float16)
    if sparse:
        dense[numbers.random((6, 8)) < 0.6] = 0
    x = graph.input("x", [1, 8], np.float32)
    w = graph.constant("w", dense)
    if sparse:
        rows = [np.flatnonzero(row) for row in dense]
        table = schema.SparsityParametersT()
        table.traversalOrder, table.dimMetadata = [0, 1], []
        for kind in (schema.DimensionType.DENSE, schema.DimensionType.SPARSE_CSR):
            level = schema.DimensionMetadataT()
            level.format = kind
            table.dimMetadata.append(level)
        table.dimMetadata[0].denseSize = 6

        def vector(values):
            made = schema.Int32VectorT()
            made.values = list(map(int, values))
            return made
        level = table.dimMetadata[1]
        level.arraySegmentsType = level.arrayIndicesType = schema.SparseIndexVector.Int32Vector
        level.arraySegments = vector(np.cumsum([0] + [len(row) for row in rows]))
        level.arrayIndices = vector(np.concatenate(rows))
        stored = np.concatenate([line[row] for line, row in zip(dense, rows)])
        graph.table.tensors[w].buffer = file.buffer(stored.tobytes())
        graph.table.tensors[w].sparsity = table
        full = graph.tensor("full", [6, 8], np.float16)
        graph.op("DENSIFY", [w], [full])
        w = full
    wide = graph.tensor("wide", [6, 8], np.float32)
    graph.op("DEQUANTIZE", [w], [wide])
    y = graph.tensor("y", [1, 6], np.float32)
    graph.op("FULLY_CONNECTED", [x, wide, -1], [y], options("FullyConnected"))
    graph.table.outputs = [y]
    path = file.write(folder / "m.tflite")
    inputs = [numbers.uniform(-1, 1, (1, 8)).astype(np.float32)]
    expected = inputs[0].astype(np.float64) @ dense.astype(np.float64).T
    for name, found in (("LiteRT", tf.run_litert(path, inputs)[0]),
                        ("Halftone", program.run(path, inputs, folder)[0])):
        # 8 products of numbers below 1: n eps sum |w| |x|.
        yield f"float16, sparse {sparse}, {name}", np.max(np.abs(found - expected)) < 8 * 8 * 6e-8


def check_media_pipe(program, folder, padding):
    """Convolution2DTransposeBias beside its definition: x scattered with the weights."""
    file = tf.File()
    graph = file.main
    w = numbers.uniform(-1, 1, (3, 4, 3, 2)).astype(np.float32)
    b = numbers.uniform(-1, 1, 3).astype(np.float32)
    image = numbers.uniform(-1, 1, (1, 5, 4, 2)).astype(np.float32)
    strides = (2, 1)
    full = np.zeros((1, 4 * 2 + 4, 3 * 1 + 3, 3))
    for i in range(5):
        for j in range(4):
            full[0, 2 * i:2 * i + 4, j:j + 3] += np.einsum("ohwi,i->hwo", w, image[0, i, j])
    cut = [max(0, k - (n - 1) % s - 1) if padding == 1 else 0
           for k, n, s in zip((4, 3), (5, 4), strides)]
    size = [full.shape[1] - cut[0], full.shape[2] - cut[1]]
    expected = full[:, cut[0] // 2:cut[0] // 2 + size[0], cut[1] // 2:cut[1] // 2 + size[1]] + b
    x = graph.input("x", image.shape, np.float32)
    y = graph.tensor("y", expected.shape, np.float32)
    graph.op("Convolution2DTransposeBias", [x, graph.constant("w", w), graph.constant("b", b)],
             [y], custom=np.array([padding, strides[1], strides[0]], np.int32).tobytes())
    graph.table.outputs = [y]
    path = file.write(folder / "m.tflite")
    found = program.run(path, [image], folder)[0]
    # At most 24 products of numbers below 1, and the bias: n eps sum |w| |x|.
    yield f"MediaPipe's transposed convolution, padding {padding}", \
        found.shape == expected.shape and np.max(np.abs(found - expected)) < 25 * 25 * 6e-8


def main(path):
    program = Program(path)
    checks = []
    for kind in ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D"):
        for dtype, bits in ((np.int16, 8), (np.int8, 4)):
            if (kind, bits) != ("DEPTHWISE_CONV_2D", 4):
                checks.append((f"{kind} {bits}", lambda folder, a=(kind, dtype, bits):
                               check_layer(program, *a, folder)))
    checks.append(("arithmetic", lambda folder: check_arithmetic(program, folder)))
    for sparse in (False, True):
        checks.append((f"half {sparse}",
                       lambda folder, sparse=sparse: check_half(program, folder, sparse)))
    for padding in (1, 2):
        checks.append((f"MediaPipe {padding}",
                       lambda folder, padding=padding: check_media_pipe(program, folder, padding)))
    return run_checks(checks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
