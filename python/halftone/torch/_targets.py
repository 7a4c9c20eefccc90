# SPDX-License-Identifier: Apache-2.0
"""Weights that lead from the inputs of a network in few bits to the outputs of the float one."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

#: Rows that the least squares are of, at most, and samples that are unfolded together.
_MAX_ROWS, _CHUNK = 16384, 16
#: How much the weights are drawn to those of the float layer, in the mean square of an input.
_RIDGE = 0.01


def _places(count: int) -> torch.Tensor:
    """Indices of rows, evenly spaced."""
    return torch.linspace(0, count - 1, min(count, _MAX_ROWS)).long()


def has_targets(layer: nn.Module) -> bool:
    """Whether the outputs of a layer are a linear function of its inputs."""
    return isinstance(layer, (nn.Linear, nn.Conv1d, nn.Conv2d))


def outputs_of(layer: nn.Module, y: torch.Tensor) -> torch.Tensor:
    """Some rows of the outputs of a layer, [rows, outputs]."""
    rows = y.reshape(-1, y.shape[-1]) if isinstance(layer, nn.Linear) else y.movedim(1, -1)
    rows = rows.reshape(-1, rows.shape[-1])
    return rows[_places(len(rows))].clone()


def _inputs_of(layer: Any, x: torch.Tensor) -> torch.Tensor:
    """The same rows of its inputs, [rows, groups, inputs of an output]."""
    if isinstance(layer, nn.Linear):
        rows = x.reshape(-1, 1, x.shape[-1])
        return rows[_places(len(rows))]
    if layer.padding_mode != "zeros" or layer.padding == "same":
        sides, mode = layer._reversed_padding_repeated_twice, layer.padding_mode
        x, padding = nn.functional.pad(x, sides, "constant" if mode == "zeros" else mode), 0
    else:
        padding = 0 if layer.padding == "valid" else layer.padding
    how = [layer.kernel_size, layer.dilation, padding, layer.stride]
    if isinstance(layer, nn.Conv1d):
        x, how = x[:, :, None], [(n, *_tuple(v)) for v, n in zip(how, (1, 1, 0, 1))]
    found, first, places = [], 0, None
    for part in torch.split(x, _CHUNK):
        columns = nn.functional.unfold(part, *how)
        count = columns.shape[2]
        places = _places(len(x) * count) if places is None else places
        own = places[(places >= first) & (places < first + len(part) * count)] - first
        found.append(columns.transpose(1, 2).reshape(len(part) * count, layer.groups, -1)[own])
        first += len(part) * count
    return torch.cat(found)


def _tuple(value: Any) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, tuple) else (value,)


@torch.no_grad()
def towards(layer: Any, x: torch.Tensor, targets: torch.Tensor) -> Any:
    """A copy of a layer whose outputs on x are nearest to the targets, by least squares.

        W' = W + E'X (X'X + r I)^-1,  E = targets - (X W' + b)

    x: what reaches the layer in few bits; targets: outputs_of() the float layer in the float
    network. r: a hundredth of the mean square of x, summed over the rows. The means of X and E are
    taken off first, and give the bias.
    """
    found = copy.deepcopy(layer)
    rows = _inputs_of(layer, x).double()
    weights = layer.weight.reshape(layer.weight.shape[0], -1).double()
    per_group = weights.shape[0] // rows.shape[1]
    bias = torch.zeros(weights.shape[0], dtype=torch.double)
    if layer.bias is not None:
        bias = layer.bias.double()
    shifts = bias.clone()
    for group in range(rows.shape[1]):
        own = slice(group * per_group, (group + 1) * per_group)
        inputs = rows[:, group]
        errors = targets[:, own].double() - inputs @ weights[own].T - bias[own]
        mean_x, mean_e = inputs.mean(0), errors.mean(0)
        inputs, errors = inputs - mean_x, errors - mean_e
        moments = inputs.T @ inputs
        ridge = _RIDGE * moments.diagonal().mean().clamp(min=1e-12)
        moments.diagonal().add_(ridge)
        change = torch.linalg.solve(moments, inputs.T @ errors).T
        weights[own] += change
        shifts[own] += mean_e - change @ mean_x
    found.weight.data = weights.float().reshape(layer.weight.shape)
    found.bias = nn.Parameter(shifts.float())
    return found
