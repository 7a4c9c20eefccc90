# SPDX-License-Identifier: Apache-2.0
"""What the codes in the file of a layer represent, as tensors of PyTorch."""

from __future__ import annotations

import functools
import os
import tempfile
from typing import NamedTuple

import numpy as np
import torch

from .. import _halftone as native
from .._systems import levels
from ._onnx import DOMAIN, Node, constants_of, nodes_of

#: Inputs of a layer with codes; see halftone/formats/low_bit_layer.h.
INPUT_SCALES, SCALES, CODES, BIAS = 1, 2, 3, 4


class Numbers(NamedTuple):
    """A number system with its bits: levels are linear in its scales."""

    system: str
    bits: int
    has_offset: bool

    def table(self, scales: torch.Tensor) -> torch.Tensor:
        """The level of each code [blocks, 2^bits] for scales [blocks, S]; NaN for no number."""
        features = _features(self.system or "basis", self.bits).to(scales.device)
        if not self.has_offset:
            return scales @ features
        return scales[:, :-1] @ features + scales[:, -1:]


@functools.cache
def _features(system: str, bits: int) -> torch.Tensor:
    """What the scales of a block are multiplied by, [S, 2^bits]."""
    if system != "basis":
        return torch.from_numpy(np.array(levels(system, bits)))[None]
    codes = torch.arange(1 << bits)
    return torch.stack([(codes >> bit & 1) * 2.0 - 1 for bit in range(bits)])


def nearest(table: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """The code of the nearest level for each value.

    table: [blocks, codes]; values: [blocks, n]. Between two levels the lower one wins.
    """
    usable = torch.nan_to_num(table.detach(), nan=float("inf"))
    ordered, order = usable.sort(1)
    thresholds = (ordered[:, 1:] + ordered[:, :-1]) / 2
    return order.gather(1, torch.searchsorted(thresholds, values.detach().contiguous()))


class Matrix(NamedTuple):
    """The weights of a layer [outputs, n] as its file has them."""

    node: Node
    constants: dict[str, np.ndarray]

    @property
    def attributes(self) -> dict[str, object]:
        return dict(self.node.attributes)

    def constant(self, index: int) -> np.ndarray | None:
        """Input `index` of the node, if it is a constant."""
        inputs = self.node.inputs
        return self.constants.get(inputs[index]) if index < len(inputs) else None

    @property
    def numbers(self) -> Numbers:
        found = self.node.attributes
        return Numbers(found.get("weight_system", ""), found["weight_bits"],
                       bool(found["weight_offset"]))  # fmt: skip

    @property
    def input_numbers(self) -> Numbers | None:
        """Of inputs or states; None if they are float or rounded with scales of run time."""
        found = self.node.attributes
        if found["activation_bits"] == 0 or self.constant(INPUT_SCALES) is None:
            return None
        return Numbers(found.get("activation_system", ""), found["activation_bits"],
                       bool(found["activation_offset"]))  # fmt: skip

    @property
    def has_plain_scales(self) -> bool:
        """Whether scales are floats, so that levels are those of Numbers.table()."""
        scales = self.constant(SCALES)
        is_float = scales is not None and scales.dtype.kind == "f"
        return is_float and self.node.attributes.get("scale_type") is None

    def codes(self) -> torch.Tensor:
        """int64 [outputs, n]."""
        planes = self.constant(CODES)
        assert planes is not None
        n = self.node.attributes["inputs"]
        bits = np.unpackbits(planes, axis=2, bitorder="little")[:, :, :n].astype(np.int64)
        return torch.from_numpy((bits << np.arange(bits.shape[1])[:, None]).sum(1))

    def in_blocks(self, matrix: torch.Tensor) -> torch.Tensor:
        """[outputs, n] with a row for each block of weights that share scales."""
        granularity = self.node.attributes["granularity"]
        if granularity == "tensor":
            return matrix.reshape(1, -1)
        if granularity == "channel":
            return matrix
        return matrix.reshape(-1, self.node.attributes["group_size"])

    @property
    def has_whole_groups(self) -> bool:
        found = self.node.attributes
        return bool(
            found["granularity"] != "group" or found["inputs"] % found["group_size"] == 0
        )


def floats_of(array: np.ndarray | None) -> torch.Tensor:
    """A constant of a file, which is there, as float32."""
    assert array is not None
    return torch.from_numpy(array.astype(np.float32))


def planes_of(codes: torch.Tensor, bits: int) -> np.ndarray:
    """Codes [outputs, n] as a file has them: uint8 [outputs, bits, ceil(n / 8)]."""
    shifts = np.arange(bits)[:, None]
    return np.packbits((codes.numpy()[:, None] >> shifts & 1).astype(np.uint8), 2,
                       bitorder="little")  # fmt: skip


def matrices_of(file: bytes) -> list[Matrix]:
    """Those with codes, in the order of computation."""
    constants = constants_of(file)
    return [
        Matrix(node, constants)
        for node in nodes_of(file)
        if node.domain == DOMAIN and node.attributes.get("weight_bits", 0) > 0
    ]


def decoded(file: bytes) -> list[torch.Tensor]:
    """The weights of each matrix of a layer, [outputs, n], as numbers."""
    found = matrices_of(file)
    if not all(each.has_plain_scales and each.has_whole_groups for each in found):
        return [_decoded_by_conversion(file, each) for each in found]
    result = []
    for each in found:
        table = each.numbers.table(floats_of(each.constant(SCALES)))
        codes = each.codes()
        result.append(table.gather(1, each.in_blocks(codes)).reshape(codes.shape))
    return result


def _decoded_by_conversion(file: bytes, matrix: Matrix) -> torch.Tensor:
    """Of number systems whose scales have codes too: as the file of another runtime has them."""
    network = native.Network.from_bytes(file, "layer", [], [])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "decoded.onnx")
        network.convert(path, native.Form(False, False, False), True)
        with open(path, "rb") as opened:
            floats = opened.read()
    constants = constants_of(floats)
    [node] = [n for n in nodes_of(floats) if n.operator in ("Conv", "Gemm", "MatMul", "Gather")]
    [weights] = [constants[i] for i in node.inputs[:2] if i in constants]
    if node.operator == "Conv":  # channels last, as in the matrix
        weights = np.moveaxis(weights, 1, -1)
    is_turned = node.operator == "MatMul" or (
        node.operator == "Gemm" and not node.attributes.get("transB")
    )
    weights = weights.T if is_turned else weights
    return torch.from_numpy(np.ascontiguousarray(weights).reshape(len(weights), -1).copy())
