# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import pickle
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


@pytest.mark.parametrize("bits", [1, 4, 8, 16])
@pytest.mark.parametrize("scale", [0.01, 0.25])
def test_uniform_codes_are_those_of_the_formula(
    values: np.ndarray, scale: float, bits: int
) -> None:
    """q = clip(round(x / s + z)), x = s (q - z): Jacob et al., CVPR 2018, eq. 1."""
    zero = (1 << bits) // 3
    encoding = ht.Encoding.uniform(scale, zero, bits)
    s = np.float32(scale)
    expected = np.clip(np.rint(values / s + np.float32(zero)), 0, (1 << bits) - 1)
    # Within a rounding of x / s + z, a value may lie on the other side of a threshold.
    exact = values.astype(np.float64) / s + zero
    is_clear = np.abs(exact - np.floor(exact) - 0.5) > 2.0**-22 * (np.abs(exact) + zero + 1)
    codes = encoding.encode(values)
    np.testing.assert_array_equal(codes[is_clear], expected[is_clear])
    assert is_clear.mean() > 0.98
    # fl(fl(s q) - fl(s z)) is within three roundings of numbers of at most s 2^bits.
    np.testing.assert_allclose(
        encoding.decode(codes), s * (codes.astype(np.float64) - zero), rtol=0,
        atol=3 * 2.0**-24 * scale * (1 << bits),
    )  # fmt: skip
    assert encoding.shape is None and encoding.num_blocks == 1


def test_uniform_numbers_may_differ_from_row_to_row(values: np.ndarray) -> None:
    scales, zeros = np.linspace(0.01, 0.2, 6), np.arange(100, 106)
    both = ht.Encoding.uniform(scales, zeros, 8)
    codes = both.encode(values)
    for row in range(6):
        one = ht.Encoding.uniform(scales[row], zeros[row], 8)
        np.testing.assert_array_equal(codes[row], one.encode(values[row]))
        np.testing.assert_array_equal(both.levels(row), one.levels())
    assert ht.Encoding.uniform(scales, 3).encode(values.reshape(6, 8, 8)).shape == (6, 8, 8)


@pytest.mark.parametrize(("exponent", "bits"), [(-4, 8), (-10, 16), (0, 3), (-1, 2)])
def test_fixed_point_is_a_shifted_integer(values: np.ndarray, exponent: int, bits: int) -> None:
    encoding = ht.Encoding.fixed_point(exponent, bits)
    half = 1 << (bits - 1)
    integers = np.clip(np.rint(np.ldexp(3 * values, -exponent)), -half, half - 1)
    np.testing.assert_array_equal(encoding.encode(3 * values), integers + half)
    np.testing.assert_array_equal(encoding.decode(encoding.encode(3 * values)),
                                  np.ldexp(integers, exponent))  # fmt: skip
    np.testing.assert_array_equal(encoding.levels(), np.ldexp(np.arange(-half, half), exponent))


def minifloat_values(exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """All codes by the definition, without specials."""
    e, m = np.divmod(np.arange(1 << (exponent_bits + mantissa_bits)), 1 << mantissa_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    fraction = m / (1 << mantissa_bits)
    positive = np.where(e > 0, 2.0 ** (e - bias) * (1 + fraction), 2.0 ** (1 - bias) * fraction)
    return np.concatenate([positive, -positive])


@pytest.mark.parametrize("exponent_bits", [2, 3, 4, 5])
@pytest.mark.parametrize("mantissa_bits", [1, 2, 3])
def test_minifloats_have_the_values_of_the_definition(
    values: np.ndarray, exponent_bits: int, mantissa_bits: int
) -> None:
    encoding = ht.Encoding.minifloat(exponent_bits, mantissa_bits)
    levels, expected = encoding.levels(), minifloat_values(exponent_bits, mantissa_bits)
    finite = np.isfinite(levels)
    np.testing.assert_array_equal(levels[finite], expected[finite].astype(np.float32))
    nearest = np.abs(values[..., None] - expected[finite]).min(-1)
    np.testing.assert_allclose(np.abs(encoding.decode(encoding.encode(values)) - values), nearest,
                               rtol=0, atol=2 * 2.0**-24 * np.abs(values).max())  # fmt: skip
    scaled = ht.Encoding.minifloat(exponent_bits, mantissa_bits, 0.5)
    np.testing.assert_array_equal(scaled.levels()[finite], 0.5 * levels[finite])


@pytest.mark.parametrize(
    ("name", "exponent_bits", "mantissa_bits"),
    [("float8_e4m3fn", 4, 3), ("float8_e5m2", 5, 2), ("float8_e3m4", 3, 4), ("bfloat16", 8, 7),
     ("float6_e2m3fn", 2, 3), ("float6_e3m2fn", 3, 2), ("float4_e2m1fn", 2, 1)],
)  # fmt: skip
def test_minifloats_are_those_of_ml_dtypes(
    values: np.ndarray, name: str, exponent_bits: int, mantissa_bits: int
) -> None:
    theirs = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(theirs, name))
    inside = np.clip(values, -1.9, 1.9)
    expected = inside.astype(kind).view(np.uint8 if kind.itemsize == 1 else np.uint16)
    np.testing.assert_array_equal(
        ht.Encoding.minifloat(exponent_bits, mantissa_bits).encode(inside), expected
    )


def test_a_rule_scales_by_the_largest(values: np.ndarray) -> None:
    encoding = ht.Encoding.rule(values, "int_narrow8", granularity="channel")
    for row in range(6):
        scale = np.abs(values[row]).max() / 127
        expected = np.rint(values[row] / scale) * scale
        np.testing.assert_allclose(encoding.decode(encoding.encode(values))[row], expected,
                                   rtol=0, atol=1.01 * scale)  # fmt: skip
        assert np.nanmax(encoding.levels(row)) == pytest.approx(np.abs(values[row]).max(), 1e-6)


@pytest.mark.parametrize("system", [s.name for s in ht.number_systems() if s.min_bits <= 8])
def test_encodings_are_copied_and_pickled(values: np.ndarray, system: str) -> None:
    encoding = ht.fit(values, system)
    for other in (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        assert (repr(other), other.shape) == (repr(encoding), encoding.shape)
        assert other.stored_bits == encoding.stored_bits
        np.testing.assert_array_equal(other.encode(values), encoding.encode(values))
        for block in range(encoding.num_blocks):
            np.testing.assert_array_equal(other.levels(block), encoding.levels(block))
    for made in (ht.Encoding.uniform(0.1, 3), ht.Encoding.minifloat(4, 3)):
        np.testing.assert_array_equal(copy.copy(made).levels(), pickle.loads(pickle.dumps(made)).levels())


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
        (lambda x: ht.fit(x, "basis", 2).levels(-1), ValueError, "block: expected 0 to 5, found -1"),
        (lambda x: ht.fit(x, "basis", 2).levels(1.5), TypeError, "block: expected an integer"),
        (lambda x: ht.Encoding.uniform(0.0), ValueError, "scale: expected a number above 0"),
        (lambda x: ht.Encoding.uniform(np.nan), ValueError, "scale: expected a number above 0"),
        (lambda x: ht.Encoding.uniform(1e38), ValueError, "levels are finite"),
        (lambda x: ht.Encoding.uniform("1"), TypeError, "scale: expected an array"),
        (lambda x: ht.Encoding.uniform(x), ValueError, r"scale: expected a number, or one for each"),
        (lambda x: ht.Encoding.uniform(1, 256), ValueError, "zero point: expected 0 to 255"),
        (lambda x: ht.Encoding.uniform(1, -1), ValueError, "zero point: expected 0 to 255"),
        (lambda x: ht.Encoding.uniform(1, 0.5), TypeError, "zero_point: expected integers"),
        (lambda x: ht.Encoding.uniform(1, [1, 2]), ValueError, "expected one for each scale"),
        (lambda x: ht.Encoding.uniform(1, 0, 17), ValueError, "bits: expected 1 to 16, found 17"),
        (lambda x: ht.Encoding.uniform(1, 0, True), TypeError, "bits: expected an integer"),
        (lambda x: ht.Encoding.uniform([1, 2]).encode(x), ValueError, "expected 2 rows"),
        (lambda x: ht.Encoding.uniform(1).encode(x[:0]), ValueError, "expected numbers, found shape"),
        (lambda x: ht.Encoding.fixed_point(-127, 8), ValueError, "exponent: expected at least -126"),
        (lambda x: ht.Encoding.fixed_point(121, 8), ValueError, "levels are finite"),
        (lambda x: ht.Encoding.fixed_point(0, 0), ValueError, "bits: expected 1 to 16, found 0"),
        (lambda x: ht.Encoding.minifloat(9, 3), ValueError, "2 to 8 bits of exponent"),
        (lambda x: ht.Encoding.minifloat(4, 0), ValueError, "found e4m0"),
        (lambda x: ht.Encoding.minifloat(4, 3, -1), ValueError, "scale: expected a number above 0"),
        (lambda x: ht.Encoding.rule(x, "basis"), ValueError, "basis"),
        (lambda x: ht.Encoding.rule(x * np.inf, "int8"), ValueError, "expected finite numbers"),
    ],
)
def test_other_requests_are_refused(
    values: np.ndarray, call: Any, kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        call(values)
