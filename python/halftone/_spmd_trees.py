# SPDX-License-Identifier: Apache-2.0
"""Trees: arrays in tuples, lists and dicts, as arguments and results of mapped functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

#: An array or number, None, or a tuple, list or dict of trees.
Tree: TypeAlias = Any
Array: TypeAlias = npt.NDArray[Any]
#: An axis, or None for no axis, for each leaf; a tree may stand for all leaves below it.
Axes: TypeAlias = Any


def _shown(axes: Axes) -> str:
    """Axes themselves if they take one short line, else their type."""
    text = repr(axes)
    return text if len(text) <= 60 and "\n" not in text else type(axes).__name__


def _children(tree: Tree) -> list[Tree] | None:
    """In order, those of dicts by key; None for a leaf."""
    if tree is None:
        return []
    if isinstance(tree, Mapping):
        return [tree[key] for key in sorted(tree)]
    return list(tree) if isinstance(tree, (tuple, list)) else None


def _rebuilt(tree: Tree, children: list[Tree]) -> Tree:
    """A tree of the kind of another, with other children."""
    if tree is None:
        return None
    if isinstance(tree, Mapping):
        values = dict(zip(sorted(tree), children, strict=True))
        return {key: values[key] for key in tree}
    if hasattr(tree, "_fields"):  # a named tuple
        return type(tree)(*children)
    return tuple(children) if isinstance(tree, tuple) else children


def leaves(tree: Tree) -> list[Any]:
    """In order."""
    children = _children(tree)
    if children is None:
        return [tree]
    return [leaf for child in children for leaf in leaves(child)]


def rebuild(tree: Tree, new: Iterator[Any]) -> Tree:
    """The same tree with the next of other leaves in place of each of its own."""
    children = _children(tree)
    if children is None:
        return next(new)
    return _rebuilt(tree, [rebuild(child, new) for child in children])


def map_leaves(function: Callable[[Any], Any], tree: Tree) -> Tree:
    """The same tree with function(leaf) in place of each leaf."""
    return rebuild(tree, iter([function(leaf) for leaf in leaves(tree)]))


def _kind(tree: Tree) -> object:
    """What two trees must share at their root to have one structure."""
    if isinstance(tree, Mapping):
        return dict, tuple(sorted(tree))
    return type(tree), None if tree is None else len(tree)


def structure(tree: Tree) -> object:
    """Equal for trees that differ in leaves only."""
    children = _children(tree)
    return None if children is None else (_kind(tree), [structure(child) for child in children])


def axes_of(axes: Axes, tree: Tree, what: str) -> list[int | None]:
    """The axis of each leaf of a tree."""
    if axes is None or (isinstance(axes, (int, np.integer)) and not isinstance(axes, bool)):
        return [axes if axes is None else int(axes)] * len(leaves(tree))
    parts, children = _children(axes), _children(tree)
    if parts is None:
        raise TypeError(f"{what}: expected an integer, None, or a tree of them, found {_shown(axes)}")
    if children is None or len(parts) != len(children) or (
        isinstance(axes, Mapping) and _kind(axes) != _kind(tree)
    ):
        raise ValueError(f"{what}: {_shown(axes)} has another structure than {text_of(tree)}")
    pairs = zip(parts, children, strict=True)
    return [axis for part, child in pairs for axis in axes_of(part, child, what)]


def array_of(leaf: Any, what: str) -> Array:
    """The array that a leaf is."""
    array = np.asarray(leaf)
    if array.dtype.hasobject:
        raise TypeError(f"{what}: expected arrays, found {type(leaf).__name__}")
    return array


def checked_axis(axis: int, rank: int, what: str) -> int:
    """The axis, counted from the front."""
    if not -rank <= axis < rank:
        raise ValueError(f"{what} has no axis {axis}")
    return axis % rank


def type_of(array: Array) -> str:
    """"float32[3]"."""
    return f"{array.dtype.name}{list(array.shape)}"


def text_of(tree: Tree) -> str:
    """The tree with types in place of arrays."""
    children = _children(tree)
    if children is None:
        array = np.asarray(tree)
        return type(tree).__name__ if array.dtype.hasobject else type_of(array)
    texts = [text_of(child) for child in children]
    if isinstance(tree, Mapping):
        pairs = zip(sorted(tree), texts, strict=True)
        return "{" + ", ".join(f"{key!r}: {text}" for key, text in pairs) + "}"
    if tree is None:
        return "None"
    ends = "[]" if isinstance(tree, list) else "()"
    return ends[0] + ", ".join(texts) + ends[1]
