# SPDX-License-Identifier: Apache-2.0
"""How arguments of mapped functions are split into lanes, and results joined."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _halftone_spmd as native
from ._spmd_trees import (
    Array,
    Axes,
    Tree,
    array_of,
    axes_of,
    checked_axis,
    leaves,
    rebuild,
    structure,
    text_of,
    type_of,
)


class Devices:
    """Devices that maps run on, of this process: threads that share its cores.

    len() gives their number.
    """

    def __init__(self, native_devices: native.Devices):
        self.native = native_devices

    def __len__(self) -> int:
        return len(self.native)

    def __repr__(self) -> str:
        return f"Devices({len(self)})"


class Lanes:
    """The arguments of a call, split into lanes."""

    def __init__(self, what: str):
        self._what = what
        self.size: int | None = None
        self._source = ""

    def set_size(self, size: int, source: str) -> None:
        if self.size is not None and self.size != size:
            raise ValueError(
                f"{self._what}: number of lanes: {self.size} from {self._source}, "
                f"{size} from {source}"
            )
        self.size, self._source = size, source

    def split(self, tree: Tree, axes: Axes, name: str) -> Callable[[int], Tree]:
        """A function that gives the part of a lane."""
        if axes is None:
            return functools.partial(_whole, tree)
        what = f"{self._what}: {name}"
        parts: list[Callable[[int], Any]] = []
        for leaf, axis in zip(leaves(tree), axes_of(axes, tree, what), strict=True):
            if axis is None:
                parts.append(functools.partial(_whole, leaf))
                continue
            array = array_of(leaf, what)
            at = checked_axis(axis, array.ndim, f"{what}: {type_of(array)}")
            self.set_size(array.shape[at], name)
            parts.append(functools.partial(_entry, array, at))
        return lambda lane: rebuild(tree, iter([part(lane) for part in parts]))


def _whole(tree: Tree, lane: int) -> Tree:
    return tree


def _entry(array: Array, axis: int, lane: int) -> Array:
    """Entry `lane` along an axis, which may not be written to."""
    entry = array[(slice(None),) * axis + (lane, ...)]
    entry.flags.writeable = False
    return entry


def _joined(what: str, results: list[Tree], out_axes: Axes) -> Tree:
    """The results of all lanes, along new axes of the leaves."""
    arrays = [[array_of(leaf, f"{what}: results") for leaf in leaves(tree)] for tree in results]
    first = [type_of(array) for array in arrays[0]]
    for lane, (tree, mine) in enumerate(zip(results, arrays, strict=True)):
        if structure(tree) != structure(results[0]) or [type_of(each) for each in mine] != first:
            raise ValueError(
                f"{what}: results differ: lane 0 returned {text_of(results[0])}, "
                f"lane {lane} {text_of(tree)}"
            )
    axes = axes_of(out_axes, results[0], f"{what}: out_axes")
    columns = zip(*arrays, strict=True)
    joined = [_stacked(what, list(column), axis) for column, axis in zip(columns, axes, strict=True)]
    return rebuild(results[0], iter(joined))


def _stacked(what: str, column: list[Array], axis: int | None) -> Array:
    if axis is None:
        if any(each.tobytes() != column[0].tobytes() for each in column):
            raise ValueError(f"{what}: out_axes is None, but lanes returned different values")
        return column[0]
    rank = column[0].ndim + 1
    return np.stack(column, checked_axis(axis, rank, f"{what}: out_axes: a result of rank {rank}"))


class Map:
    """A map of one kind with its options."""

    def __init__(self, kind: native.MapKind, in_axes: Axes, out_axes: Axes, axis_name: str | None):
        self.kind = kind
        self.name = kind.name.lower()
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.axis_name = axis_name or ""
        self.axis_size: int | None = None
        self.devices: Devices | None = None
        self.static: set[int] = set()

    def wrap(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fun)
        def mapped(*args: Any, **kwargs: Any) -> Any:
            return self._call(fun, args, kwargs)

        return mapped

    def _axes(self, count: int) -> list[Axes]:
        """Of each argument."""
        if not isinstance(self.in_axes, (tuple, list)):
            axes = [self.in_axes] * count
        elif len(self.in_axes) == count:
            axes = list(self.in_axes)
        else:
            raise ValueError(
                f"{self.name}: {len(self.in_axes)} in_axes for {count} positional arguments"
            )
        return [None if index in self.static else axis for index, axis in enumerate(axes)]

    def _call(self, fun: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        lanes = Lanes(self.name)
        if self.axis_size is not None:
            lanes.set_size(self.axis_size, "axis_size")
        split = [
            lanes.split(argument, axes, f"argument {index}")
            for index, (argument, axes) in enumerate(zip(args, self._axes(len(args)), strict=True))
        ]
        named = {key: lanes.split(value, 0, f"argument {key!r}") for key, value in kwargs.items()}
        if lanes.size is None:
            raise ValueError(f"{self.name}: no argument is split; give axis_size")
        if lanes.size == 0:
            raise ValueError(f"{self.name}: expected at least one lane, found 0")
        results: list[Any] = [None] * lanes.size
        contexts = [contextvars.copy_context() for _ in results]

        def run_lane(lane: int) -> None:
            results[lane] = contexts[lane].run(
                fun,
                *(part(lane) for part in split),
                **{key: part(lane) for key, part in named.items()},
            )

        on = None if self.devices is None else self.devices.native
        native.run(self.kind, self.axis_name, lanes.size, on, run_lane)
        return _joined(self.name, results, self.out_axes)
