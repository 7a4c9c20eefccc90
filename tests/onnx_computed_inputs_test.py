#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inputs of ONNX's operators that most files have as constants: axes, sizes, steps, thresholds.

Usage: onnx_computed_inputs_test.py PROGRAM [OPERATOR ...]

PROGRAM is halftone. Each such input is made of constants, of the shape of an input of the network,
of an open extent, of data, and is an input of the network itself. In the first three cases every
operator runs and equals ONNX Runtime. In the others it does, or one line names the node, the input
and what it is. Skips with exit code 77 if a package is absent: pip install numpy onnx onnxruntime

Floats differ by roundings: sums of up to 18 products of numbers below 2, and angles below 2 pi.
"""

import sys

from python_test import Program, Refused, np, run_checks, skip

try:
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    skip(f"{error}; pip install numpy onnx onnxruntime")

TOLERANCE = 18 * 4 * 6e-8
numbers = np.random.default_rng(7)


def floats(*shape):
    return numbers.uniform(-1, 1, shape).astype(np.float32)


def whole(*values):
    return np.array(values, np.int64)


def scores(limit=3, iou=0.5, least=0.1):
    """Boxes of two classes, with the numbers of a NonMaxSuppression."""
    corners = np.sort(numbers.uniform(0, 1, (1, 8, 2, 2)).astype(np.float32), axis=2)
    return [corners.reshape(1, 8, 4), floats(1, 2, 8), whole(limit), np.float32([iou]),
            np.float32([least])]


MATRIX, IMAGE, SIGNAL = floats(4, 3), floats(1, 2, 6, 6), floats(1, 16, 1)
SIZE, SCALES = np.int64, np.array([1, 1, 2, 2], np.float32)
REGION = np.array([0, 0, 0.1, 0.2, 1, 1, 0.8, 1], np.float32)
CODES = np.array([[1, 2], [3, 9]], np.uint8)
PRODUCT = [CODES, np.float32(0.1), np.uint8(1), CODES, np.float32(0.2), np.uint8(3),
           np.float32(0.3), np.uint8(4)]
SPECTRUM = [SIGNAL, SIZE(4), floats(8), SIZE(8)]
UNPOOLED = [floats(1, 1, 2, 2), np.array([[[[0, 3], [8, 11]]]], np.int64), whole(1, 1, 4, 4)]

# Operator, inputs, the inputs that may be data, those that may not, attributes.
CASES = [
    ("Reshape", [MATRIX, whole(3, 4)], [1], [], {}),
    ("Expand", [floats(4, 1), whole(4, 5)], [1], [], {}),
    ("Tile", [MATRIX, whole(2, 3)], [1], [], {}),
    ("Pad", [MATRIX, whole(1, 2), np.float32(0.5), whole(1)], [1, 2], [3], {}),
    ("Slice", [MATRIX, whole(0), whole(3), whole(0), whole(2)], [1, 2, 4], [3], {}),
    ("Slice", [MATRIX, whole(3), whole(-9), whole(0), whole(-2)], [1, 2, 4], [], {}),
    ("Slice", [MATRIX, whole(9, 0), whole(1, 3), whole(0, 1), whole(-3, 1)], [1, 2, 4], [], {}),
    ("Split", [MATRIX, whole(1, 3)], [1], [], {"axis": 0, "outputs": 2}),
    ("Squeeze", [floats(4, 1, 3), whole(1)], [], [1], {}),
    ("Unsqueeze", [MATRIX, whole(1)], [], [1], {}),
    ("ReduceSum", [MATRIX, whole(1)], [], [1], {}),
    ("ReduceMax", [MATRIX, whole(0)], [], [1], {"keepdims": 0}),
    ("ReduceLogSumExp", [MATRIX, whole(1)], [], [1], {}),
    ("Resize", [IMAGE, None, SCALES], [], [2], {"mode": "linear"}),
    ("Resize", [IMAGE, REGION, SCALES], [], [1],
     {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}),
    ("Resize", [IMAGE, None, None, whole(1, 2, 9, 5)], [3], [], {"mode": "nearest"}),
    ("Upsample", [IMAGE, SCALES], [], [1], {"opset": 9}),
    ("TopK", [MATRIX, whole(2)], [1], [], {"outputs": 2, "axis": 0}),
    ("OneHot", [whole(1, 0, 2), SIZE(4), floats(2)], [1, 2], [], {}),
    ("Clip", [MATRIX, np.float32(-0.5), np.float32(0.5)], [1, 2], [], {}),
    ("Clip", [whole(1, 5, 9), SIZE(2), SIZE(7)], [1, 2], [], {}),
    ("Dropout", [MATRIX, np.float32(0.5), np.bool_(False)], [1], [2], {}),
    ("CumSum", [MATRIX, SIZE(1)], [], [1], {}),
    ("ConstantOfShape", [whole(2, 3)], [0], [], {}),
    ("Range", [SIZE(1), SIZE(9), SIZE(2)], [0, 1, 2], [], {}),
    ("Range", [SIZE(9), SIZE(1), SIZE(-2)], [0, 1, 2], [], {}),
    ("Range", [np.float32(1), np.float32(9), np.float32(2.5)], [0, 1, 2], [], {}),
    ("NonMaxSuppression", scores(), [2, 3, 4], [], {}),
    ("DFT", [floats(2, 8, 1), SIZE(6)], [1], [], {}),
    ("DFT", [floats(2, 8, 1), SIZE(8), SIZE(1)], [1], [2], {"opset": 20}),
    ("STFT", SPECTRUM[:3], [2], [1], {}),
    ("STFT", [SIGNAL, SIZE(4), None, SIZE(8)], [], [1, 3], {}),
    ("HannWindow", [SIZE(8)], [0], [], {}),
    ("HammingWindow", [SIZE(7)], [0], [], {"periodic": 0}),
    ("BlackmanWindow", [SIZE(8)], [0], [], {}),
    ("Trilu", [MATRIX, SIZE(1)], [1], [], {}),
    ("CenterCropPad", [floats(6, 5), whole(4, 7)], [1], [], {}),
    ("Col2Im", [floats(1, 4, 9), whole(4, 4), whole(2, 2)], [1], [2], {}),
    ("AffineGrid", [floats(1, 2, 3), whole(1, 3, 4, 5)], [], [1], {"opset": 20}),
    ("MaxUnpool", UNPOOLED, [2], [], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    ("QuantizeLinear", [MATRIX, np.float32(0.01), np.uint8(100)], [1, 2], [], {}),
    ("DequantizeLinear", [CODES, np.float32(0.01), np.uint8(100)], [1, 2], [], {}),
    ("QLinearMatMul", PRODUCT, [], [1, 2, 4, 5, 6, 7], {}),
    ("MatMulInteger", [CODES, CODES, np.uint8(1), np.uint8(3)], [2, 3], [], {}),
    ("BatchNormalization", [floats(2, 3, 4), floats(3), floats(3), floats(3), floats(3) ** 2],
     [1, 2, 3, 4], [], {}),
    ("ReverseSequence", [floats(4, 2), whole(3, 2)], [1], [], {"time_axis": 0, "batch_axis": 1}),
]


class Network:
    """One operator, one of whose inputs has an origin."""

    def __init__(self):
        self.nodes, self.inputs, self.constants, self.given = [], [], [], {}

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))

    def input(self, name, array, shape=None):
        array = np.asarray(array)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        shape = array.shape if shape is None else shape
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        self.given[name] = array

    def add(self, kind, inputs, output, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))

    def made(self, name, array, origin):
        """A value of the network. False where an origin has no such values."""
        array = np.asarray(array)
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        is_number = array.dtype in (np.int64, np.float32)
        if origin == "input":
            self.input(name, array)
        elif origin == "data":
            self.input("p", array.astype(np.float32) * np.float32(-1))
            self.add("Neg", ["p"], "q")
            self.add("Cast", ["q"], name, to=kind)
        elif not is_number:
            self.constant("p", array.astype(np.int32))
            self.add("Cast", ["p"], name, to=kind)
            return origin == "constants"
        else:
            self.constant("rest", array - array.dtype.type(2))
            if origin == "constants":
                self.constant("two", array.dtype.type(2))
            else:
                self.input("batch", floats(1), ["batch"])
                self.input("p", floats(1, 2), [1, "H" if origin == "open" else 2])
                self.add("Shape", ["p"], "extents")
                self.constant("one", SIZE(1))
                self.add("Gather", ["extents", "one"], "extent")
                self.add("Cast", ["extent"], "two", to=kind)
            self.add("Add", ["rest", "two"], name)
        return True


def network(path, case, at, origin):
    """The inputs for it; None where an origin has no such values."""
    kind, inputs, _, _, attributes = case
    attributes = dict(attributes)
    outputs = [f"y{i}" for i in range(attributes.pop("outputs", 1))]
    opset = helper.make_opsetid("", attributes.pop("opset", 18))
    made = Network()
    for i, array in enumerate(inputs):
        if i == at and not made.made(f"i{i}", array, origin):
            return None
        if i != at and array is not None:
            (made.input if i == 0 else made.constant)(f"i{i}", array)
    if not made.inputs:
        made.input("unused", floats(1))
    names = ["" if array is None else f"i{i}" for i, array in enumerate(inputs)]
    nodes = [*made.nodes, helper.make_node(kind, names, outputs, **attributes)]
    graph = helper.make_graph(nodes, "g", made.inputs,
                              [helper.make_empty_tensor_value_info(y) for y in outputs],
                              made.constants)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), str(path))
    return made.given


def same(found, expected):
    def equal(a, b):
        size = TOLERANCE * (1 + np.max(np.abs(b), initial=0)) if b.dtype == np.float32 else 0
        return a.shape == b.shape and np.max(np.abs(a.astype(np.float64) - b), initial=0) <= size
    return len(found) == len(expected) and all(map(equal, found, map(np.asarray, expected)))


def check(program, case, folder):
    kind, _, data, refused, _ = case
    path = folder / "m.onnx"
    for at in sorted([*data, *refused]):
        for origin in ("constants", "shape", "open", "data", "input"):
            given = network(path, case, at, origin)
            if given is None:
                continue
            text = f"{kind}, input {at} of {origin}"
            try:
                found = program.run(path, given.values(), folder)
            except Refused as error:
                line = f"({kind}): input {at}: expected "
                said = line in str(error) and f"found 'i{at}', which " in str(error)
                may = at in refused and origin in ("data", "input")
                yield f"{text}: {str(error)[-160:]}", may and said
                continue
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            yield text, same(found, session.run(None, given)) and \
                (at in data or origin in ("constants", "shape", "open"))


def main(path, *operators):
    onnxruntime.set_default_logger_severity(3)
    program = Program(path)
    return run_checks([(case[0], lambda folder, case=case: check(program, case, folder))
                       for case in CASES if not operators or case[0] in operators])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
