#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Language models with adapters of the package peft have the perplexity that peft gives them.

Usage: lora_test.py PROGRAM

Skips with exit code 77 if a package is absent: pip install numpy torch transformers peft gguf
"""

import json
import pathlib
import sys
import tempfile

from python_test import Program, skip

try:
    import numpy as np
    import peft
    import safetensors.torch
    import tiny_language_models as tiny
    import torch
    import transformers
except ImportError as error:
    skip(f"{error}; pip install numpy torch transformers peft gguf")

TARGETS = {
    "llama": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "qwen2": ["q_proj", "v_proj"],
    "phi3": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"],
    "gpt2": ["c_attn", "c_proj", "c_fc"],
    "gemma2": ["q_proj", "down_proj"],
    "jamba_dense": ["in_proj", "x_proj", "v_proj", "gate_proj", "down_proj"],
    "nemotron_h": ["in_proj", "q_proj", "o_proj", "up_proj", "down_proj"],
    "gemma3n": ["q_proj", "down_proj", "linear_left", "modality_router", "prediction_coefs",
                "per_layer_projection", "altup_projections.1", "altup_unembed_projections.0"],
}
# Of a perplexity: logits differ by up to 1e-4 (language_models_test.py), its logarithm by twice that.
TOLERANCE = 2e-4
TEXT = "The cat sat on the mat, and the dog sat by the door."


def write_tokenizer(folder: pathlib.Path) -> dict[str, int]:
    """A token for each printed character but the last ones."""
    texts = ["<pad>", "<s>", "</s>", "\u0120", *map(chr, range(33, 33 + tiny.VOCABULARY - 4))]
    vocabulary = {text: i for i, text in enumerate(texts)}
    added = [{"id": i, "content": text, "special": True} for i, text in enumerate(texts[:3])]
    (folder / "tokenizer.json").write_text(json.dumps({
        "added_tokens": added, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}))
    return vocabulary


def adapted(folder: pathlib.Path, name: str) -> peft.PeftModel:
    base = transformers.AutoModelForCausalLM.from_pretrained(folder / name).float()
    config = peft.LoraConfig(r=4, lora_alpha=10, target_modules=TARGETS[name],
                             use_rslora=name == "qwen2", rank_pattern={"down_proj": 2},
                             alpha_pattern={"o_proj": 7, "1.mlp.down_proj": 3})
    model = peft.get_peft_model(base, config).eval()
    generator = torch.Generator().manual_seed(1)
    for key, values in model.named_parameters():
        if "lora_" in key:
            values.data.copy_(0.2 * torch.randn(values.shape, generator=generator))
    model.save_pretrained(folder / f"{name}_adapter")
    return model


def rename(file: pathlib.Path) -> None:
    """Names layers as the class of Nemotron-H that is older than that of transformers does."""
    tensors = safetensors.torch.load_file(file)
    safetensors.torch.save_file({name.replace(".model.model.", ".model.backbone."): tensor
                                 for name, tensor in tensors.items()}, file, {"format": "pt"})


def test_model(program: Program, folder: pathlib.Path, name: str) -> None:
    vocabulary = write_tokenizer(folder / name)
    ids = torch.tensor([vocabulary[c] for c in TEXT.replace(" ", "\u0120")])
    with torch.no_grad():
        logits = adapted(folder, name)(ids[None]).logits[0, :-1]
    expected = float(torch.nn.functional.cross_entropy(logits, ids[1:]).exp())

    def perplexity(model: pathlib.Path, *options: object) -> float:
        printed = program("eval", model, "--text", folder / "text.txt", "--context", 64, "--cache",
                          "float32", "--float-activations", "--json", *options)
        return json.loads(printed)["value"]

    adapter = folder / f"{name}_adapter"
    found = perplexity(folder / name, "--lora", adapter)
    plain = perplexity(folder / name)
    print(f"{name}: perplexity {found:.4f}, peft {expected:.4f}, without {plain:.4f}", flush=True)
    assert abs(found / expected - 1) <= TOLERANCE, name
    assert abs(plain / expected - 1) > 10 * TOLERANCE, f"{name}: the adapter changes nothing"

    merged = folder / f"{name}_merged"
    for output in merged, merged.with_suffix(".gguf"):
        printed = json.loads(program("convert", folder / name, output, "--lora", adapter, "--json"))
        assert printed["changed_matrices"] > 0
        assert abs(perplexity(output) / expected - 1) <= TOLERANCE, output.name
    if name == "nemotron_h":
        rename(adapter / "adapter_model.safetensors")
        assert abs(perplexity(folder / name, "--lora", adapter) / expected - 1) <= TOLERANCE, name
    # The order of rows of a GGUF file is another one.
    whole, changed = folder / f"{name}.plain.gguf", folder / f"{name}.changed.gguf"
    program("convert", folder / name, whole)
    program("convert", whole, changed, "--lora", adapter)
    assert abs(perplexity(changed) / expected - 1) <= TOLERANCE, changed.name


def main(path: str) -> None:
    transformers.logging.set_verbosity_error()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text.txt").write_text(TEXT)
        for model in TARGETS:
            tiny.write_model(folder, model, tiny.models()[model])
            test_model(Program(path), folder, model)


if __name__ == "__main__":
    main(*sys.argv[1:])
