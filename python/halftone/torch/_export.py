# SPDX-License-Identifier: Apache-2.0
"""Modules with layers in few bits as ONNX models, which halftone.load() and quantize() take."""

from __future__ import annotations

import functools
from typing import Any

from torch import nn

from ._layers import layers_of
from ._onnx import Node, constants_of, nodes_of, replaced

#: What the exporter writes for a layer: its inputs, and the bytes of its file as a constant.
_LAYER = "FileOfLayer"
#: Operator sets that the exporter of torch.onnx may be asked for start with this one.
_FIRST_OPSET = 9


@functools.cache
def prepare() -> None:
    """Tells PyTorch's exporter how our operators are written."""
    from torch import onnx

    def layer(g: Any, x: Any, file: Any, kind: Any, sizes: Any) -> Any:
        return _written(g, [x, file])

    def recurrent(g: Any, x: Any, states: Any, file: Any, width: Any) -> Any:
        return _written(g, [x, *states.node().inputs(), file])

    exporter: Any = onnx
    exporter.register_custom_op_symbolic("halftone::layer", layer, _FIRST_OPSET)
    exporter.register_custom_op_symbolic("halftone::recurrent", recurrent, _FIRST_OPSET)


def _written(g: Any, inputs: list[Any]) -> Any:
    """The node; extents of its output are open, or the exporter would take the example's."""
    kind = g.original_node.output().type()
    kind = kind.with_sizes([None] * len(kind.sizes()))
    return g.op(f"ai.halftone::{_LAYER}", *inputs).setType(kind)


def has_layers(module: nn.Module) -> bool:
    return next(layers_of(module), None) is not None


def with_layers(file: bytes) -> bytes:
    """The exporter's model with the operators of Halftone in place of the files of layers."""
    return replaced(file, _LAYER, _nodes)


def _nodes(node: Node, constants: dict[str, Any]) -> list[Node]:
    """Those of a layer's file, with names that are unique in the model."""
    *inputs, name = node.inputs
    content, prefix = constants[name].tobytes(), name.removesuffix(".file")
    names = dict(zip(("x", "h", "c"), inputs)) | {"y": node.outputs[0], "": ""}
    for key, value in constants_of(content).items():
        names[key] = f"{prefix}.{key}"
        constants[names[key]] = value
    found = []
    for each in nodes_of(content):
        for key in each.outputs:
            names.setdefault(key, f"{node.outputs[0]}/{key}")
        inside = [names[i] for i in each.inputs], [names[o] for o in each.outputs]
        found.append(each._replace(name=prefix, inputs=inside[0], outputs=inside[1]))
    return found
