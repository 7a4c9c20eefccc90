#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops, branches and searches of ONNX files give the same as TFLite files, in LiteRT and here.

Usage: tflite_control_test.py PROGRAM

PROGRAM is halftone. Each network runs in ONNX Runtime; Halftone writes it as .tflite, .circle and
.tflite again; LiteRT runs both TFLite files. Skips with exit code 77 if a package is absent:
pip install numpy onnx onnxruntime flatbuffers ai-edge-litert

Results of layers differ by the order of sums: of up to 8 products of numbers below 4, in up to 6
steps.
"""

import sys

from python_test import Program, run_checks, skip
import tflite_files as tf
from tflite_files import np

try:
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    skip(f"{error}; pip install numpy onnx onnxruntime flatbuffers ai-edge-litert")

TOLERANCE = 6 * 8 * 16 * 6e-8
numbers = np.random.default_rng(26)
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def info(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def floats(*shape):
    return numbers.uniform(-1, 1, shape).astype(np.float32)


def node(kind, inputs, outputs, **attributes):
    return helper.make_node(kind, inputs, outputs, **attributes)


def write(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, str(path))
    return path


def loop(path, trips=5, keep=None, stop=False, captures=False):
    """State [1, 4] through a layer; its values are stacked; stops where its first is above 1."""
    body = [node("Add", ["i", "one"], ["j"]), node("Cast", ["j"], ["f"], to=F),
            node("MatMul", ["s", "w"], ["h"]), node("Add", ["h", "f"], ["k"]),
            node("Tanh", ["k"], ["t"])]
    body += [node("Add", ["t", "x"], ["u"])] if captures else [node("Identity", ["t"], ["u"])]
    more = [] if stop else [info("row", F, [1, 4])]
    if stop:
        body += [node("ReduceSum", ["u"], ["sum"], keepdims=0), node("Less", ["sum", "most"], ["go"])]
    else:
        body += [node("Identity", ["c"], ["go"]), node("Mul", ["u", "f"], ["row"])]
    part = helper.make_graph(body, "b", [info("i", I, []), info("c", B, []), info("s", F, [1, 4])],
                             [info("go", B, []), info("u", F, [1, 4]), *more])
    outputs = ["last"] + ([] if stop else ["rows"])
    kinds = [info("last", F, [1, 4])] + ([] if stop else [info("rows", F, [trips, 1, 4])])
    nodes = [node("Loop", ["trips" if trips is not None else "", "", "x"], outputs, body=part)]
    return write(path, nodes, [info("x", F, [1, 4])], kinds,
                 [constant("trips", np.int64(trips or 0)), constant("one", np.int64(1)),
                  constant("w", floats(4, 4)), constant("most", np.float32(2.5))])


def computed_trips(path):
    """As many iterations as an input says."""
    body = helper.make_graph(
        [node("Add", ["s", "x"], ["u"]), node("Identity", ["c"], ["go"])], "b",
        [info("i", I, []), info("c", B, []), info("s", F, [2])],
        [info("go", B, []), info("u", F, [2])])
    return write(path, [node("Cast", ["n"], ["m"], to=I),
                        node("Loop", ["m", "", "x"], ["y"], body=body)],
                 [info("x", F, [2]), info("n", F, [])], [info("y", F, [2])])


def scan(path, reads=0, stacks=0, backwards=0):
    """A recurrence over an axis of the input, whose steps are stacked along another one."""
    body = helper.make_graph(
        [node("MatMul", ["s", "r"], ["h"]), node("Add", ["h", "x"], ["a"]),
         node("Sigmoid", ["a"], ["u"]), node("Neg", ["u"], ["row"])], "b",
        [info("s", F, [3, 4]), info("x", F, [3, 4])], [info("u", F, [3, 4]), info("row", F, [3, 4])])
    shape = [3, 4]
    shape.insert(reads, 6)
    stacked = [3, 4]
    stacked.insert(stacks, 6)
    nodes = [node("Scan", ["zero", "x"], ["last", "rows"], body=body, num_scan_inputs=1,
                  scan_input_axes=[reads], scan_output_axes=[stacks],
                  scan_input_directions=[backwards], scan_output_directions=[backwards])]
    return write(path, nodes, [info("x", F, shape)],
                 [info("last", F, [3, 4]), info("rows", F, stacked)],
                 [constant("zero", np.zeros((3, 4), np.float32)), constant("r", floats(4, 4))])


def nested(path):
    """A loop in a loop; the inner one reads both numbers of iterations."""
    inner = helper.make_graph(
        [node("Add", ["i", "j"], ["k"]), node("Cast", ["k"], ["f"], to=F),
         node("Add", ["v", "f"], ["w"]), node("Identity", ["d"], ["e"])], "inner",
        [info("j", I, []), info("d", B, []), info("v", F, [2])],
        [info("e", B, []), info("w", F, [2])])
    outer = helper.make_graph(
        [node("Loop", ["three", "", "s"], ["t"], body=inner), node("Mul", ["t", "half"], ["u"]),
         node("Identity", ["c"], ["go"])], "outer",
        [info("i", I, []), info("c", B, []), info("s", F, [2])],
        [info("go", B, []), info("u", F, [2])])
    return write(path, [node("Loop", ["four", "", "x"], ["y"], body=outer)],
                 [info("x", F, [2])], [info("y", F, [2])],
                 [constant("three", np.int64(3)), constant("four", np.int64(4)),
                  constant("half", np.float32(0.5))])


def swapped(path):
    """States that change places, one of which is an integer, and a state that stays."""
    body = helper.make_graph(
        [node("Identity", ["a"], ["p"]), node("Identity", ["b"], ["q"]),
         node("Add", ["n", "i"], ["m"]), node("Identity", ["c"], ["go"])], "b",
        [info("i", I, []), info("c", B, []), info("a", F, [2]), info("b", F, [2]),
         info("n", I, [])],
        [info("go", B, []), info("q", F, [2]), info("p", F, [2]), info("m", I, [])])
    return write(path, [node("Neg", ["x"], ["z"]),
                        node("Loop", ["five", "", "x", "z", "five"], ["a1", "b1", "n1"], body=body)],
                 [info("x", F, [2])], [info("a1", F, [2]), info("b1", F, [2]), info("n1", I, [])],
                 [constant("five", np.int64(5))])


def branches(path):
    """A layer in each branch; the sum of the input decides."""
    def branch(weight, kind):
        return helper.make_graph([node("MatMul", ["x", weight], ["h"]), node(kind, ["h"], ["z"])],
                                 weight, [], [info("z", F, [1, 4])])
    nodes = [node("ReduceSum", ["x"], ["sum"], keepdims=0), node("Greater", ["sum", "none"], ["c"]),
             node("If", ["c"], ["y"], then_branch=branch("w", "Relu"),
                  else_branch=branch("v", "Tanh"))]
    return write(path, nodes, [info("x", F, [1, 4])], [info("y", F, [1, 4])],
                 [constant("w", floats(4, 4)), constant("v", floats(4, 4)),
                  constant("none", np.float32(0))])


def found(path):
    """The elements above a half and where they are, and the sum of each of them with the first."""
    nodes = [node("Greater", ["x", "half"], ["c"]), node("NonZero", ["c"], ["at"]),
             node("Transpose", ["at"], ["rows"]), node("GatherND", ["x", "rows"], ["y"]),
             node("Slice", ["y", "zero", "one"], ["first"]), node("Add", ["y", "first"], ["sum"])]
    return write(path, nodes, [info("x", F, [3, 5])],
                 [info("at", I, [2, None]), info("sum", F, [None])],
                 [constant("half", np.float32(0.5)), constant("zero", np.array([0])),
                  constant("one", np.array([1]))])


def distinct(path, ordered=1):
    """Distinct numbers of a list, where they are first, and which each element is."""
    nodes = [node("Floor", ["x"], ["f"]),
             node("Unique", ["f"], ["y", "first", "inverse"], sorted=ordered, axis=0)]
    return write(path, nodes, [info("x", F, [9])],
                 [info("y", F, [None]), info("first", I, [None]), info("inverse", I, [9])])


def best(path, axis=1, largest=1):
    """The best numbers along an axis, and another input's at their indices."""
    nodes = [node("TopK", ["x", "three"], ["y", "at"], axis=axis, largest=largest),
             node("GatherElements", ["z", "at"], ["w"], axis=axis),
             node("ArgMax", ["x"], ["most"], axis=axis)]
    shape = [4, 5, 3]
    shape[axis] = 3
    return write(path, nodes, [info("x", F, [4, 5, 3]), info("z", F, [4, 5, 3])],
                 [info("y", F, shape), info("at", I, shape), info("w", F, shape),
                  info("most", I, None)], [constant("three", np.array([3]))])


def detector(path, classes=3, images=1, center=0):
    """Boxes that do not overlap much, with their scores; boxes come from a layer."""
    nodes = [node("MatMul", ["x", "w"], ["b"]), node("Sigmoid", ["b"], ["boxes"]),
             node("MatMul", ["x", "v"], ["s"]),
             node("Transpose", ["s"], ["scores"], perm=[0, 2, 1]),
             node("NonMaxSuppression", ["boxes", "scores", "most", "iou", "least"], ["rows"],
                  center_point_box=center),
             node("Gather", ["rows", "last"], ["index"], axis=1),
             node("Reshape", ["boxes", "flat"], ["list"]),
             node("Gather", ["rows", "begin"], ["image"], axis=1),
             node("Mul", ["image", "count"], ["base"]), node("Add", ["base", "index"], ["at"]),
             node("Gather", ["list", "at"], ["found"], axis=0)]
    return write(path, nodes, [info("x", F, [images, 12, 4])],
                 [info("rows", I, [None, 3]), info("found", F, [None, 4])],
                 [constant("w", floats(4, 4)), constant("v", floats(4, classes)),
                  constant("most", np.array([4])), constant("iou", np.float32(0.3)),
                  constant("least", np.float32(0.1)), constant("last", np.int64(2)),
                  constant("begin", np.int64(0)), constant("count", np.int64(12)),
                  constant("flat", np.array([-1, 4]))])


NETWORKS = [
    ("found", found, {}), ("distinct", distinct, {}), ("distinct in order", distinct,
                                                       {"ordered": 0}),
    ("best", best, {}), ("least", best, {"axis": 2, "largest": 0}),
    ("detector", detector, {}), ("detector of one class", detector, {"classes": 1}),
    ("detector of two images", detector, {"images": 2, "center": 1}),
    ("loop", loop, {}), ("loop that captures", loop, {"captures": True}),
    ("loop that stops", loop, {"stop": True, "trips": 20}),
    ("loop without a limit", loop, {"stop": True, "trips": None}),
    ("trips", computed_trips, {}), ("scan", scan, {}),
    ("scan of another axis", scan, {"reads": 1, "stacks": 2}),
    ("scan backwards", scan, {"reads": 2, "stacks": 1, "backwards": 1}),
    ("nested", nested, {}), ("swapped", swapped, {}), ("branches", branches, {}),
]


def inputs_of(session):
    made = []
    for given in session.get_inputs():
        shape = [2 if isinstance(extent, str) else extent for extent in given.shape]
        if given.name == "n":
            made.append(np.array(numbers.integers(0, 6), np.float32))
        else:
            made.append(numbers.uniform(-2, 2, shape).astype(np.float32))
    return made


def same(found, expected):
    def equal(a, b):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and np.max(np.abs(a.astype(np.float64) - b), initial=0) <= \
            (TOLERANCE if b.dtype == np.float32 else 0)
    return len(found) == len(expected) and all(map(equal, found, expected))


def check(program, name, build, fields, folder):
    path = build(folder / "m.onnx", **fields)
    session = onnxruntime.InferenceSession(str(path))
    names = [given.name for given in session.get_inputs()]
    program("convert", path, folder / "a.tflite")
    program("convert", folder / "a.tflite", folder / "b.circle")
    program("convert", folder / "b.circle", folder / "c.tflite")
    for _ in range(3):
        inputs = inputs_of(session)
        expected = session.run(None, dict(zip(names, inputs)))
        for form in ("m.onnx", "a.tflite", "b.circle", "c.tflite"):
            yield f"{name}, {form}", same(program.run(folder / form, inputs, folder), expected)
            if form.endswith("tflite"):
                yield f"{name}, {form} in LiteRT", same(tf.run_litert(folder / form, inputs),
                                                        expected)


def main(path):
    program = Program(path)
    return run_checks([(name, lambda folder, case=(name, build, fields):
                        check(program, *case, folder)) for name, build, fields in NETWORKS])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
