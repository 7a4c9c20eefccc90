# SPDX-License-Identifier: Apache-2.0
"""A network of Halftone as a module of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from .._arrays import type_text
from .._model import Model, Port, load
from ._layers import check_input


def _text(ports: tuple[Port, ...]) -> str:
    return "; ".join(type_text(port.dtype, port.shape) for port in ports)


class Network(nn.Module):
    """A network that runs whole on Halftone's kernels; see from_halftone().

    file: uint8, its bytes as an .onnx file with operators of Halftone. inputs, outputs: as those of
    a halftone.Model.
    """

    file: torch.Tensor

    def __init__(self, model: Model):
        super().__init__()
        self.inputs, self.outputs = model.inputs, model.outputs
        self._ports = f"{_text(model.inputs)} -> {_text(model.outputs)}"
        data = np.frombuffer(model.to_bytes("onnx"), np.uint8).copy()
        self.register_buffer("file", torch.from_numpy(data))

    def forward(self, *inputs: torch.Tensor) -> Any:
        """One output, or a tuple of them; no gradients."""
        if len(inputs) != len(self.inputs):
            raise TypeError(f"expected {len(self.inputs)} inputs, found {len(inputs)}")
        for x, port in zip(inputs, self.inputs):
            check_input(x, f"input '{port.name}'", getattr(torch, port.dtype.name))
            if x.dim() != len(port.shape):
                raise ValueError(f"input {port}: found shape {list(x.shape)}")
        outputs = torch.ops.halftone.network(list(inputs), self.file, self._ports)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def extra_repr(self) -> str:
        """What print() says of the module."""
        return f"{', '.join(map(str, self.inputs))} -> {', '.join(map(str, self.outputs))}"

    def _load_from_state_dict(  # noqa: PLR0913  # of PyTorch
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool,
        missing_keys: list[str], unexpected_keys: list[str], error_msgs: list[str],
    ) -> None:  # fmt: skip
        given = state_dict.get(prefix + "file")
        if isinstance(given, torch.Tensor):
            try:
                other = Network(load(given.cpu().numpy().tobytes()))
            except Exception as error:  # noqa: BLE001  # bytes from outside
                error_msgs.append(f"{prefix}file: {error}")
                return
            if other._ports != self._ports:
                error_msgs.append(f"{prefix}file: expected {self._ports}, found {other._ports}")
                return
            self.file = torch.empty_like(given, device="cpu")
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


def from_halftone(source: Any) -> Network:
    """A module that runs a network with the bits of halftone.load(source, float_order="fixed").

    source: what load() takes: the path of an .onnx, .tflite or .circle file, or its bytes; or a
    Model. torch.compile and torch.export keep the network as one operator. It has no gradients:
    quantize_() makes modules that learn.

    >>> import torch, halftone.torch
    >>> net = halftone.torch.from_halftone("examples/mnist/mnist_mlp_700.onnx")
    >>> net(torch.zeros(3, 784)).shape
    torch.Size([3, 10])
    """
    return Network(source if isinstance(source, Model) else load(source))
