#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The perplexity of SmolLM2 is the one of llama.cpp.

Usage: llama_cpp_test.py PROGRAM DATA WRITER

The weights of the GGUF file that HALFTONE_SMOLLM2 names are decoded to float32 by the package gguf.
llama.cpp and `halftone eval --text` read DATA/text/wikitext2_valid.txt with both files, in windows
of 512 tokens. WRITER, tests/model_files.cc, copies the file, byte for byte, and packs its weights
into Q8_0; both read that too, and a file that `halftone quantize` fits, in which blocks have all
types that it writes. Skips with exit code 77 without that file or a package:
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
    import llama_cpp as lib
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


def log_probabilities(context, tokens, vocabulary: int) -> list[float]:
    """Of each token but the first, given those in front of it."""
    lib.llama_memory_clear(lib.llama_get_memory(context), True)
    batch = lib.llama_batch_init(len(tokens), 0, 1)
    batch.n_tokens = len(tokens)
    for i, token in enumerate(tokens):
        batch.token[i], batch.pos[i], batch.logits[i] = token, i, 1
        batch.n_seq_id[i] = 1
        batch.seq_id[i][0] = 0
    assert lib.llama_decode(context, batch) == 0
    rows = np.ctypeslib.as_array(lib.llama_get_logits(context), (len(tokens), vocabulary))
    rows = rows.astype(np.float64)
    rows -= rows.max(axis=1, keepdims=True)
    rows -= np.log(np.exp(rows).sum(axis=1, keepdims=True))
    lib.llama_batch_free(batch)
    return [rows[i, token] for i, token in enumerate(tokens[1:])]


def perplexity_of_llama_cpp(file: pathlib.Path, text: bytes) -> float:
    model = lib.llama_model_load_from_file(str(file).encode(), lib.llama_model_default_params())
    settings = lib.llama_context_default_params()
    settings.n_ctx = settings.n_batch = settings.n_ubatch = CONTEXT
    settings.type_k = settings.type_v = lib.GGML_TYPE_F32
    settings.n_threads = settings.n_threads_batch = os.cpu_count()
    context = lib.llama_init_from_model(model, settings)
    vocabulary = lib.llama_model_get_vocab(model)
    ids = (lib.llama_token * len(text))()
    count = lib.llama_tokenize(vocabulary, text, len(text), ids, len(text), True, False)
    assert count >= WINDOWS * CONTEXT
    losses = []
    for begin in range(0, WINDOWS * CONTEXT, CONTEXT):
        losses += log_probabilities(context, ids[begin:begin + CONTEXT],
                                    lib.llama_vocab_n_tokens(vocabulary))
    lib.llama_free(context)
    lib.llama_model_free(model)
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


def main() -> None:
    program, data = Program(sys.argv[1]), pathlib.Path(sys.argv[2])
    text = data / "text" / "wikitext2_valid.txt"
    if not text.exists():
        skip(f"{text} is absent")
    silent = lib.llama_log_callback(lambda level, message, user_data: None)
    lib.llama_log_set(silent, None)
    lib.llama_backend_init()
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
    compare(program, source, text, CODES)


if __name__ == "__main__":
    main()
