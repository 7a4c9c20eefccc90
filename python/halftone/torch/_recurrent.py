# SPDX-License-Identifier: Apache-2.0
"""LSTM and GRU in few bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import nn

from ._layers import CodedLayer, check_input
from ._recurrence import unrolled


class Direction(CodedLayer):
    """One direction of one layer: x [N, T, n], states [N, H] -> h, or h and c, of each step."""

    kind = "recurrent"

    def forward(self, x: torch.Tensor, states: Sequence[torch.Tensor]) -> torch.Tensor:
        if self.learns():
            assert self.learned is not None
            return unrolled(list(self.learned), x, states)
        y = torch.ops.halftone.recurrent(x, list(states), self.file, self.sizes[0])
        return cast(torch.Tensor, y)


class Recurrent(nn.Module):
    """torch.nn.LSTM or GRU in few bits.

    directions: of each layer one, or two: forward and reverse.
    """

    def __init__(self, layer: nn.LSTM | nn.GRU, directions: Sequence[Direction]):
        super().__init__()
        self.mode, self.hidden_size, self.dropout = layer.mode, layer.hidden_size, layer.dropout
        self.num_layers, self.batch_first = layer.num_layers, layer.batch_first
        self.input_size, self.bidirectional = layer.input_size, layer.bidirectional
        self.directions = nn.ModuleList(directions)
        self.train(layer.training)

    def forward(self, x: Any, state: Any = None) -> tuple[torch.Tensor, Any]:
        """As the layer of PyTorch; not of packed sequences."""
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"{self.mode}: expected a tensor, found {type(x).__name__}; "
                            "pad packed sequences")  # fmt: skip
        check_input(x, self.mode)
        if x.dim() == 2:
            return self._one_sample(x, state)
        x = x if self.batch_first else x.transpose(0, 1)
        given = self._states(x, state)
        last: list[list[torch.Tensor]] = []
        width = len(self.directions) // self.num_layers
        for index in range(self.num_layers):
            if index > 0 and self.dropout and self.training:
                x = nn.functional.dropout(x, self.dropout)
            outputs = []
            for place in range(width * index, width * (index + 1)):
                each = self.directions[place](x, [one[place] for one in given])
                end = each[:, 0] if place % width else each[:, -1]
                last.append(list(end.split(self.hidden_size, 1)))
                outputs.append(each[..., : self.hidden_size])
            x = torch.cat(outputs, 2) if width > 1 else outputs[0]
        states = tuple(torch.stack(parts) for parts in zip(*last))
        y = x if self.batch_first else x.transpose(0, 1)
        return y, states if self.mode == "LSTM" else states[0]

    def _states(self, x: torch.Tensor, state: Any) -> list[torch.Tensor]:
        count = 2 if self.mode == "LSTM" else 1
        if state is None:
            zeros = x.new_zeros(len(self.directions), x.shape[0], self.hidden_size)
            return [zeros] * count
        return [state] if isinstance(state, torch.Tensor) else list(state)

    def _one_sample(self, x: torch.Tensor, state: Any) -> tuple[torch.Tensor, Any]:
        axis = 0 if self.batch_first else 1
        if state is not None:
            state = [s[:, None] for s in (state if self.mode == "LSTM" else [state])]
        y, states = self(x.unsqueeze(axis), state)
        if self.mode == "LSTM":
            return y.squeeze(axis), tuple(s[:, 0] for s in states)
        return y.squeeze(axis), states[:, 0]

    def extra_repr(self) -> str:
        """What print() says of the module."""
        return f"{self.mode}, {self.input_size}, {self.hidden_size}, num_layers={self.num_layers}"
