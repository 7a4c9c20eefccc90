# SPDX-License-Identifier: Apache-2.0
"""Models of transformers have the codes of `quantize --text` after from_pretrained()."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import halftone as ht

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

import halftone.torch as coded  # noqa: E402
from halftone.torch import HalftoneConfig  # noqa: E402

SIZES: Any = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
    "intermediate_size": 128, "max_position_embeddings": 64,
}  # fmt: skip
FIT: Any = {"sample_tokens": 32, "samples": 16, "held_out": 4}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    numbers = np.random.default_rng(1)
    words = ["".join(numbers.choice(list("abcdefghij"), 4)) for _ in range(200)]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(" ".join(numbers.choice(words, 4000)))
    return path


def write(folder: Path, text: Path, kind: str = "Llama", **more: Any) -> Path:
    """A folder of Hugging Face with random weights."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=320, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train([str(text)], trainer)
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = getattr(transformers, f"{kind}Config")(
        **{**SIZES, "vocab_size": tokenizer.get_vocab_size(), **more}
    )
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


def opened(folder: Path, config: Any = None, **more: Any) -> Any:
    if config is not None:
        more["quantization_config"] = config
    return transformers.AutoModelForCausalLM.from_pretrained(folder, **more)


@pytest.mark.parametrize("kind,type,tied", [
    ("Llama", "int4/64", False), ("Llama", "2x6", False), ("Qwen2", "int3/32", True),
    ("Llama", "int8/32", False),
])  # fmt: skip
def test_weights_are_those_of_quantize(
    text: Path, tmp_path: Path, kind: str, type: str, tied: bool
) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    folder = write(tmp_path / "model", text, kind, tie_word_embeddings=tied)
    model = opened(folder, HalftoneConfig(text, type=type, **FIT))
    layers = dict(coded._layers.layers_of(model))
    assert len(layers) == 2 * 7 + 2 and not model.training
    ht.quantize_language_model(folder, text, tmp_path / "decoded", type=type, rotation=False,
                               decoded=True, progress=False, **FIT)
    expected = safetensors.load_file(tmp_path / "decoded" / "model.safetensors")
    for name, layer in layers.items():
        key = "model.embed_tokens" if tied and name == "lm_head" else name
        assert torch.equal(layer.weight, expected[f"{key}.weight"]), name
    for name, value in model.named_parameters():
        assert torch.equal(value, expected[name]), name
    tokens = torch.randint(0, 256, (1, 24))
    with torch.no_grad():
        found, decoded = model(tokens).logits, opened(tmp_path / "decoded")(tokens).logits
    # Kernels round inputs to 8 bits.
    assert (found - decoded).norm() < 0.02 * decoded.norm()
    assert model.generate(tokens, max_new_tokens=3, do_sample=False).shape == (1, 27)


def test_adapters_get_gradients(text: Path, tmp_path: Path) -> None:
    model = opened(write(tmp_path / "model", text), HalftoneConfig(text, **FIT))
    embedded = torch.randn(1, 5, 64, requires_grad=True)
    model(inputs_embeds=embedded).logits.sum().backward()
    assert embedded.grad is not None and embedded.grad.abs().max() > 0


def test_states_load_in_a_float_model(text: Path, tmp_path: Path) -> None:
    folder = write(tmp_path / "model", text)
    model = opened(folder, HalftoneConfig(text, **FIT))
    tokens = torch.randint(0, 256, (1, 9))
    same = coded.load_(opened(folder), model.state_dict())
    with torch.no_grad():
        assert torch.equal(same(tokens).logits, model(tokens).logits)


@pytest.mark.parametrize("kind,type,tied", [("Llama", "int4/64", False), ("Qwen2", "2x6", True)])
def test_saved_folders_open_with_the_same_codes(
    text: Path, tmp_path: Path, kind: str, type: str, tied: bool
) -> None:
    folder = write(tmp_path / "model", text, kind, tie_word_embeddings=tied)
    model = opened(folder, HalftoneConfig(text, type=type, **FIT))
    model.save_pretrained(tmp_path / "coded")
    same = opened(tmp_path / "coded")
    assert isinstance(same.config.quantization_config, HalftoneConfig)
    found, expected = same.state_dict(), model.state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[key], expected[key]) for key in expected)
    tokens = torch.randint(0, 256, (1, 9))
    with torch.no_grad():
        assert torch.equal(same(tokens).logits, model(tokens).logits)
    same.save_pretrained(tmp_path / "again")
    names = ("model.safetensors", "config.json")
    assert all(
        (tmp_path / "again" / name).read_bytes() == (tmp_path / "coded" / name).read_bytes()
        for name in names
    )
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("coded", "model")]
    assert sizes[0] < 0.4 * sizes[1]


def test_configurations_that_are_wrong(text: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="type: expected integers such as 'int4/64' .* found 'Q4_K'"):
        HalftoneConfig(text, type="Q4_K")
    with pytest.raises(ValueError, match="rotation: expected none"):
        HalftoneConfig(text, rotation=True)
    folder = write(tmp_path / "model", text)
    with pytest.raises(FileNotFoundError):
        opened(folder, HalftoneConfig("absent.txt"))
    quantizer = coded._transformers.HalftoneQuantizer(HalftoneConfig(text), pre_quantized=False)
    with pytest.raises(ValueError, match="device_map: layers in few bits run on the processor"):
        quantizer.validate_environment(device_map={"": "cuda:0"})
    other = write(tmp_path / "other", text, "Phi3", pad_token_id=0)
    with pytest.raises(NotImplementedError, match="model_type: expected one of .* found 'phi3'"):
        opened(other, HalftoneConfig(text))
    config = HalftoneConfig(text, seed=3)
    assert json.loads(json.dumps(config.to_dict()))["seed"] == 3
