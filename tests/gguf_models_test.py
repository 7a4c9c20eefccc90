#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language models whose matrices have a type of GGUF predict what they do with these decoded.

Usage: gguf_models_test.py HALFTONE

For each type, a small llama of random blocks, and the same with float32 matrices as the package gguf
decodes them. Skips with exit code 77 if a package is absent: pip install numpy gguf
"""

import json
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

WIDTH, INNER, HEADS, BLOCKS = 256, 512, 4, 2
TYPES = ["Q4_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q6_K", "IQ2_XXS", "IQ2_XS", "IQ2_S",
         "IQ3_XXS", "IQ3_S", "IQ1_S", "IQ1_M", "IQ4_NL", "IQ4_XS", "TQ1_0", "TQ2_0"]
# The first byte of each float16 of a block; none for IQ1_M, whose bits are spread.
HALVES = {"Q5_1": (0, 2), "Q2_K": (80, 82), "Q3_K": (108,), "Q4_K": (0, 2), "Q6_K": (208,),
          "TQ1_0": (52,), "TQ2_0": (64,), "IQ1_M": ()}
# 8-bit activations are rounded to a part in 127 of the largest of 32: about 0.4 % of a typical value
# in each product. Logits are of order 1, so the divergence, of order half the square of what they
# move by, stays far below this.
MAX_DIVERGENCE = 1e-3


def set_halves(name: str, blocks: np.ndarray, value: float) -> None:
    """Sets every float16 of blocks [..., bytes] to a value."""
    bits = int(np.float16(value).view(np.uint16))
    for at in HALVES.get(name, (0,)):
        blocks[..., at] = bits & 255
        blocks[..., at + 1] = bits >> 8
    if name == "IQ1_M":
        words = blocks[..., 48:56].copy().view(np.uint16)
        for i in range(4):
            words[..., i] = (words[..., i] & 0x0FFF) | ((bits >> (4 * i) & 15) << 12)
        blocks[..., 48:56] = words.view(np.uint8)


def matrix(name: str, rows: int, cols: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random blocks whose weights have a root mean square of 1 / sqrt(cols), and these decoded."""
    kind = gguf.GGMLQuantizationType[name]
    block, size = gguf.GGML_QUANT_SIZES[kind]
    raw = rng.integers(0, 256, (rows, cols // block, size), dtype=np.uint8)
    set_halves(name, raw, 1.0)
    decoded = gguf.quants.dequantize(raw.reshape(rows, -1), kind)
    set_halves(name, raw, cols**-0.5 / float(np.sqrt(np.mean(decoded**2))))
    return raw.reshape(rows, -1), gguf.quants.dequantize(raw.reshape(rows, -1), kind)


def write_models(name: str, coded: pathlib.Path, plain: pathlib.Path) -> None:
    rng = np.random.default_rng(1)
    kind = gguf.GGMLQuantizationType[name]
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    writers = [gguf.GGUFWriter(path, "llama") for path in (coded, plain)]
    for writer in writers:
        writer.add_block_count(BLOCKS)
        writer.add_context_length(256)
        writer.add_embedding_length(WIDTH)
        writer.add_feed_forward_length(INNER)
        writer.add_head_count(HEADS)
        writer.add_head_count_kv(HEADS // 2)
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_dimension_count(WIDTH // HEADS)
        writer.add_tokenizer_model("llama")
        writer.add_token_list(tokens)
        writer.add_token_scores([0.0] * len(tokens))
        writer.add_token_types([2, 3, 3, *[6] * 256])
        writer.add_bos_token_id(1)
        writer.add_eos_token_id(2)

    def add(tensor: str, values: np.ndarray) -> None:
        for writer in writers:
            writer.add_tensor(tensor, values.astype(np.float32))

    def add_matrix(tensor: str, rows: int, cols: int) -> None:
        raw, values = matrix(name, rows, cols, rng)
        writers[0].add_tensor(tensor, raw, raw_dtype=kind)
        writers[1].add_tensor(tensor, values)

    add("token_embd.weight", rng.normal(size=(len(tokens), WIDTH)))
    add("output.weight", rng.normal(size=(len(tokens), WIDTH)) / WIDTH**0.5)
    add("output_norm.weight", np.ones(WIDTH))
    for block in range(BLOCKS):
        for norm in ("attn_norm", "ffn_norm"):
            add(f"blk.{block}.{norm}.weight", np.ones(WIDTH))
        for part, rows, cols in (("attn_q", WIDTH, WIDTH), ("attn_k", WIDTH // 2, WIDTH),
                                 ("attn_v", WIDTH // 2, WIDTH), ("attn_output", WIDTH, WIDTH),
                                 ("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH),
                                 ("ffn_down", WIDTH, INNER)):
            add_matrix(f"blk.{block}.{part}.weight", rows, cols)
    for writer in writers:
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()


def main(halftone: str) -> None:
    text = " ".join(f"{i} squared is {i * i}." for i in range(60))
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "text.txt").write_text(text)
        coded, plain = root / "coded.gguf", root / "plain.gguf"
        for name in TYPES:
            write_models(name, coded, plain)
            done = subprocess.run(
                [halftone, "eval", coded, "--reference", plain, "--text", root / "text.txt", "--context",
                 "128", "--windows", "2", "--json", "--quiet"], check=True, capture_output=True)
            divergence = json.loads(done.stdout)["reference"]["kl_divergence"]["value"]
            print(f"{name}: divergence from the decoded model {divergence:.2e}", flush=True)
            assert divergence < MAX_DIVERGENCE, name


if __name__ == "__main__":
    main(sys.argv[1])
