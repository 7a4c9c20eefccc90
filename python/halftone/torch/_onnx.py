# SPDX-License-Identifier: Apache-2.0
"""ONNX models of one layer as bytes, without the package onnx: a writer, and a reader of what
Halftone writes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

DOMAIN = "ai.halftone"
_OPSET, _IR_VERSION = 17, 8
#: TensorProto.DataType of the types that layers have.
_TYPES = {"float32": 1, "uint8": 2, "uint16": 4, "int32": 6, "int64": 7, "bool": 9, "float16": 10,
          "float64": 11}  # fmt: skip
_NAMES = {number: name for name, number in _TYPES.items()}

#: Field numbers of the messages.
_GRAPH, _NODES, _INITIALIZERS = 7, 1, 5
_TENSOR_DIMS, _TENSOR_TYPE, _TENSOR_NAME, _TENSOR_BYTES = 1, 2, 8, 9


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _message(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: memoryview) -> Iterator[tuple[int, Any]]:
    """Field numbers and values of a message: integers, or the bytes of all others."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        if key & 7 == 0:
            value, at = _read_varint(data, at)
            yield key >> 3, value
            continue
        size, at = (4, at) if key & 7 == 5 else (8, at) if key & 7 == 1 else _read_varint(data, at)
        yield key >> 3, data[at : at + size]
        at += size


def _tensor(name: str, array: np.ndarray) -> bytes:
    dims = b"".join(_integer(_TENSOR_DIMS, extent) for extent in array.shape)
    kind = _integer(_TENSOR_TYPE, _TYPES[array.dtype.name])
    raw = np.ascontiguousarray(array).tobytes()
    return dims + kind + _message(_TENSOR_NAME, name) + _message(_TENSOR_BYTES, raw)


def _array(tensor: memoryview) -> tuple[str, np.ndarray]:
    dims, kind, name, raw = [], 0, "", memoryview(b"")
    for field, value in _fields(tensor):
        if field == _TENSOR_DIMS:
            dims += [value] if isinstance(value, int) else _packed(value)
        elif field == _TENSOR_TYPE:
            kind = value
        elif field == _TENSOR_NAME:
            name = bytes(value).decode()
        elif field == _TENSOR_BYTES:
            raw = value
    return name, np.frombuffer(raw, _NAMES[kind]).reshape(dims)


def _packed(data: memoryview) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _read_varint(data, at)
        found.append(value)
    return found


def _attribute(name: str, value: Any) -> bytes:
    """AttributeProto of a number, a text or integers."""
    if isinstance(value, float):
        return _message(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _integer(20, 1)
    if isinstance(value, int):
        return _message(1, name) + _integer(3, value) + _integer(20, 2)
    if isinstance(value, str):
        return _message(1, name) + _message(4, value) + _integer(20, 3)
    return _message(1, name) + b"".join(_integer(8, each) for each in value) + _integer(20, 7)


class Node(NamedTuple):
    """An operator of a model."""

    operator: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, Any] = {}
    name: str = ""
    domain: str = ""

    def message(self) -> bytes:
        parts = [_message(1, each) for each in self.inputs]
        parts += [_message(2, each) for each in self.outputs]
        parts += [_message(3, self.name), _message(4, self.operator), _message(7, self.domain)]
        parts += [_message(5, _attribute(*pair)) for pair in self.attributes.items()]
        return b"".join(parts)


def _port(name: str, kind: str, shape: Sequence[int | str] | None) -> bytes:
    dims = b"".join(
        _message(1, _message(2, each) if isinstance(each, str) else _integer(1, each))
        for each in shape or ()
    )
    tensor = _integer(1, _TYPES[kind]) + (b"" if shape is None else _message(2, dims))
    return _message(1, name) + _message(2, _message(1, tensor))


class Ports(NamedTuple):
    """Inputs of a model as (name, type, shape), and the names of its outputs, of float32."""

    inputs: Sequence[tuple[str, str, Sequence[int | str]]]
    outputs: Sequence[str]


def model(nodes: Sequence[Node], ports: Ports, constants: Mapping[str, np.ndarray]) -> bytes:
    """The bytes of a model."""
    graph = b"".join(_message(_NODES, node.message()) for node in nodes) + _message(2, "layer")
    graph += b"".join(_message(_INITIALIZERS, _tensor(*pair)) for pair in constants.items())
    graph += b"".join(_message(11, _port(*each)) for each in ports.inputs)
    graph += b"".join(_message(12, _port(each, "float32", None)) for each in ports.outputs)
    versions = _message(8, _integer(2, _OPSET))
    versions += _message(8, _message(1, DOMAIN) + _integer(2, 1))
    return _integer(1, _IR_VERSION) + versions + _message(_GRAPH, graph)


def constants_of(file: bytes) -> dict[str, np.ndarray]:
    """The initializers of a model, by name."""
    [graph] = [value for field, value in _fields(memoryview(file)) if field == _GRAPH]
    return dict(_array(value) for field, value in _fields(graph) if field == _INITIALIZERS)


def nodes_of(file: bytes) -> list[Node]:
    """The operators of a model in their order."""
    [graph] = [value for field, value in _fields(memoryview(file)) if field == _GRAPH]
    return [_node(value) for field, value in _fields(graph) if field == _NODES]


def _node(message: memoryview) -> Node:
    texts: dict[int, list[str]] = {1: [], 2: [], 3: [""], 4: [""], 7: [""]}
    attributes = {}
    for field, value in _fields(message):
        if field == 5:
            name, content = _attribute_of(value)
            attributes[name] = content
        elif field in texts:
            texts[field].append(bytes(value).decode())
    return Node(texts[4][-1], texts[1], texts[2], attributes, texts[3][-1], texts[7][-1])


def _attribute_of(message: memoryview) -> tuple[str, Any]:
    name, content, integers = "", None, []
    for field, value in _fields(message):
        if field == 1:
            name = bytes(value).decode()
        elif field == 2:
            content = struct.unpack("<f", value)[0]
        elif field == 3:
            content = value
        elif field == 4:
            content = bytes(value).decode()
        elif field == 8:
            integers += [value] if isinstance(value, int) else _packed(value)
    return name, integers or content


def with_constants(file: bytes, changed: Mapping[str, np.ndarray]) -> bytes:
    """The model with other values of initializers; their types may change."""
    result = b""
    for field, value in _fields(memoryview(file)):
        if field == _GRAPH:
            result += _message(_GRAPH, _with_constants(value, changed))
        elif isinstance(value, int):
            result += _integer(field, value)
        else:
            result += _message(field, bytes(value))
    return result


def _with_constants(graph: memoryview, changed: Mapping[str, np.ndarray]) -> bytes:
    parts = []
    for field, value in _fields(graph):
        if field == _INITIALIZERS:
            name = _array(value)[0]
            if name in changed:
                value = _tensor(name, changed[name])
        parts.append(_message(field, bytes(value)))
    return b"".join(parts)


def replaced(
    file: bytes, operator: str, replacement: Callable[[Node, dict[str, np.ndarray]], list[Node]]
) -> bytes:
    """The model with other nodes in place of those of an operator of Halftone's domain.

    replacement: of a node and the constants of the model, to which it may add its own.
    """
    old = constants_of(file)
    constants = dict(old)
    result = b""
    for field, value in _fields(memoryview(file)):
        if field != _GRAPH:
            is_integer = isinstance(value, int)
            result += _integer(field, value) if is_integer else _message(field, bytes(value))
            continue
        parts = []
        for kind, content in _fields(value):
            node = _node(content) if kind == _NODES else None
            if node is None or node.operator != operator or node.domain != DOMAIN:
                parts.append(_message(kind, bytes(content)))
                continue
            parts += [_message(_NODES, each.message()) for each in replacement(node, constants)]
        added = {name: array for name, array in constants.items() if name not in old}
        parts += [_message(_INITIALIZERS, _tensor(*pair)) for pair in added.items()]
        result += _message(_GRAPH, b"".join(parts))
    return result
