#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite layers of floats with weights of 8 bits ("hybrid", "dynamic range").

Usage: tflite_hybrid_test.py PROGRAM

PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert

Halftone computes what the same layer with the numbers of these weights computes, to the bit, and in
files that it writes in another order of sums: n eps sum |w| |x|. LiteRT also rounds each input of a
layer to 8 bits, in steps of max |x| / 127 at most: a sum differs by max |x| / 254 sum |w| at most.
"""

import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import Scale, np, schema

numbers = np.random.default_rng(9)


def options(kind, **fields):
    made = getattr(schema, kind + "OptionsT")()
    for name, value in fields.items():
        setattr(made, name, value)
    return made


class Layer:
    """A file with one layer, whose weights are codes, or the numbers that they represent."""

    def __init__(self, hybrid):
        self.numbers = np.random.default_rng(10)  # the same for both
        self.hybrid = hybrid
        self.file = tf.File()
        self.graph = self.file.main
        self.most = 0.0  # sum |w| of an output

    def weights(self, shape, axis=None, inputs=()):
        """With a scale per index of `axis`, or one. `inputs` are the axes that a sum runs over."""
        codes = self.numbers.integers(-127, 128, shape).astype(np.int8)
        count = 1 if axis is None else shape[axis]
        scale = Scale(np.linspace(0.5, 1, count) / 127, 0, axis or 0)
        values = scale.numbers(codes)
        if inputs:
            self.most = float(np.abs(values).sum(axis=inputs).max())
        if self.hybrid:
            return self.graph.constant("w", codes, scale)
        return self.graph.constant("w", values)

    def bias(self, count):
        return self.graph.constant("b", self.numbers.normal(size=count).astype(np.float32))

    def write(self, kind, inputs, shape, made, folder):
        y = self.graph.tensor("y", shape, np.float32)
        self.graph.op(kind, inputs, [y], made)
        self.graph.table.outputs = [y]
        return self.file.write(folder / f"{'hybrid' if self.hybrid else 'float'}.tflite")


def fully_connected(layer, folder, axis, asymmetric):
    x = layer.graph.input("x", [3, 20], np.float32)
    inputs = [x, layer.weights((6, 20), axis, (1,)), layer.bias(6)]
    made = options("FullyConnected", asymmetricQuantizeInputs=asymmetric)
    return layer.write("FULLY_CONNECTED", inputs, [3, 6], made, folder)


def conv(layer, folder, axis):
    x = layer.graph.input("x", [1, 7, 6, 5], np.float32)
    inputs = [x, layer.weights((6, 3, 3, 5), axis, (1, 2, 3)), layer.bias(6)]
    made = options("Conv2D", padding=0, strideH=1, strideW=1)
    return layer.write("CONV_2D", inputs, [1, 7, 6, 6], made, folder)


def depthwise(layer, folder):
    x = layer.graph.input("x", [1, 7, 6, 5], np.float32)
    inputs = [x, layer.weights((1, 3, 3, 5), 3, (0, 1, 2)), layer.bias(5)]
    made = options("DepthwiseConv2D", padding=0, strideH=1, strideW=1, depthMultiplier=1)
    return layer.write("DEPTHWISE_CONV_2D", inputs, [1, 7, 6, 5], made, folder)


def matmul(layer, folder):
    x = layer.graph.input("x", [2, 3, 8], np.float32)
    inputs = [x, layer.weights((2, 8, 6), None, (1,))]
    return layer.write("BATCH_MATMUL", inputs, [2, 3, 6], options("BatchMatMul"), folder)


def embedding(layer, folder):
    rows = layer.graph.input("x", [4], np.int32)
    return layer.write("EMBEDDING_LOOKUP", [rows, layer.weights((10, 8))], [4, 8], None, folder)


def lstm(layer, folder, steps=6, units=5, features=4):
    graph = layer.graph
    x = graph.input("x", [steps, 2, features], np.float32)
    inputs = [x] + [layer.weights((units, features)) for _ in range(4)]
    inputs += [layer.weights((units, units)) for _ in range(4)] + [-1] * 3
    inputs += [layer.bias(units) for _ in range(4)] + [-1, -1]
    for name in ("hidden", "cell"):
        inputs.append(graph.tensor(name, [2, units], np.float32))
        graph.table.tensors[inputs[-1]].isVariable = True
    made = options("UnidirectionalSequenceLSTM", timeMajor=True,
                   fusedActivationFunction=schema.ActivationFunctionType.TANH)
    return layer.write("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs + [-1] * 4, [steps, 2, units], made,
                       folder)


def check(program, name, build, folder):
    paths = {}
    for hybrid in (False, True):
        layer = Layer(hybrid)
        paths[hybrid] = build(layer, folder)
    detail = tf.interpreter_of(paths[True]).get_input_details()[0]
    if detail["dtype"] == np.int32:
        x = np.array([3, 9, 0, 3], np.int32)
    else:
        x = numbers.uniform(-1, 1, detail["shape"]).astype(np.float32)
    found = program.run(paths[True], [x], folder)[0]
    yield f"{name}: as with numbers", np.array_equal(
        found, program.run(paths[False], [x], folder)[0])
    for form in ("again.tflite", "again.onnx"):
        program("convert", paths[True], folder / form)
        off = np.max(np.abs(program.run(folder / form, [x], folder)[0] - found))
        yield f"{name}: {form} {off:.1e}", off <= 45 * 6e-8 * layer.most
    if layer.most > 0:
        off = np.max(np.abs(tf.run_litert(paths[True], [x])[0] - found))
        bound = layer.most * (np.abs(x).max() / 254 + 45 * 6e-8)
        yield f"{name}: LiteRT {off:.1e} of {bound:.1e}", off <= bound


def main(path):
    program = Program(path)
    layers = {"BATCH_MATMUL": matmul, "DEPTHWISE_CONV_2D": depthwise,
              "EMBEDDING_LOOKUP": embedding, "LSTM": lstm}
    for axis in (None, 0):
        layers[f"CONV_2D {axis}"] = lambda *a, axis=axis: conv(*a, axis)
        for asymmetric in (False, True):
            layers[f"FULLY_CONNECTED {axis} {asymmetric}"] = (
                lambda *a, axis=axis, asymmetric=asymmetric: fully_connected(*a, axis, asymmetric))
    return run_checks([(name, lambda folder, name=name, build=build:
                        check(program, name, build, folder)) for name, build in layers.items()])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
