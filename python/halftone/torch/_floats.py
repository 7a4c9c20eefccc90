# SPDX-License-Identifier: Apache-2.0
"""Float layers of PyTorch as networks of one layer, which quantize() fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from ._onnx import DOMAIN, Node, Ports, constants_of, model, nodes_of

#: The gates of PyTorch in the order of ONNX: of an LSTM i o f c, of a GRU z r h.
_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def _weights(layer: Any) -> dict[str, np.ndarray]:
    constants = {"w": _numbers(layer.weight)}
    if layer.bias is not None:
        constants["b"] = _numbers(layer.bias)
    return constants


def linear(name: str, layer: nn.Linear) -> bytes:
    """x [N, n] -> y [N, o]."""
    constants = _weights(layer)
    node = Node("Gemm", ["x", *constants], ["y"], {"transB": 1}, name)
    return model([node], Ports([("x", "float32", ["N", layer.in_features])], ["y"]), constants)


def pads_of(layer: nn.Conv1d | nn.Conv2d) -> list[int]:
    """Zeros in front of each axis, then behind each; none if something else is padded."""
    if layer.padding_mode != "zeros" or layer.padding == "valid":
        return [0] * (2 * len(layer.kernel_size))
    if layer.padding == "same":
        totals = [d * (k - 1) for d, k in zip(layer.dilation, layer.kernel_size)]
        return [total // 2 for total in totals] + [total - total // 2 for total in totals]
    return [int(each) for each in layer.padding] * 2


def conv(name: str, layer: nn.Conv1d | nn.Conv2d, extents: Sequence[int]) -> bytes:
    """x [N, C, spatial...] -> y [N, o, spatial...]. extents: of x, without the first."""
    constants = _weights(layer)
    attributes = {
        "kernel_shape": list(layer.kernel_size), "strides": list(layer.stride),
        "pads": pads_of(layer), "dilations": list(layer.dilation), "group": layer.groups,
    }  # fmt: skip
    node = Node("Conv", ["x", *constants], ["y"], attributes, name)
    return model([node], Ports([("x", "float32", ["N", *extents])], ["y"]), constants)


def embedding(name: str, layer: nn.Embedding) -> bytes:
    """x [N] of int64 -> y [N, width]."""
    node = Node("Gather", ["w", "x"], ["y"], {"axis": 0}, name)
    ports = Ports([("x", "int64", ["N"])], ["y"])
    return model([node], ports, {"w": _numbers(layer.weight)})


def states_of(layer: nn.LSTM | nn.GRU) -> list[str]:
    return ["h", "c"] if isinstance(layer, nn.LSTM) else ["h"]


def _rows(layer: nn.LSTM | nn.GRU, name: str) -> np.ndarray:
    """A parameter with its gates in the order of ONNX, behind an axis of 1 for the direction."""
    rows, order = _numbers(getattr(layer, name)), _GATES[layer.mode]
    gates = rows.reshape(len(order), layer.hidden_size, *rows.shape[1:])
    return gates[list(order)].reshape(1, *rows.shape)


def recurrent(name: str, layer: nn.LSTM | nn.GRU, suffix: str, steps: int) -> bytes:
    """One direction of one layer: x [N, T, n], states [N, 1, H] -> [T, 1, N, H].

    suffix: of its parameters, such as "_l0_reverse".
    """
    states = states_of(layer)
    constants = {"w": _rows(layer, "weight_ih" + suffix), "r": _rows(layer, "weight_hh" + suffix)}
    if layer.bias:
        both = [_rows(layer, each + suffix) for each in ("bias_ih", "bias_hh")]
        constants["b"] = np.concatenate(both, 1)
    attributes: dict[str, Any] = {"hidden_size": layer.hidden_size}
    if suffix.endswith("_reverse"):
        attributes["direction"] = "reverse"
    if layer.mode == "GRU":
        attributes["linear_before_reset"] = 1
    inputs = ["x/steps", "w", "r", "b" if layer.bias else "", "", *(f"{s}/first" for s in states)]
    nodes = [Node("Transpose", ["x"], ["x/steps"], {"perm": [1, 0, 2]})]
    nodes += [Node("Transpose", [s], [f"{s}/first"], {"perm": [1, 0, 2]}) for s in states]
    nodes += [Node(layer.mode, inputs, ["y"], attributes, name)]
    ports = [("x", "float32", ["N", steps, constants["w"].shape[2]])]
    ports += [(s, "float32", ["N", 1, layer.hidden_size]) for s in states]
    return model(nodes, Ports(ports, ["y"]), constants)


def any_steps(file: bytes) -> bytes:
    """The fitted file of recurrent() as x [N, T, n], states [N, H] -> h and c of each step
    [N, T, H or 2 H], whose number of steps may be replaced."""
    own = [node for node in nodes_of(file) if node.domain == DOMAIN]
    *before, last = own
    states = ["h", "c"][: 2 if last.attributes["kind"] == "LSTM" else 1]
    inputs = [*last.inputs[:5], *[""] * (5 - len(last.inputs)), *states]
    attributes = {**last.attributes, "batch_major": 1, "with_cell": int(len(states) == 2)}
    nodes = [n._replace(inputs=["x" if i == "x/steps" else i for i in n.inputs]) for n in before]
    nodes += [last._replace(inputs=inputs, outputs=["y"], attributes=attributes)]
    used = {name for node in nodes for name in node.inputs}
    constants = {name: value for name, value in constants_of(file).items() if name in used}
    width, hidden = before[-1].attributes["inputs"], last.attributes["inputs"]
    ports = [("x", "float32", ["N", 1, width]), *((s, "float32", ["N", hidden]) for s in states)]
    return model(nodes, Ports(ports, ["y"]), constants)
