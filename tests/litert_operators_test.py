#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Halftone's operators inside LiteRT give Halftone's own outputs, bit for bit.

Usage: litert_operators_test.py PROGRAM LIBRARY DATA

PROGRAM is halftone, LIBRARY libhalftone_litert.so; the folder DATA, or that in HALFTONE_DATA, has
networks in DATA/models. Skips with exit code 77 if a package is absent: pip install numpy
flatbuffers ai-edge-litert

Files with an operator for each layer are compared where the other operators are the same in both:
moves, additions, products and comparisons, which IEEE 754 rounds in one way. Files with one operator
for the network are compared whatever it has.
"""

import copy
import functools
import sys

from hosted_networks import few_bits, is_known, network_checks, raised, same_bits
from python_test import Program, Refused, networks_of, run_checks
import tflite_files as tf
import tflite_variables_test as variables
from tflite_files import np, schema
from flatbuffers import flexbuffers
from ai_edge_litert.interpreter import Interpreter, load_delegate

# Operators that have one right answer.
EXACT = {"ADD", "SUB", "MUL", "DIV", "RELU", "RELU6", "TRANSPOSE", "RESHAPE", "SLICE", "PAD", "PADV2",
         "STRIDED_SLICE", "CONCATENATION", "SPLIT", "SQUEEZE", "EXPAND_DIMS", "MAX_POOL_2D", "CAST",
         "SHAPE", "MINIMUM", "MAXIMUM", "CUSTOM"}
CODES = {number: name for name, number in vars(schema.BuiltinOperator).items()
         if isinstance(number, int)}


def interpreter_of(path, threads="1"):
    delegate = load_delegate(library, {"threads": threads} if threads else {})
    return Interpreter(str(path), experimental_delegates=[delegate])


def unpacked(path):
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(path.read_bytes(), 0))


def packed(table, path):
    file = tf.File()
    file.table = table
    return file.write(path)


def operators_of(path):
    table = unpacked(path)
    return {CODES[table.operatorCodes[op.opcodeIndex].builtinCode]
            for op in table.subgraphs[0].operators}


def inputs_of(interpreter, count):
    numbers = np.random.default_rng(7)
    shapes = [[count if extent == -1 else extent for extent in detail["shape_signature"]]
              for detail in interpreter.get_input_details()]
    return [numbers.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def run(interpreter, inputs):
    for detail, x in zip(interpreter.get_input_details(), inputs):
        interpreter.resize_tensor_input(detail["index"], x.shape)
    interpreter.allocate_tensors()
    return tf.invoke(interpreter, inputs)


def check_network(model, recipe, text, folder):
    layers, whole = folder / "layers.tflite", folder / "whole.tflite"
    program("convert", model, folder / "float.tflite")
    float_interpreter = Interpreter(str(folder / "float.tflite"))
    names = [detail["name"] for detail in float_interpreter.get_input_details()]
    np.savez(folder / "data.npz", **dict(zip(names, inputs_of(float_interpreter, 4))))
    try:
        few_bits(program, model, layers, text)
    except Refused as error:
        yield f"{model.name}, {recipe}: {error}", is_known(error)
        return
    program("convert", layers, whole, "--one-operator")
    others = operators_of(layers) - EXACT
    interpreter, whole_interpreter = interpreter_of(layers), interpreter_of(whole)
    for count in (1, 3, 1):
        inputs = inputs_of(interpreter, count)
        expected = program.run(layers, inputs, folder, "--float-order", "fixed")
        name = f"{model.name}, {recipe}, batch {inputs[0].shape[0]}"
        yield f"{name}: one operator", same_bits(run(whole_interpreter, inputs), expected)
        found = run(interpreter, inputs)
        if others:
            shapes = [x.shape for x in found] == [x.shape for x in expected]
            yield f"{name}: an operator for each layer, shapes only ({others})", shapes
        else:
            yield f"{name}: an operator for each layer", same_bits(found, expected)


def check_states(name, build, folder):
    """The one operator leaves its states to LiteRT's variables."""
    path = build(folder)
    program("convert", path, folder / "whole.tflite", "--one-operator")
    steps = np.random.default_rng(5).uniform(-1, 1, (variables.STEPS, 1, 3)).astype(np.float32)
    expected = variables.invoked(path, steps)
    for threads in ("1", None):
        interpreter = interpreter_of(folder / "whole.tflite", threads)
        found = [run(interpreter, [x]) for x in steps]
        yield f"{name}, threads {threads}", all(map(same_bits, found, expected))
    back = program.run(folder / "whole.tflite", [steps[:, 0]], folder, "--stream")
    yield f"{name}, read again", all(
        same_bits([y[i : i + 1] for y in back], expected[i]) for i in range(len(steps)))


def refusal(path):
    def prepare():
        interpreter_of(path).allocate_tensors()
    return raised(prepare)


def check_options(folder):
    text = raised(lambda: load_delegate(library, {"threads": "many"}))
    yield text, "halftone: threads: expected a whole number of 1 or more, found 'many'" in text
    text = raised(lambda: load_delegate(library, {"cores": "2"}))
    yield text, "halftone: option 'cores': expected 'threads'" in text


def check_errors(folder):
    model = next(path for path in networks if path.name == "mnist_mlp_700.onnx")
    np.save(folder / "x.npy", np.random.default_rng(1).random((4, 784), np.float32))
    program("quantize", model, "-o", folder / "q.tflite", "--data", folder / "x.npy", "-q")
    program("convert", folder / "q.tflite", folder / "whole.tflite", "--one-operator")

    def edited(edit, path="q.tflite"):
        table = unpacked(folder / path)
        edit(table, next(op for op in table.subgraphs[0].operators if op.customOptions is not None))
        return refusal(packed(table, folder / "broken.tflite"))

    def cut(table, op):
        op.customOptions = op.customOptions[:-4]

    def later(table, op):
        fields = flexbuffers.Loads(op.customOptions.tobytes())
        op.customOptions = np.frombuffer(flexbuffers.Dumps({**fields, "version": 99}), np.uint8)

    def rename(table, op):
        table.operatorCodes[op.opcodeIndex].customCode = "HalftoneDream"

    def strange(table, op):
        table.subgraphs[0].tensors[op.outputs[0]].type = schema.TensorType.COMPLEX64

    def more(table, op):
        op.inputs = [*op.inputs, op.inputs[0]]

    def beside(table, op):
        code = copy.copy(table.operatorCodes[op.opcodeIndex])
        code.customCode = "HalftoneNetwork"
        table.operatorCodes.append(code)
        op.opcodeIndex = len(table.operatorCodes) - 1

    layer = unpacked(folder / "q.tflite").subgraphs[0]
    name = layer.tensors[layer.operators[0].outputs[0]].name.decode()
    text = edited(cut)
    yield text, f"halftone: {name}: operator 0 (CUSTOM): options: expected FlexBuffers" in text
    text = edited(later)
    yield text, "version" in text and "99" in text
    text = edited(beside)
    yield text, "a network as one operator: expected no layers beside it" in text
    text = edited(rename)
    yield text, "halftone: operator 'HalftoneDream': this version has no such operator" in text
    text = edited(strange)
    yield text, "elements of LiteRT's type 8: expected numbers of 8 to 64 bits" in text
    text = edited(cut, "whole.tflite")
    yield text, "halftone: " in text and "damaged: the tables of the file are inconsistent" in text
    text = edited(more, "whole.tflite")
    yield text, "expected 1 inputs, which the network has, found 2" in text


def checks():
    yield "options", check_options
    yield "errors", check_errors
    for name, build in (("two variables", variables.delay_line), ("read twice", variables.read_twice),
                        ("counter", lambda folder: variables.counter(
                            folder, variables.Network, variables.FIRST))):
        yield name, functools.partial(check_states, name, build)
    yield from network_checks(networks, check_network)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    program, library = Program(sys.argv[1]), sys.argv[2]
    networks = networks_of(sys.argv[3])
    sys.exit(run_checks(checks()))
