# SPDX-License-Identifier: Apache-2.0
"""Arrays as the compiled module takes them: C order, the byte order of this processor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from . import _halftone as native

Array: TypeAlias = npt.NDArray[Any]
#: An array of NumPy's, or an object with `__dlpack__` in the memory of the processor.
ArrayLike: TypeAlias = Any
Shape: TypeAlias = tuple[int | str, ...]


def type_text(dtype: np.dtype[Any], shape: Sequence[int | str]) -> str:
    """"float32[N, 784]"."""
    return f"{dtype.name}[{', '.join(map(str, shape))}]"


def as_array(value: ArrayLike, what: str) -> Array:
    """The array that an object is or shares its memory with; nothing is converted."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{what}: expected an array, found a masked one; fill it: x.filled(0)")
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except Exception as error:
            raise TypeError(
                f"{what}: {type(value).__name__} shares no memory with NumPy: {error}"
            ) from error
    raise TypeError(
        f"{what}: expected an array of NumPy or with __dlpack__, found {type(value).__name__}"
    )


def check_order(array: Array, what: str) -> None:
    if not array.dtype.isnative:
        raise ValueError(
            f"{what}: expected the byte order of this processor, found dtype {array.dtype.str}; "
            "use x.astype(x.dtype.newbyteorder('='))"
        )


class Spec:
    """What one input or output of a session must be."""

    __slots__ = ("dtype", "is_computed", "name", "port_text", "shape")

    def __init__(self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], port_text: str):
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.port_text = port_text  #: with N for the batch
        self.is_computed = any(extent < 0 for extent in shape)  #: its size depends on data

    def empty(self) -> Array:
        return np.empty(0 if self.is_computed else self.shape, self.dtype)

    def _is_met(self, value: ArrayLike) -> bool:
        """Whether a value is such an array in C order; the way of most calls."""
        return (
            type(value) is np.ndarray
            and value.dtype == self.dtype
            and value.shape == self.shape
            and value.flags.c_contiguous
        )

    def input(self, value: ArrayLike) -> Array:
        """The array itself where it can be read as it is, else a copy in C order."""
        if self._is_met(value):
            met: Array = value
            return met
        array = as_array(value, f"input '{self.name}'")
        self._check(array, "input")
        return np.ascontiguousarray(array).reshape(self.shape)

    def output(self, value: ArrayLike) -> Array:
        """The memory of an array to write to. That it overlaps nothing, the session checks."""
        if self._is_met(value) and value.flags.writeable:
            met: Array = value
            return met
        what = f"output '{self.name}'"
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            array = native.writable_view(value)
        else:
            array = as_array(value, what)
        self._check(array, "output")
        if not array.flags.c_contiguous:
            raise ValueError(f"{what}: expected out= in C order, found strides {array.strides}")
        if not array.flags.writeable:
            raise ValueError(f"{what}: expected out= that can be written, found a read-only array")
        return array

    def _check(self, array: Array, kind: str) -> None:
        what = f"{kind} '{self.name}'"
        if array.dtype.newbyteorder("=") != self.dtype:
            raise TypeError(
                f"{what}: expected {self.port_text}, found "
                f"{type_text(array.dtype, array.shape)}; use x.astype('{self.dtype.name}')"
            )
        check_order(array, what)
        if array.shape != self.shape:
            raise ValueError(
                f"{what}: expected {self.port_text}, found {type_text(array.dtype, array.shape)}"
            )
