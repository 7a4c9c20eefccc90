#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The perplexity of SmolLM2 is the one of llama.cpp.

Usage: llama_cpp_test.py PROGRAM DATA WRITER

The weights of the GGUF file that HALFTONE_SMOLLM2 names are decoded to float32 by the package gguf.
llama.cpp and `halftone eval --text` read DATA/text/wikitext2_valid.txt with both files, in windows
of 512 tokens. WRITER, tests/model_files.cc, copies the file, byte for byte, and packs its weights
into Q8_0; both read that too, and a file that `halftone quantize` fits, in which blocks have all
types that it writes, and one of a folder of Hugging Face, which has the keys and the tokenizer of
llama.cpp's own conversion. Skips with exit code 77 without that file or a package:
pip install numpy gguf llama-cpp-python
"""

import filecmp
import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

from python_test import Program, skip

if "HALFTONE_SMOLLM2" not in os.environ:
    skip("HALFTONE_SMOLLM2 names no file")
try:
    import gguf
    import gguf_folder
    import llama_runs
    import numpy as np
except ImportError as error:
    skip(f"{error}; pip install numpy gguf llama-cpp-python")

CONTEXT = 512
WINDOWS = 4
ALIGNMENT = 32
# Float32 sums in another order change logits of order 10 by about 1e-5.
DECODED = 2e-4
# Both round activations to 8 bits per 32 inputs, with scales of other precision.
CODES = 1e-2
# Weights that have been in blocks of 4 bits before; rows in another order are off by 1.4.
SAME_ROWS = 0.2
MODEL_CARD = "from the model card or the name of the folder, which no program needs"
DEFAULT = "what a reader takes without it: embedding_length / head_count"
DIFFERENT = {
    **{f"general.{key}": MODEL_CARD for key in ("name", "organization", "finetune", "basename",
                                                "size_label", "license", "languages")},
    "llama.attention.key_length": DEFAULT,
    "llama.attention.value_length": DEFAULT,
}
# Types for rows of 576 weights, and of the rows of 1,536 that blocks of 256 weights divide.
ALL_ROWS = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "IQ4_NL", "Q2_0"]
LONG_ROWS = ["Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "TQ2_0", "Q1_0"]


def write_decoded(source: pathlib.Path, target: pathlib.Path) -> None:
    """The same file with all tensors in float32."""
    reader = gguf.GGUFReader(source)
    head = bytes(reader.data[: reader.tensors[0].field.offset])
    infos, offset = [], 0
    values = [gguf.dequantize(t.data, t.tensor_type).astype("<f4") for t in reader.tensors]
    for tensor, decoded in zip(reader.tensors, values, strict=True):
        name = tensor.name.encode()
        infos.append(struct.pack("<Q", len(name)) + name + struct.pack("<I", len(tensor.shape)) +
                     struct.pack(f"<{len(tensor.shape)}Q", *map(int, tensor.shape)) +
                     struct.pack("<IQ", 0, offset))
        offset += -(-decoded.nbytes // ALIGNMENT) * ALIGNMENT
    with open(target, "wb") as file:
        file.write(head + b"".join(infos))
        for decoded in values:
            file.write(bytes(-file.tell() % ALIGNMENT) + decoded.tobytes())


def log_probabilities(logits: np.ndarray, tokens: list[int]) -> list[float]:
    """Of each token but the first, given those in front of it."""
    rows = logits.astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
    return [rows[i, token] for i, token in enumerate(tokens[1:])]


def perplexity_of_llama_cpp(file: pathlib.Path, text: bytes) -> float:
    losses = []
    with llama_runs.LlamaModel(file, CONTEXT) as model:
        ids = model.tokens(text)
        assert len(ids) >= WINDOWS * CONTEXT
        for begin in range(0, WINDOWS * CONTEXT, CONTEXT):
            tokens = ids[begin:begin + CONTEXT]
            losses += log_probabilities(model.logits(tokens), tokens)
    return math.exp(-sum(losses) / len(losses))


def compare(program: Program, file: pathlib.Path, text: pathlib.Path, tolerance: float) -> None:
    measured = json.loads(program("eval", file, "--text", text, "--context", CONTEXT, "--windows",
                                  WINDOWS, "--cache", "float32", "--json", "--quiet"))
    expected = perplexity_of_llama_cpp(file, text.read_bytes())
    ratio = measured["value"] / expected - 1
    print(f"{file.name}: perplexity {measured['value']:.5f}, of llama.cpp {expected:.5f}: "
          f"{100 * ratio:+.4f} %", flush=True)
    assert abs(ratio) <= tolerance, f"{file}: {ratio} is above {tolerance}"


def fit(program: Program, source: pathlib.Path, target: pathlib.Path, text: pathlib.Path) -> None:
    """Fits all types to some samples; two and fewer bits only in a few blocks."""
    rules = []
    for block in range(30):
        rows, long_rows = (types[block % len(types)] for types in (ALL_ROWS, LONG_ROWS))
        rules += ["--tensor", f"blk.{block}.attn_*={rows}"]
        if block < len(LONG_ROWS):
            rules += ["--tensor", f"blk.{block}.ffn_down.weight={long_rows}"]
    program("quantize", source, "-o", target, "--text", text, "--type", "Q8_0", "--table-type",
            "keep", *rules, "--samples", 4, "--held-out", 0, "--sweeps", 0, "--candidates", 1,
            "--quiet")
    written = {each["type"] for each in json.loads(program("inspect", target, "--json"))["types"]}
    assert written == {"F32", *ALL_ROWS, *LONG_ROWS}, written


def check_folder(program: Program, source: pathlib.Path, target: pathlib.Path,
                 text: pathlib.Path) -> None:
    """A folder of the same model becomes the file that llama.cpp's converter made of it."""
    folder = target.parent / "SmolLM2"
    original = gguf_folder.write_folder(source, folder)
    program("quantize", folder, "-o", target, "--text", text, "--type", "Q4_1", "--table-type",
            "Q8_0", "--samples", 4, "--held-out", 0, "--sweeps", 0, "--candidates", 1, "--quiet")
    reader = gguf.GGUFReader(target)
    written = {name: field.contents() for name, field in reader.fields.items()}
    assert written["general.name"] == "SmolLM2"
    for name in sorted(written.keys() | original.keys()):
        if name not in DIFFERENT and not name.startswith("GGUF."):
            assert written.get(name) == original.get(name), name
    for name, reason in DIFFERENT.items():
        found = [keys.get(name, "absent") for keys in (original, written)]
        print(f"{name}: {found[0]} of llama.cpp, {found[1]} here: {reason}")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    source_tensors = gguf.GGUFReader(source).tensors
    assert tensors.keys() == {tensor.name for tensor in source_tensors}
    for tensor in source_tensors:
        found = tensors[tensor.name]
        assert (found.tensor_type, *found.shape) == (tensor.tensor_type, *tensor.shape), tensor.name
        if found.tensor_type == gguf.GGMLQuantizationType.F32:
            assert np.array_equal(found.data, tensor.data), tensor.name
            continue
        a, b = (gguf.dequantize(each.data, each.tensor_type) for each in (found, tensor))
        error = np.linalg.norm(a - b) / np.linalg.norm(b)
        assert error < SAME_ROWS, f"{tensor.name}: {error}"


def main() -> None:
    program, data = Program(sys.argv[1], timeout=600), pathlib.Path(sys.argv[2])
    text = data / "text" / "wikitext2_valid.txt"
    if not text.exists():
        skip(f"{text} is absent")
    llama_runs.start()
    source = pathlib.Path(os.environ["HALFTONE_SMOLLM2"])
    with tempfile.TemporaryDirectory() as folder:
        decoded = pathlib.Path(folder) / "decoded.gguf"
        write_decoded(source, decoded)
        compare(program, decoded, text, DECODED)
        copy, packed = (pathlib.Path(folder) / name for name in ("copy.gguf", "q8_0.gguf"))
        subprocess.run([sys.argv[3], "copy", source, copy], check=True)
        assert filecmp.cmp(source, copy, shallow=False)
        subprocess.run([sys.argv[3], "q8_0", source, packed], check=True)
        compare(program, packed, text, CODES)
        fitted = pathlib.Path(folder) / "fitted.gguf"
        fit(program, source, fitted, text)
        compare(program, fitted, text, CODES)
        from_folder = pathlib.Path(folder) / "from_folder.gguf"
        check_folder(program, source, from_folder, text)
        compare(program, from_folder, text, CODES)
    compare(program, source, text, CODES)


if __name__ == "__main__":
    main()
