# SPDX-License-Identifier: Apache-2.0
"""Matrices that learn: float weights, rounded to levels that learn too."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import nn

from ._codes import BIAS, CODES, INPUT_SCALES, SCALES, Matrix, floats_of, nearest, planes_of
from ._operators import bounds_of


def straight_through(x: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """The value; gradients go to the value and, as they are, to x.

    Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4.
    """
    return value + (x - x.detach())


def _slower(scales: torch.Tensor, numbers: int, bits: int) -> torch.Tensor:
    """The scales, with gradients times 1 / sqrt(n (2^K - 1)) for the n numbers of a block.

    Source: Esser et al., Learned step size quantization, ICLR 2020 (arXiv:1902.08153), Sec. 2.2.
    """
    factor = 1 / math.sqrt(numbers * ((1 << bits) - 1))
    return scales.detach() + (scales - scales.detach()) * factor


class LearnedMatrix(nn.Module):
    """The weights of a layer [outputs, n] while they learn.

    weight: float32, the master weights, whose nearest levels are the weights of the layer.
    scales, input_scales: float32, of which levels are linear functions.
    bias: float32 [outputs], or what else the layer adds.
    """

    def __init__(self, matrix: Matrix, start: torch.Tensor | None):
        """start: float weights; each begins where it has the code that it has in the file."""
        super().__init__()
        self._matrix = matrix
        self._numbers, self._inputs = matrix.numbers, matrix.input_numbers
        self.scales = nn.Parameter(floats_of(matrix.constant(SCALES)))
        levels = None
        if self._inputs is not None:
            levels = nn.Parameter(floats_of(matrix.constant(INPUT_SCALES))[None])
        self.input_scales = levels
        bias = matrix.constant(BIAS)
        self.bias = None if bias is None else nn.Parameter(floats_of(bias))
        self.weight = nn.Parameter(self._with_codes(matrix.codes(), start))

    @property
    def attributes(self) -> dict[str, object]:
        """Of the layer's file."""
        return self._matrix.attributes

    @torch.no_grad()
    def _with_codes(self, codes: torch.Tensor, start: torch.Tensor | None) -> torch.Tensor:
        table = self._numbers.table(self.scales)
        rows = self._matrix.in_blocks(codes)
        value = table.gather(1, rows)
        if start is None:
            return value.reshape(codes.shape)
        floats = self._matrix.in_blocks(start)
        ordered = torch.nan_to_num(table, nan=float("inf")).sort(1).values
        place = torch.searchsorted(ordered, value).clamp(max=ordered.shape[1] - 1)
        below = ordered.gather(1, (place - 1).clamp(min=0))
        above = ordered.gather(1, (place + 1).clamp(max=ordered.shape[1] - 1))
        # Inside the interval of the code, a little away from its ends.
        low = torch.where(place > 0, value + 0.499 * (below - value), floats)
        high = torch.where(place < ordered.shape[1] - 1, value + 0.499 * (above - value), floats)
        inside = floats.maximum(low).minimum(high)
        same = table.gather(1, nearest(table, inside)) == value
        return torch.where(same, inside, value).reshape(codes.shape)

    def weights(self) -> torch.Tensor:
        """The weights of the layer, [outputs, n]."""
        rows = self._matrix.in_blocks(self.weight)
        table = self._numbers.table(_slower(self.scales, rows.shape[1], self._numbers.bits))
        value = table.gather(1, nearest(table, rows))
        return straight_through(rows, value).reshape(self.weight.shape)

    def rounded(self, x: torch.Tensor) -> torch.Tensor:
        """Inputs at their nearest levels; those beyond the levels pass no gradient."""
        if self._inputs is None or self.input_scales is None:
            return x
        count = x.numel() // max(1, x.shape[0])
        table = self._inputs.table(_slower(self.input_scales, count, self._inputs.bits))
        value = table[0][nearest(table, x.reshape(1, -1))].reshape(x.shape)
        low, high = bounds_of(table)
        return straight_through(torch.where((x >= low) & (x <= high), x, x.detach()), value)

    @torch.no_grad()
    def constants(self) -> dict[str, np.ndarray]:
        """The constants of the layer's file, by name."""
        names = self._matrix.node.inputs
        table = self._numbers.table(self.scales)
        codes = nearest(table, self._matrix.in_blocks(self.weight)).reshape(self.weight.shape)
        found = {names[CODES]: planes_of(codes, self._numbers.bits)}
        found[names[SCALES]] = _array(self.scales)
        if self.input_scales is not None:
            found[names[INPUT_SCALES]] = _array(self.input_scales[0])
        if self.bias is not None:
            found[names[BIAS]] = _array(self.bias)
        return found


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy().copy()


def reason_not_to_learn(matrix: Matrix) -> str | None:
    """Why the levels of a matrix are no linear function of float scales; None if they are."""
    system = matrix.node.attributes.get("weight_system") or "basis"
    if not matrix.has_plain_scales:
        return f"scales of '{system}' have codes of their own"
    if not matrix.has_whole_groups:
        return "the last group of a row is shorter than the others"
    return None
