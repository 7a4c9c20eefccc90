#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of Hugging Face become GGUF files in which llama.cpp computes what transformers does.

Usage: llama_cpp_folders_test.py PROGRAM

`halftone quantize --decoded` writes the tiny models of tiny_language_models.py as GGUF files and as
folders. llama.cpp runs the first, transformers the second: their logits are compared. Skips with
exit code 77 if a package is absent: pip install numpy torch transformers gguf llama-cpp-python
"""

import json
import pathlib
import shutil
import sys
import tempfile

from python_test import Program, Refused, skip

try:
    import llama_runs
    import numpy as np
    import tiny_language_models as tiny
    import torch
    import transformers
except ImportError as error:
    skip(f"{error}; pip install numpy torch transformers gguf llama-cpp-python")

# Of logits of order 1: float32 sums in another order, and angles in float32 (see
# language_models_test.py).
TOLERANCE = 1e-4
# llama.cpp looks GELU up in a table of float16, whose steps are 2^-11 of a value; for bfloat16 it
# rounds activations to it: 2^-9 of each in each of 3 blocks. The standard deviation of the gates of
# Gemma 3n is the unbiased one, too: 1/2048 more here. What it computes of the experts of gemma4_moe
# is up to 0.04 off, with the numbers of its own converter too; GELU explains 0.002.
ROUNDED = {"gemma": 1e-2, "gemma2": 1e-2, "gemma3": 1e-2, "gemma3n_published": 1e-2,
           "gemma4_dense": 1e-2, "gemma4_moe": 0.1, "gpt2": 1e-2, "phi2": 1e-2,
           "qwen2_bfloat16": 0.2, "starcoder2": 1e-2}
# llama.cpp has no windows there, so that tokens behind the first one differ.
WINDOWS = {"mistral": 8, "phi3": 12, "starcoder2": 8}
# llama.cpp rounds contexts up to 256 tokens, for which this model has the long factors.
LONG_CONTEXT = "phi3_short"
REFUSED = {"bitnet": "have no head beside the embedding",
           "deepseek_v2": "sums_group_scores is", "exaone4": "unrotated is",
           "falcon_h1": "attention_factor is", "falcon_h1_ones": "norms_before_gate is",
           "falcon_h1_plain": "attention_factor is", "gpt_oss_limit": "gate_limit",
           "granite_hybrid_dense": "convolution has no bias",
           "jamba_experts": "recurrence of another width", "llama_dynamic": "original_context is",
           "llama_yarn_ends": "yarn_truncates", "nemotron_h_biases": "convolution has no bias",
           "nemotron_h_mixed": "beside those with experts", "qwen3_5": "tiles_heads is",
           "qwen3_5_moe": "tiles_heads is", "qwen3_next_heads": "values of different widths",
           "smollm3_list": "unrotated is"}
# llama.cpp rounds the ends of YaRN's interpolation, and rounds what multiplies MXFP4.
OTHER_NUMBERS = ("gpt_oss", "gpt_oss_mxfp4")
# Of these it knows the sizes of published models alone: which blocks share keys, whether queries are
# latent, heads, streams, a bias of kernels.
OTHER_SIZES = ("deepseek_v2_lite", "dots1", "ernie4_5", "exaone4_small", "gemma3n",
               "gemma3n_differing", "gemma3n_whole", "gemma4", "olmoe")
NOT_RUN = OTHER_NUMBERS + OTHER_SIZES


def write_tokenizer(folder: pathlib.Path) -> None:
    """A token for each printed character but the last ones."""
    controls = ["<pad>", "<s>", "</s>"]
    texts = [*controls, "\u0120", *map(chr, range(33, 33 + tiny.VOCABULARY - 5))]
    added = [{"id": i, "content": text, "special": True} for i, text in enumerate(controls)]
    vocabulary = {text: i for i, text in enumerate([*texts, "\u0120t"])}
    (folder / "tokenizer.json").write_text(json.dumps({
        "added_tokens": added, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": [["\u0120", "t"]]}}))


def quantize(program: Program, source: pathlib.Path, text: pathlib.Path, target: str) -> pathlib.Path:
    output = source.parent / target
    program("quantize", source, "-o", output, "--text", text, "--type", "keep", "--table-type",
            "Q8_0", "--decoded", "--no-rotation", "--samples", 4, "--held-out", 0,
            "--sample-tokens", 16, "--quiet")
    return output


def test_model(program: Program, folder: pathlib.Path, name: str, text: pathlib.Path) -> None:
    source = folder / "tiny"  # llama.cpp treats models called phi3 in a way of their own
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(folder / name, source)
    write_tokenizer(source)
    try:
        file = quantize(program, source, text, "tiny.gguf")
    except Refused as error:
        assert REFUSED.get(name, "nothing") in str(error), error
        print(f"{name}: is refused: {error}")
        return
    assert name not in REFUSED, name
    shutil.rmtree(folder / "decoded", ignore_errors=True)
    decoded = quantize(program, source, text, "decoded")
    tokens = [int(token) for token in (folder / f"{name}.tokens").read_text().split()]
    model = transformers.AutoModelForCausalLM.from_pretrained(
        decoded, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        expected = model(torch.tensor(tokens)[None]).logits[0].numpy()
    with llama_runs.LlamaModel(file, tiny.CONTEXT, flash_attention=False) as llama:
        found = llama.logits(tokens)
    compared = 1 if name == LONG_CONTEXT else WINDOWS.get(name, len(tokens))
    worst = float(np.abs(found - expected)[:compared].max())
    print(f"{name}: logits up to {np.abs(expected).max():.2f}, differences up to {worst:.1e} in "
          f"{compared} of {len(tokens)} tokens", flush=True)
    tolerance = ROUNDED.get(name, TOLERANCE)
    assert worst <= tolerance, f"{name}: {worst} is above {tolerance}"


def main(program: str) -> None:
    llama_runs.start()
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        text = folder / "text.txt"
        text.write_text(" ".join(f"the {i * i} times {i}" for i in range(400)))
        published = tiny.published_models()
        for name, made in published.items():
            tiny.write_model(folder, name, made)
        for model in [*published, *tiny.write_models(folder)]:
            if model not in NOT_RUN:
                test_model(Program(program), folder, model, text)


if __name__ == "__main__":
    main(*sys.argv[1:])
