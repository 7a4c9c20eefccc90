#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Halftone's operators inside ONNX Runtime give Halftone's own outputs, bit for bit.

Usage: onnxruntime_operators_test.py PROGRAM LIBRARY DATA

PROGRAM is halftone, LIBRARY libhalftone_onnxruntime.so; the folder DATA, or that in HALFTONE_DATA,
has networks in DATA/models. Skips with exit code 77 if a package is absent: pip install numpy
onnxruntime onnx

Files with an operator for each layer are compared where the other operators are the same in both:
moves, additions, products and comparisons, which IEEE 754 rounds in one way. Files with one operator
for the network are compared whatever it has.
"""

import concurrent.futures
import pathlib
import sys

from hosted_networks import few_bits, is_known, network_checks, raised, same_bits
from python_test import Program, Refused, networks_of, run_checks, skip

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as error:
    skip(f"{error}; pip install numpy onnxruntime onnx")

# Operators that have one right answer.
EXACT = {"Add", "Sub", "Mul", "Div", "Relu", "Clip", "Transpose", "Reshape", "Slice", "Pad",
         "Concat", "Split", "Squeeze", "Unsqueeze", "Identity", "MaxPool", "Cast", "Constant"}


def session_of(path, threads="1"):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    options.add_session_config_entry("halftone.threads", threads)
    options.register_custom_ops_library(library)
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def inputs_of(session, count):
    numbers = np.random.default_rng(7)
    shapes = [[extent if isinstance(extent, int) else count for extent in value.shape]
              for value in session.get_inputs()]
    return [numbers.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def run(session, inputs):
    return session.run(None, dict(zip([value.name for value in session.get_inputs()], inputs)))


def check_network(model, recipe, text, folder):
    layers, whole = folder / "layers.onnx", folder / "whole.onnx"
    program("convert", model, folder / "float.onnx")
    float_session = session_of(folder / "float.onnx")
    samples = inputs_of(float_session, 4)
    names = [value.name for value in float_session.get_inputs()]
    np.savez(folder / "data.npz", **dict(zip(names, samples)))
    try:
        few_bits(program, model, layers, text)
    except Refused as error:
        yield f"{model.name}, {recipe}: {error}", is_known(error)
        return
    program("convert", layers, whole, "--one-operator")
    operators = {node.op_type for node in onnx.load(layers).graph.node if not node.domain}
    session, whole_session = session_of(layers), session_of(whole)
    for count in (1, 3, 1):
        inputs = inputs_of(session, count)
        expected = program.run(layers, inputs, folder, "--float-order", "fixed")
        name = f"{model.name}, {recipe}, batch {inputs[0].shape[0]}"
        yield f"{name}: one operator", same_bits(run(whole_session, inputs), expected)
        found = run(session, inputs)
        if operators <= EXACT:
            yield f"{name}: an operator for each layer", same_bits(found, expected)
        else:
            shapes = [x.shape for x in found] == [x.shape for x in expected]
            yield f"{name}: an operator for each layer, shapes only ({operators - EXACT})", shapes


def check_threads(folder):
    """Runs of one session in several threads, of several shapes, give what one thread gives."""
    model = pathlib.Path(networks[0]).parent / "mnist_mlp_700.onnx"
    numbers = np.random.default_rng(3)
    np.save(folder / "x.npy", numbers.uniform(0, 1, (16, 784)).astype(np.float32))
    program("quantize", model, "-o", folder / "q.onnx", "--data", folder / "x.npy", "-q",
            "--weight-bits", "2", "--activation-bits", "2")
    session = session_of(folder / "q.onnx", "2")
    # More shapes than plans are kept.
    inputs = [numbers.uniform(0, 1, (1 + i % 12, 784)).astype(np.float32) for i in range(48)]
    expected = [run(session, [x]) for x in inputs]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda x: run(session, [x]), inputs))
    yield "48 runs in four threads", all(map(same_bits, found, expected))


def check_errors(folder):
    model = pathlib.Path(networks[0]).parent / "mnist_mlp_700.onnx"
    np.save(folder / "x.npy", np.random.default_rng(1).random((4, 784), np.float32))
    program("quantize", model, "-o", folder / "q.onnx", "--data", folder / "x.npy", "-q")
    text = raised(lambda: session_of(folder / "q.onnx", "many"))
    yield text, "halftone.threads: expected a whole number of 1 or more, found 'many'" in text
    broken = onnx.load(folder / "q.onnx")
    layer = next(node for node in broken.graph.node if node.domain == "ai.halftone")
    for attribute in layer.attribute:
        if attribute.name == "granularity":
            attribute.s = b"row"
    onnx.save(broken, folder / "broken.onnx")
    session = session_of(folder / "broken.onnx")
    text = raised(lambda: run(session, [np.zeros((1, 784), np.float32)]))
    yield text, f"{layer.name}" in text and "granularity" in text and "row" in text
    program("convert", folder / "q.onnx", folder / "whole.onnx", "--one-operator")
    broken = onnx.load(folder / "whole.onnx")
    broken.graph.node[0].attribute[0].s = b"\x01\x02"
    onnx.save(broken, folder / "broken.onnx")
    text = raised(lambda: session_of(folder / "broken.onnx"))
    yield text, "network: expected an ONNX model in the operator, found 2 other bytes" in text


def checks():
    yield "threads", check_threads
    yield "errors", check_errors
    yield from network_checks(networks, check_network)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, library = Program(sys.argv[1]), sys.argv[2]
    networks = networks_of(sys.argv[3])
    sys.exit(run_checks(checks()))
