#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language models in number systems have the weights that docs/file_formats.md says they have.

Usage: system_blocks_test.py HALFTONE

Fits a small llama to each system of its list, decodes the blocks of the file with numpy and levels
that are written here anew, and compares them bit for bit with the decoded file that Halftone writes.
What layers compute from the codes is compared with the decoded model, too. Skips with exit code 77 if
a package is absent: pip install numpy gguf
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable

from python_test import skip

try:
    import gguf
    import numpy as np

    from gguf_models_test import write_models
except ImportError as error:
    skip(f"{error}; pip install numpy gguf")

# The quantiles of bitsandbytes, create_normal_map().
NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
       -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
       0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
       0.7229568362236023, 1.0]
# As in gguf_models_test.py: activations of 8 bits.
MAX_DIVERGENCE = 1e-3


def signed_integers(bits: int) -> list[float]:
    """By code, which counts from the lowest."""
    half = 1 << (bits - 1)
    return list(range(-half, half))


def small_float(exponent: int, mantissa: int, finite: Callable[[int], bool]) -> list[float]:
    """The numbers of a small float by code; those of infinity and NaN as NaN."""
    bias = (1 << (exponent - 1)) - 1
    numbers = []
    for code in range(1 << (1 + exponent + mantissa)):
        e = code >> mantissa & (1 << exponent) - 1
        m = (code & (1 << mantissa) - 1) / (1 << mantissa)
        value = m * 2.0 ** (1 - bias) if e == 0 else (1 + m) * 2.0 ** (e - bias)
        sign = -1 if code >> (exponent + mantissa) else 1
        numbers.append(sign * value if finite(code) else float("nan"))
    return numbers


E2M1 = small_float(2, 1, lambda code: True)
E4M3 = small_float(4, 3, lambda code: code & 127 != 127)
E3M2 = small_float(3, 2, lambda code: True)

# Name: bits, group, levels by code, how scales are stored, offsets.
SYSTEMS = {
    "nvfp4": (4, 16, E2M1, "e4m3", False),
    "nf4": (4, 64, NF4, "half", False),
    "int3": (3, 32, signed_integers(3), "half", False),
    "int8/64": (8, 64, signed_integers(8), "half", False),
    "affine4": (4, 32, list(range(16)), "half", True),
    "affine8": (8, 32, list(range(256)), "half", True),
    "ternary": (2, 32, [-1, 0, 0, 1], "half", False),
    "fixed4": (4, 32, signed_integers(4), "power", False),
    "e4m3": (8, 32, E4M3, "half", False),
    "mxfp6_e3m2": (6, 32, E3M2, "power", False),
    "int_k5": (5, 16, signed_integers(5), "int8", False),
    "affine_k3": (3, 32, list(range(8)), "uint6", True),
}
SCALE_BITS = {"half": 16, "power": 8, "e4m3": 8, "int8": 8, "uint6": 6}


def numbers_of(bits: int, levels: list[float], storage: str, has_offsets: bool) -> np.ndarray:
    """The levels in the units that scales multiply: docs/file_formats.md."""
    numbers = np.array(levels, dtype=np.float64)
    if has_offsets and bits == 8 and storage == "half":
        numbers -= 128
    finite = numbers[np.isfinite(numbers)]
    for power in range(8):
        product = finite * 2**power
        if np.all(product == np.rint(product)) and product.min() >= -128 and product.max() <= 127:
            return numbers * 2**power
    if bits <= 4:
        return np.rint(numbers * 127 / np.abs(finite).max())
    return numbers / 2.0 ** np.floor(np.log2(np.abs(finite).max()))


def bit_fields(blocks: np.ndarray, first: int, count: int, bits: int) -> np.ndarray:
    """Numbers of so many bits from bit `first` of each block [n, bytes] on, the lowest bits first."""
    stream = np.unpackbits(blocks, axis=1, bitorder="little")[:, first:first + count * bits]
    weights = 1 << np.arange(bits, dtype=np.int64)
    return stream.reshape(len(blocks), count, bits).astype(np.int64) @ weights


def halves(codes: np.ndarray) -> np.ndarray:
    return codes.astype(np.uint16).view(np.float16).astype(np.float32)


def decode(name: str, raw: np.ndarray, cols: int, factor: float) -> np.ndarray:
    """The weights of rows of blocks."""
    bits, group, levels, storage, has_offsets = SYSTEMS[name]
    numbers = numbers_of(bits, levels, storage, has_offsets).astype(np.float32)
    shares = storage in ("int8", "uint6")
    block = 256 if shares else group
    groups = block // group
    kinds = 2 if has_offsets else 1
    blocks = raw.reshape(-1, raw.shape[1] // (cols // block))
    at = 0
    factors = np.full((len(blocks), kinds, 1), np.float32(factor))
    if shares:
        factors = halves(bit_fields(blocks, 0, kinds, 16))[:, :, None]
        at = 16 * kinds
    width = SCALE_BITS[storage]
    stored = bit_fields(blocks, at, kinds * groups, width).reshape(len(blocks), kinds, groups)
    codes = bit_fields(blocks, at + kinds * groups * width, block, bits)
    if storage == "half":
        scales = halves(stored.ravel()).reshape(stored.shape)
    elif storage == "power":
        scales = (2.0 ** (stored - 127.0)).astype(np.float32)
    elif storage == "e4m3":
        scales = factors * np.array(E4M3, dtype=np.float32)[stored]
    else:
        signed = np.where((storage == "int8") & (stored > 127), stored - 256, stored)
        scales = factors * signed.astype(np.float32)
    values = np.repeat(scales[:, 0], group, axis=1) * numbers[codes]
    if has_offsets:
        values = values + np.repeat(scales[:, 1], group, axis=1)
    return values.reshape(len(raw), cols)


def read_safetensors(path: pathlib.Path) -> tuple[dict, bytes]:
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8:8 + size]), data[8 + size:]


def compare(name: str, codes: pathlib.Path, decoded: pathlib.Path) -> None:
    header, data = read_safetensors(codes)
    encodings = json.loads(header["__metadata__"]["halftone.encodings"])
    expected = {tensor.name: tensor.data for tensor in gguf.GGUFReader(decoded).tensors}
    compared = 0
    for tensor, entry in encodings.items():
        if entry["type"] != name:
            continue
        begin, end = header[tensor]["data_offsets"]
        raw = np.frombuffer(data[begin:end], dtype=np.uint8).reshape(header[tensor]["shape"])
        found = decode(name, raw, entry["shape"][-1], entry.get("factor", 1.0))
        assert np.array_equal(found, expected[tensor].reshape(found.shape)), f"{name}: {tensor}"
        compared += 1
    assert compared == 14, f"{name}: {compared} matrices"


def main(halftone: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        text = root / "text.txt"
        text.write_text(" ".join(f"{i} squared is {i * i}." for i in range(400)))
        coded, plain = root / "q.gguf", root / "model.gguf"
        write_models("Q8_0", coded, plain)
        codes, decoded = root / "codes.safetensors", root / "decoded.gguf"
        for name in SYSTEMS:
            for output, more in ((codes, []), (decoded, ["--decoded"])):
                subprocess.run([halftone, "quantize", plain, "-o", output, "--type", name, "--table-type",
                                "keep", "--text", text, "--samples", "8", "--held-out", "2",
                                "--sample-tokens", "64", "--no-rotation", "--quiet", *more], check=True)
            compare(name, codes, decoded)
            done = subprocess.run([halftone, "eval", codes, "--reference", decoded, "--text", text,
                                   "--context", "64", "--windows", "2", "--json", "--quiet"], check=True,
                                  capture_output=True)
            divergence = json.loads(done.stdout)["reference"]["kl_divergence"]["value"]
            print(f"{name}: the file's own weights; layers diverge by {divergence:.1e}", flush=True)
            assert divergence < MAX_DIVERGENCE, name


if __name__ == "__main__":
    main(sys.argv[1])
