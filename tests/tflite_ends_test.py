#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of 8-bit integers whose ends only move integers take the data of their float form.

Usage: tflite_ends_test.py PROGRAM

PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert

Each network has an operator that moves elements, a layer, and another such operator, in int8 or
uint8 and, with the same weights, in float32. LiteRT gives the codes of the first; the two differ
by rounding to 8 bits alone.
"""

import json
import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import Scale, np, schema

SAMPLES = 64
# Each rounding to codes adds noise of scale / sqrt(12); three of them, of ranges that the values
# fill by a third or more of their root mean square, leave 30 dB.
LEAST_DB = 28


def integers(graph, numbers):
    return graph.constant(f"i{len(graph.table.tensors)}", np.array(numbers, np.int32))


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def moved(graph, kind, x, shape, dtype, scale):
    """Adds an operator that moves elements of a tensor [N, 24], and a Reshape to [N, 24]."""
    def new(shape):
        return graph.tensor(f"t{len(graph.table.tensors)}", shape, dtype, scale)

    def add(code, inputs, shape, made=None, count=1):
        outputs = [new(shape) for _ in range(count)]
        graph.op(code, inputs, outputs, made)
        return outputs if count > 1 else outputs[0]

    n = shape[0]
    cube = add("RESHAPE", [x, integers(graph, [-1, 2, 3, 4])], [n, 2, 3, 4]) \
        if kind not in ("RESHAPE", "CONCATENATION", "PACK") else x
    if kind == "RESHAPE":
        y = add(kind, [x, integers(graph, [-1, 4, 6])], [n, 4, 6])
    elif kind == "TRANSPOSE":
        y = add(kind, [cube, integers(graph, [0, 2, 3, 1])], [n, 3, 4, 2])
    elif kind == "SLICE":
        y = add(kind, [cube, integers(graph, [0, 0, 1, 0]), integers(graph, [-1, 2, 2, 4])],
                [n, 2, 2, 4])
    elif kind == "STRIDED_SLICE":
        made = options("StridedSlice", beginMask=1, endMask=1)
        y = add(kind, [cube, integers(graph, [0, 0, 0, 3]), integers(graph, [0, 2, 3, 0]),
                       integers(graph, [1, 1, 2, -1])], [n, 2, 2, 3], made)
    elif kind == "CONCATENATION":
        y = add(kind, [x, x], [n, 48], options("Concatenation", axis=1))
    elif kind == "PACK":
        y = add(kind, [x, x], [n, 2, 24], options("Pack", axis=1, valuesCount=2))
    elif kind == "SPLIT":
        first, second = add(kind, [integers(graph, 1), cube], [n, 1, 3, 4],
                            options("Split", numSplits=2), 2)
        y = add("CONCATENATION", [second, first], [n, 2, 3, 4], options("Concatenation", axis=1))
    elif kind == "UNPACK":
        y = add(kind, [cube], [n, 3, 4], options("Unpack", axis=1, num=2), 2)[1]
    elif kind == "EXPAND_DIMS":
        y = add("SQUEEZE", [add(kind, [cube, integers(graph, 1)], [n, 1, 2, 3, 4])],
                [n, 2, 3, 4], options("Squeeze", squeezeDims=[1]))
    elif kind == "GATHER":
        y = add(kind, [cube, integers(graph, [2, 0])], [n, 2, 2, 4], options("Gather", axis=2))
    elif kind == "PAD":
        y = add(kind, [cube, integers(graph, [[0, 0], [1, 0], [0, 2], [0, 0]])], [n, 3, 5, 4])
    elif kind == "MAX_POOL_2D":
        made = options("Pool2D", padding=1, strideW=1, strideH=1, filterWidth=2, filterHeight=2)
        y = add(kind, [cube], [n, 1, 2, 4], made)
    elif kind == "REVERSE_V2":
        y = add(kind, [cube, integers(graph, [3])], [n, 2, 3, 4])
    elif kind == "TILE":
        y = add(kind, [cube, integers(graph, [1, 1, 2, 1])], [n, 2, 6, 4])
    elif kind == "SPACE_TO_DEPTH":
        flat = add("RESHAPE", [x, integers(graph, [-1, 2, 6, 2])], [n, 2, 6, 2])
        y = add(kind, [flat], [n, 1, 3, 8], options("SpaceToDepth", blockSize=2))
    else:
        raise ValueError(kind)
    return y, graph.table.tensors[y].shape


def network(path, first, last, dtype):
    """Writes the network. `dtype` is of its values, or float32."""
    is_float = dtype == np.float32
    numbers = np.random.default_rng(11)
    file = tf.File()
    graph = file.main
    zero = 0 if dtype != np.uint8 else 128
    scales = [Scale(2 / 127, zero), Scale(1 / 127, zero), Scale(20 / 127, zero)]
    x_scale, w_scale, y_scale = [None] * 3 if is_float else scales
    x = graph.input("x", [1, 24], dtype, x_scale, signature=[-1, 24])
    h, shape = moved(graph, first, x, [1, 24], dtype, x_scale) if first else (x, [1, 24])
    count = int(np.prod(shape))
    rows = graph.tensor("rows", [1, count], dtype, x_scale)
    graph.op("RESHAPE", [h, integers(graph, [-1, count])], [rows])
    codes = scales[1].codes(numbers.uniform(-1, 1, (24, count)), np.uint8 if zero else np.int8)
    weights = scales[1].numbers(codes) if is_float else codes
    w = graph.constant("w", weights, w_scale)
    y = graph.tensor("y0", [1, 24], dtype, y_scale)
    graph.op("FULLY_CONNECTED", [rows, w, -1], [y], options("FullyConnected"))
    if last:
        y, _ = moved(graph, last, y, [1, 24], dtype, y_scale)
    graph.table.tensors[y].name = "y"
    graph.table.outputs = [y]
    return file.write(path), x_scale


KINDS = ["RESHAPE", "TRANSPOSE", "SLICE", "STRIDED_SLICE", "CONCATENATION", "PACK", "SPLIT",
         "UNPACK", "EXPAND_DIMS", "GATHER", "PAD", "MAX_POOL_2D", "REVERSE_V2", "TILE",
         "SPACE_TO_DEPTH"]


def check(program, first, last, dtype, folder):
    name = f"{np.dtype(dtype)} {first} {last}"
    integer, scale = network(folder / "integers.tflite", first, last, dtype)
    real, _ = network(folder / "floats.tflite", first, last, np.float32)
    x = np.random.default_rng(2).uniform(-2, 2, (SAMPLES, 24)).astype(np.float32)
    np.save(folder / "x.npy", x)
    codes = scale.codes(x[:1], dtype)
    expected = tf.run_litert(integer, [codes])[0]
    found = program.run(integer, [codes], folder)[0]
    yield f"{name}: the codes of LiteRT", np.array_equal(found, expected)
    data = ["--data", folder / "x.npy"]

    def sqnr(model, *more):
        text = program("eval", model, *data, "--reference", real, "--json", *more)
        return json.loads(text)["reference"]["sqnr_db"]

    yield f"{name}: eval {sqnr(integer):.1f} dB", sqnr(integer) > LEAST_DB
    fitted = folder / "fitted.circle"
    program("quantize", integer, "-o", fitted, *data, "--weight-bits", 4, "--activation-bits", 8,
            "-q")
    ends = json.loads(program("inspect", fitted, "--json"))
    types = {port["type"] for port in ends["inputs"] + ends["outputs"]}
    yield f"{name}: quantize keeps {types}, {sqnr(fitted):.1f} dB", \
        types == {str(np.dtype(dtype))} and sqnr(fitted) > 15
    program("report", integer, "--reference", real, *data, "-o", folder / "report.html", "-q")
    program("sensitivity", integer, *data, "--choices", "4,8", "--limit", 16, "--no-time", "-q")


def main(path):
    program = Program(path)
    cases = [(first, None) for first in KINDS] + [(None, last) for last in KINDS]
    cases += [("TRANSPOSE", "SLICE"), ("SLICE", "CONCATENATION"), ("CONCATENATION", "RESHAPE")]
    checks = [(f"{np.dtype(dtype)} {first} {last}",
               lambda folder, first=first, last=last, dtype=dtype: check(program, first, last,
                                                                         dtype, folder))
              for dtype in (np.int8, np.uint8) for first, last in cases]
    return run_checks(checks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
