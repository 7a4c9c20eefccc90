# SPDX-License-Identifier: Apache-2.0
"""Writes a GGUF file of a llama as a folder of Hugging Face, for tests."""

import json
import pathlib
import struct

import gguf
import numpy as np

LAYER_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def halves(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows of q or k whose halves are rotated together instead of neighbours."""
    rows = values.reshape(heads, values.shape[0] // heads // 2, 2, *values.shape[1:])
    return rows.swapaxes(1, 2).reshape(values.shape)


def folder_name(name: str) -> str:
    base, part = name.rsplit(".", 1)
    if base in TOP_NAMES:
        return f"{TOP_NAMES[base]}.{part}"
    _, block, role = base.split(".")
    return f"model.layers.{block}.{LAYER_NAMES[role]}.{part}"


def write_safetensors(path: pathlib.Path, tensors: dict[str, np.ndarray]) -> None:
    head, offset = {}, 0
    for name, values in tensors.items():
        head[name] = {"dtype": "F32", "shape": values.shape,
                      "data_offsets": [offset, offset + values.nbytes]}
        offset += values.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


def tokenizer_of(keys: dict) -> dict:
    """tokenizer.json of SmolLM2's kind: digits one by one, then GPT-2's rule."""
    texts, kinds = keys["tokenizer.ggml.tokens"], keys["tokenizer.ggml.token_type"]
    assert keys["tokenizer.ggml.pre"] == "smollm" and set(kinds) <= {1, 3}
    steps = [{"type": "Digits", "individual_digits": True},
             {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}]
    merges = [merge.split(" ") for merge in keys["tokenizer.ggml.merges"]]
    return {"added_tokens": [{"id": i, "content": text, "special": True}
                             for i, (text, kind) in enumerate(zip(texts, kinds)) if kind == 3],
            "normalizer": None, "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
            "post_processor": None, "decoder": {"type": "ByteLevel"},
            "model": {"type": "BPE", "vocab": {text: i for i, text in enumerate(texts)},
                      "merges": merges}}


def write_folder(source: pathlib.Path, folder: pathlib.Path) -> dict:
    """Returns the keys of the file. Weights become float32."""
    reader = gguf.GGUFReader(source)
    keys = {name: field.contents() for name, field in reader.fields.items()}
    folder.mkdir()

    def write(name: str, value: dict) -> None:
        (folder / name).write_text(json.dumps(value), encoding="utf-8")

    heads, kv_heads = (keys[f"llama.attention.head_count{end}"] for end in ("", "_kv"))
    write("config.json", {
        "model_type": "llama", "hidden_act": "silu", "tie_word_embeddings": True,
        "num_hidden_layers": keys["llama.block_count"], "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "hidden_size": keys["llama.embedding_length"],
        "intermediate_size": keys["llama.feed_forward_length"],
        "max_position_embeddings": keys["llama.context_length"],
        "rms_norm_eps": keys["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": keys["llama.rope.freq_base"], "vocab_size": keys["llama.vocab_size"]})
    tokenizer = tokenizer_of(keys)
    write("tokenizer.json", tokenizer)
    names = {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}
    texts = keys["tokenizer.ggml.tokens"]
    write("tokenizer_config.json", {
        **{f"{name}_token": texts[keys[f"tokenizer.ggml.{key}_token_id"]]
           for name, key in names.items()},
        "chat_template": keys["tokenizer.chat_template"]})
    tensors = {}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype("<f4")
        if ".attn_q." in tensor.name or ".attn_k." in tensor.name:
            values = halves(values, heads if ".attn_q." in tensor.name else kv_heads)
        tensors[folder_name(tensor.name)] = values
    write_safetensors(folder / "model.safetensors", tensors)
    return keys
