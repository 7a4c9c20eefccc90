# SPDX-License-Identifier: Apache-2.0
"""GGUF files of tiny language models, with the names and orders of llama.cpp's files."""

import pathlib
from collections.abc import Callable

import gguf
import numpy as np
import torch
import transformers


class Writer:
    """Writes keys and tensors of a GGUF file."""

    def __init__(self, path: pathlib.Path, architecture: str, is_bfloat16: bool):
        self.arch = architecture
        self.is_bfloat16 = is_bfloat16
        self.file = gguf.GGUFWriter(path, architecture)

    def whole(self, key: str, value: int) -> None:
        self.file.add_uint32(f"{self.arch}.{key}", value)

    def number(self, key: str, value: float) -> None:
        self.file.add_float32(f"{self.arch}.{key}", value)

    def text(self, key: str, value: str) -> None:
        self.file.add_string(f"{self.arch}.{key}", value)

    def flag(self, key: str, value: bool) -> None:
        self.file.add_bool(f"{self.arch}.{key}", value)

    def tensor(self, name: str, values: np.ndarray) -> None:
        values = np.ascontiguousarray(values, dtype=np.float32)
        if self.is_bfloat16 and values.ndim > 1:
            kind = gguf.GGMLQuantizationType.BF16
            self.file.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
        else:
            self.file.add_tensor(name, values)

    def close(self) -> None:
        self.file.write_header_to_file()
        self.file.write_kv_data_to_file()
        self.file.write_tensors_to_file()
        self.file.close()


def llama3_keys(dims: int) -> Callable[[Writer], None]:
    """The factors of llama 3 as a tensor, by the formula of Meta's reference code."""
    def write(writer: Writer) -> None:
        frequencies = 500000.0 ** (-np.arange(0, dims, 2, dtype=np.float64) / dims)
        factors = []
        for length in 2 * np.pi / frequencies:
            smooth = (24 / length - 1.0) / (4.0 - 1.0)
            factors.append(1.0 if length < 24 / 4.0 else 8.0 if length > 24 / 1.0
                           else 1 / ((1 - smooth) / 8.0 + smooth))
        writer.tensor("rope_freqs.weight", np.array(factors))
    return write


def linear_keys(factor: float) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        writer.text("rope.scaling.type", "linear")
        writer.number("rope.scaling.factor", factor)
    return write


def yarn_keys(original: int, attention: float = 1.0) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        writer.text("rope.scaling.type", "yarn")
        writer.number("rope.scaling.factor", 4.0)
        writer.number("rope.scaling.attn_factor", attention)
        writer.whole("rope.scaling.original_context_length", original)
    return write


def long_keys(long: dict, original: int, context: int) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        writer.whole("rope.scaling.original_context_length", original)
        writer.number("rope.scaling.attn_factor",
                      np.sqrt(1 + np.log(context / original) / np.log(original)))
        writer.tensor("rope_factors_short.weight", np.array(long["short_factor"]))
        writer.tensor("rope_factors_long.weight", np.array(long["long_factor"]))
    return write


def expert_keys(count: int, used: int, inner: int = 0, shared: int = 0) -> Callable[[Writer], None]:
    def write(writer: Writer) -> None:
        writer.whole("expert_count", count)
        writer.whole("expert_used_count", used)
        if inner:
            writer.whole("expert_feed_forward_length", inner)
        if shared:
            writer.whole("expert_shared_feed_forward_length", shared)
    return write


def gemma2_keys(writer: Writer) -> None:
    writer.whole("attention.sliding_window", 8)
    writer.number("attn_logit_softcapping", 2.0)
    writer.number("final_logit_softcapping", 1.5)


def gemma3_keys(writer: Writer) -> None:
    writer.whole("attention.sliding_window", 8)
    linear_keys(8.0)(writer)


def common_keys(writer: Writer, config: transformers.PretrainedConfig) -> None:
    writer.whole("block_count", config.num_hidden_layers)
    writer.whole("context_length", config.max_position_embeddings)
    writer.whole("embedding_length", config.hidden_size)
    writer.whole("attention.head_count", config.num_attention_heads)
    writer.whole("vocab_size", config.vocab_size)
    if writer.arch == "gpt2":
        writer.whole("feed_forward_length", 4 * config.hidden_size)
        writer.number("attention.layer_norm_epsilon", config.layer_norm_epsilon)
        return
    writer.whole("feed_forward_length", config.intermediate_size)
    writer.whole("attention.head_count_kv", config.num_key_value_heads)
    writer.number("attention.layer_norm_rms_epsilon", config.rms_norm_eps)
    width = head_width(config)
    writer.whole("attention.key_length", width)
    writer.whole("attention.value_length", width)
    angles = config.rope_parameters
    angles = angles.get("full_attention", angles)
    writer.number("rope.freq_base", angles["rope_theta"])
    writer.whole("rope.dimension_count", int(width * angles.get("partial_rotary_factor", 1.0)))


def head_width(config: transformers.PretrainedConfig) -> int:
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


NAMES = {  # after layers.N. and h.N.
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "self_attn.attn_sub_norm": "attn_sub_norm",
    "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up", "mlp.ffn_sub_norm": "ffn_sub_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "mlp.gate": "ffn_gate_inp", "mlp.experts.down_proj": "ffn_down_exps",
    "mlp.shared_expert.gate_proj": "ffn_gate_shexp", "mlp.shared_expert.up_proj": "ffn_up_shexp",
    "mlp.shared_expert.down_proj": "ffn_down_shexp", "mlp.shared_expert_gate": "ffn_gate_inp_shexp",
    "ln_1": "attn_norm", "ln_2": "ffn_norm", "attn.c_attn": "attn_qkv",
    "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
}
TOP_NAMES = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output",
             "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm"}


def neighbours(values: np.ndarray, heads: int) -> np.ndarray:
    """Rows of q or k so that neighbours are rotated together instead of halves."""
    rows = values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:])
    return rows.swapaxes(1, 2).reshape(values.shape)


def gguf_name(name: str, has_post_norms: bool) -> str:
    parts = name.split(".")
    if parts[0] in ("layers", "h"):
        inner = ".".join(parts[2:])
        if has_post_norms and inner == "post_attention_layernorm":
            return f"blk.{parts[1]}.post_attention_norm"
        return f"blk.{parts[1]}.{NAMES[inner]}"
    return TOP_NAMES[name]


def write_tensors(writer: Writer, model: torch.nn.Module) -> None:
    config = model.config
    arch = writer.arch
    for key, value in model.state_dict().items():
        values = value.numpy()
        name = key.removeprefix("model.").removeprefix("transformer.")
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        if name.endswith("mlp.experts.gate_up_proj"):
            block = name.split(".")[1]
            gate, up = np.split(values, 2, axis=1)
            writer.tensor(f"blk.{block}.ffn_gate_exps.weight", gate)
            writer.tensor(f"blk.{block}.ffn_up_exps.weight", up)
            continue
        if name.endswith("mlp.experts.down_proj"):
            name += ".weight"
        base, part = name.rsplit(".", 1)
        if arch == "gpt2" and values.ndim == 2 and base.startswith("h."):
            values = values.T
        if arch == "llama" and base.endswith(("q_proj", "k_proj")):
            is_query = base.endswith("q_proj")
            values = neighbours(values, config.num_attention_heads if is_query
                                else config.num_key_value_heads)
        if arch.startswith("gemma") and "norm" in base:
            values = values + 1
        if base.endswith("shared_expert_gate"):
            values = values.reshape(-1)
        writer.tensor(f"{gguf_name(base, arch in ('gemma2', 'gemma3'))}.{part}", values)
