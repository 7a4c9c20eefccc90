# SPDX-License-Identifier: Apache-2.0
"""Functions mapped over devices; tests/spmd_jax_test.py compares them with JAX."""

from __future__ import annotations

import contextvars
import doctest
import re
import threading
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from conftest import ROOT
from halftone import spmd

FOUR = np.arange(4.0)
MAPS = [spmd.pmap, spmd.vmap, spmd.spread]
Map = Callable[..., Any]


def test_the_document() -> None:
    page = (ROOT / "docs" / "spmd.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "spmd.md", None, 0)
    assert len(test.examples) > 20
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def tree_sum(values: list[np.ndarray]) -> np.ndarray:
    """The sum in the order of docs/spmd.md, for a power of two."""
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2])]
    return values[0]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_have_the_bits_of_a_tree(dtype: str) -> None:
    random = np.random.default_rng(3)
    x = (random.standard_normal((8, 1000)) * 10 ** random.uniform(-6, 6, (8, 1000))).astype(dtype)
    wanted = tree_sum(list(x))
    assert not np.array_equal(wanted, x.sum(0)), "the order must matter"

    def total(v: Any) -> Any:
        return spmd.psum(v, "i")

    found = [spmd.vmap(total, axis_name="i")(x), spmd.pmap(total, "i")(x)]
    for count in (1, 2, 3, 8):
        found.append(spmd.spread(total, "i", devices=spmd.devices(count))(x))
    for rows in found:
        assert rows.dtype == dtype
        assert all(row.tobytes() == wanted.tobytes() for row in rows)


def test_lanes_run_on_threads_of_their_own() -> None:
    threads = set()

    def lane(x: Any) -> Any:
        threads.add(threading.get_ident())
        return spmd.psum(x, "i")

    spmd.pmap(lane, "i")(FOUR)
    assert len(threads) == 4


def test_lanes_see_context_variables() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(7)
    assert (spmd.pmap(lambda x: x + variable.get())(FOUR) == FOUR + 7).all()


def test_hundreds_of_lanes_meet() -> None:
    x = np.arange(300)
    assert (spmd.vmap(lambda v: spmd.psum(v, "i"), axis_name="i")(x) == x.sum()).all()
    assert (spmd.pmap(lambda v: spmd.pmax(v, "i"), "i")(x) == 299).all()


class Line(NamedTuple):
    slope: Any
    offset: Any


def test_trees_keep_their_kind() -> None:
    tree = {"b": Line(FOUR, [FOUR, (FOUR,)]), "a": None}
    found = spmd.vmap(lambda t: spmd.psum(t, "i"), axis_name="i")(tree)
    assert list(found) == ["b", "a"] and found["a"] is None
    assert isinstance(found["b"], Line) and isinstance(found["b"].offset[1], tuple)
    assert (found["b"].offset[1][0] == 6).all()


def test_arrays_in_lanes_cannot_be_written_to() -> None:
    def write(x: Any) -> Any:
        x += 1
        return x

    rows = np.zeros((2, 3))
    with pytest.raises(ValueError, match="read-only"):
        spmd.vmap(write)(rows)
    with pytest.raises(ValueError, match="read-only"):
        spmd.vmap(lambda x: write(spmd.psum(x, "i")), axis_name="i")(rows)
    assert (rows == 0).all()
    result = spmd.pmap(lambda x: x)(rows)
    result += 1
    assert (rows == 0).all()


def test_numbers_of_python_stay_numbers() -> None:
    seen: list[Any] = []
    spmd.vmap(lambda x: seen.append(spmd.psum((1, 0.5), "i")), axis_name="i")(FOUR)
    assert seen == [(4, 2.0)] * 4 and type(seen[0][0]) is int


def test_devices() -> None:
    assert len(spmd.devices(8)) == 8 and repr(spmd.devices(8)) == "Devices(8)"
    assert len(spmd.devices()) >= 1
    with pytest.raises(ValueError, match="devices: expected 1 to 4096, found 0"):
        spmd.devices(0)
    with pytest.raises(ValueError, match="4 lanes, but only 2 devices"):
        spmd.pmap(lambda x: x, devices=spmd.devices(2))(FOUR)
    with pytest.raises(ValueError, match="omit the devices"):
        spmd.pmap(lambda x: spmd.pmap(lambda y: y, devices=spmd.devices(2))(x))(np.ones((2, 2)))
    with pytest.raises(ValueError, match="2 lanes, but only 1 devices"):
        spmd.pmap(spmd.pmap(lambda x: x))(np.ones((2, 2)))


class Mine(Exception):
    pass


@pytest.mark.parametrize("map_of", MAPS)
def test_exceptions_of_lanes_stay_as_they_are(map_of: Map) -> None:
    ended = []

    def fails(x: Any) -> Any:
        if spmd.axis_index("i") >= 2:
            raise Mine(spmd.axis_index("i"))
        try:
            return spmd.psum(x, "i")
        except Exception:
            return x  # never: what stops a lane is no Exception
        finally:
            ended.append(spmd.axis_index("i"))

    with pytest.raises(Mine) as raised:
        map_of(fails, axis_name="i")(FOUR)
    assert raised.value.args == (2,)
    assert "in fails" in "".join(traceback.format_tb(raised.tb))
    assert set(ended) <= {0, 1}


def test_exceptions_pass_maps_within_maps() -> None:
    def fails(x: Any) -> Any:
        if spmd.axis_index(("i", "j")) == 5:
            raise KeyboardInterrupt
        return spmd.psum(x, ("i", "j"))

    for outer in MAPS:
        for inner in (spmd.vmap, spmd.spread):
            with pytest.raises(KeyboardInterrupt):
                outer(inner(fails, axis_name="j"), axis_name="i")(np.ones((2, 4)))


@pytest.mark.parametrize("map_of", MAPS)
def test_lanes_that_do_not_meet_are_an_error(map_of: Map) -> None:
    def run(lane: Callable[[Any], Any]) -> Any:
        return map_of(lane, axis_name="i")(FOUR)

    with pytest.raises(ValueError, match="waits for i=2, which ended without it"):
        run(lambda x: x if spmd.axis_index("i") == 2 else spmd.psum(x, "i"))
    with pytest.raises(ValueError, match="which waits in p(sum|max) over 'i'"):
        run(lambda x: (spmd.pmax if spmd.axis_index("i") == 3 else spmd.psum)(x, "i"))
    with pytest.raises(ValueError, match="which waits in psum over 'i' of float64.[23]."):
        run(lambda x: spmd.psum(np.ones(2 if spmd.axis_index("i") == 1 else 3), "i"))


#: What is wrong: the exception, its text, and a call.
MISTAKES: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (TypeError, "fun: expected a function, found 3", lambda: spmd.vmap(3)),  # type: ignore[arg-type]
    (TypeError, "axis_name: expected a text or None, found 3",
     lambda: spmd.vmap(len, axis_name=3)),  # type: ignore[arg-type]
    (TypeError, "axis_name[0]: expected a text, found 3",
     lambda: spmd.vmap(lambda x: spmd.psum(x, (3,)), axis_name="i")(FOUR)),  # type: ignore[arg-type]
    (TypeError, "expected an integer, None, or a tree of them, found 'a'",
     lambda: spmd.vmap(len, in_axes="a")(FOUR)),
    (TypeError, "argument 0: expected arrays, found object", lambda: spmd.vmap(len)(object())),
    (TypeError, "results: expected arrays, found object",
     lambda: spmd.vmap(lambda x: object())(FOUR)),
    (TypeError, "psum: expected float32, float64, int32 or int64, found bool",
     lambda: spmd.vmap(lambda x: spmd.psum(x > 1, "i"), axis_name="i")(FOUR)),
    (TypeError, "found >f8",
     lambda: spmd.vmap(lambda x: spmd.psum(x, "i"), axis_name="i")(FOUR.astype(">f8"))),
    (ValueError, "number of lanes: 4 from argument 0, 3 from argument 1",
     lambda: spmd.vmap(np.add)(FOUR, FOUR[:3])),
    (ValueError, "number of lanes: 5 from axis_size, 4 from argument 0",
     lambda: spmd.vmap(abs, axis_size=5)(FOUR)),
    (ValueError, "2 in_axes for 1 positional arguments",
     lambda: spmd.vmap(abs, in_axes=(0, 0))(FOUR)),
    (ValueError, "has another structure than (float64[4], float64[4])",
     lambda: spmd.vmap(len, in_axes=((0, 0, 0),))((FOUR, FOUR))),
    (ValueError, "has another structure than {'a': float64[4]}",
     lambda: spmd.vmap(len, in_axes=({"b": 0},))({"a": FOUR})),
    (ValueError, "argument 0: float64[4] has no axis 1", lambda: spmd.vmap(abs, in_axes=1)(FOUR)),
    (ValueError, "out_axes: a result of rank 1 has no axis -2",
     lambda: spmd.vmap(abs, out_axes=-2)(FOUR)),
    (ValueError, "no argument is split; give axis_size", lambda: spmd.vmap(abs, in_axes=None)(1)),
    (ValueError, "expected at least one lane, found 0", lambda: spmd.vmap(abs)(FOUR[:0])),
    (ValueError, "out_axes is None, but lanes returned different values",
     lambda: spmd.vmap(abs, out_axes=None)(FOUR)),
    (ValueError, "results differ: lane 0 returned float64[], lane 1 float64[1]",
     lambda: spmd.spread(lambda x: np.ones(int(x))[1:] if x else x, devices=spmd.devices(1))(
         FOUR[[0, 2]])),
    (ValueError, "lane 1 [float64[]]",
     lambda: spmd.vmap(lambda x: [x] if x else x)(FOUR[:2])),
    (ValueError, "psum: there is no axis 'j'; mapped axes: 'i'",
     lambda: spmd.vmap(lambda x: spmd.psum(x, "j"), axis_name="i")(FOUR)),
    (ValueError, "psum: there is no axis 'i'", lambda: spmd.psum(FOUR, "i")),
    (ValueError, "axis_index: there is no axis", lambda: spmd.axis_index("i")),
    (ValueError, "already uses the axis name 'i'",
     lambda: spmd.vmap(spmd.vmap(abs, axis_name="i"), axis_name="i")(np.ones((2, 2)))),
    (ValueError, "all_gather: float64[] has no axis -2",
     lambda: spmd.vmap(lambda x: spmd.all_gather(x, "i", axis=-2), axis_name="i")(FOUR)),
    (ValueError, "an extent of 3 cannot be divided among 2 lanes",
     lambda: spmd.vmap(lambda x: spmd.psum_scatter(x, "i"), axis_name="i")(np.ones((2, 3)))),
    (ValueError, "ppermute: expected indices of lanes, found -1",
     lambda: spmd.vmap(lambda x: spmd.ppermute(x, "i", [(0, -1)]), axis_name="i")(FOUR)),
    (ValueError, "0>9 is outside the 4 lanes or appears twice",
     lambda: spmd.vmap(lambda x: spmd.ppermute(x, "i", [(0, 9)]), axis_name="i")(FOUR)),
    (ValueError, "groups", lambda: spmd.vmap(
        lambda x: spmd.psum(x, "i", axis_index_groups=[[0, 1], [2]]), axis_name="i")(FOUR)),
]  # fmt: skip


@pytest.mark.parametrize("kind, text, call", MISTAKES, ids=[text for _, text, _ in MISTAKES])
def test_mistakes_are_told(kind: type[Exception], text: str, call: Callable[[], Any]) -> None:
    with pytest.raises(kind, match=re.escape(text)):
        call()


def test_collectives_of_leaves_of_several_ranks() -> None:
    def lane(x: Any) -> Any:
        return spmd.all_gather({"a": x, "b": np.ones((2, 3)) * x}, "i", axis=-1)

    found = spmd.vmap(lane, axis_name="i")(FOUR)
    assert found["a"].shape == (4, 4) and found["b"].shape == (4, 2, 3, 4)
    assert (found["b"][0, 0, 0] == FOUR).all()


def test_maps_work_after_errors_and_in_threads() -> None:
    def fails(x: Any) -> Any:
        if spmd.axis_index("i") == 1:
            raise Mine
        return spmd.psum(x, "i")

    failed = []

    def work() -> None:
        for _ in range(20):
            with pytest.raises(Mine):
                spmd.pmap(fails, "i")(FOUR)
            if (spmd.pmap(lambda x: spmd.psum(x, "i"), "i")(FOUR) != 6).any():
                failed.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failed and not any(thread.is_alive() for thread in threads)
