# SPDX-License-Identifier: Apache-2.0
"""A recurrent layer in float32 on decoded numbers, step by step, for gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def unrolled(matrices: Sequence[Any], x: torch.Tensor, states: Sequence[torch.Tensor]) -> torch.Tensor:
    """One direction of one layer, as halftone::recurrent computes it.

    matrices: those of the inputs and of the states, FrozenMatrix or LearnedMatrix.
    x: [N, T, n]; states: h and, of an LSTM, c [N, H]. Returns h, and c behind it, of each step.
    """
    of_inputs, of_states = matrices
    gates = torch.nn.functional.linear(of_inputs.rounded(x), of_inputs.weights(), of_inputs.bias)
    recurrence, step = of_states.weights(), list(states)
    times = range(x.shape[1])
    found = [torch.empty(0)] * x.shape[1]
    for t in reversed(times) if of_states.attributes["reverse"] else times:
        h = of_states.rounded(step[0])
        if of_states.attributes["kind"] == "LSTM":
            step = _lstm(gates[:, t] + h @ recurrence.T, step[1])
        else:
            step = [_gru(gates[:, t], h @ recurrence.T, of_states.bias, step[0])]
        found[t] = torch.cat(step, 1)
    return torch.stack(found, 1)


def _lstm(gates: torch.Tensor, c: torch.Tensor) -> list[torch.Tensor]:
    i, o, a, n = gates.chunk(4, 1)
    c = a.sigmoid() * c + i.sigmoid() * n.tanh()
    return [o.sigmoid() * c.tanh(), c]


def _gru(
    gates: torch.Tensor, products: torch.Tensor, bias: torch.Tensor | None, h: torch.Tensor
) -> torch.Tensor:
    """bias: of the new state's product, which the reset gate multiplies too."""
    z, r, n = (gate for gate in gates.chunk(3, 1))
    of_z, of_r, of_n = products.chunk(3, 1)
    of_n = of_n if bias is None else of_n + bias
    z, r = (z + of_z).sigmoid(), (r + of_r).sigmoid()
    return (1 - z) * (n + r * of_n).tanh() + z * h
