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
from ._results import row, row_of

Granularity: TypeAlias = Literal["tensor", "channel", "group"]


@row
class NumberSystem(NamedTuple):
    """A row of the table of number systems."""

    name: str
    family: str
    min_bits: int
    max_bits: int
    blocks: str
    scales: str
    computed: str
    overflow: str
    formula: str
    source: str


def number_systems() -> list[NumberSystem]:
    """All number systems, by family.

    >>> import halftone as ht
    >>> "nf4" in [system.name for system in ht.number_systems()]
    True
    """
    rows: list[dict[str, Any]] = json.loads(native.list_number_systems()[1])["systems"]
    return [NumberSystem(**row_of(NumberSystem, each)) for each in rows]


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


def _numbers(values: object, what: str) -> Array:
    """A number, or one for each row."""
    array = np.asarray(values) if isinstance(values, (int, float, list, tuple)) else values
    array = as_array(array, what) if not isinstance(array, np.generic) else np.asarray(array)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{what}: expected a number, or one for each row, found {values!r}")
    if array.ndim > 1 or array.size == 0:
        raise ValueError(
            f"{what}: expected a number, or one for each row, found shape {list(array.shape)}"
        )
    return array.reshape(-1)


class Encoding:
    """What the codes of an array mean: number system, scales and offsets.

    fit() makes one with the least squared error; rule(), uniform(), fixed_point() and minifloat()
    make one without a fit.
    """

    def __init__(self, encoding: native.Encoding, shape: tuple[int, ...] | None):
        self._encoding = encoding
        self._shape = shape

    @classmethod
    @checked
    def uniform(
        cls, scale: float | ArrayLike, zero_point: int | ArrayLike = 0, bits: int = 8
    ) -> Encoding:
        """Unsigned integers with a scale and a zero point, as those of ONNX and TFLite.

        value = scale (q - zero_point), q = clip(round(x / scale + zero_point), 0, 2^bits - 1);
        halves are rounded to even. Signed integers q' are q - 2^(bits - 1).

        scale, zero_point: numbers, or one for each row (the first extent) of arrays.

        >>> import halftone as ht, numpy as np
        >>> encoding = ht.Encoding.uniform(0.5, 10)
        >>> encoding.encode(np.array([-9.0, 0, 0.6, 200]))
        array([  0,  10,  11, 255], dtype=uint16)
        """
        scales = _numbers(scale, "scale").astype(np.float64)
        zeros = _numbers(zero_point, "zero_point")
        if zeros.dtype.kind not in "iu":
            raise TypeError(f"zero_point: expected integers, found dtype {zeros.dtype}")
        if scales.size > 1 and zeros.size == 1:
            zeros = np.repeat(zeros, scales.size)
        found = native.Encoding.uniform(scales.tolist(), zeros.tolist(), bits)
        return cls(found, None)

    @classmethod
    @checked
    def fixed_point(cls, exponent: int, bits: int) -> Encoding:
        """Two's complement with a binary point.

        value = 2^exponent q, q = clip(round(x / 2^exponent), -2^(bits - 1), 2^(bits - 1) - 1);
        halves are rounded to even codes, which are q + 2^(bits - 1).

        >>> import halftone as ht, numpy as np
        >>> encoding = ht.Encoding.fixed_point(-2, 4)
        >>> encoding.decode(encoding.encode(np.array([0.3, -5, 1.2])))
        array([ 0.25, -2.  ,  1.25], dtype=float32)
        """
        return cls(native.Encoding.fixed_point(exponent, bits), None)

    @classmethod
    @checked
    def minifloat(
        cls, exponent_bits: int, mantissa_bits: int, scale: float = 1.0
    ) -> Encoding:
        """Floating point with a sign, times a scale; codes as those of "e4m3" and the like.

        value = scale (-1)^s 2^(e - bias) (1 + m / 2^M), bias = 2^(E - 1) - 1; subnormal if e = 0.
        Numbers beyond the largest become the largest.

        exponent_bits, mantissa_bits: E, 2 to 8, and M, at least 1; 4 to 16 bits with the sign.

        >>> import halftone as ht, numpy as np
        >>> encoding = ht.Encoding.minifloat(4, 3)
        >>> encoding.decode(encoding.encode(np.array([0.3, -1000]))).tolist()
        [0.3125, -448.0]
        """
        return cls(native.Encoding.minifloat(exponent_bits, mantissa_bits, scale), None)

    @classmethod
    @checked
    def rule(
        cls,
        values: ArrayLike,
        system: str,
        bits: int = 0,
        *,
        granularity: Granularity | None = None,
        group_size: int = 0,
    ) -> Encoding:
        """The scales that the rule of a number system gives an array, such as its largest magnitude.

        bits, granularity, group_size: as in fit().

        >>> import halftone as ht, numpy as np
        >>> x = np.array([[1.0, -2.0], [0.5, 0.25]], np.float32)
        >>> float(ht.Encoding.rule(x, "int8", granularity="tensor").levels().max())
        2.0
        """
        array = _floats(values)
        found = native.Encoding.rule(_matrix(array), system, bits, granularity or "", group_size)
        return cls(found, array.shape)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """Of the arrays that it is for; None: any."""
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

    @checked
    def levels(self, block: int = 0) -> npt.NDArray[np.float32]:
        """The value of every code of a block."""
        if not 0 <= block < self.num_blocks:
            raise ValueError(f"block: expected 0 to {self.num_blocks - 1}, found {block}")
        out = np.empty(1 << self.bits, np.float32)
        self._encoding.levels(block, out)
        return out

    def encode(self, values: ArrayLike) -> npt.NDArray[np.uint16]:
        """The code of the nearest level for each value."""
        array = self._of_this_shape(_floats(values), "values")
        codes = np.empty(_matrix(array).shape, np.uint16)
        self._encoding.encode(_matrix(array), codes)
        return codes.reshape(array.shape)

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
        return values.reshape(array.shape)

    def _of_this_shape(self, array: Array, what: str) -> Array:
        if self._shape is not None and array.shape != self._shape:
            raise ValueError(
                f"{what}: expected shape {list(self._shape)}, found {list(array.shape)}"
            )
        rows = array.shape[0] if array.ndim > 1 else 1
        if self._shape is None and self.num_blocks not in (1, rows):
            raise ValueError(
                f"{what}: expected {self.num_blocks} rows, one for each scale, found {rows}"
            )
        if array.size == 0:
            raise ValueError(f"{what}: expected numbers, found shape {list(array.shape)}")
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


@checked
def encode(values: ArrayLike, encoding: Encoding) -> npt.NDArray[np.uint16]:
    """The code of the nearest level for each value: encoding.encode()."""
    return encoding.encode(values)


@checked
def decode(codes: ArrayLike, encoding: Encoding) -> npt.NDArray[np.float32]:
    """The level of each code: encoding.decode()."""
    return encoding.decode(codes)
