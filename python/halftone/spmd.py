# SPDX-License-Identifier: Apache-2.0
"""Functions for one device, mapped over many: named axes and collectives, as in JAX.

A lane is one call of a mapped function. Lanes of pmap() run on devices of their own, which are
threads; Python's lock lets one of them run Python at a time, and NumPy's own loops free it. Lanes
of vmap() take turns on one device. Lanes of a map with a name meet in collectives: all of them call
the same ones in the same order. If one ends while others wait for it, the map raises ValueError.

Arguments and results are trees: arrays in tuples, lists and dicts. Lanes read arguments in place,
and share what collectives return, so they may write to neither. Collectives take float32, float64,
int32 and int64. There are no gradients.

>>> pmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 2.0, 5.0]))
array([0.125, 0.25 , 0.625])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import _halftone_spmd as native
from ._arguments import checked
from ._spmd_maps import Devices, Map
from ._spmd_trees import Array, Axes, Tree, array_of, checked_axis, leaves, map_leaves, rebuild, type_of

__all__ = [
    "Devices",
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "devices",
    "pmap",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "spread",
    "vmap",
]

#: The name of an axis, or several.
AxisName: TypeAlias = str | Sequence[str]
#: A partition of the indices of one axis into groups of equal size; None: one group of all.
Groups: TypeAlias = Sequence[Sequence[int]] | None

_TYPES = ("float32", "float64", "int32", "int64")


def _names(axis_name: AxisName) -> list[str]:
    return [axis_name] if isinstance(axis_name, str) else list(axis_name)


def _index(value: int, what: str) -> int:
    if value < 0:
        raise ValueError(f"{what}: expected indices of lanes, found {value}")
    return int(value)


def _groups(groups: Groups, what: str) -> list[list[int]]:
    return [[_index(lane, what) for lane in group] for group in groups or []]


def _inputs(tree: Tree, what: str) -> list[Array]:
    """The leaves as the compiled module takes them."""
    arrays = [array_of(leaf, what) for leaf in leaves(tree)]
    for array in arrays:
        if array.dtype.name not in _TYPES or not array.dtype.isnative:
            found = array.dtype.name if array.dtype.isnative else array.dtype.str
            raise TypeError(f"{what}: expected {', '.join(_TYPES[:3])} or int64, found {found}")
    return [np.asarray(array, order="C") for array in arrays]


def _meet(tree: Tree, inputs: list[Array], run: Callable[[list[Array]], list[Array]]) -> Tree:
    """Runs a collective on the leaves of a tree; numbers of Python stay what they are."""
    results = [out.view(array.dtype) for out, array in zip(run(inputs), inputs, strict=True)]
    pairs = zip(results, leaves(tree), strict=True)
    return rebuild(tree, iter([
        out.item() if isinstance(leaf, (int, float)) and out.ndim == 0 else out
        for out, leaf in pairs
    ]))


_Reduce: TypeAlias = Callable[[list[Array], list[str], list[list[int]]], list[Array]]


def _reduce(what: str, reduce: _Reduce, tree: Tree, axis_name: AxisName, groups: Groups) -> Tree:
    names, groups = _names(axis_name), _groups(groups, what)
    return _meet(tree, _inputs(tree, what), lambda inputs: reduce(inputs, names, groups))


def _along(
    what: str,
    tree: Tree,
    axes: tuple[int, ...],
    collective: Callable[[list[Array], tuple[int, ...]], list[Array]],
    new_axis: bool = False,
) -> Tree:
    """Runs a collective that all leaves share; axes from the end differ for leaves of other ranks.

    new_axis: axes are those of the result, which has one more.
    """
    inputs = _inputs(tree, what)
    ranks = sorted({array.ndim for array in inputs})
    if min(axes) < 0 and len(ranks) > 1:
        return map_leaves(lambda leaf: _along(what, leaf, axes, collective, new_axis), tree)
    if min(axes) < 0:
        rank = ranks[0] + new_axis
        text = f"{what}: {type_of(inputs[0])}"
        axes = tuple(checked_axis(axis, rank, text) for axis in axes)
    return _meet(tree, inputs, lambda arrays: collective(arrays, axes))


@checked
def psum(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The sum over the lanes: the same for each of them.

    The order of the sum is a binary tree over the lanes, ((x0 + x1) + (x2 + x3)) + ..., so its bits
    depend on the number of lanes only.

    >>> vmap(lambda x: psum(x, "i"), axis_name="i")(np.arange(3))
    array([3, 3, 3])
    """
    return _reduce("psum", native.psum, x, axis_name, axis_index_groups)


@checked
def pmean(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """psum() / the number of lanes; float32 for leaves of int32, float64 for int64.

    >>> vmap(lambda x: pmean(x, "i"), axis_name="i")(np.arange(4.0))
    array([1.5, 1.5, 1.5, 1.5])
    """
    whole = [np.issubdtype(array.dtype, np.integer) for array in _inputs(x, "pmean")]
    if not any(whole):
        return _reduce("pmean", native.pmean, x, axis_name, axis_index_groups)
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = len(axis_index_groups[0]) if axis_index_groups else axis_size(axis_name)

    def mean(leaf: Array | int) -> Array:
        array = np.asarray(leaf)
        dtype = np.dtype(f"float{8 * array.dtype.itemsize}")
        return np.asarray(array.astype(dtype) / dtype.type(count))

    return map_leaves(mean, total)


@checked
def pmax(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The maximum of each element over the lanes; NaN if one is NaN.

    >>> vmap(lambda x: pmax(x, "i"), axis_name="i")(np.arange(3))
    array([2, 2, 2])
    """
    return _reduce("pmax", native.pmax, x, axis_name, axis_index_groups)


@checked
def pmin(x: Tree, axis_name: AxisName, *, axis_index_groups: Groups = None) -> Tree:
    """The minimum of each element over the lanes; NaN if one is NaN.

    >>> vmap(lambda x: pmin(x, "i"), axis_name="i")(np.arange(3))
    array([0, 0, 0])
    """
    return _reduce("pmin", native.pmin, x, axis_name, axis_index_groups)


@checked
def all_gather(
    x: Tree,
    axis_name: AxisName,
    *,
    axis_index_groups: Groups = None,
    axis: int = 0,
    tiled: bool = False,
) -> Tree:
    """The values of all lanes along a new axis of the result: n lanes with [a, b] give [n, a, b].

    tiled: along an axis that is there, [n a, b].

    >>> vmap(lambda x: all_gather(x, "i"), axis_name="i")(np.arange(2))
    array([[0, 1],
           [0, 1]])
    """
    names, groups = _names(axis_name), _groups(axis_index_groups, "all_gather")
    return _along(
        "all_gather",
        x,
        (axis,),
        lambda inputs, axes: native.all_gather(inputs, names, groups, axes[0], tiled),
        new_axis=not tiled,
    )


@checked
def psum_scatter(
    x: Tree,
    axis_name: AxisName,
    *,
    scatter_dimension: int = 0,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Tree:
    """Entry i of the sum for lane i: n lanes with [n, a] get [a].

    scatter_dimension: the axis that is divided. tiled: parts keep it, [n k, a] gives [k, a].

    >>> vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(np.array([[1, 2], [30, 40]]))
    array([31, 42])
    """
    names, groups = _names(axis_name), _groups(axis_index_groups, "psum_scatter")
    return _along(
        "psum_scatter",
        x,
        (scatter_dimension,),
        lambda inputs, axes: native.psum_scatter(inputs, names, groups, axes[0], tiled),
    )


@checked
def all_to_all(
    x: Tree,
    axis_name: AxisName,
    split_axis: int,
    concat_axis: int,
    *,
    axis_index_groups: Groups = None,
    tiled: bool = False,
) -> Tree:
    """Entry j of lane i becomes entry i of lane j: a transposition of lanes and an axis.

    n lanes with [n, a], split along axis 0 and joined along axis 1, get [a, n]. tiled: both axes
    stay, one n times shorter, the other n times longer.

    >>> vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(np.array([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]])
    """
    names, groups = _names(axis_name), _groups(axis_index_groups, "all_to_all")
    return _along(
        "all_to_all",
        x,
        (split_axis, concat_axis),
        lambda inputs, axes: native.all_to_all(inputs, names, groups, (axes[0], axes[1]), tiled),
    )


@checked
def ppermute(x: Tree, axis_name: AxisName, perm: Sequence[tuple[int, int]]) -> Tree:
    """The value of another lane, by pairs (from, to); zeros for a lane to which none leads.

    >>> vmap(lambda x: ppermute(x, "i", [(0, 1), (1, 2)]), axis_name="i")(np.array([7, 8, 9]))
    array([0, 7, 8])
    """
    names = _names(axis_name)
    pairs = [(_index(src, "ppermute"), _index(dst, "ppermute")) for src, dst in perm]
    return _meet(x, _inputs(x, "ppermute"), lambda inputs: native.ppermute(inputs, names, pairs))


@checked
def axis_index(axis_name: AxisName) -> int:
    """The index of the calling lane, without waiting for others.

    >>> vmap(lambda x: x + 10 * axis_index("i"), axis_name="i")(np.arange(3))
    array([ 0, 11, 22])
    """
    return native.axis_index(_names(axis_name))


@checked
def axis_size(axis_name: AxisName) -> int:
    """The number of lanes, without waiting for others.

    >>> vmap(lambda x: x / axis_size("i"), axis_name="i")(np.arange(4))
    array([0.  , 0.25, 0.5 , 0.75])
    """
    return native.axis_size(_names(axis_name))


@checked
def devices(count: int | None = None) -> Devices:
    """Devices for pmap() and spread(): any number up to 4096, or one for each core.

    >>> devices(8)
    Devices(8)
    """
    if count is None:
        return Devices(native.Devices.for_threads())
    return Devices(native.Devices.emulate(_index(count, "devices")))


@checked
def vmap(
    fun: Callable[..., Any],
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: str | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Maps a function over an axis of its arguments; its lanes take turns on one device.

    in_axes: the axis along which each argument is split; None: every lane gets the whole. A tuple
    has one for each argument, and trees of them one for each leaf.
    out_axes: the axis along which results lie; None: all lanes return the same, which is returned.
    axis_name: under which collectives know the lanes. axis_size: their number, where no argument is
    split. Arguments with names are split along axis 0.

    >>> vmap(np.dot, in_axes=(0, None))(np.array([[1, 2], [3, 4]]), np.array([10, 1]))
    array([12, 34])
    """
    mapped = Map(native.MapKind.VMAP, in_axes, out_axes, axis_name)
    mapped.axis_size = axis_size
    return mapped.wrap(fun)


@checked
def pmap(
    fun: Callable[..., Any],
    axis_name: str | None = None,
    *,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    static_broadcasted_argnums: int | Sequence[int] = (),
    devices: Devices | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Maps a function as vmap() does; each lane runs on a device of its own.

    static_broadcasted_argnums: indices of arguments that every lane gets as they are.
    devices: at least as many as lanes; None: as many. A pmap within a lane divides the devices of
    that lane, so give the outer one enough for both.

    >>> nested = pmap(pmap(lambda x: psum(x, ("i", "j")), axis_name="j"), axis_name="i",
    ...               devices=devices(6))
    >>> nested(np.arange(6).reshape(2, 3))
    array([[15, 15, 15],
           [15, 15, 15]])
    """
    mapped = Map(native.MapKind.PMAP, in_axes, out_axes, axis_name)
    static = static_broadcasted_argnums
    mapped.static = {static} if isinstance(static, int) else set(static)
    mapped.devices, mapped.axis_size = devices, axis_size
    return mapped.wrap(fun)


@checked
def spread(
    fun: Callable[..., Any],
    axis_name: str | None = None,
    *,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    devices: Devices | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Maps a function as pmap() does, for more lanes than devices: neighbours share one.

    devices: None: one for each core. Results have the same bits on any number.

    >>> spread(lambda x: x * x, devices=devices(2))(np.arange(5))
    array([ 0,  1,  4,  9, 16])
    """
    mapped = Map(native.MapKind.SPREAD, in_axes, out_axes, axis_name)
    mapped.devices, mapped.axis_size = devices, axis_size
    return mapped.wrap(fun)
