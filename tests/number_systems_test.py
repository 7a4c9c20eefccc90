#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Number systems have the codes of tables and of packages that others made.

Usage: number_systems_test.py tables NUMBER_CODES DATA
       number_systems_test.py blocks NUMBER_CODES

NUMBER_CODES is the program of number_codes.cc. "tables" compares with minifloat_codes.csv.gz in
DATA/oracles, or in HALFTONE_DATA/oracles; "blocks" encodes 100,000 random blocks of each block
format also with the packages gfloat and ml_dtypes. Skips with exit code 77 if a package or the
table is absent: pip install numpy gfloat ml_dtypes
"""

import collections
import csv
import gzip
import os
import pathlib
import subprocess
import sys

from python_test import skip

try:
    import numpy as np
except ImportError as error:
    skip(f"{error}; pip install numpy")

# Our names of the table's formats and their bits.
FORMATS = {
    "bf16": ("bf16", 16), "e2m1fn": ("e2m1", 4), "e2m3fn": ("e2m3", 6), "e3m2fn": ("e3m2", 6),
    "e4m3fn": ("e4m3", 8), "e4m3fnuz": ("e4m3fnuz", 8), "e5m2": ("e5m2", 8),
    "e5m2fnuz": ("e5m2fnuz", 8), "e8m0fnu": ("e8m0", 8), "nf4": ("nf4", 4),
    "posit8_es2": ("posit", 8),
}

NUM_BLOCKS = 100_000
# gfloat's own function for a block takes milliseconds.
NUM_SLOW_BLOCKS = 500


def number_codes(*arguments, numbers=()):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True,
                          input=np.asarray(numbers, np.float32).tobytes())
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode().strip())
    return done.stdout


def same(found, expected):
    """Elementwise equality of float32 numbers, where NaN equals NaN and -0 is not 0."""
    found, expected = np.asarray(found, np.float32), np.asarray(expected, np.float32)
    both_nan = np.isnan(found) & np.isnan(expected)
    return both_nan | (found.view(np.uint32) == expected.view(np.uint32))


def read_table(path):
    rows = collections.defaultdict(list)
    with gzip.open(path, "rt", encoding="ascii") as file:
        for row in csv.DictReader(file):
            rows[row["kind"], row["format"]].append(row)
    return rows


def check_decode(name, bits, rows):
    levels = np.frombuffer(number_codes("levels", name, bits), np.float32)
    codes = np.array([int(row["code"]) for row in rows])
    expected = np.array([float(row["value"]) for row in rows], np.float32)
    return int((~same(levels[codes], expected)).sum()), levels


def inputs_of(rows):
    halves = np.array([int(row["float16_bits"]) for row in rows], np.uint16)
    return halves.view(np.float16).astype(np.float32)


def check_encode(name, bits, rows, levels):
    """The codebook, which saturates, on numbers that the format can hold."""
    numbers = inputs_of(rows)
    expected = np.array([int(row["code"]) for row in rows])
    values = levels[expected]
    # e8m0 has neither zero nor negative numbers: they are NaN in the table, the lowest level here.
    # Likewise what overflows to infinity or NaN.
    held = np.isfinite(values)
    codes = np.frombuffer(number_codes("encode", name, bits, numbers=numbers), np.uint16)
    wrong = int((codes != expected)[held].sum())
    beyond = ~held & ~np.isnan(numbers) & ((numbers > 0) | (name != "e8m0"))
    most = np.where(numbers < 0, np.nanmin(levels[np.isfinite(levels)]),
                    np.nanmax(levels[np.isfinite(levels)]))
    if name != "posit":  # its infinity is NaR in the table; a codebook saturates
        wrong += int((levels[codes] != most)[beyond].sum())
    return wrong, int(held.sum())


def check_overflow(name, bits, rows, levels):
    """Minifloats, which overflow as the format says, on all numbers; and the system that does."""
    numbers = inputs_of(rows)
    expected = np.array([int(row["code"]) for row in rows])
    format_name = "e8m7" if name == "bf16" else name
    codes = np.frombuffer(number_codes("overflow", format_name, numbers=numbers), np.uint16)
    wrong = int((codes != expected).sum())
    if np.isfinite(levels).all():
        return wrong
    codes = np.frombuffer(number_codes("encode", name + "_nan", bits, numbers=numbers), np.uint16)
    # The table keeps the sign of NaN.
    return wrong + int((~same(levels[codes], levels[expected])).sum())


def check_tables():
    table = DATA / "oracles" / "minifloat_codes.csv.gz"
    if not table.is_file():
        skip(f"no {table}")
    rows = read_table(table)
    failures = 0

    def report(text, wrong):
        nonlocal failures
        failures += wrong
        print(f"{text}: {wrong} mismatches", flush=True)

    for key, (name, bits) in FORMATS.items():
        wrong, levels = check_decode(name, bits, rows["decode", key])
        report(f"{name}, decode {len(rows['decode', key])} codes", wrong)
        wrong, held = check_encode(name, bits, rows["encode", key], levels)
        report(f"{name}, encode {held} numbers", wrong)
        if name not in ("e8m0", "nf4", "posit"):
            report(f"{name}, overflow of {len(rows['encode', key])} numbers",
                   check_overflow(name, bits, rows["encode", key], levels))
    thresholds = np.array([float(row["value"]) for row in rows["threshold", "nf4"]], np.float32)
    places = np.array([int(row["code"]) for row in rows["threshold", "nf4"]])
    at = np.frombuffer(number_codes("encode", "nf4", 4, numbers=thresholds), np.uint16)
    above = np.nextafter(thresholds, np.float32(2))
    over = np.frombuffer(number_codes("encode", "nf4", 4, numbers=above), np.uint16)
    report("nf4, thresholds", int((at != places - 1).sum() + (over != places).sum()))
    return 1 if failures else 0


def random_blocks(size, seed):
    """Normal numbers of all magnitudes, some with ties, some with one number that is much larger."""
    random = np.random.default_rng(seed)
    blocks = random.standard_normal((NUM_BLOCKS, size))
    blocks[::3] = np.round(blocks[::3] * 8) / 8
    blocks[1::5, 0] *= 50
    blocks *= np.exp2(random.integers(-90, 90, (NUM_BLOCKS, 1)))
    return blocks.astype(np.float32)


def own_blocks(name, bits, blocks):
    written = number_codes("blocks", name, bits, blocks.shape[1], numbers=blocks)
    scales = np.frombuffer(written, np.float32, len(blocks))
    codes = np.frombuffer(written, np.uint16, blocks.size, 4 * len(blocks))
    return scales, codes.reshape(blocks.shape)


def check_mx(name, bits, gfloat, info):
    """Returns the mismatches of scales, of values, and of values that gfloat's own function gives."""
    element = info.etype
    blocks = random_blocks(info.k, seed=bits)
    scales, codes = own_blocks(name, bits, blocks)
    values = np.frombuffer(number_codes("levels", name, bits), np.float32)[codes]
    exponents = np.floor(np.log2(np.abs(blocks.astype(np.float64)).max(1))) - element.emax
    expected_scales = np.exp2(np.clip(exponents, -127, 127))
    scaled = blocks / expected_scales[:, None]
    expected = gfloat.round_ndarray(element, scaled, sat=True)
    slow = 0
    for b in range(NUM_SLOW_BLOCKS):
        block = blocks[b].astype(np.float64)
        decoded = gfloat.quantize_block(info, block, gfloat.compute_scale_amax)
        slow += int((decoded != values[b].astype(np.float64) * float(scales[b])).sum())
    return int((scales != expected_scales).sum()), int((values != expected).sum()), slow


def check_nvfp4(ml_dtypes):
    """The scales and values of NVFP4 with the rounding of ml_dtypes."""
    blocks = np.random.default_rng(3).standard_normal((NUM_BLOCKS, 16)).astype(np.float32)
    blocks *= np.exp2(np.random.default_rng(4).uniform(-3, 3, (NUM_BLOCKS, 1))).astype(np.float32)
    scales, codes = own_blocks("nvfp4", 4, blocks)
    largest = np.abs(blocks).max(1).astype(np.float64)
    factor = np.float32(largest.max() / 6 / 448)
    e4m3 = (largest / 6 / np.float64(factor)).astype(np.float32).clip(0, 448)
    e4m3 = e4m3.astype(ml_dtypes.float8_e4m3fn).astype(np.float32)
    expected_scales = e4m3 * factor
    expected = (blocks / expected_scales[:, None]).clip(-6, 6).astype(ml_dtypes.float4_e2m1fn)
    return (int((scales != expected_scales).sum()),
            int((codes != (expected.view(np.uint8) & 15)).sum()))


def check_blocks():
    try:
        import gfloat
        import ml_dtypes
        from gfloat import formats
    except ImportError as error:
        skip(f"{error}; pip install gfloat ml_dtypes")
    failures = 0
    for name, bits in (("mxfp8_e4m3", 8), ("mxfp8_e5m2", 8), ("mxfp6_e3m2", 6),
                       ("mxfp6_e2m3", 6), ("mxfp4", 4), ("mxint8", 8)):
        longer = {"mxfp4": "mxfp4_e2m1"}.get(name, name)
        info = getattr(formats, "format_info_" + longer)
        scales, values, slow = check_mx(name, bits, gfloat, info)
        print(f"{name}, {NUM_BLOCKS} blocks: {scales} scales, {values} values differ; "
              f"{slow} of {NUM_SLOW_BLOCKS} blocks by quantize_block()", flush=True)
        failures += scales + values + slow
    scales, codes = check_nvfp4(ml_dtypes)
    print(f"nvfp4, {NUM_BLOCKS} blocks: {scales} scales, {codes} codes differ")
    return 1 if failures + scales + codes else 0


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("tables", "blocks"):
        sys.exit(__doc__)
    PROGRAM = sys.argv[2]
    if sys.argv[1] == "tables":
        DATA = pathlib.Path(os.environ.get("HALFTONE_DATA", sys.argv[3]))
        sys.exit(check_tables())
    sys.exit(check_blocks())
