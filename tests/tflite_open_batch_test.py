#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite files with an open batch whose networks count, mix or select samples.

Usage: tflite_open_batch_test.py PROGRAM [CHECK ...]

PROGRAM is halftone. Signatures leave the first extent open, which the files record as 1. Every
network runs on 1, 3 and 5 rows and equals LiteRT on inputs of that size, also as ONNX in ONNX
Runtime. The batch of such a network is an extent like others; of a network whose samples are
independent it stays the batch N. Skips with exit code 77 if a package is absent: pip install numpy
flatbuffers ai-edge-litert onnxruntime

Floats differ by roundings: sums of up to 20 products of numbers below 2.
"""

import json
import sys

from python_test import Program, np, run_checks, skip
import tflite_files as tf
from tflite_files import schema

try:
    import onnxruntime
except ImportError as missing:
    skip(f"{missing}; pip install onnxruntime")

TOLERANCE = 20 * 4 * 6e-8
COLS = 4
SIZES = (1, 3, 5)
INT = tf.TYPES[np.dtype("int32")]
numbers = np.random.default_rng(12)


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def whole(*values):
    return np.array(values, np.int32)


class Network:
    """A network of inputs [-1, 4], operator by operator."""

    def __init__(self):
        self.file = tf.File()
        self.graph = self.file.main
        self.count = 0

    def input(self, name="x", cols=COLS):
        return self.graph.input(name, [1, cols], np.float32, signature=[-1, cols])

    def constant(self, array):
        self.count += 1
        return self.graph.constant(f"c{self.count}", np.asarray(array))

    def op(self, code, inputs, shape, made=None, dtype=np.float32):
        """The result of an operator. `shape` is that of the example of one row."""
        self.count += 1
        inputs = [x if isinstance(x, int) else self.constant(x) for x in inputs]
        y = self.graph.tensor(f"t{self.count}", shape, dtype)
        self.graph.op(code, inputs, [y], made)
        return y

    def turned(self, x, shape):
        return self.op("TRANSPOSE", [x, whole(1, 0)], shape, options("Transpose"))

    def sliced(self, x, ends, shape, dtype=np.float32, **masks):
        names = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")
        made = options("StridedSlice", **{**dict.fromkeys(names, 0), **masks})
        return self.op("STRIDED_SLICE", [x, *(whole(*end) for end in ends)], shape, made, dtype)

    def rows(self, x):
        """The number of rows, int32 []."""
        extents = self.op("SHAPE", [x], [2], options("Shape", outType=INT), np.int32)
        return self.sliced(extents, ([0], [1], [1]), [], np.int32, shrinkAxisMask=1)

    def packed(self, *values):
        made = options("Pack", valuesCount=len(values), axis=0)
        return self.op("PACK", list(values), [len(values)], made, np.int32)

    def real(self, x):
        return self.op("CAST", [x], [], options("Cast", inDataType=INT, outDataType=0))

    def write(self, path, *outputs):
        self.graph.table.outputs = list(outputs)
        return self.file.write(path)


def reduced(code, keep=True):
    def add(net, x):
        made = options("Reducer", keepDims=keep)
        return net.op(code, [x, whole(0)], [1, COLS] if keep else [COLS], made)
    return add


def centred(net, x):
    return net.op("SUB", [x, reduced("MEAN")(net, x)], [1, COLS], options("Sub"))


def softmax_of_rows(net, x):
    turned = net.turned(x, [COLS, 1])
    return net.turned(net.op("SOFTMAX", [turned], [COLS, 1], options("Softmax", beta=1.0)),
                      [1, COLS])


def top_row(net, x):
    turned, made = net.turned(x, [COLS, 1]), options("TopKV2")
    values = net.op("TOPK_V2", [turned, np.int32(1)], [COLS, 1], made)
    at = net.graph.tensor("at", [COLS, 1], np.int32)
    net.graph.table.operators[-1].outputs.append(at)
    return values


def gram(net, x):
    return net.op("BATCH_MATMUL", [net.turned(x, [COLS, 1]), x], [COLS, COLS],
                  options("BatchMatMul"))


def outer(net, x):
    return net.op("BATCH_MATMUL", [x, x], [1, 1], options("BatchMatMul", adjY=True))


def scaled_by_rows(net, x):
    return net.op("DIV", [x, net.real(net.rows(x))], [1, COLS], options("Div"))


def numbered(net, x):
    ends = [np.int32(0), net.rows(x), np.int32(1)]
    steps = net.op("RANGE", ends, [1], options("Range"), np.int32)
    column = net.op("RESHAPE", [steps, whole(-1, 1)], [1, 1], options("Reshape", newShape=[-1, 1]),
                    np.int32)
    made = options("Cast", inDataType=INT, outDataType=0)
    return net.op("ADD", [x, net.op("CAST", [column], [1, 1], made)], [1, COLS], options("Add"))


def one_more_row(net, x):
    more = net.op("ADD", [net.rows(x), np.int32(1)], [], options("Add"), np.int32)
    ones = net.op("FILL", [net.packed(more, np.int32(COLS)), np.float32(1)], [2, COLS],
                  options("Fill"))
    return net.op("CONCATENATION", [x, ones], [3, COLS], options("Concatenation", axis=0))


def flat(net, x):
    return net.op("RESHAPE", [x, whole(-1)], [COLS], options("Reshape", newShape=[-1]))


def halves(net, x):
    half = net.op("FLOOR_DIV", [net.rows(x), np.int32(2)], [], options("FloorDiv"), np.int32)
    return net.op("SLICE", [x, whole(0, 0), net.packed(half, np.int32(-1))], [0, COLS],
                  options("Slice"))


def repeated_by_rows(net, x):
    repeats = net.packed(np.int32(2), net.rows(x))
    return net.op("TILE", [x, repeats], [2, COLS], options("Tile"))


def summed_rows(net, x):
    ends = [np.int32(0), net.rows(x), np.int32(1)]
    each = net.op("RANGE", ends, [1], options("Range"), np.int32)
    pair = net.op("FLOOR_DIV", [each, np.int32(2)], [1], options("FloorDiv"), np.int32)
    return net.op("SEGMENT_SUM", [x, pair], [1, COLS], options("SegmentSum"))


MIXED = {
    "x - mean": centred,
    "sums so far": lambda net, x: net.op("CUMSUM", [x, np.int32(0)], [1, COLS], options("Cumsum")),
    "softmax": softmax_of_rows,
    "reverse": lambda net, x: net.op("REVERSE_V2", [x, whole(0)], [1, COLS], options("ReverseV2")),
    "top row": top_row,
    "largest": reduced("REDUCE_MAX", keep=False),
    "index of largest": lambda net, x: net.op("ARG_MAX", [x, np.int32(0)], [COLS],
                                              options("ArgMax", outputType=INT), np.int32),
    "x^T x": gram,
    "x x^T": outer,
    "twice": lambda net, x: net.op("CONCATENATION", [x, x], [2, COLS],
                                   options("Concatenation", axis=0)),
    "row 0": lambda net, x: net.op("GATHER", [x, whole(0)], [1, COLS], options("Gather", axis=0)),
    "x[0]": lambda net, x: net.sliced(x, ([0], [1], [1]), [COLS], shrinkAxisMask=1),
    "x[-1:]": lambda net, x: net.sliced(x, ([-1], [0], [1]), [1, COLS], endMask=1),
    "x[:1]": lambda net, x: net.sliced(x, ([0], [1], [1]), [1, COLS]),
    "x[1:]": lambda net, x: net.sliced(x, ([1], [0], [1]), [0, COLS], endMask=1),
    "x[::2]": lambda net, x: net.sliced(x, ([0], [0], [2]), [1, COLS], beginMask=1, endMask=1),
    "x[::-1]": lambda net, x: net.sliced(x, ([0], [0], [-1]), [1, COLS], beginMask=1, endMask=1),
    "x[:-3:-2]": lambda net, x: net.sliced(x, ([0], [-3], [-2]), [1, COLS], beginMask=1),
    "padded": lambda net, x: net.op("PAD", [x, whole(1, 2, 0, 0).reshape(2, 2)], [4, COLS],
                                    options("Pad")),
    "sum of all": lambda net, x: net.op("SUM", [x, whole(0, 1)], [],
                                        options("Reducer", keepDims=False)),
    "x / rows": scaled_by_rows,
    "x + index": numbered,
    "one more row": one_more_row,
    "first half": halves,
    "repeated by rows": repeated_by_rows,
    "pairs of rows": summed_rows,
}


def dense(net, x):
    made = options("FullyConnected")
    net.count += 1
    weights = net.constant(numbers.uniform(-1, 1, (3, COLS)).astype(np.float32))
    return net.op("FULLY_CONNECTED", [x, weights], [1, 3], made)


def reshaped_by_rows(net, x):
    return net.op("RESHAPE", [x, net.packed(net.rows(x), np.int32(2), np.int32(2))], [1, 2, 2],
                  options("Reshape", newShape=[-1, 2, 2]))


INDEPENDENT = {
    "layer": dense,
    "reshape": reshaped_by_rows,
    "flat": flat,
    "x[:, 1:3]": lambda net, x: net.sliced(x, ([0, 1], [0, 3], [1, 1]), [1, 2], beginMask=1,
                                           endMask=1),
}


def resized(path, given):
    """What LiteRT computes for inputs of other extents than those of the file."""
    interpreter = tf.interpreter_of(path)
    for detail, x in zip(interpreter.get_input_details(), given):
        interpreter.resize_tensor_input(detail["index"], np.shape(x))
    interpreter.allocate_tensors()
    return tf.invoke(interpreter, given)


def same(found, expected):
    def equal(a, b):
        size = TOLERANCE * (1 + np.max(np.abs(b), initial=0)) if b.dtype == np.float32 else 0
        return a.shape == b.shape and np.max(np.abs(a.astype(np.float64) - b), initial=0) <= size
    return len(found) == len(expected) and all(map(equal, found, map(np.asarray, expected)))


def in_onnx_runtime(path, given):
    session = onnxruntime.InferenceSession(path)
    return session.run(None, {x.name: value for x, value in zip(session.get_inputs(), given)})


def rows_of(*sizes):
    return [numbers.uniform(-1, 1, (n, COLS)).astype(np.float32) for n in sizes]


def first_extents(program, path):
    """The first extent of each input, as `inspect` writes it."""
    found = json.loads(program("inspect", path, "--json"))
    return [each["shape"][0] for each in found["inputs"]]


def without_elements(expected):
    """LiteRT hands out no tensor without elements."""
    return any(np.size(y) == 0 for y in expected)


# The writer refuses them in one line: ONNX's reader has another form of the number of rows.
NOT_WRITTEN = {"x[:-3:-2]"}


def check_mixed(program, name, add, folder):
    net = Network()
    path = net.write(folder / "m.tflite", add(net, net.input()))
    yield f"{name}: an extent of its own", first_extents(program, path) == ["x_0"]
    is_written = name not in NOT_WRITTEN
    if is_written:
        program("convert", path, folder / "m.onnx")
    for size in SIZES:
        given = rows_of(size)
        try:
            expected = resized(path, given)
        except (ValueError, RuntimeError):
            continue
        text = f"{name}, {size} rows"
        yield text, same(program.run(path, given, folder), expected)
        if is_written:
            yield text + ", as ONNX", same(in_onnx_runtime(folder / "m.onnx", given), expected)


def check_independent(program, name, add, folder):
    net = Network()
    path = net.write(folder / "m.tflite", add(net, net.input()))
    yield f"{name}: the batch", first_extents(program, path) == ["N"]
    for size in SIZES:
        given = rows_of(size)
        yield f"{name}, {size} rows", same(program.run(path, given, folder), resized(path, given))


def main(path, *names):
    program = Program(path)
    checks = [(name, lambda folder, name=name, add=add: check_mixed(program, name, add, folder))
              for name, add in MIXED.items()]
    checks += [(name, lambda folder, name=name, add=add:
                check_independent(program, name, add, folder))
               for name, add in INDEPENDENT.items()]
    return run_checks([each for each in checks if not names or each[0] in names])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
