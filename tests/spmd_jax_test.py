#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions mapped by halftone.spmd return what those mapped by JAX return.

Usage: spmd_jax_test.py FOLDER PROGRAM

FOLDER has the Python package, PROGRAM is examples/cpp/devices.cc. Skipped (exit code 77) without
NumPy, JAX or the package. Values are small integers and dyadic fractions, whose sums are exact in
any order, so results are the same bits, but for two: XLA may divide by way of the reciprocal, and
the sums of the regression are not exact.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"
SKIPPED = 77
try:
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    sys.path.insert(0, sys.argv[1])
    from halftone import spmd
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)

COLLECTIVES = ("psum", "pmean", "pmax", "pmin", "all_gather", "psum_scatter", "all_to_all", "ppermute",
               "axis_index", "axis_size")  # fmt: skip
OURS = SimpleNamespace(np=np, pmap=spmd.pmap, vmap=spmd.vmap,
                       **{name: getattr(spmd, name) for name in COLLECTIVES})  # fmt: skip
JAX = SimpleNamespace(np=jnp, pmap=jax.pmap, vmap=jax.vmap,
                      **{name: getattr(jax.lax, name) for name in COLLECTIVES})  # fmt: skip

#: A program that runs on either of the two.
Case = tuple[str, Callable[[Any], Any]]
GROUPS = [[0, 1, 2, 3], [4, 5, 6, 7]]


def values(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Integers in [-8, 8)."""
    return np.random.default_rng(seed).integers(-8, 8, shape).astype(dtype)


def either_map(name: str, body: Callable[[Any], Callable[..., Any]], *args: Any) -> Iterator[Case]:
    """body(module) as the lanes 'i' of both maps."""
    yield f"pmap of {name}", lambda m: m.pmap(body(m), axis_name="i")(*args)
    yield f"vmap of {name}", lambda m: m.vmap(body(m), axis_name="i")(*args)


def reductions() -> Iterator[Case]:
    x, deep = values(8, 3), values(2, 4, 3)
    for name in ("psum", "pmean", "pmax", "pmin"):

        def reduce(m: Any, axes: Any, name: str = name, **options: Any) -> Callable[[Any], Any]:
            return lambda v: getattr(m, name)(v, axes, **options)

        yield from either_map(name, lambda m, reduce=reduce: reduce(m, "i"), x)
        yield f"{name} of groups", lambda m, reduce=reduce: m.pmap(
            reduce(m, "i", axis_index_groups=GROUPS), axis_name="i")(x)  # fmt: skip
        for axes in ("i", "j", ("i", "j")):
            yield f"{name} of a pmap of a vmap over {axes}", lambda m, reduce=reduce, axes=axes: m.pmap(
                m.vmap(reduce(m, axes), axis_name="j"), axis_name="i")(deep)  # fmt: skip
            yield f"{name} of a vmap of a vmap over {axes}", lambda m, reduce=reduce, axes=axes: m.vmap(
                m.vmap(reduce(m, axes), axis_name="j"), axis_name="i")(deep)  # fmt: skip
        for dtype in ("float64", "int32", "int64"):
            yield f"{name} of {dtype}", lambda m, reduce=reduce, dtype=dtype: m.pmap(
                reduce(m, "i"), axis_name="i")(values(8, 3, dtype=dtype))  # fmt: skip
    yield "psum of a vmap of a pmap", lambda m: m.vmap(
        m.pmap(lambda v: m.psum(v, ("i", "j")), axis_name="j"), axis_name="i")(deep)  # fmt: skip
    yield "psum of a number", lambda m: m.vmap(lambda v: v * m.psum(1, "i"), axis_name="i")(x)


def gathers() -> Iterator[Case]:
    x, rows, square = values(8, 3, 2), values(8, 8, 16), values(8, 8, 8)
    for tiled in (False, True):
        for axis in (0, 1, -1):
            yield from either_map(
                f"all_gather along {axis}, tiled {tiled}",
                lambda m, axis=axis, tiled=tiled: lambda v: m.all_gather(v, "i", axis=axis, tiled=tiled),
                x,
            )  # fmt: skip
        for axis in (0, 1):
            yield from either_map(
                f"psum_scatter along {axis}, tiled {tiled}",
                lambda m, axis=axis, tiled=tiled: lambda v: m.psum_scatter(
                    v, "i", scatter_dimension=axis, tiled=tiled),
                rows if tiled else square,
            )  # fmt: skip
            for concat in (0, 1):
                yield from either_map(
                    f"all_to_all from {axis} to {concat}, tiled {tiled}",
                    lambda m, axis=axis, concat=concat, tiled=tiled: lambda v: m.all_to_all(
                        v, "i", axis, concat, tiled=tiled),
                    rows if tiled else square,
                )  # fmt: skip
    groups: dict[str, Any] = {"axis_index_groups": GROUPS}
    halves = values(8, 4, 2)
    yield "all_gather of groups", lambda m: m.pmap(
        lambda v: m.all_gather(v, "i", **groups), axis_name="i")(halves)  # fmt: skip
    yield "psum_scatter of groups", lambda m: m.pmap(
        lambda v: m.psum_scatter(v, "i", **groups), axis_name="i")(halves)  # fmt: skip
    yield "all_to_all of groups", lambda m: m.pmap(
        lambda v: m.all_to_all(v, "i", 0, 0, **groups), axis_name="i")(halves)  # fmt: skip


def permutations() -> Iterator[Case]:
    x = values(8, 3)
    for name, pairs in (("a ring", [(i, (i + 1) % 8) for i in range(8)]),
                        ("a reversal", [(i, 7 - i) for i in range(8)])):  # fmt: skip
        yield from either_map(
            f"ppermute of {name}", lambda m, pairs=pairs: lambda v: m.ppermute(v, "i", pairs), x)  # fmt: skip
    yield "ppermute of some", lambda m: m.pmap(
        lambda v: m.ppermute(v, "i", [(0, 3), (3, 1)]), axis_name="i")(x)  # fmt: skip
    yield from either_map("axis_index", lambda m: lambda v: v + m.axis_index("i"), x)
    yield from either_map("axis_size", lambda m: lambda v: v * m.axis_size("i"), x)
    yield "axis_index of two axes", lambda m: m.vmap(
        m.vmap(lambda v: v * 0 + m.axis_index(("i", "j")), axis_name="j"), axis_name="i")(
            values(2, 4))  # fmt: skip


def axes() -> Iterator[Case]:
    a, b, deep = values(4, 3, seed=1), values(4, 2, seed=2), values(4, 3, 4)
    tree = {"a": a, "b": [b, (a, b)], "none": None}
    yield "in_axes None", lambda m: m.vmap(lambda x, y: x * y.sum(), in_axes=(0, None))(a, b)
    yield "in_axes of the last", lambda m: m.vmap(lambda x: 2 * x, in_axes=-1)(deep)
    yield "in_axes 1, out_axes 1", lambda m: m.vmap(lambda x: 2 * x, in_axes=1, out_axes=1)(deep)
    yield "out_axes of the last", lambda m: m.vmap(lambda x: x + 1, out_axes=-1)(deep)
    yield "out_axes of a tree", lambda m: m.vmap(lambda x: (x, {"x": x}), out_axes=(0, {"x": 2}))(deep)
    yield "out_axes by a prefix", lambda m: m.vmap(lambda x: (x, {"x": x}), out_axes=(0, 1))(deep)
    yield "out_axes None", lambda m: m.vmap(
        lambda x: m.psum(x, "i"), axis_name="i", out_axes=None)(a)  # fmt: skip
    yield "trees", lambda m: m.vmap(lambda t: {"sum": t["a"].sum() + t["b"][0].sum(), "t": t})(tree)
    yield "in_axes of a tree", lambda m: m.vmap(
        lambda t, x: t["a"] @ t["w"] + x, in_axes=({"a": 0, "w": None}, 0))(
            {"a": a, "w": values(3, 2)}, b)  # fmt: skip
    yield "arguments with names", lambda m: m.vmap(lambda x, y: x + y.sum())(a, y=b)
    yield "collectives of trees", lambda m: m.pmap(lambda t: m.psum(t, "i"), axis_name="i")(tree)
    yield "pmap, in_axes None", lambda m: m.pmap(lambda x, y: x * y, in_axes=(0, None))(b, b[0])
    yield "pmap, out_axes 1", lambda m: m.pmap(lambda x: x + 1, out_axes=1)(a)
    yield "pmap, out_axes None", lambda m: m.pmap(
        lambda x: m.psum(x, "i"), axis_name="i", out_axes=None)(a)  # fmt: skip
    yield "static arguments", lambda m: m.pmap(
        lambda x, n: x * n, static_broadcasted_argnums=1)(a, 3)  # fmt: skip
    yield "axis_size alone", lambda m: m.vmap(
        lambda x: x + m.axis_index("i"), in_axes=None, axis_name="i", axis_size=5)(a)  # fmt: skip


def convolve(m: Any, x: Any, w: Any) -> Any:
    return m.np.stack([m.np.dot(x[i : i + 3], w) for i in range(len(x) - 2)])


def programs() -> Iterator[Case]:
    """Those of docs/spmd.md."""
    xs = np.arange(40, dtype=np.float32).reshape(8, 5)
    ws = np.tile(np.float32([2, 3, 4]), (8, 1))

    def conv(m: Any) -> Callable[..., Any]:
        return lambda x, w: convolve(m, x, w)

    def normalized(m: Any) -> Callable[..., Any]:
        def lane(x: Any, w: Any) -> Any:
            y = convolve(m, x, w)
            return y / m.psum(y, axis_name="i")

        return lane

    yield from either_map("convolution", conv, xs, ws)
    yield "convolution twice", lambda m: m.pmap(conv(m))(xs, m.pmap(conv(m))(xs, ws))
    yield "convolution with one w", lambda m: m.pmap(conv(m), in_axes=(0, None))(xs, ws[0])
    yield from either_map("normalized convolution", normalized, xs, ws)
    yield "nested means", lambda m: m.pmap(
        m.vmap(lambda v: m.pmean(v, ("i", "j")), axis_name="j"), axis_name="i")(
            np.arange(24, dtype=np.float32).reshape(2, 4, 3))  # fmt: skip


def compare(name: str, program: Callable[[Any], Any]) -> None:
    mine, other = (jax.tree.flatten(program(m)) for m in (OURS, JAX))
    assert mine[1] == other[1], f"{name}: {mine[1]} is not {other[1]}"
    for found, wanted in zip(mine[0], map(np.asarray, other[0])):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), f"{name}: {found.dtype}"
        # A reciprocal and a product round once each, a division once.
        bound = 1.5 * np.finfo(np.float32).eps if "normalized" in name else 0.0
        np.testing.assert_allclose(found, wanted, rtol=bound, err_msg=name)


def points() -> tuple[np.ndarray, np.ndarray]:
    """As in examples/cpp/devices.cc."""
    i = np.arange(128, dtype=np.float32)
    x = (i - np.float32(63.5)) / 32
    return x, (2 * x - 1 + np.float32(0.1) * np.sin(37 * i)).astype(np.float32)


def line_of(m: Any) -> Any:
    """The regression in data-parallel, with the gradient of JAX or by hand."""

    def loss(line: Any, x: Any, y: Any) -> Any:
        return ((line[0] * x + line[1] - y) ** 2).mean()

    def by_hand(line: Any, x: Any, y: Any) -> Any:
        error = line[0] * x + line[1] - y
        return (2 * error * x).mean(), (2 * error).mean()

    gradient = by_hand if m is OURS else jax.grad(loss)

    def step(line: Any, x: Any, y: Any) -> Any:
        mean = m.pmean(gradient(line, x, y), "i")
        return tuple(value - np.float32(0.005) * by for value, by in zip(line, mean))

    x, y = (each.reshape(4, 32) for each in points())
    line = (np.zeros(4, np.float32), np.zeros(4, np.float32))
    mapped = m.pmap(step, axis_name="i")
    for _ in range(1000):
        line = mapped(line, x, y)
    return np.stack([np.asarray(each) for each in line])


def compare_regression() -> np.ndarray:
    mine, other = line_of(OURS), line_of(JAX)
    # A step rounds sums of 32 terms below 2 * 5 * 2 = 20, and moves by 0.005 of them; steps contract.
    bound = 1000 * 0.005 * 32 * 20 * np.finfo(np.float32).eps
    assert np.abs(mine - other).max() < bound, (mine, other)
    assert (mine == mine[:, :1]).all(), "the copies of the line differ"
    return other[:, 0]


def rows_of(output: str) -> dict[str, np.ndarray]:
    """The arrays that the program prints, by their titles."""
    tables: dict[str, list[list[float]]] = {}
    for line in output.splitlines():
        if ": float32" in line:
            rows = tables.setdefault(line.split(":")[0], [])
        elif line[0].isdigit():
            rows.append([float(word) for word in line.split()])
    return {title: np.array(rows) for title, rows in tables.items()}


def compare_program(program: str, line: np.ndarray) -> int:
    """What the program in C++ prints is what JAX computes."""
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    printed = rows_of(output)
    names = {
        "pmap of convolution": "eight devices",
        "vmap of convolution": "batch",
        "convolution twice": "twice",
        "convolution with one w": "one argument for all",
        "pmap of normalized convolution": "normalized",
        "vmap of normalized convolution": "batch normalized",
        "nested means": "nested",
    }
    for name, case in programs():
        wanted = np.asarray(case(JAX), np.float64)
        found = printed[names[name]].reshape(wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=name)  # six digits
    text = f"line of device 3: {line[0]:.3f} x {line[1]:+.3f}"
    assert text in output, text
    return len(names) + 1


def main() -> None:
    cases = [*reductions(), *gathers(), *permutations(), *axes(), *programs()]
    for name, program in cases:
        compare(name, program)
    line = compare_regression()
    print(f"{len(cases) + 1} programs return what those of JAX {jax.__version__} return")
    if len(sys.argv) > 2:
        print(f"{compare_program(sys.argv[2], line)} of the C++ example print it")


if __name__ == "__main__":
    main()
