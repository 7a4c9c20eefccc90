#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transformers opens decoded weights, which are the model of the codes.

Usage: decoded_folder_test.py HALFTONE LOGITS

LOGITS is the program of logits.cc. Makes folders of Hugging Face with random weights, fits them
to vector bases, writes codes and decoded weights, and compares the logits of transformers with
those of the codes, which belong to a rotated model. Skips with exit code 77 if a package is absent:
pip install torch transformers tokenizers gguf numpy
"""

import pathlib
import random
import subprocess
import sys
import tempfile

from language_models_test import compare
from python_test import skip

try:
    import numpy as np
    import torch
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
except ImportError as error:
    skip(f"{error}; pip install torch transformers tokenizers gguf numpy")

# The head is a matrix of its own: between a tied one and the norm, codes have a matrix of 8 bits.
SIZES = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             intermediate_size=128, max_position_embeddings=64, tie_word_embeddings=False)
CONFIGS = {"llama": transformers.LlamaConfig(**SIZES), "qwen2": transformers.Qwen2Config(**SIZES),
           "phi3": transformers.Phi3Config(pad_token_id=0, **SIZES)}


def make_text(path: pathlib.Path) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 6))) for _ in range(200)]
    path.write_text(" ".join(rng.choices(words, k=4000)))


def make_tokenizer(text: pathlib.Path) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train([str(text)], trainers.BpeTrainer(vocab_size=320, initial_alphabet=alphabet,
                                                     show_progress=False))
    return tokenizer


def test_model(halftone: str, logits: str, folder: pathlib.Path, name: str) -> None:
    text = folder / "text.txt"
    source, decoded, codes = (folder / f"{name}{end}" for end in ("", "-decoded", ".safetensors"))
    make_text(text)
    source.mkdir()
    tokenizer = make_tokenizer(text)
    tokenizer.save(str(source / "tokenizer.json"))
    config = CONFIGS[name]
    config.vocab_size = tokenizer.get_vocab_size()
    config.dtype = "bfloat16"
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.to(torch.bfloat16).save_pretrained(source)
    fit = [halftone, "quantize", source, "--text", text, "--type", "2x6", "--sample-tokens", "32",
           "--samples", "16", "--held-out", "4", "--quiet"]
    subprocess.run([*fit, "-o", codes], check=True)
    subprocess.run([*fit, "-o", decoded, "--decoded"], check=True)
    opened = transformers.AutoModelForCausalLM.from_pretrained(decoded).eval()
    assert next(opened.parameters()).dtype == torch.float32
    tokens = np.random.default_rng(2).integers(0, config.vocab_size, 24)
    compare(logits, codes, "reference", tokens, opened)
    compare(logits, decoded, "reference", tokens, opened)


def main(halftone: str, logits: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in CONFIGS:
            test_model(halftone, logits, pathlib.Path(folder), name)


if __name__ == "__main__":
    main(*sys.argv[1:])
