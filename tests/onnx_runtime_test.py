#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that Halftone reads, and writes again, give the outputs of ONNX Runtime.

Usage: onnx_runtime_test.py PROGRAM

Resize by many scales, recurrent layers with all their outputs, and files of ONNX Runtime's own
quantizer. PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy onnx onnxruntime ai-edge-litert
"""

import functools
import itertools
import shutil
import sys

from python_test import Program, Refused, run_checks, skip

try:
    import numpy as np
    import onnx
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
    from onnx import TensorProto, helper, numpy_helper
    from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                          quantize_static)
except ImportError as error:
    skip(f"{error}; pip install numpy onnx onnxruntime ai-edge-litert")

SCALES = (0.3, 0.6, 0.7, 0.75, 0.9, 1.1, 1.2, 1.3, 1.7, 2.0, 2.5, 3.3)
MODES = (("nearest", "asymmetric", "floor"), ("linear", "half_pixel", "floor"),
         ("linear", "align_corners", "floor"), ("cubic", "half_pixel", "floor"),
         ("cubic", "align_corners", "floor"), ("nearest", "half_pixel", "round_prefer_floor"))
numbers = np.random.default_rng(3)


def normal(*shape):
    return numbers.standard_normal(shape).astype(np.float32)


def save(path, nodes, shape, outputs, constants):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)


def run_onnx(model, x):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options)
    return session.run(None, {"x": x})


def run_litert(model, x):
    interpreter = Interpreter(str(model), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def difference(found, expected):
    """The largest difference of elements; infinite for other shapes."""
    pairs = list(zip(found, expected, strict=True))
    if any(x.size != y.size for x, y in pairs):
        return float("inf")
    return max(float(np.abs(x.reshape(y.shape) - y).max(initial=0)) for x, y in pairs)


def compare(model, x, folder):
    """The largest differences of Halftone, and of what it writes, from ONNX Runtime."""
    expected = run_onnx(model, x)
    found = {"halftone": difference(program.run(model, [x], folder), expected)}
    for suffix, run in ((".onnx", run_onnx), (".tflite", run_litert)):
        written = folder / ("written" + suffix)
        try:
            program("convert", model, written)
        except Refused:
            continue
        found[suffix] = difference(run(written, x), expected)
    return found


def check_resize(mode, folder):
    kind, coordinates, rounding = mode
    node = helper.make_node("Resize", ["x", "", "s"], ["y"], mode=kind, nearest_mode=rounding,
                            coordinate_transformation_mode=coordinates)
    worst = {}
    for scale in SCALES:
        save(folder / "resize.onnx", [node], [1, 2, 10, 15], ["y"],
             {"s": np.array([1, 1, scale, scale], np.float32)})
        for place, error in compare(folder / "resize.onnx", normal(1, 2, 10, 15), folder).items():
            worst[place] = max(worst.get(place, 0), error)
    yield f"Resize {mode}: {worst}", len(worst) == 3 and max(worst.values()) <= 1e-5


def check_recurrent(kind, folder):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    names = ["y", "y_h", "y_c"][:3 if kind == "LSTM" else 2]
    for direction, mask in itertools.product(("forward", "reverse", "bidirectional"),
                                             range(1, 2 ** len(names))):
        directions = 2 if direction == "bidirectional" else 1
        outputs = [name if mask >> i & 1 else "" for i, name in enumerate(names)]
        constants = {"w": normal(directions, gates * 5, 3), "r": normal(directions, gates * 5, 5),
                     "b": normal(directions, 2 * gates * 5), "n": np.array([3, 2], np.int32)}
        node = helper.make_node(kind, ["x", "w", "r", "b", "n"], outputs, hidden_size=5,
                                direction=direction)
        save(folder / "layer.onnx", [node], [4, 2, 3], [o for o in outputs if o], constants)
        shutil.rmtree(folder / "out", ignore_errors=True)  # which has other outputs
        found = compare(folder / "layer.onnx", normal(4, 2, 3), folder, {".onnx": run_onnx})
        right = ".onnx" in found and max(found["halftone"], found[".onnx"]) <= 1e-5
        yield f"{kind} {direction} {outputs}: {found}", right


class Samples(CalibrationDataReader):
    def __init__(self):
        self.samples = iter([{"x": normal(1, 3, 8, 8)} for _ in range(16)])

    def get_next(self):
        return next(self.samples, None)


def save_float(path):
    def conv(x, w, y):
        return helper.make_node("Conv", [x, w], [y], pads=[1, 1, 1, 1])
    nodes = [conv("x", "w1", "a"), helper.make_node("LeakyRelu", ["a"], ["b"], alpha=0.1),
             conv("b", "w2", "c"), helper.make_node("Sigmoid", ["c"], ["d"]),
             helper.make_node("Add", ["b", "d"], ["e"]), helper.make_node("Mul", ["e", "d"], ["f"]),
             helper.make_node("Concat", ["e", "f"], ["g"], axis=1),
             helper.make_node("AveragePool", ["g"], ["h"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("GlobalAveragePool", ["h"], ["i"]),
             helper.make_node("Flatten", ["i"], ["j"]),
             helper.make_node("Gemm", ["j", "w3"], ["k"]),
             helper.make_node("Softmax", ["k"], ["y"], axis=-1)]
    save(path, nodes, [1, 3, 8, 8], ["y"],
         {"w1": normal(4, 3, 3, 3) / 4, "w2": normal(4, 4, 3, 3) / 5, "w3": normal(8, 5)})


def check_quantizer(form, folder):
    layout, activations, weights, steps = form
    save_float(folder / "float.onnx")
    quantize_static(folder / "float.onnx", folder / "codes.onnx", Samples(), quant_format=layout,
                    activation_type=activations, weight_type=weights)
    x = normal(1, 3, 8, 8)
    found = program.run(folder / "codes.onnx", [x], folder)
    worst = difference(found, run_onnx(folder / "codes.onnx", x))
    # Probabilities have steps of 2^-8 or 2^-16; a sum next to a threshold may end on its other side.
    yield f"{layout} {activations} {weights}: {worst:.1e}", worst <= 2 * steps


FORMS = ((QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, 2 ** -8),
         (QuantFormat.QOperator, QuantType.QInt8, QuantType.QInt8, 2 ** -8),
         (QuantFormat.QDQ, QuantType.QUInt16, QuantType.QInt8, 2 ** -15),
         (QuantFormat.QDQ, QuantType.QInt16, QuantType.QInt16, 2 ** -15))


def checks():
    for mode in MODES:
        yield f"Resize {mode}", functools.partial(check_resize, mode)
    for kind in ("RNN", "GRU", "LSTM"):
        yield kind, functools.partial(check_recurrent, kind)
    for form in FORMS:
        yield str(form), functools.partial(check_quantizer, form)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = Program(sys.argv[1])
    sys.exit(run_checks(checks()))
