#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tensors of safetensors files are decoded as NumPy converts them.

Usage: safetensors_test.py HALFTONE

Skips with exit code 77 if a package is absent: pip install numpy safetensors ml_dtypes
"""

import pathlib
import subprocess
import sys
import tempfile

from python_test import skip

try:
    import ml_dtypes
    import numpy as np
    from safetensors.numpy import save_file
except ImportError as error:
    skip(f"{error}; pip install numpy safetensors ml_dtypes")

TYPES = {
    "bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "uint16": np.uint16, "int16": np.int16,
    "uint32": np.uint32, "int32": np.int32, "uint64": np.uint64, "int64": np.int64,
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
    "float64": np.float64, "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
}


def main(halftone: str) -> None:
    rng = np.random.default_rng(1)
    arrays = {}
    for name, kind in TYPES.items():
        raw = rng.integers(0, 2 if name == "bool" else 256, 96 * np.dtype(kind).itemsize,
                           dtype=np.uint8)
        arrays[name] = raw.view(kind).reshape(4, 24)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "all.safetensors"
        save_file(arrays, path)
        for name, array in arrays.items():
            output = pathlib.Path(folder) / "tensor.npy"
            subprocess.run([halftone, "inspect", path, "--tensor", name, "-o", output], check=True,
                           stdout=subprocess.DEVNULL)
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(np.load(output), array.astype(np.float32), name)
            print(f"{name}: {array.size} numbers equal")


if __name__ == "__main__":
    main(sys.argv[1])
