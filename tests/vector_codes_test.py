#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Weights in a vector basis, decoded by NumPy, are those of the network in float32.

Usage: vector_codes_test.py PROGRAM EXAMPLES

PROGRAM is halftone, EXAMPLES the folder examples/. The matrix of a basis follows from the codes of
the file and the decoded weights, which it must give exactly, and all layers share it. Skips with exit code 77 if a package is absent:
pip install numpy onnx
"""

import pathlib
import sys
import tempfile

from python_test import Program, skip

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    skip(f"{error}; pip install numpy onnx")

RATES = ("2x6", "4x8", "4x9", "2x10")


def codes_of(packed, width, count):
    """Rows of codes of `width` bits, the lowest bits of a byte first."""
    bits = np.unpackbits(packed.reshape(packed.shape[0], -1), axis=1, bitorder="little")
    assert not bits[:, count * width:].any(), "bits behind the last code"
    bits = bits[:, :count * width].reshape(packed.shape[0], count, width)
    return (bits.astype(np.int64) << np.arange(width)).sum(axis=2)


def e3m5(codes):
    return np.ldexp(1 + (codes & 31).astype(np.float32) / 32, codes >> 5).astype(np.float32)


def matrix_of(codes, levels, width):
    """P of levels = P b, where the bits of a code are the signs b: exact, as all are integers."""
    signs = ((codes.reshape(-1, 1) >> np.arange(width) & 1) * 2 - 1).astype(np.float64)
    assert np.linalg.matrix_rank(signs) == width
    solution = np.linalg.lstsq(signs, levels.reshape(len(signs), -1), rcond=None)[0]
    matrix = np.rint(solution)
    assert np.abs(solution - matrix).max() < 1e-6, "levels that are no sums of signs"
    assert np.array_equal(signs @ matrix, levels.reshape(len(signs), -1))
    assert np.abs(matrix).sum(axis=0).max() <= 127
    return matrix


def check_layer(node, constants, decoded, rate):
    d, width = map(int, rate.split("x"))
    fields = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert fields["weight_system"] == rate.encode() and fields["scale_type"] == b"e3m5", fields
    n, group = fields["inputs"], fields["group_size"]
    packed = constants[node.input[3]]
    count = -(-n // d)
    assert packed.shape[1:] == (1, -(-count * width // 8)), packed.shape
    codes = codes_of(packed, width, count)
    scales = np.float32(fields.get("scale_factor", 1)) * e3m5(constants[node.input[2]])
    scales = scales.reshape(len(codes), -1).repeat(group, axis=1)[:, :n]
    assert decoded.shape == scales.shape, (decoded.shape, scales.shape)
    levels = np.rint(decoded.astype(np.float64) / scales)
    assert np.abs(levels).max() <= 127
    assert np.array_equal(scales * levels.astype(np.float32), decoded), "no levels of int8"
    whole = n // d  # codewords all of whose numbers the row has
    matrix = matrix_of(codes[:, :whole], levels[:, :whole * d].reshape(-1, whole, d), width)
    rest = n - whole * d
    if rest:
        signs = (codes[:, whole, None] >> np.arange(width) & 1) * 2 - 1
        assert np.array_equal(signs @ matrix[:, :rest], levels[:, whole * d:])
    return matrix


def constants_of(model):
    return {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}


def check_rate(program, examples, folder, rate):
    own, decoded = folder / f"{rate}.onnx", folder / f"{rate}_float.onnx"
    program("quantize", examples / "mnist/mnist_mlp_700.onnx", "-o", own, "--data",
            examples / "mnist", "--limit", 100, "--weight-scheme", rate, "--activation-bits",
            "none", "--quiet")
    program("convert", own, decoded, "--decoded")
    model = onnx.load(own)
    constants, floats = constants_of(model), constants_of(onnx.load(decoded))
    layers = [node for node in model.graph.node if node.op_type == "FullyConnected"]
    assert len(layers) == 2, [node.op_type for node in model.graph.node]
    matrices = []
    for node in layers:
        shape = len(constants[node.input[3]]), node_inputs(node)
        found = [w for w in floats.values() if w.shape in (shape, shape[::-1])]
        assert len(found) == 1, [w.shape for w in floats.values()]
        weights = found[0] if found[0].shape == shape else found[0].T
        matrices.append(check_layer(node, constants, weights, rate))
    assert np.array_equal(matrices[0], matrices[1]), "layers share a matrix"


def node_inputs(node):
    return next(each.i for each in node.attribute if each.name == "inputs")


def main():
    program, examples = Program(sys.argv[1], timeout=300), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        for rate in RATES:
            check_rate(program, examples, pathlib.Path(name), rate)
            print(f"{rate}: the codes of the file are the weights in float32")


if __name__ == "__main__":
    main()
