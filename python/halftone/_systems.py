# SPDX-License-Identifier: Apache-2.0
"""Number systems on arrays."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _halftone as native
from ._arguments import checked
from ._arrays import Array, ArrayLike, as_array

Granularity: TypeAlias = Literal["tensor", "channel", "group"]


class NumberSystem(NamedTuple):
    """A row of the table of number systems."""

    name: str
    family: str
    min_bits: int
    max_bits: int
    blocks: str  #: which weights share a scale unless the recipe says
    scales: str  #: how these are stored
    computed: str  #: how layers compute with its codes
    overflow: str  #: what numbers beyond the largest become: "saturate" or "nan"
    formula: str
    source: str


def number_systems() -> list[NumberSystem]:
    """All number systems, by family.

    >>> import halftone as ht
    >>> "nf4" in [system.name for system in ht.number_systems()]
    True
    """
    rows: list[dict[str, Any]] = json.loads(native.list_number_systems()[1])["systems"]
    return [NumberSystem(**{key: row[key] for key in NumberSystem._fields}) for row in rows]


@checked
def levels(name: str, bits: int = 0) -> npt.NDArray[np.float32]:
    """The level of every code, before scale and offset; NaN for codes of no number.

    bits: 0 for the most that the system has, up to 8.

    >>> import halftone as ht
    >>> ht.levels("e2m1")[:4]
    array([0. , 0.5, 1. , 1.5], dtype=float32)
    """
    found = json.loads(native.number_system_levels(name, bits)[1])["levels"]
    if not found:
        raise ValueError(f"{name}: its levels are learned; see fit()")
    return np.array([np.nan if x is None else x for x in found], np.float32)


def _matrix(array: Array) -> Array:
    """The first extent by the product of the others, as weights are seen."""
    return array.reshape(1, -1) if array.ndim < 2 else array.reshape(array.shape[0], -1)


def _floats(values: ArrayLike) -> Array:
    array = as_array(values, "values")
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise TypeError(f"values: expected numbers, found dtype {array.dtype}")
    if array.size == 0:
        raise ValueError(f"values: expected numbers, found shape {list(array.shape)}")
    return np.ascontiguousarray(array, np.float32).reshape(array.shape)


class Encoding:
    """What the codes of an array mean: number system, scales and offsets. fit() makes one."""

    def __init__(self, encoding: native.Encoding, shape: tuple[int, ...]):
        self._encoding = encoding
        self._shape = shape

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the arrays that it is for."""
        return self._shape

    @property
    def system(self) -> str:
        return self._encoding.system

    @property
    def bits(self) -> int:
        """Of a code."""
        return self._encoding.bits

    @property
    def granularity(self) -> str:
        """What shares scales: "tensor", "channel" (a row) or "group"."""
        return self._encoding.granularity

    @property
    def group_size(self) -> int:
        """Columns of a group; 0 without groups."""
        return self._encoding.group_size

    @property
    def num_blocks(self) -> int:
        """Groups of values that share scales."""
        return self._encoding.num_blocks

    @property
    def stored_bits(self) -> int:
        """Of scales and offsets in a file; the codes come on top."""
        return self._encoding.stored_bits

    def levels(self, block: int = 0) -> npt.NDArray[np.float32]:
        """The value of every code of a block."""
        out = np.empty(1 << self.bits, np.float32)
        self._encoding.levels(block, out)
        return out

    def encode(self, values: ArrayLike) -> npt.NDArray[np.uint16]:
        """The code of the nearest level for each value."""
        array = self._of_this_shape(_floats(values), "values")
        codes = np.empty(_matrix(array).shape, np.uint16)
        self._encoding.encode(_matrix(array), codes)
        return codes.reshape(self._shape)

    def decode(self, codes: ArrayLike) -> npt.NDArray[np.float32]:
        """The level of each code."""
        array = self._of_this_shape(as_array(codes, "codes"), "codes")
        if array.dtype.kind not in "iu":
            raise TypeError(f"codes: expected integers, found dtype {array.dtype}")
        if array.size and (array.min() < 0 or array.max() >> self.bits != 0):
            raise ValueError(
                f"codes: expected 0 to {(1 << self.bits) - 1}, found {array.min()} to {array.max()}"
            )
        values = np.empty(_matrix(array).shape, np.float32)
        self._encoding.decode(_matrix(np.ascontiguousarray(array, np.uint16)), values)
        return values.reshape(self._shape)

    def _of_this_shape(self, array: Array, what: str) -> Array:
        if array.shape != self._shape:
            raise ValueError(
                f"{what}: expected shape {list(self._shape)}, found {list(array.shape)}"
            )
        return array

    def __repr__(self) -> str:
        return f"<halftone.Encoding: {self.system}, {self.bits} bits, {self.num_blocks} blocks>"


@checked
def fit(
    values: ArrayLike,
    system: str = "basis",
    bits: int = 0,
    *,
    granularity: Granularity | None = None,
    group_size: int = 0,
    offset: bool = True,
) -> Encoding:
    """Fits a number system to an array, with the least squared error.

    values: the first extent counts the channels of granularity "channel".
    bits: 0 for the most that the system has, up to 8. offset: of learned levels.
    granularity, group_size: what shares scales; None and 0: as the system has it.

    >>> import halftone as ht, numpy as np
    >>> x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)
    >>> encoding = ht.fit(x, "basis", 2)
    >>> encoding
    <halftone.Encoding: basis, 2 bits, 2 blocks>
    >>> float(np.abs(encoding.decode(encoding.encode(x)) - x).max()) < 0.2
    True
    """
    array = _floats(values)
    found = native.Encoding.fit(
        _matrix(array), system, bits, offset, granularity or "", group_size
    )
    return Encoding(found, array.shape)


def encode(values: ArrayLike, encoding: Encoding) -> npt.NDArray[np.uint16]:
    """The code of the nearest level for each value: encoding.encode()."""
    return encoding.encode(values)


def decode(codes: ArrayLike, encoding: Encoding) -> npt.NDArray[np.float32]:
    """The level of each code: encoding.decode()."""
    return encoding.decode(codes)
