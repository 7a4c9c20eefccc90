#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open extents in forms that exporters write: at each size, ONNX files compute what they should.

Usage: onnx_open_extents_test.py PROGRAM [NETWORK ...]

PROGRAM is halftone. Outputs of a network, and of the file that `convert` writes of it, are those of
ONNX Runtime at several sizes. Skips with exit code 77 if a package is absent: pip install numpy
onnx onnxruntime

Floats differ by roundings: sums of up to 72 products of numbers below 2, in another order.
"""

import sys

from python_test import Program, np, run_checks, skip

try:
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    skip(f"{error}; pip install numpy onnx onnxruntime")

TOLERANCE = 72 * 4 * 6e-8
END = np.iinfo(np.int64).max


class Maker:
    """A graph of random weights."""

    def __init__(self, *, outer=None):
        self.outer = outer
        self.nodes, self.inputs, self.constants = [], [], []
        self.names = outer.names if outer else iter(range(10**6))
        self.random = outer.random if outer else np.random.default_rng(5)

    def input(self, name, *shape, kind=np.float32):
        self.inputs.append(helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape))
        return name

    def constant(self, value):
        name = f"c{next(self.names)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def whole(self, *values):
        return self.constant(np.array(values, np.int64))

    def number(self, value):
        return self.constant(np.int64(value))

    def real(self, value):
        return self.constant(np.float32(value))

    def weight(self, *shape):
        return self.constant(self.random.uniform(-1, 1, shape).astype(np.float32))

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [f"{op}_{next(self.names)}" for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, names[0], **attributes))
        return names[0] if outputs == 1 else names

    def extent(self, x, axis):
        """As a vector of one number."""
        return self.add("Shape", x, start=axis, end=axis + 1)

    def size(self, x, axis):
        """As a scalar."""
        return self.add("Gather", self.add("Shape", x), self.number(axis))

    def shape(self, *extents):
        parts = [self.whole(e) if isinstance(e, int) else e for e in extents]
        return self.add("Concat", *parts, axis=0)

    def conv(self, x, outputs, inputs, size=3, **attributes):
        return self.add("Conv", x, self.weight(outputs, inputs, size, size),
                        pads=[size // 2] * 4, **attributes)

    def graph(self, *outputs):
        return helper.make_graph(self.nodes, "g", self.inputs,
                                 [helper.make_empty_tensor_value_info(y) for y in outputs],
                                 self.constants)

    def model(self, *outputs):
        return helper.make_model(self.graph(*outputs), ir_version=9,
                                 opset_imports=[helper.make_opsetid("", 18)])


def branches():
    """The first six steps, or those there are and zeros."""
    m = Maker()
    x = m.input("x", "batch", "steps", 4)
    first, padded = Maker(outer=m), Maker(outer=m)
    y = first.add("Slice", x, first.whole(0), first.whole(6), first.whole(1))
    more = padded.add("Sub", padded.whole(6), padded.extent(x, 1))
    z = padded.add("Pad", x, padded.shape(0, 0, 0, 0, more, 0))
    is_long = m.add("Greater", m.size(x, 1), m.number(6))
    return m.model(m.add("If", is_long, then_branch=first.graph(y), else_branch=padded.graph(z)))


def cache():
    """Attention to what a cache has, which is empty at first."""
    m = Maker()
    x, past = m.input("x", "batch", "steps", 4), m.input("past", "batch", "before", 4)
    keys = m.add("Concat", past, x, axis=1)
    scores = m.add("MatMul", m.add("MatMul", x, m.weight(4, 4)),
                   m.add("Transpose", keys, perm=[0, 2, 1]))
    first, length = m.size(past, 1), m.size(keys, 1)
    steps = m.add("Range", first, length, m.number(1))
    sees = m.add("LessOrEqual", m.add("Range", m.number(0), length, m.number(1)),
                 m.add("Unsqueeze", steps, m.whole(1)))
    scores = m.add("Where", sees, scores, m.real(-1e9))
    one = m.add("Cast", m.add("Max", first, m.number(1)), to=1)
    y = m.add("MatMul", m.add("Softmax", scores, axis=-1), keys)
    return m.model(m.add("Div", y, one), keys)


def batches():
    """Two names of the batch."""
    m = Maker()
    x, y = m.input("x", "batch", "steps", 4), m.input("y", "b", 4)
    return m.model(m.add("Add", x, m.add("Unsqueeze", y, m.whole(1))))


def parts_of_extents():
    """Elements of a part of an open axis."""
    m = Maker()
    x = m.input("x", "batch", "steps", 4)
    half = m.add("Div", m.extent(x, 1), m.whole(2))
    shape = m.shape(m.extent(x, 0), half, 2)
    at = m.add("Expand", m.constant(np.array([[[1, 3]]])), shape)
    new = m.add("Expand", m.weight(1, 1, 2), shape)
    rows = m.add("Expand", m.constant(np.array([[[1], [0]]])), m.shape(m.extent(x, 0), 2, 4))
    two = m.add("Slice", m.add("Neg", x), m.whole(0), m.whole(2), m.whole(1))
    return m.model(m.add("GatherElements", x, at, axis=2),
                   m.add("ScatterElements", x, at, new, axis=2),
                   m.add("ScatterElements", x, rows, two, axis=1))


def prefix():
    """x[2:] = -x[2:]"""
    m = Maker()
    x = m.input("x", "batch", "steps", 4)
    t = m.add("Transpose", x, perm=[1, 0, 2])
    at = m.add("Range", m.number(2), m.size(x, 1), m.number(1))
    new = m.add("Slice", m.add("Neg", t), m.whole(2), m.whole(END), m.whole(0))
    y = m.add("ScatterND", t, m.add("Unsqueeze", at, m.whole(1)), new)
    return m.model(m.add("Transpose", y, perm=[1, 0, 2]))


def anchors():
    """Boxes beside anchors; extents are numbers of both."""
    m = Maker()
    x = m.input("x", "batch", 3, "height", "width")
    y = m.add("Relu", m.conv(x, 8, 3, strides=[4, 4]))
    h, w = m.size(y, 2), m.size(y, 3)
    right = m.add("Mul", m.add("Range", m.number(0), w, m.number(1)),
                  m.add("Div", m.size(x, 3), w))
    down = m.add("Mul", m.add("Range", m.number(0), h, m.number(1)),
                 m.add("Div", m.size(x, 2), h))
    rows, cols = m.add("Unsqueeze", h, m.whole(0)), m.add("Unsqueeze", w, m.whole(0))
    grid = m.shape(rows, cols)
    places = [m.add("Reshape", m.add("Expand", m.add("Unsqueeze", at, m.whole(axis)), grid),
                    m.whole(-1, 1)) for at, axis in ((right, 0), (down, 1))]
    places = m.add("Cast", m.add("Concat", *places, axis=1), to=1)
    z = m.add("Reshape", m.conv(y, 6, 8, 1), m.shape(m.extent(x, 0), -1, 2, rows, cols))
    z = m.add("Reshape", m.add("Transpose", z, perm=[0, 3, 4, 1, 2]),
              m.shape(m.extent(x, 0), -1, 3, 2))
    return m.model(m.add("Add", z, m.add("Unsqueeze", places, m.whole(1))))


def positions():
    """A table resized to the patches by a scale that is not 1 where nothing is resized."""
    m = Maker()
    x = m.input("x", "batch", 3, "height", "width")
    y = m.add("Conv", x, m.weight(4, 3, 8, 8), strides=[8, 8])
    scales = [m.add("Div", m.add("Add", m.add("Cast", m.extent(y, axis), to=1), m.real(0.1)),
                    m.real(4)) for axis in (2, 3)]
    scales = m.add("Concat", m.constant(np.ones(2, np.float32)), *scales, axis=0)
    table = m.add("Resize", m.weight(1, 4, 4, 4), "", scales, mode="cubic")
    return m.model(m.add("Add", y, table))


def sequences():
    """Parts of features, stacked in another order."""
    m = Maker()
    x = m.input("x", "batch", "steps", 6)
    parts = m.add("SplitToSequence", x, m.number(2), axis=2)
    three = m.add("SplitToSequence", x, m.whole(1, 2, 3), axis=2)
    one = m.add("SequenceConstruct", m.add("SequenceAt", parts, m.number(-1)))
    both = m.add("SequenceInsert", one, m.add("SequenceAt", parts, m.number(0)), m.number(0))
    both = m.add("SequenceErase", m.add("SequenceInsert", both, x), m.number(2))
    return m.model(m.add("ConcatFromSequence", both, axis=1, new_axis=1),
                   m.add("ConcatFromSequence", parts, axis=2),
                   m.add("SequenceAt", three, m.add("SequenceLength", one)))


STEPS = [{"batch": b, "steps": n} for b, n in ((1, 7), (2, 12), (3, 5))]
IMAGES = [{"batch": b, "height": h, "width": w}
          for b, h, w in ((1, 32, 32), (2, 40, 24), (1, 48, 64))]
# Networks and sizes of their extents; whether `convert` needs no numbers for them. What it writes
# takes extents to be at least 1, so that of an empty cache is not tried.
NETWORKS = [
    (branches, STEPS, False),
    (cache, [{**s, "before": n} for s, n in zip(STEPS, (0, 4, 1), strict=True)], None),
    (batches, [{**s, "b": s["batch"]} for s in STEPS], True),
    (parts_of_extents, STEPS, True), (prefix, STEPS, True), (anchors, IMAGES, True),
    (positions, IMAGES, True), (sequences, STEPS, True),
]


def inputs_of(model, sizes):
    numbers = np.random.default_rng(3)
    return {x.name: numbers.uniform(-1, 1, [d.dim_value or sizes[d.dim_param]
                                            for d in x.type.tensor_type.shape.dim])
            .astype(np.float32) for x in model.graph.input}


def same(found, expected):
    def equal(a, b):
        bound = TOLERANCE * (1 + np.max(np.abs(b), initial=0))
        return a.shape == b.shape and np.max(np.abs(a - b), initial=0) <= bound
    return len(found) == len(expected) and all(map(equal, found, expected))


def check(program, build, sizes, converts, folder):
    model = build()
    path, written = folder / "m.onnx", folder / "written.onnx"
    onnx.save(model, str(path))
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    inputs = [inputs_of(model, each) for each in sizes]
    expected = [session.run(None, each) for each in inputs]
    files = [path]
    if converts is False:
        try:
            program("convert", path, written, "-q")
        except RuntimeError as error:
            yield f"{build.__name__}: {str(error)[-60:]}", "give the input a shape" in str(error)
    elif converts:
        program("convert", path, written, "-q")
        files.append(written)
        other = onnxruntime.InferenceSession(str(written), providers=["CPUExecutionProvider"])
    for size, given, outputs in zip(sizes, inputs, expected, strict=True):
        for file in files:
            found = program.run(file, given.values(), folder)
            yield f"{build.__name__}, {file.name}, {size}", same(found, outputs)
        if converts:
            text = f"{build.__name__}, {written.name} in ONNX Runtime, {size}"
            yield text, same(other.run(None, given), outputs)


def main(path, *names):
    onnxruntime.set_default_logger_severity(3)
    program = Program(path)
    return run_checks([(case[0].__name__, lambda folder, case=case: check(program, *case, folder))
                       for case in NETWORKS if not names or case[0].__name__ in names])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
