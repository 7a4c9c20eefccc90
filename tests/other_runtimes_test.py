#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that Halftone writes load in ONNX Runtime and LiteRT and give Halftone's own outputs.

Usage: other_runtimes_test.py PROGRAM DATA

PROGRAM is halftone. The folder DATA, or that in HALFTONE_DATA, has networks in DATA/models. Skips
with exit code 77 if a package or the folder is absent: pip install numpy onnxruntime ai-edge-litert
"""

import functools
import sys

from python_test import Program, networks_of, run_checks, skip

# Float networks differ by the order of sums in float32: relative to 1 + |y|.
TOLERANCE = 1e-4

# Conversions to operators of Halftone, because the format has none: ONNX's LSTM does not clip cells.
WITHOUT_EQUIVALENT = {("mnist_lstm.tflite", ".onnx")}

try:
    import numpy as np
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    skip(f"{error}; pip install numpy onnxruntime ai-edge-litert")


def random_inputs(details):
    """Inputs of (name, shape, type): fractions, or codes of 8 bits."""
    numbers = np.random.default_rng(5)
    inputs = []
    for _, shape, dtype in details:
        if dtype == np.float32:
            inputs.append(numbers.uniform(-1, 1, shape).astype(dtype))
        else:
            limits = np.iinfo(dtype)
            inputs.append(numbers.integers(limits.min, limits.max + 1, shape).astype(dtype))
    return inputs


def run_litert(model, inputs):
    reference = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(str(model), experimental_op_resolver_type=reference)
    interpreter.allocate_tensors()
    for detail, x in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], x.reshape(detail["shape"]))
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def litert_operators(model):
    interpreter = Interpreter(
        str(model), experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    interpreter.allocate_tensors()
    return [operator["op_name"] for operator in interpreter._get_ops_details()]


def litert_inputs(model):
    details = Interpreter(str(model)).get_input_details()
    return [(d["name"], d["shape"], d["dtype"]) for d in details]


def run_onnx(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options)
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs)))


def difference(found, expected):
    """The largest difference of elements, relative to 1 + |y|."""
    if len(found) != len(expected):
        return float("inf")
    worst = 0.0
    for x, y in zip(found, expected):
        x, y = x.astype(np.float64).reshape(-1), y.astype(np.float64).reshape(-1)
        if x.size != y.size:
            return float("inf")
        worst = max(worst, float((np.abs(x - y) / (1 + np.abs(y))).max(initial=0)))
    return worst


def check_float(model, folder):
    """Yields a line for each format; the second element says whether it is right."""
    program("convert", model, folder / "written.tflite")
    inputs = random_inputs(litert_inputs(folder / "written.tflite"))
    expected = program.run(model, inputs, folder, "--float-order", "fixed")
    for suffix, run in ((".onnx", run_onnx), (".tflite", run_litert)):
        if (model.name, suffix) in WITHOUT_EQUIVALENT:
            continue
        written = folder / ("written" + suffix)
        program("convert", model, written)
        worst = difference(run(written, inputs), expected)
        yield f"{model.name} as {suffix}: {worst:.1e}", worst <= TOLERANCE


def check_codes(model, folder):
    """An integer network stays one, and gives the same codes."""
    written = folder / "written.tflite"
    program("convert", model, written)
    inputs = random_inputs(litert_inputs(model))
    expected = run_litert(model, inputs)
    codes = all(np.array_equal(x, y) for x, y in zip(run_litert(written, inputs), expected))
    before = litert_operators(model)
    after = litert_operators(written)
    kept = all(after.count(name) <= before.count(name) for name in ("QUANTIZE", "DEQUANTIZE"))
    yield f"{model.name} as .tflite: {'the same' if codes else 'other'} codes, {after}", codes and kept
    own = program.run(model, inputs, folder, "--float-order", "fixed")
    worst = max(int(np.abs(x.astype(int) - y.astype(int)).max()) for x, y in zip(own, expected))
    yield f"{model.name}: Halftone's codes differ by at most {worst}", worst == 0


def checks(data):
    for model in networks_of(data):
        check = check_codes if model.stem.endswith("_int8") else check_float
        yield model.name, functools.partial(check, model)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program = Program(sys.argv[1])
    sys.exit(run_checks(checks(sys.argv[2])))
