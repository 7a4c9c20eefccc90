#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""TFLite networks with variables remember from run to run as in LiteRT.

Usage: tflite_variables_test.py PROGRAM

PROGRAM is halftone. Skips with exit code 77 if a package is absent:
pip install numpy flatbuffers ai-edge-litert
"""

import sys

from python_test import Program, run_checks
import tflite_files as tf
from tflite_files import Scale, np, schema

STEPS = 5
numbers = np.random.default_rng(8)


class Network:
    """A file with variables that its operators read and assign."""

    def __init__(self, first=()):
        """`first` are the names and values that a subgraph assigns before the first run."""
        self.file = tf.File()
        self.graph = self.file.main
        if first:
            options = schema.CallOnceOptionsT()
            options.initSubgraphIndex = 1
            graph = self.file.subgraph()
            self.graph.op("CALL_ONCE", [], [], options)
            for name, value in first:
                self.assign(name, self.first(graph, value), graph)

    def first(self, graph, value):
        return graph.constant("first", value)

    def handle(self, name, graph=None):
        graph = graph or self.graph
        options = schema.VarHandleOptionsT()
        options.container, options.sharedName = "", name
        handle = graph.tensor(f"{name}/handle", [], schema.TensorType.RESOURCE)
        graph.op("VAR_HANDLE", [], [handle], options)
        return handle

    def read(self, name, shape, dtype=np.float32, scale=None):
        value = self.graph.tensor(f"{name}/read", shape, dtype, scale)
        self.graph.op("READ_VARIABLE", [self.handle(name)], [value],
                      schema.ReadVariableOptionsT())
        return value

    def assign(self, name, value, graph=None):
        (graph or self.graph).op("ASSIGN_VARIABLE", [self.handle(name, graph), value], [],
                                 schema.AssignVariableOptionsT())

    def add(self, a, b, shape, dtype=np.float32, scale=None):
        value = self.graph.tensor(f"sum{len(self.graph.table.tensors)}", shape, dtype, scale)
        self.graph.op("ADD", [a, b], [value], schema.AddOptionsT())
        return value

    def write(self, outputs, folder):
        self.graph.table.outputs = outputs
        return self.file.write(folder / "m.tflite")


class Computed(Network):
    """The first value is the negative of a constant, which the subgraph computes."""

    def first(self, graph, value):
        result = graph.tensor("computed", value.shape, np.float32)
        graph.op("NEG", [graph.constant("first", value)], [result], schema.NegOptionsT())
        return result


FIRST = np.array([[1, 2, 3]], np.float32)


def counter(folder, kind, first):
    """y = v = v + x."""
    net = kind([("v", first)])
    x = net.graph.input("x", [1, 3], np.float32)
    y = net.add(net.read("v", [1, 3]), x, [1, 3])
    net.assign("v", y)
    return net.write([y], folder)


def read_twice(folder):
    """The variable before and after its assignment; it is an output as it was."""
    net = Network([("v", FIRST)])
    x = net.graph.input("x", [1, 3], np.float32)
    before = net.read("v", [1, 3])
    net.assign("v", x)
    after = net.read("v", [1, 3])
    return net.write([before, net.add(before, after, [1, 3])], folder)


def delay_line(folder):
    """Two variables: b = a, a = x, so b is x two runs ago."""
    net = Network([("a", 0 * FIRST), ("b", FIRST)])
    x = net.graph.input("x", [1, 3], np.float32)
    a, b = net.read("a", [1, 3]), net.read("b", [1, 3])
    net.assign("a", x)
    net.assign("b", a)
    return net.write([net.add(b, x, [1, 3])], folder)


def integers(folder):
    """A variable of codes."""
    scale = Scale(1 / 16, 3)
    net = Network([("v", np.array([[7, -9, 30]], np.int8))])
    x = net.graph.input("x", [1, 3], np.int8, scale)
    y = net.add(net.read("v", [1, 3], np.int8, scale), x, [1, 3], np.int8, scale)
    net.assign("v", y)
    return net.write([y], folder)


def streaming(folder):
    """The last 3 frames of 4 numbers, in front of a layer: a keyword spotter's first one."""
    net = Network([("frames", np.zeros((1, 3, 4), np.float32))])
    graph = net.graph
    x = graph.input("x", [1, 1, 4], np.float32)
    joined = graph.tensor("joined", [1, 4, 4], np.float32)
    options = schema.ConcatenationOptionsT()
    options.axis = 1
    graph.op("CONCATENATION", [net.read("frames", [1, 3, 4]), x], [joined], options)
    kept = graph.tensor("kept", [1, 3, 4], np.float32)
    graph.op("SLICE", [joined, graph.constant("begin", np.array([0, 1, 0], np.int32)),
                       graph.constant("size", np.array([1, 3, 4], np.int32))], [kept],
             schema.SliceOptionsT())
    net.assign("frames", kept)
    flat = graph.tensor("flat", [1, 16], np.float32)
    reshape = schema.ReshapeOptionsT()
    reshape.newShape = [1, 16]
    graph.op("RESHAPE", [joined, graph.constant("shape", np.array([1, 16], np.int32))], [flat],
             reshape)
    y = graph.tensor("y", [1, 6], np.float32)
    w = graph.constant("w", numbers.uniform(-1, 1, (6, 16)).astype(np.float32))
    graph.op("FULLY_CONNECTED", [flat, w, -1], [y], schema.FullyConnectedOptionsT())
    return net.write([y], folder)


def svdf(folder, rank=2, units=3, runs=4):
    """A layer that remembers what its filters gave."""
    net = Network()
    graph = net.graph
    x = graph.input("x", [1, 5], np.float32)
    state = graph.tensor("state", [1, rank * units * runs], np.float32)
    graph.table.tensors[state].isVariable = True
    options = schema.SVDFOptionsT()
    options.rank, options.fusedActivationFunction = rank, schema.ActivationFunctionType.RELU
    weights = [graph.constant(name, numbers.uniform(-1, 1, shape).astype(np.float32))
               for name, shape in (("features", (rank * units, 5)), ("time", (rank * units, runs)),
                                   ("bias", units))]
    y = graph.tensor("y", [1, units], np.float32)
    graph.op("SVDF", [x, *weights, state], [y], options)
    return net.write([y], folder)


def invoked(path, steps):
    """What LiteRT gives, run after run."""
    interpreter = tf.interpreter_of(path)
    return [[y.copy() for y in tf.invoke(interpreter, [x])] for x in steps]


def check(program, name, build, folder):
    path = build(folder)
    detail = tf.interpreter_of(path).get_input_details()[0]
    shape = [STEPS, *detail["shape"]]
    if detail["dtype"] == np.int8:
        steps = numbers.integers(-40, 40, shape).astype(np.int8)
    else:
        steps = numbers.uniform(-1, 1, shape).astype(np.float32)
    expected = invoked(path, steps)
    # n eps sum |w| |x| of a layer of 16 inputs; of SVDF's 5 inputs, 4 runs and 2 filters.
    tolerance = 0 if detail["dtype"] == np.int8 else 40 * 40 * 6e-8

    def same(found, wanted):
        return found.shape == wanted.shape and np.max(np.abs(
            found.astype(np.float64) - wanted.astype(np.float64))) <= tolerance

    whole = np.concatenate(list(steps), axis=1 if name == "streaming" else 0)
    for form in ("m.tflite", "again.tflite", "again.circle", "again.onnx"):
        if form != "m.tflite":
            program("convert", path, folder / form)
        once = program.run(folder / form, [steps[0]], folder)
        yield f"{name}, {form}: the first run", all(map(same, once, expected[0]))
        found = program.run(folder / form, [whole], folder, "--stream")
        wanted = [np.concatenate([run[i] for run in expected]) for i in range(len(expected[0]))]
        yield f"{name}, {form}: run after run", len(found) == len(wanted) and all(
            map(same, found, wanted))
    opened = invoked(folder / "again.tflite", steps)
    yield f"{name}: what is written, in LiteRT", all(
        all(map(same, *runs)) for runs in zip(opened, expected))


def check_quantized(program, folder):
    """A fitted network remembers, too: the samples of a fit begin anew, each of them."""
    path = streaming(folder)
    x = numbers.uniform(-1, 1, (64, 1, 4)).astype(np.float32)
    np.save(folder / "x.npy", x)
    expected = np.concatenate([y[0] for y in invoked(path, x[:, None])])
    for form in ("q.tflite", "q.onnx", "q.circle"):
        program("quantize", path, "-o", folder / form, "--data", folder / "x.npy",
                "--weight-bits", "8", "--activation-bits", "none")
        program("eval", folder / form, "--data", folder / "x.npy", "--reference", path)
        found = program.run(folder / form, [x.reshape(1, 64, 4)], folder, "--stream")[0]
        error = np.sqrt(np.mean((found - expected) ** 2) / np.mean(expected**2))
        yield f"quantized as {form}: {error:.1e}", error < 0.05


def main(path):
    program = Program(path)
    networks = {
        "counter": lambda folder: counter(folder, Network, FIRST),
        "counter from zeros": lambda folder: counter(folder, Network, 0 * FIRST),
        "counter from what is computed": lambda folder: counter(folder, Computed, FIRST),
        "read twice": read_twice, "delay line": delay_line, "integers": integers,
        "streaming": streaming, "SVDF": svdf,
    }
    checks = [(name, lambda folder, name=name, build=build: check(program, name, build, folder))
              for name, build in networks.items()]
    checks.append(("quantized", lambda folder: check_quantized(program, folder)))
    return run_checks(checks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
