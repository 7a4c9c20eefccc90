#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tiny language models of every architecture have the logits that transformers gives them.

Usage: language_models_test.py LOGITS DATA

LOGITS is the program of logits.cc, DATA a folder with models/stories260K.bin. The models of
tiny_language_models.py are read from their Hugging Face folders and from GGUF files, and computed by
lm::Decoder, by the reference evaluation and as whole samples; so is the checkpoint of llama2.c. The
environment variable HALFTONE_SMOLLM2 may name a GGUF file of SmolLM2, which needs the package
accelerate too. Skips with exit code 77 if a package is absent:
pip install numpy torch transformers gguf
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from python_test import skip

try:
    import numpy as np
    import tiny_language_models as tiny
    import torch
    import transformers
except ImportError as error:
    skip(f"{error}; pip install numpy torch transformers gguf")

# Of logits of order 1. Sums of float32 in another order change them by up to 1e-5; transformers
# rounds the angles of positions to float32, too, which changes those of llama3 by 3e-5 (with angles
# in double precision, 6e-6 are left).
TOLERANCE = 1e-4
FORMS = ["reference", "decoder", "samples"]
# With matrices in blocks whose activations the other forms round to integers.
BLOCKS = ("gpt_oss_mxfp4",)


def logits_of(program: str, model: pathlib.Path, form: str, context: int, tokens: str) -> np.ndarray:
    """The logits of all positions. Fails if a tensor of the model is not used."""
    result = subprocess.run([program, model, form, str(context)], input=tokens.encode(),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 0, f"{model} ({form}): {result.stderr.decode()}"
    assert not result.stderr, f"{model}: {result.stderr.decode()}"
    return np.frombuffer(result.stdout, dtype=np.float32).reshape(len(tokens.split()), -1)


def test_model(program: str, folder: pathlib.Path, name: str) -> None:
    tokens = (folder / f"{name}.tokens").read_text(encoding="utf-8")
    expected = np.frombuffer((folder / f"{name}.logits").read_bytes(), dtype=np.float32)
    expected = expected.reshape(tiny.TOKENS, -1)
    differences = {}
    for model in (folder / name, folder / f"{name}.gguf"):
        if not model.exists():
            continue
        for form in FORMS[:1] if name in BLOCKS else FORMS:
            found = logits_of(program, model, form, tiny.CONTEXT, tokens)
            kind = "gguf" if model.suffix else "folder"
            differences[f"{kind} {form}"] = float(np.abs(found - expected).max())
    print(f"{name}: logits up to {np.abs(expected).max():.2f}, differences up to "
          + ", ".join(f"{value:.1e} ({key})" for key, value in differences.items()), flush=True)
    worst = max(differences.values())
    assert worst <= TOLERANCE, f"{name}: {worst} is above {TOLERANCE}"


def llama2c_model(file: pathlib.Path) -> "transformers.PreTrainedModel":
    """A checkpoint of llama2.c, which rotates neighbours, as a model of transformers."""
    width, inner, blocks, heads, kv_heads, vocabulary, context = np.fromfile(file, np.int32, 7)
    kv_width = width // heads * kv_heads
    floats = np.fromfile(file, np.float32, offset=28)

    def take(*shape: int) -> np.ndarray:
        nonlocal floats
        taken, floats = np.split(floats, [np.prod(shape)])
        return taken.reshape(shape)

    state = {"model.embed_tokens.weight": take(vocabulary, width)}
    for name, shape in {
            "input_layernorm": (width,), "self_attn.q_proj": (width, width),
            "self_attn.k_proj": (kv_width, width), "self_attn.v_proj": (kv_width, width),
            "self_attn.o_proj": (width, width), "post_attention_layernorm": (width,),
            "mlp.gate_proj": (inner, width), "mlp.down_proj": (width, inner),
            "mlp.up_proj": (inner, width)}.items():
        for block, values in enumerate(take(blocks, *shape)):
            if name.endswith(("q_proj", "k_proj")):
                count = heads if name.endswith("q_proj") else kv_heads
                values = values.reshape(count, -1, 2, width).swapaxes(1, 2).reshape(shape)
            state[f"model.layers.{block}.{name}.weight"] = values
    state["model.norm.weight"] = take(width)
    config = transformers.LlamaConfig(
        hidden_size=int(width), intermediate_size=int(inner), num_hidden_layers=int(blocks),
        num_attention_heads=int(heads), num_key_value_heads=int(kv_heads), rms_norm_eps=1e-5,
        vocab_size=int(vocabulary), max_position_embeddings=int(context), tie_word_embeddings=True)
    model = transformers.LlamaForCausalLM(config).eval()
    model.load_state_dict({k: torch.tensor(v.copy()) for k, v in state.items()}, strict=False)
    model.tie_weights()
    return model


def compare(program: str, file: pathlib.Path, form: str, tokens: np.ndarray,
            model: "transformers.PreTrainedModel") -> None:
    """Logits as far off as TOLERANCE allows for those of order 1."""
    with torch.no_grad():
        expected = model(torch.tensor(tokens)[None]).logits[0].numpy()
    found = logits_of(program, file, form, 64, " ".join(map(str, tokens)))
    worst = float(np.abs(found - expected).max())
    print(f"{file.name}: logits up to {np.abs(expected).max():.2f}, differences up to {worst:.1e}")
    assert worst <= TOLERANCE * np.abs(expected).max(), worst


def test_llama2c(program: str, file: pathlib.Path) -> None:
    tokens = np.random.default_rng(4).integers(0, 512, tiny.TOKENS)
    compare(program, file, "decoder", tokens, llama2c_model(file))


def test_smollm2(program: str, file: pathlib.Path) -> None:
    """By the reference evaluation, whose activations stay float32."""
    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32).eval()
    compare(program, file, "reference", np.random.default_rng(0).integers(0, 49152, 6), model)


def main(program: str, data: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in tiny.write_models(folder):
            test_model(program, folder, model)
    story = pathlib.Path(os.environ.get("HALFTONE_DATA", data)) / "models" / "stories260K.bin"
    if story.exists():
        test_llama2c(program, story)
    if "HALFTONE_SMOLLM2" in os.environ:
        test_smollm2(program, pathlib.Path(os.environ["HALFTONE_SMOLLM2"]))


if __name__ == "__main__":
    main(*sys.argv[1:])
