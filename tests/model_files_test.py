#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages gguf and safetensors read what Halftone writes, bit for bit.

Usage: model_files_test.py PROGRAM

PROGRAM is tests/model_files.cc. Skips with exit code 77 if a package is absent:
pip install numpy gguf safetensors ml_dtypes
"""

import pathlib
import subprocess
import sys
import tempfile

from python_test import skip

try:
    import gguf
    import ml_dtypes  # noqa: F401  numpy types of safetensors
    import numpy as np
    from safetensors import safe_open
except ImportError as error:
    skip(f"{error}; pip install numpy gguf safetensors ml_dtypes")

KEYS = {"general.architecture": "llama", "general.alignment": 64, "u8": 200, "i8": -3,
        "u16": 60000, "i16": -30000, "u32": 4000000000, "i32": -5, "f32": 1.5, "yes": True,
        "u64": 2**64 - 1, "i64": -6, "f64": 0.1, "texts": ["one", "two"], "list": [1, -2]}
NOT_IN_NUMPY = {"BF16", "F8_E5M2", "F8_E4M3"}


def check_gguf(path: pathlib.Path) -> None:
    reader = gguf.GGUFReader(path)
    keys = {name: field.contents() for name, field in reader.fields.items()
            if not name.startswith("GGUF.")}
    assert keys == KEYS, keys
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    for name, tensor in tensors.items():
        assert tensor.data_offset % 64 == 0, name
        if name.endswith(".decoded"):
            continue
        assert tensor.tensor_type.name == name, tensor
        found = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        expected = tensors[name + ".decoded"].data
        assert found.shape == expected.shape, (name, found.shape)
        different = np.count_nonzero(found.view(np.uint32) != expected.view(np.uint32))
        assert different == 0, f"{name}: {different} of {found.size} numbers differ"
        print(f"{name}: {found.size} numbers equal")


def check_safetensors(path: pathlib.Path) -> None:
    data = path.read_bytes()
    assert int.from_bytes(data[:8], "little") % 64 == 56
    with safe_open(path, "numpy") as file:
        assert file.metadata() == {"format": "pt", "note": '"quoted"'}, file.metadata()
        names = list(file.keys())
        assert len(names) == 15, names
        for i, name in enumerate(["BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "U16", "I16", "F16",
                                  "BF16", "U32", "I32", "F32", "U64", "I64", "F64"]):
            stored = file.get_slice(name)
            assert (stored.get_dtype(), stored.get_shape()) == (name, [i % 3, 5]), name
            if name not in NOT_IN_NUMPY:
                assert set(file.get_tensor(name).tobytes()) <= {1}, name
            print(f"{name}: read")


def main(program: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "types.gguf"
        subprocess.run([program, "types", path], check=True)
        check_gguf(path)
        copy = path.with_name("copy.gguf")
        subprocess.run([program, "copy", path, copy], check=True)
        assert copy.read_bytes() == path.read_bytes()
        path = path.with_name("all.safetensors")
        subprocess.run([program, "safetensors", path], check=True)
        check_safetensors(path)


if __name__ == "__main__":
    main(sys.argv[1])
