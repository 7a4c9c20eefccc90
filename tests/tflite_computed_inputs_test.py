#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs of TFLite's operators that most files have as constants, and loops over open extents.

Usage: tflite_computed_inputs_test.py PROGRAM [CHECK ...]

PROGRAM is halftone. Each input is made of constants, of a shape, of data, and is an input of the
network. In the first two cases every operator runs and equals LiteRT. In the others it does, or one
line names the operator, the input and what it is. STRIDED_SLICE has random masks. Skips with exit
code 77 if a package is absent: pip install numpy flatbuffers ai-edge-litert

Floats differ by roundings: sums of up to 18 products of numbers below 2.
"""

import sys

from python_test import Program, Refused, np, run_checks
import tflite_files as tf
from tflite_files import schema

TOLERANCE = 18 * 4 * 6e-8
INT = tf.TYPES[np.dtype("int32")]
numbers = np.random.default_rng(8)


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


def strided(**masks):
    names = ("beginMask", "endMask", "ellipsisMask", "newAxisMask", "shrinkAxisMask")
    return options("StridedSlice", **{**dict.fromkeys(names, 0), **masks})


def floats(*shape):
    return numbers.uniform(-1, 1, shape).astype(np.float32)


def whole(*values):
    return np.array(values, np.int32)


ONE, REAL = np.int32, np.float32
MATRIX, IMAGE = floats(4, 3), floats(1, 6, 6, 2)
PADS = np.array([[1, 0], [0, 2]], np.int32)
CORNERS = np.sort(numbers.uniform(0, 1, (8, 2, 2)).astype(np.float32), axis=1).reshape(8, 4)
FOUND = [CORNERS, floats(8), ONE(3), REAL(0.5), REAL(0.1)]
ENDS = [MATRIX, whole(1, 0), whole(3, 3), whole(1, 1)]
CONSTANT, REDUCED = options("Pad"), options("Reducer", keepDims=False)

# Operator, inputs, the inputs that may be data, those that may not, outputs, options.
CASES = [
    ("RESHAPE", [MATRIX, whole(3, 4)], [1], [], [[3, 4]], options("Reshape", newShape=[3, 4])),
    ("EXPAND_DIMS", [MATRIX, ONE(1)], [], [1], [[4, 1, 3]], options("ExpandDims")),
    ("TRANSPOSE", [MATRIX, whole(1, 0)], [], [1], [[3, 4]], options("Transpose")),
    ("PAD", [MATRIX, PADS], [1], [], [[5, 5]], CONSTANT),
    ("PADV2", [MATRIX, PADS, REAL(0.5)], [1, 2], [], [[5, 5]], options("PadV2")),
    ("MIRROR_PAD", [MATRIX, PADS], [1], [], [[5, 5]], options("MirrorPad", mode=0)),
    ("MIRROR_PAD", [MATRIX, PADS], [], [1], [[5, 5]], options("MirrorPad", mode=1)),
    ("TILE", [MATRIX, whole(2, 3)], [1], [], [[8, 9]], options("Tile")),
    ("BROADCAST_TO", [floats(1, 3), whole(4, 3)], [1], [], [[4, 3]], options("BroadcastTo")),
    ("FILL", [whole(2, 3), REAL(0.5)], [0, 1], [], [[2, 3]], options("Fill")),
    ("REVERSE_V2", [MATRIX, whole(1)], [], [1], [[4, 3]], options("ReverseV2")),
    ("ONE_HOT", [whole(1, 0, 2), ONE(4), REAL(2), REAL(-1)], [1, 2, 3], [], [[3, 4]],
     options("OneHot", axis=-1)),
    ("RESIZE_BILINEAR", [IMAGE, whole(9, 5)], [1], [], [[1, 9, 5, 2]], options("ResizeBilinear")),
    ("RESIZE_NEAREST_NEIGHBOR", [IMAGE, whole(9, 5)], [1], [], [[1, 9, 5, 2]],
     options("ResizeNearestNeighbor")),
    ("RANGE", [ONE(1), ONE(9), ONE(2)], [0, 1], [2], [([4], np.int32)], options("Range")),
    ("RANGE", [REAL(1), REAL(9), REAL(2.5)], [], [], [[4]], options("Range")),
    ("SPLIT", [ONE(1), floats(4, 6)], [], [0], [[4, 3], [4, 3]], options("Split", numSplits=2)),
    ("SPLIT_V", [floats(4, 6), whole(2, 4), ONE(1)], [], [1, 2], [[4, 2], [4, 4]],
     options("SplitV", numSplits=2)),
    ("SLICE", [MATRIX, whole(1, 0), whole(2, 3)], [1, 2], [], [[2, 3]], options("Slice")),
    ("STRIDED_SLICE", ENDS, [1, 2], [3], [[2, 3]], strided()),
    ("STRIDED_SLICE", ENDS, [1], [], [[3]], strided(shrinkAxisMask=1)),
    ("SUM", [MATRIX, whole(1)], [], [1], [[4]], REDUCED),
    ("ARG_MAX", [MATRIX, ONE(1)], [], [1], [([4], np.int32)], options("ArgMax", outputType=INT)),
    ("TOPK_V2", [MATRIX, ONE(2)], [1], [], [[4, 2], ([4, 2], np.int32)], options("TopKV2")),
    ("CUMSUM", [MATRIX, ONE(1)], [], [1], [[4, 3]], options("Cumsum")),
    ("TRANSPOSE_CONV", [whole(1, 12, 12, 3), floats(3, 2, 2, 2), IMAGE], [], [0], [[1, 12, 12, 3]],
     options("TransposeConv", padding=0, strideW=2, strideH=2)),
    ("SPACE_TO_BATCH_ND", [IMAGE, whole(2, 2), 0 * PADS], [], [1, 2], [[4, 3, 3, 2]],
     options("SpaceToBatchND")),
    ("UNSORTED_SEGMENT_SUM", [MATRIX, whole(0, 1, 0, 2), ONE(3)], [], [2], [[3, 3]],
     options("UnsortedSegmentSum")),
    ("NON_MAX_SUPPRESSION_V4", FOUND, [], [2, 3, 4], [([3], np.int32), ([], np.int32)],
     options("NonMaxSuppressionV4")),
    ("DYNAMIC_UPDATE_SLICE", [MATRIX, floats(2, 2), whole(1, 1)], [2], [], [[4, 3]],
     options("DynamicUpdateSlice")),
    ("DILATE", [MATRIX, whole(2, 1), REAL(0)], [2], [1], [[7, 3]], None),
]


def add_extent(graph, name, x, shape, axis):
    """An extent of a tensor, int32 []."""
    extents = graph.tensor(name + "/all", [len(shape)], np.int32)
    graph.op("SHAPE", [x], [extents], options("Shape", outType=INT))
    extent = graph.tensor(name, [], np.int32)
    ends = [graph.constant(f"{name}/{i}", whole(i)) for i in (axis, axis + 1, 1)]
    graph.op("STRIDED_SLICE", [extents, *ends], [extent], strided(shrinkAxisMask=1))
    return extent


def add_made(graph, name, array, origin, given):
    """A tensor with an origin; None where an origin has no such values."""
    array = np.asarray(array)
    made = graph.tensor(name, array.shape, array.dtype)
    if origin == "data":
        given.append(-array.astype(np.float32))
        x = graph.input("p", array.shape, np.float32)
        negative = made if array.dtype == np.float32 else graph.tensor("q", array.shape, np.float32)
        graph.op("NEG", [x], [negative], options("Neg"))
        if negative != made:
            graph.op("CAST", [negative], [made],
                     options("Cast", inDataType=0, outDataType=tf.TYPES[array.dtype]))
        return made
    if origin == "shape":
        if array.dtype != np.int32:
            return None
        given.append(floats(2))
        two = add_extent(graph, "two", graph.input("p", [2], np.float32), [2], 0)
    else:
        two = graph.constant("two", array.dtype.type(2))
    graph.op("ADD", [graph.constant("rest", array - array.dtype.type(2)), two], [made],
             options("Add"))
    return made


def network(path, case, at, origin):
    """The inputs for it; None where an origin has no such values."""
    code, inputs, _, _, outputs, made = case
    file, given, tensors = tf.File(), [], []
    graph = file.main
    for i, array in enumerate(inputs):
        array = np.asarray(array)
        name = f"i{i}"
        if i != at and (array.dtype != np.float32 or array.ndim == 0 or given):
            tensors.append(graph.constant(name, array))
        elif i != at or origin == "input":
            given.append(array)
            tensors.append(graph.input(name, array.shape, array.dtype))
        else:
            tensors.append(add_made(graph, name, array, origin, given))
        if tensors[-1] is None:
            return None
    for i, shape in enumerate(outputs):
        shape, kind = shape if isinstance(shape, tuple) else (shape, np.float32)
        graph.table.outputs.append(graph.tensor(f"y{i}", shape, kind))
    graph.op(code, tensors, graph.table.outputs, made)
    if not given:
        given.append(floats(1))
        graph.input("unused", [1], np.float32)
    file.write(path)
    return given


def same(found, expected):
    def equal(a, b):
        size = TOLERANCE * (1 + np.max(np.abs(b), initial=0)) if b.dtype == np.float32 else 0
        return a.shape == b.shape and np.max(np.abs(a.astype(np.float64) - b), initial=0) <= size
    return len(found) == len(expected) and all(map(equal, found, map(np.asarray, expected)))


def run(program, path, given, folder):
    return program.run(path, given, folder)


def check_inputs(program, case, folder):
    code, inputs, data, refused, _, _ = case
    path = folder / "m.tflite"
    for at in sorted([*data, *refused]) or range(len(inputs)):
        for origin in ("constants", "shape", "data", "input"):
            given = network(path, case, at, origin)
            text = f"{code}, input {at} of {origin}"
            may_refuse = at not in data and origin in ("data", "input")
            if given is None or (may_refuse and at not in refused):
                continue
            try:
                found = run(program, path, given, folder)
            except Refused as error:
                said = f"({code}): input {at}: expected " in str(error) and ", which " in str(error)
                yield f"{text}: {str(error)[-160:]}", may_refuse and said
                continue
            yield text, same(found, tf.run_litert(path, given)) and not may_refuse


def check_strides(program, folder):
    """Random ends, steps and masks of slices, as far as LiteRT has them."""
    for trial in range(60):
        shape = list(numbers.integers(2, 5, numbers.integers(2, 5)))
        count = int(numbers.integers(1, len(shape) + 1))
        ellipsis = 1 << int(numbers.integers(0, count)) if trial % 3 == 1 else 0
        new = int(numbers.integers(0, 1 << count)) if trial % 4 == 2 else 0
        shrink = int(numbers.integers(0, 1 << count)) & ~new & ~ellipsis
        steps = [1 if shrink >> i & 1 else int(numbers.choice([-2, -1, 1, 2]))
                 for i in range(count)]
        begins = [int(numbers.integers(-2, 2)) if shrink >> i & 1 else int(numbers.integers(-5, 6))
                  for i in range(count)]
        ends = numbers.integers(-5, 6, count)
        masks = {"beginMask": int(numbers.integers(0, 1 << count)) & ~shrink,
                 "endMask": int(numbers.integers(0, 1 << count)), "ellipsisMask": ellipsis,
                 "newAxisMask": new, "shrinkAxisMask": shrink}
        file = tf.File()
        graph = file.main
        x = floats(*shape)
        inputs = [graph.input("x", shape, np.float32),
                  *(graph.constant(f"c{i}", whole(*each))
                    for i, each in enumerate((begins, ends, steps)))]
        graph.table.outputs = [graph.tensor("y", [1], np.float32)]
        graph.op("STRIDED_SLICE", inputs, graph.table.outputs, strided(**masks))
        path = file.write(folder / "m.tflite")
        text = f"STRIDED_SLICE {begins}:{list(ends)}:{steps} of {shape}, {masks}"
        try:
            expected = tf.run_litert(path, [x])
        except (ValueError, RuntimeError):
            continue  # LiteRT refuses it, or hands out no tensor without elements
        yield text, same(run(program, path, [x], folder), expected)


def loop(path, end, signature=None):
    """s' = s + x[i], while i is below: the extent of x, a computed number, or the least of both."""
    file = tf.File()
    graph = file.main
    shape = [5, 3] if signature is None else [1, 3]
    x = graph.input("x", shape, np.float32, signature=signature)
    given = [graph.constant("zero", ONE(0)), graph.constant("s0", np.zeros(3, np.float32)), x]
    kinds = [([], np.int32, None), ([3], np.float32, None), (shape, np.float32, signature)]
    if end != "extent":
        n = graph.input("n", [], np.float32)
        limit = graph.tensor("limit", [], np.int32)
        graph.op("CAST", [n], [limit], options("Cast", inDataType=0, outDataType=INT))
        given.append(limit)
        kinds.append(([], np.int32, None))
    outputs = [graph.tensor(f"after{i}", each, kind, signature=signed)
               for i, (each, kind, signed) in enumerate(kinds)]
    graph.op("WHILE", given, outputs, options("While", condSubgraphIndex=1, bodySubgraphIndex=2))
    graph.table.outputs = [outputs[1]]
    for is_body in (False, True):
        part = file.subgraph()
        i, s, rows, *more = (part.input(f"v{k}", each, kind, signature=signed)
                             for k, (each, kind, signed) in enumerate(kinds))
        if not is_body:
            limit = more[0] if more else add_extent(part, "extent", rows, shape, 0)
            if end == "least":
                least = part.tensor("least", [], np.int32)
                part.op("MINIMUM", [limit, add_extent(part, "extent", rows, shape, 0)], [least],
                        options("MaximumMinimum"))
                limit = least
            part.table.outputs = [part.tensor("go", [], np.bool_)]
            part.op("LESS", [i, limit], part.table.outputs, options("Less"))
            continue
        row, total = (part.tensor(name, [3], np.float32) for name in ("row", "sum"))
        part.op("GATHER", [rows, i], [row], options("Gather", axis=0))
        part.op("ADD", [s, row], [total], options("Add"))
        following = part.tensor("next", [], np.int32)
        part.op("ADD", [i, part.constant("one", ONE(1))], [following], options("Add"))
        part.table.outputs = [following, total, rows, *more]
    return file.write(path)


def resized(path, given):
    """What LiteRT computes for inputs of other extents than those of the file."""
    interpreter = tf.interpreter_of(path)
    for detail, x in zip(interpreter.get_input_details(), given):
        interpreter.resize_tensor_input(detail["index"], np.shape(x))
    interpreter.allocate_tensors()
    return tf.invoke(interpreter, given)


def check_loops(program, folder):
    for end in ("extent", "number", "least"):
        for signature in (None,) if end == "number" else (None, [-1, 3]):
            path = loop(folder / "m.tflite", end, signature)
            for size in (5,) if signature is None else (1, 3, 8):
                given = [floats(size, 3)] + ([] if end == "extent" else [REAL(min(size, 4))])
                expected = resized(path, given)
                yield f"loop up to {end}, {size} rows", same(run(program, path, given, folder),
                                                            expected)
                if signature is None:
                    program("convert", path, folder / "b.circle")
                    program("convert", folder / "b.circle", folder / "c.tflite")
                    yield f"loop up to {end}, written", same(
                        tf.run_litert(folder / "c.tflite", given), expected)


def check_count(program, folder):
    """A network that multiplies with the number of samples."""
    file = tf.File()
    graph = file.main
    x = graph.input("x", [1, 3], np.float32, signature=[-1, 3])
    count = graph.tensor("count", [], np.float32)
    graph.op("CAST", [add_extent(graph, "extent", x, [1, 3], 0)], [count],
             options("Cast", inDataType=INT, outDataType=0))
    graph.table.outputs = [graph.tensor("y", [1, 3], np.float32, signature=[-1, 3])]
    graph.op("MUL", [x, count], graph.table.outputs, options("Mul"))
    path = file.write(folder / "m.tflite")
    for size in (1, 4):
        given = [floats(size, 3)]
        yield f"{size} samples are counted", same(run(program, path, given, folder),
                                                  resized(path, given))


def main(path, *names):
    program = Program(path)
    checks = [(case[0], lambda folder, case=case: check_inputs(program, case, folder))
              for case in CASES]
    checks += [("strides", lambda folder: check_strides(program, folder)),
               ("loops", lambda folder: check_loops(program, folder)),
               ("count", lambda folder: check_count(program, folder))]
    return run_checks([each for each in checks if not names or each[0] in names])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
