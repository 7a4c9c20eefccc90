# SPDX-License-Identifier: Apache-2.0
"""Writes small TFLite files, for tests of what Halftone reads. Runs them in LiteRT."""

from python_test import skip

try:
    import flatbuffers
    import numpy as np
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as error:
    skip(f"{error}; pip install numpy flatbuffers ai-edge-litert")

TYPES = {np.dtype(name): getattr(schema.TensorType, name.upper())
         for name in ("float32", "float16", "int8", "uint8", "int16", "int32", "int64", "bool")}


class Scale:
    """x = scale (q - zero), with one scale or one per index of an axis."""

    def __init__(self, scale, zero=0, axis=0):
        self.scale = np.atleast_1d(np.asarray(scale, np.float32))
        self.zero = np.broadcast_to(np.asarray(zero, np.int64), self.scale.shape)
        self.axis = axis

    def along(self, array):
        """The scales and zero points, broadcast along the axis of an array."""
        if self.scale.size == 1:
            return self.scale, self.zero
        shape = [-1 if i == self.axis else 1 for i in range(np.ndim(array))]
        return self.scale.reshape(shape), self.zero.reshape(shape)

    def codes(self, numbers, dtype):
        scale, zero = self.along(numbers)
        limits = np.iinfo(dtype)
        return np.clip(np.rint(numbers / scale) + zero, limits.min, limits.max).astype(dtype)

    def numbers(self, codes):
        scale, zero = self.along(codes)
        return ((codes.astype(np.float64) - zero) * scale).astype(np.float32)


class Subgraph:
    """Tensors and operators. A tensor is its index."""

    def __init__(self, file):
        self.file = file
        self.table = schema.SubGraphT()
        self.table.tensors, self.table.operators = [], []
        self.table.inputs, self.table.outputs = [], []

    def tensor(self, name, shape, dtype, scale=None, data=None, signature=None):
        """A tensor; `data` are the bytes of a constant. `dtype` is of NumPy, or a TensorType."""
        tensor = schema.TensorT()
        tensor.name, tensor.shape = name, list(shape)
        tensor.type = dtype if isinstance(dtype, int) else TYPES[np.dtype(dtype)]
        tensor.shapeSignature = signature
        tensor.buffer = 0 if data is None else self.file.buffer(data)
        tensor.hasRank = True
        if scale is not None:
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = scale.scale
            tensor.quantization.zeroPoint = scale.zero
            tensor.quantization.quantizedDimension = scale.axis
        self.table.tensors.append(tensor)
        return len(self.table.tensors) - 1

    def constant(self, name, array, scale=None):
        array = np.asarray(array)
        return self.tensor(name, array.shape, array.dtype, scale, array.tobytes())

    def input(self, *arguments, **more):
        self.table.inputs.append(self.tensor(*arguments, **more))
        return self.table.inputs[-1]

    def op(self, code, inputs, outputs, options=None, custom=None):
        op = schema.OperatorT()
        op.opcodeIndex = self.file.code(code)
        op.inputs, op.outputs = list(inputs), list(outputs)
        if options is not None:
            name = type(options).__name__[:-1]
            op.builtinOptionsType = getattr(schema.BuiltinOptions, name)
            op.builtinOptions = options
        if custom is not None:
            op.customOptions = np.frombuffer(custom, np.uint8)
        self.table.operators.append(op)


class File:
    """The first subgraph is the network."""

    def __init__(self):
        self.table = schema.ModelT()
        self.table.version = 3
        self.table.buffers = [schema.BufferT()]
        self.table.operatorCodes, self.table.subgraphs = [], []
        self.codes = {}
        self.main = self.subgraph()

    def subgraph(self):
        graph = Subgraph(self)
        self.table.subgraphs.append(graph.table)
        return graph

    def buffer(self, data):
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(data, np.uint8)
        self.table.buffers.append(buffer)
        return len(self.table.buffers) - 1

    def code(self, name):
        if name not in self.codes:
            entry = schema.OperatorCodeT()
            known = getattr(schema.BuiltinOperator, name, None)
            entry.builtinCode = schema.BuiltinOperator.CUSTOM if known is None else known
            entry.deprecatedBuiltinCode = min(entry.builtinCode, 127)
            entry.customCode = name if known is None else None
            entry.version = 2 if name == "BROADCAST_TO" else 1
            self.codes[name] = len(self.table.operatorCodes)
            self.table.operatorCodes.append(entry)
        return self.codes[name]

    def write(self, path):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.table.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path


def interpreter_of(path, reference=True):
    kind = OpResolverType.BUILTIN_REF if reference else OpResolverType.AUTO
    interpreter = Interpreter(str(path), experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    return interpreter


def invoke(interpreter, inputs):
    for detail, x in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run_litert(path, inputs, reference=True):
    """The outputs of a network for its inputs, both in order."""
    return invoke(interpreter_of(path, reference), inputs)
