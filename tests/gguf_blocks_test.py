#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of GGUF files are decoded as the package gguf decodes them, bit for bit.

Usage: gguf_blocks_test.py HALFTONE
       gguf_blocks_test.py --hashes     the table in halftone/formats/gguf/block_types_test.cc

Skips with exit code 77 if a package is absent: pip install numpy gguf
"""

import pathlib
import subprocess
import sys
import tempfile

from python_test import skip

try:
    import gguf
    import numpy as np
except ImportError as error:
    skip(f"{error}; pip install numpy gguf")

# Types whose blocks are random bytes; the package has no rule for Q1_0 and Q2_0.
TYPES = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K",
         "Q5_K", "Q6_K", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M",
         "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0", "MXFP4", "NVFP4"]


def random_bytes(seed: int, count: int) -> np.ndarray:
    """The highest bytes of x <- 6364136223846793005 x + 1442695040888963407 modulo 2^64."""
    result = np.empty(count, np.uint8)
    for i in range(count):
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**64
        result[i] = seed >> 56
    return result


def bits_of(values: np.ndarray) -> np.ndarray:
    """The bits of float32, with one pattern for all NaN."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32).copy()
    bits[np.isnan(values)] = 0x7FC00000
    return bits


def fnv(bits: np.ndarray) -> int:
    value = 0xCBF29CE484222325
    for byte in bits.astype("<u4").tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def blocks_of(name: str, rows: int, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Random blocks [rows, blocks * bytes] and what they represent."""
    kind = gguf.GGMLQuantizationType[name]
    _, size = gguf.GGML_QUANT_SIZES[kind]
    raw = random_bytes(int(kind), rows * blocks * size).reshape(rows, blocks * size)
    with np.errstate(all="ignore"):
        if name in ("F32", "F16"):
            return raw, raw.view(np.float32 if name == "F32" else np.float16).astype(np.float32)
        return raw, gguf.quants.dequantize(raw, kind)


def print_hashes() -> None:
    for name in TYPES:
        print(f'    {{"{name}", 0x{fnv(bits_of(blocks_of(name, 1, 16)[1])):016X}}},')


def main(halftone: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "all.gguf"
        writer = gguf.GGUFWriter(path, "llama")
        expected = {}
        for name in TYPES:
            raw, expected[name] = blocks_of(name, 3, 8)
            writer.add_tensor(name, raw, raw_dtype=gguf.GGMLQuantizationType[name])
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        for name, values in expected.items():
            output = pathlib.Path(folder) / f"{name}.npy"
            subprocess.run([halftone, "inspect", path, "--tensor", name, "-o", output], check=True,
                           stdout=subprocess.DEVNULL)
            found = np.load(output)
            assert found.shape == values.shape, (name, found.shape, values.shape)
            different = np.count_nonzero(bits_of(found) != bits_of(values))
            assert different == 0, f"{name}: {different} of {values.size} numbers differ"
            print(f"{name}: {values.size} numbers equal")


if __name__ == "__main__":
    if sys.argv[1] == "--hashes":
        print_hashes()
    else:
        main(sys.argv[1])
