# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import halftone as ht


@pytest.fixture(scope="module")
def values() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((6, 64)).astype(np.float32)


@pytest.mark.parametrize("system", [s.name for s in ht.number_systems() if s.min_bits <= 8])
def test_every_system_encodes_to_its_levels(values: np.ndarray, system: str) -> None:
    encoding = ht.fit(values, system)
    codes = ht.encode(values, encoding)
    back = ht.decode(codes, encoding)
    assert codes.shape == values.shape and codes.dtype == np.uint16
    assert codes.max() < 1 << encoding.bits
    np.testing.assert_array_equal(ht.decode(ht.encode(back, encoding), encoding), back)
    if encoding.granularity == "channel":
        for row in range(6):
            np.testing.assert_array_equal(encoding.levels(row)[codes[row]], back[row])


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_more_bits_have_less_error(values: np.ndarray, bits: int) -> None:
    def error(k: int) -> float:
        encoding = ht.fit(values, "basis", k)
        assert encoding.system == "basis" and encoding.bits == k
        return float(np.square(encoding.decode(encoding.encode(values)) - values).sum())

    assert error(bits + 1) < error(bits)


def test_codes_are_those_of_the_nearest_levels(values: np.ndarray) -> None:
    encoding = ht.fit(values, "basis", 3, granularity="tensor")
    assert encoding.num_blocks == 1
    levels = encoding.levels()
    nearest = np.abs(values[..., None] - levels).min(-1)
    np.testing.assert_array_equal(np.abs(encoding.decode(encoding.encode(values)) - values), nearest)


def test_a_fit_is_at_least_as_good_as_even_levels(values: np.ndarray) -> None:
    """Least squares over learned levels: uniform steps over the range are one of its starts."""
    encoding = ht.fit(values, "basis", 2, granularity="tensor")
    error = np.square(encoding.decode(encoding.encode(values)) - values).sum()
    even = np.linspace(values.min(), values.max(), 4)
    assert error < np.square(np.abs(values[..., None] - even).min(-1)).sum()


def test_blocks_are_tensor_rows_or_groups(values: np.ndarray) -> None:
    blocks = {"tensor": 1, "channel": 6, "group": 6 * 4}
    for granularity, count in blocks.items():
        size = 16 if granularity == "group" else 0
        encoding = ht.fit(values, "affine", 4, granularity=granularity, group_size=size)  # type: ignore[arg-type]
        assert (encoding.granularity, encoding.num_blocks) == (granularity, count)
        assert encoding.group_size == size


def test_any_shape_is_a_matrix_of_its_first_extent(values: np.ndarray) -> None:
    cube = values.reshape(6, 4, 16)
    encoding = ht.fit(cube, "basis", 2)
    assert encoding.encode(cube).shape == (6, 4, 16) and encoding.num_blocks == 6
    flat = ht.fit(values[0], "basis", 2)
    assert flat.encode(values[0]).shape == (64,) and flat.num_blocks == 1


def test_levels_of_fixed_systems() -> None:
    np.testing.assert_array_equal(ht.levels("e2m1")[:8], [0, 0.5, 1, 1.5, 2, 3, 4, 6])
    narrow = ht.levels("int_narrow", 4)
    assert len(narrow) == 16 and np.isnan(narrow[0]) and np.nanmin(narrow) == -7
    np.testing.assert_array_equal(ht.levels("int8"), ht.levels("int", 8))
    np.testing.assert_array_equal(ht.levels("fp4"), ht.levels("e2m1"))
    with pytest.raises(ValueError, match="expected 8 bits, as its name says, found 4"):
        ht.levels("uint8", 4)
    with pytest.raises(ValueError, match="its levels are learned"):
        ht.levels("basis")
    with pytest.raises(ValueError, match="nowhere"):
        ht.levels("nowhere")


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda x: ht.fit(x, "nonsense"), ValueError, "nonsense"),
        (lambda x: ht.fit(x, "basis", 17), ValueError, "bits"),
        (lambda x: ht.fit(x, "nf4", 3), ValueError, "bits"),
        (lambda x: ht.fit(x * np.nan), ValueError, "expected finite numbers"),
        (lambda x: ht.fit(x[:0]), ValueError, "expected numbers, found shape"),
        (lambda x: ht.fit(x.astype(complex)), TypeError, "complex128"),
        (lambda x: ht.fit([1.0, 2.0]), TypeError, "found list"),
        (lambda x: ht.fit(x, granularity="row"), ValueError, "expected 'tensor', 'channel', 'group'"),
        (lambda x: ht.fit(x, granularity="tensor", group_size=4), ValueError, "group"),
        (lambda x: ht.fit(x, "basis", 2).encode(x[:3]), ValueError, r"expected shape \[6, 64\]"),
        (lambda x: ht.fit(x, "basis", 2).decode(x), TypeError, "expected integers"),
        (lambda x: ht.fit(x, "basis", 2).decode(np.full((6, 64), 4)), ValueError, "0 to 3"),
        (lambda x: ht.fit(x, "basis", 2).decode(np.full((6, 64), -1)), ValueError, "0 to 3"),
        (lambda x: ht.fit(x, "basis", 2).levels(6), ValueError, "block"),
        (lambda x: ht.fit(x, "basis", 2).levels(-1), TypeError, "levels"),
    ],
)
def test_other_requests_are_refused(
    values: np.ndarray, call: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call(values)
