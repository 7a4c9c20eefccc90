#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite's operators that are built from several operators of a graph compute what LiteRT does.

Usage: tflite_builtins_test.py PROGRAM

PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert

Integers and booleans are equal. Floats differ by roundings: 32 steps of float32 relative to 1 + |y|
and the largest |y|, which bounds sums of up to 32 summands and a few functions.
"""

import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import np, schema

TOLERANCE = 32 * 2.0 ** -24
numbers = np.random.default_rng(1962)
FLOATS_AND_INTEGERS = (np.float32, np.int32)


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def data(shape, dtype, low=-9, high=9):
    if dtype == np.bool_:
        return numbers.integers(0, 2, shape).astype(np.bool_)
    if dtype == np.float32:
        return numbers.uniform(low, high, shape).astype(dtype)
    return numbers.integers(low, high, shape).astype(dtype)


class Case:
    """One operator. Inputs are arrays: `given` ones of the network, the others constants."""

    def __init__(self, code, given, constants, outputs, made=None):
        self.code, self.given, self.made = code, given, made
        self.constants, self.outputs = constants, outputs

    def write(self, path, order=None):
        file = tf.File()
        graph = file.main
        tensors = [graph.input(f"x{i}", x.shape, x.dtype) for i, x in enumerate(self.given)]
        tensors += [graph.constant(f"c{i}", x) for i, x in enumerate(self.constants)]
        graph.table.outputs = [graph.tensor(f"y{i}", np.abs(shape), dtype, signature=shape)
                               for i, (shape, dtype) in enumerate(self.outputs)]
        inputs = tensors if order is None else [tensors[i] for i in order]
        graph.op(self.code, inputs, graph.table.outputs, self.made)
        return file.write(path)


def same(found, expected):
    def equal(a, b):
        b = np.asarray(b)
        # Files of NumPy hold booleans as bytes, and integers of 16 bits as 32.
        if a.shape != b.shape or (a.dtype == np.float32) != (b.dtype == np.float32):
            return False
        if a.dtype != np.float32:
            return np.array_equal(a, b)
        size = 1 + np.abs(b.astype(np.float64))
        size += np.max(np.abs(b[np.isfinite(b)]), initial=0)
        off = np.where(a == b, 0, np.abs(a.astype(np.float64) - b) / size)
        return np.max(off, initial=0) <= TOLERANCE
    return len(found) == len(expected) and all(map(equal, found, expected))


def compare(program, path, inputs, folder, reference=True):
    try:
        expected = tf.run_litert(path, inputs, reference)
    except ValueError:  # there are no reference kernels of SEGMENT_SUM
        expected = tf.run_litert(path, inputs, reference=False)
    found = program.run(path, inputs, folder)
    return same(found, expected)


def checked(program, folder, name, case, order=None, reference=True):
    path = case.write(folder / "m.tflite", order)
    return name, compare(program, path, case.given, folder, reference)


def reductions(program, folder):
    for code in ("REDUCE_ANY", "REDUCE_ALL"):
        for shape, axes in (([2, 3, 4], [1]), ([2, 3, 4], [0, -1]), ([5], [0]), ([2, 1], [0, 1])):
            for keeps in (False, True):
                x = data(shape, np.bool_)
                shown = np.any(x, tuple(axes), keepdims=keeps).shape
                case = Case(code, [x], [np.array(axes, np.int32)], [(list(shown), np.bool_)],
                            options("Reducer", keepDims=keeps))
                yield checked(program, folder, f"{code} {shape} {axes} {keeps}", case)


def ranges(program, folder):
    for dtype in (np.int32, np.int64, np.float32):
        for ends in ((0, 5, 1), (3, -4, -2), (2, 2, 1), (1, 9, 3), (-3, 8, 2)):
            x = np.zeros([1], dtype)
            file = tf.File()
            graph = file.main
            x = graph.input("x", [1], dtype)
            parts = [graph.constant(f"c{i}", np.array(e, dtype)) for i, e in enumerate(ends)]
            count = len(np.arange(*ends))
            shown = graph.tensor("range", [count], dtype)
            graph.op("RANGE", parts, [shown])
            y = graph.tensor("y", [count], dtype)
            graph.op("ADD", [shown, x], [y], options("Add"))
            graph.table.outputs = [y]
            if count == 0:
                continue  # LiteRT hands out no tensor without elements
            path = file.write(folder / "m.tflite")
            yield f"RANGE {ends} {np.dtype(dtype)}", compare(program, path, [np.ones([1], dtype)],
                                                             folder)
    for start, step in ((0, 1), (2, 3)):
        for limit in (3, 7, 11):
            case = Case("RANGE", [np.array(limit, np.int32)],
                        [np.array(start, np.int32), np.array(step, np.int32)], [([-1], np.int32)])
            yield checked(program, folder, f"RANGE {start} to {limit} by {step}", case, [1, 0, 2])


def shapes(program, folder):
    for shape in ([3], [2, 3, 4], [1, 1]):
        x = data(shape, np.float32)
        yield checked(program, folder, f"RANK {shape}",
                      Case("RANK", [x], [], [([], np.int32)], options("Rank")))
        for dtype in (np.float32, np.int32, np.int64):
            yield checked(program, folder, f"ZEROS_LIKE {shape}",
                          Case("ZEROS_LIKE", [data(shape, dtype)], [], [(shape, dtype)],
                               options("ZerosLike")))
    for a, b in (([3, 1], [2, 1, 4]), ([1], [5]), ([2, 2], [2, 2])):
        file = tf.File()
        graph = file.main
        x = graph.input("x", [1], np.float32)
        shown = list(np.broadcast_shapes(a, b))
        parts = [graph.constant(n, np.array(s, np.int32)) for n, s in (("a", a), ("b", b))]
        joined = graph.tensor("joined", [len(shown)], np.int32)
        graph.op("BROADCAST_ARGS", parts, [joined])
        y = graph.tensor("y", shown, np.float32)
        graph.op("BROADCAST_TO", [x, joined], [y])
        graph.table.outputs = [y]
        path = file.write(folder / "m.tflite")
        yield f"BROADCAST_ARGS {a} {b}", compare(program, path, [data([1], np.float32)], folder)


def scatters(program, folder):
    for dtype in (np.float32, np.int32, np.int64, np.int8, np.uint8):
        for shape, count, depth in (([6], 4, 1), ([3, 4], 5, 1), ([3, 4], 6, 2), ([2, 2, 3], 9, 2)):
            indices = np.stack([numbers.integers(0, n, count) for n in shape[:depth]], -1)
            updates = data([count, *shape[depth:]], dtype, 0, 9)
            case = Case("SCATTER_ND", [indices.astype(np.int32), updates],
                        [np.array(shape, np.int32)], [(shape, dtype)], options("ScatterNd"))
            yield checked(program, folder, f"SCATTER_ND {shape} {depth} {np.dtype(dtype)}", case)
    for shape, index in (([5], np.array(3)), ([6], np.array([0, 2, 5])),
                         ([3, 4], np.array([[0, 1], [1, 0], [2, 3]]))):
        for dtype in (np.float32, np.int32):
            for single in (False, True):
                size = [] if single or index.ndim == 0 else [len(index)]
                case = Case("SPARSE_TO_DENSE", [data(size, dtype)],
                            [index.astype(np.int32), np.array(shape, np.int32),
                             np.array(-1, dtype)], [(shape, dtype)],
                            options("SparseToDense", validateIndices=False))
                yield checked(program, folder, f"SPARSE_TO_DENSE {shape} {np.dtype(dtype)}", case,
                              [1, 2, 0, 3])


def segments(program, folder):
    for dtype in FLOATS_AND_INTEGERS:
        for rest in ([], [3], [2, 2]):
            ids = np.array([0, 0, 1, 2, 2], np.int32)
            x = data([5, *rest], dtype)
            case = Case("SEGMENT_SUM", [x], [ids], [([3, *rest], dtype)], options("SegmentSum"))
            yield checked(program, folder, f"SEGMENT_SUM {rest} {np.dtype(dtype)}", case)
            case = Case("SEGMENT_SUM", [x, ids], [], [([-1, *rest], dtype)], options("SegmentSum"))
            yield checked(program, folder, f"SEGMENT_SUM of data {rest} {np.dtype(dtype)}", case)
            for kind in ("Sum", "Prod", "Max", "Min"):
                ids = np.array([2, 0, -1, 3, 0], np.int32)
                case = Case(f"UNSORTED_SEGMENT_{kind.upper()}", [x, ids], [np.array(5, np.int32)],
                            [([5, *rest], dtype)], options(f"UnsortedSegment{kind}"))
                yield checked(program, folder, f"UNSORTED {kind} {rest} {np.dtype(dtype)}", case)


def diagonals(program, folder):
    for dtype in (np.float32, np.int32, np.int64, np.int8):
        for shape in ([4], [2, 3], [2, 1, 2]):
            case = Case("MATRIX_DIAG", [data(shape, dtype)], [], [([*shape, shape[-1]], dtype)],
                        options("MatrixDiag"))
            yield checked(program, folder, f"MATRIX_DIAG {shape} {np.dtype(dtype)}", case)
        for shape in ([3, 3], [2, 3, 4], [2, 4, 3]):
            case = Case("MATRIX_SET_DIAG", [data(shape, dtype),
                                            data([*shape[:-2], min(shape[-2:])], dtype)], [],
                        [(shape, dtype)], options("MatrixSetDiag"))
            yield checked(program, folder, f"MATRIX_SET_DIAG {shape} {np.dtype(dtype)}", case)


def sequences(program, folder):
    for dtype in FLOATS_AND_INTEGERS:
        for index in (np.int32, np.int64):
            for shape, batch, time in (([3, 4, 2], 0, 1), ([4, 3], 1, 0), ([2, 3, 4], 0, 2)):
                lengths = numbers.integers(0, shape[time] + 1, shape[batch]).astype(index)
                case = Case("REVERSE_SEQUENCE", [data(shape, dtype), lengths], [],
                            [(shape, dtype)],
                            options("ReverseSequence", seqDim=time, batchDim=batch))
                yield checked(program, folder, f"REVERSE_SEQUENCE {shape} {batch} {time}", case)


SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 1e-30, -1e30, np.inf, -np.inf], np.float32)


def functions(program, folder):
    pairs = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
    wide = data([2, 200], np.float32)
    for y, x in (pairs, wide):
        yield checked(program, folder, f"ATAN2 {len(x)}",
                      Case("ATAN2", [y, x], [], [(list(x.shape), np.float32)], options("ATan2")))
    for dtype in (np.int8, np.uint8, np.int16, np.int32):
        x = data([2, 5], dtype, 0, 99)
        for code, other in (("RIGHT_SHIFT", data([2, 5], dtype, 0, 7)),
                            ("BITWISE_XOR", data([5], dtype, 0, 99))):
            yield checked(program, folder, f"{code} {np.dtype(dtype)}",
                          Case(code, [x, other], [], [([2, 5], dtype)]))
    for dtype in (np.float32, np.int32, np.int64):
        x = data([3, 7], dtype)
        case = Case("BUCKETIZE", [x], [], [([3, 7], np.int32)],
                    options("Bucketize", boundaries=[-4.0, 0.0, 0.5, 7.0]))
        yield checked(program, folder, f"BUCKETIZE {np.dtype(dtype)}", case)
    for low, high, bits in ((-1, 1, 8), (-0.3, 2, 8), (0, 6, 4)):
        case = Case("FAKE_QUANT", [data([50], np.float32, -3, 8)], [], [([50], np.float32)],
                    options("FakeQuant", min=low, max=high, numBits=bits))
        yield checked(program, folder, f"FAKE_QUANT {low} {high} {bits}", case)
    for radius in (0, 2, 9):
        case = Case("LOCAL_RESPONSE_NORMALIZATION", [data([2, 3, 3, 7], np.float32)], [],
                    [([2, 3, 3, 7], np.float32)],
                    options("LocalResponseNormalization", radius=radius, bias=1.5, alpha=0.3,
                            beta=0.75))
        # The reference kernel leaves out the last channel of the window.
        yield checked(program, folder, f"LOCAL_RESPONSE_NORMALIZATION {radius}", case,
                      reference=False)


def dilations(program, folder):
    for dtype in (np.float32, np.int32, np.int64, np.int8):
        for shape, by in (([4], [3]), ([2, 3], [1, 2]), ([2, 1, 3], [2, 5, 1])):
            shown = [(n - 1) * d + 1 for n, d in zip(shape, by)]
            case = Case("DILATE", [data(shape, dtype)],
                        [np.array(by, np.int32), np.array(-2, dtype)], [(shown, dtype)])
            yield checked(program, folder, f"DILATE {shape} {by} {np.dtype(dtype)}", case)


def transforms(program, folder):
    """A transform, then what a network reads of it; REAL and IMAG behind a SQUEEZE."""
    for shape, lengths in (([4, 8], [4, 8]), ([2, 3, 5], [4, 8]), ([1, 32], [1, 32]),
                           ([2, 1, 40], [1, 32]), ([3, 4, 16], [2, 8]), ([2, 2], [1, 2])):
        for code in ("COMPLEX_ABS", "REAL", "IMAG"):
            for squeezes in (False, True):
                if squeezes and lengths[0] != 1:
                    continue
                file = tf.File()
                graph = file.main
                x = graph.input("x", shape, np.float32)
                y = [*shape[:-2], lengths[0], lengths[1] // 2 + 1]
                wave = graph.tensor("wave", y, schema.TensorType.COMPLEX64)
                graph.op("RFFT2D", [x, graph.constant("n", np.array(lengths, np.int32))], [wave],
                         options("Rfft2d"))
                if squeezes:
                    y = [*shape[:-2], lengths[1] // 2 + 1]
                    flat = graph.tensor("flat", y, schema.TensorType.COMPLEX64)
                    graph.op("SQUEEZE", [wave], [flat], options("Squeeze", squeezeDims=[-2]))
                    wave = flat
                out = graph.tensor("y", y, np.float32)
                graph.op(code, [wave], [out])
                graph.table.outputs = [out]
                path = file.write(folder / "m.tflite")
                yield f"RFFT2D {shape} {lengths} {code} {squeezes}", \
                    compare(program, path, [data(shape, np.float32)], folder)


def gathers(program, folder):
    for shape, indices, axis, shared in (
            ([2, 5, 3], [2, 4], 1, 1), ([2, 5, 3], [2], 1, 1), ([2, 5, 3], [2, 4, 2], 2, 1),
            ([2, 3, 5], [2, 3, 4], 2, 2), ([2, 3, 4, 5], [2, 2, 3], 3, 1), ([2, 5], [2, 4], -1, -1)):
        at = axis % len(shape)
        b = shared % len(indices)
        shown = [*shape[:at], *indices[b:], *shape[at + 1:]]
        for dtype in (np.float32, np.int32):
            chosen = numbers.integers(0, shape[at], indices).astype(np.int32)
            case = Case("GATHER", [data(shape, dtype), chosen], [], [(shown, dtype)],
                        options("Gather", axis=axis, batchDims=shared))
            yield checked(program, folder, f"GATHER {shape} {indices} {axis} {shared}", case)


def mirrors(program, folder):
    for mode in ("REFLECT", "SYMMETRIC"):
        for shape, pads in (([4], [[2, 3]]), ([3, 4], [[0, 2], [1, 0]]),
                            ([2, 3, 4], [[1, 1], [0, 0], [3, 2]])):
            shown = [n + a + b for n, (a, b) in zip(shape, pads)]
            for dtype in (np.float32, np.int32):
                case = Case("MIRROR_PAD", [data(shape, dtype)], [np.array(pads, np.int32)],
                            [(shown, dtype)],
                            options("MirrorPad", mode=getattr(schema.MirrorPadMode, mode)))
                yield checked(program, folder, f"MIRROR_PAD {mode} {shape} {pads}", case)


def divisions(program, folder):
    for dtype in (np.float32, np.int32):
        a, b = data([60], dtype, -20, 20), data([60], dtype, 1, 7)
        case = Case("FLOOR_DIV", [a, b * np.where(np.arange(60) % 2, 1, -1).astype(dtype)], [],
                    [([60], dtype)], options("FloorDiv"))
        yield checked(program, folder, f"FLOOR_DIV {np.dtype(dtype)}", case)


CHECKS = (reductions, ranges, shapes, scatters, segments, diagonals, sequences, functions,
          dilations, transforms, gathers, mirrors, divisions)


def main(path):
    program = Program(path)
    return run_checks([(check.__name__, lambda folder, check=check: check(program, folder))
                       for check in CHECKS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
