#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tiny random language models of many architectures, and the logits of a prompt.

Usage: tiny_language_models.py FOLDER

Writes for each model FOLDER/NAME/ (a Hugging Face folder), for some FOLDER/NAME.gguf (the same
weights with the names and orders of llama.cpp's files), FOLDER/NAME.logits (float32 [tokens, vocabulary], by the
package transformers) and FOLDER/NAME.tokens. Needs: pip install torch transformers gguf numpy
"""

import dataclasses
import json
import pathlib
import sys
from collections.abc import Callable

import numpy as np
import safetensors.torch
import torch
import transformers

from tiny_gguf import (Writer, common_keys, expert_keys, gemma2_keys, gemma3_keys, linear_keys,
                       llama3_keys, long_keys, write_tensors, yarn_keys)

VOCABULARY = 96
CONTEXT = 64
TOKENS = 40
SIZES = dict(hidden_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             intermediate_size=80, vocab_size=VOCABULARY, max_position_embeddings=CONTEXT,
             bos_token_id=1, eos_token_id=2, pad_token_id=0)


@dataclasses.dataclass
class Tiny:
    """A model: its configuration, and the architecture of its GGUF file, if it is written here."""
    config: transformers.PretrainedConfig
    gguf: str = ""
    keys: Callable[[Writer], None] = lambda writer: None  # beside the common ones
    is_bfloat16: bool = False  # the matrices of both files
    is_mxfp4: bool = False  # the experts of the folder
    is_calm: bool = False  # blocks add little, so that many do not amplify rounding
    whole: str = ""  # model_type of a model that sees and hears, of which the folder has the decoder


def rope(base: float = 10000.0, **more) -> dict:
    return {"rope_parameters": {"rope_theta": base, "rope_type": "default", **more}}


def models() -> dict[str, Tiny]:
    t = transformers
    llama3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                  original_max_position_embeddings=24)
    experts = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=40)
    long = dict(rope_type="longrope", short_factor=[1.0, 1.1, 1.3], long_factor=[1.2, 2.0, 4.0],
                partial_rotary_factor=0.5)
    made = {
        "llama": Tiny(t.LlamaConfig(**SIZES, **rope()), "llama"),
        "llama_biases": Tiny(t.LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True, head_dim=16,
                                           tie_word_embeddings=True, **rope(5e4)), "llama"),
        "llama3": Tiny(t.LlamaConfig(**SIZES, **rope(500000.0, **llama3)), "llama",
                       llama3_keys(SIZES["hidden_size"] // SIZES["num_attention_heads"])),
        "llama_linear": Tiny(t.LlamaConfig(**SIZES, **rope(rope_type="linear", factor=4.0)),
                             "llama", linear_keys(4.0)),
        "mistral": Tiny(t.MistralConfig(**SIZES, sliding_window=8, **rope()), "llama",
                        lambda w: w.whole("attention.sliding_window", 8)),
        "mixtral": Tiny(t.MixtralConfig(**SIZES, num_local_experts=4, num_experts_per_tok=2,
                                        **rope(1e6)), "llama", expert_keys(4, 2)),
        "qwen2": Tiny(t.Qwen2Config(**SIZES, **rope(1e6)), "qwen2"),
        "qwen2_bfloat16": Tiny(t.Qwen2Config(**SIZES, **rope(1e6)), "qwen2", is_bfloat16=True),
        "qwen2_moe": Tiny(t.Qwen2MoeConfig(**SIZES, **experts, shared_expert_intermediate_size=56,
                                           norm_topk_prob=False, **rope(1e6)), "qwen2moe",
                          expert_keys(6, 3, 40, 56)),
        "qwen3": Tiny(t.Qwen3Config(**SIZES, head_dim=16, tie_word_embeddings=True, **rope(1e6)),
                      "qwen3"),
        "qwen3_moe": Tiny(t.Qwen3MoeConfig(**SIZES, **experts, head_dim=16, norm_topk_prob=True,
                                           **rope(1e6)), "qwen3moe", expert_keys(6, 3, 40)),
        "gemma": Tiny(t.GemmaConfig(**SIZES, head_dim=16, hidden_act="gelu_pytorch_tanh", **rope()),
                      "gemma"),
        "gemma2": Tiny(t.Gemma2Config(**SIZES, head_dim=16, sliding_window=8,
                                      query_pre_attn_scalar=16, attn_logit_softcapping=2.0,
                                      final_logit_softcapping=1.5, **rope()), "gemma2", gemma2_keys),
        "gemma3": Tiny(t.Gemma3TextConfig(**{**SIZES, "num_hidden_layers": 7}, head_dim=16,
                                          sliding_window=8, query_pre_attn_scalar=16,
                                          rope_parameters=gemma3_angles()), "gemma3", gemma3_keys),
        "phi3": Tiny(t.Phi3Config(**SIZES, sliding_window=12, **rope()), "phi3",
                     lambda w: w.whole("attention.sliding_window", 12)),
        "phi3_short": Tiny(t.Phi3Config(**{**SIZES, "max_position_embeddings": 128},
                                        original_max_position_embeddings=CONTEXT,
                                        **rope(**long, original_max_position_embeddings=CONTEXT)),
                           "phi3", long_keys(long, CONTEXT, 128)),
        "phi3_long": Tiny(t.Phi3Config(**SIZES, original_max_position_embeddings=16,
                                       **rope(**long, original_max_position_embeddings=16)),
                          "phi3", long_keys(long, 16, CONTEXT)),
        "gpt2": Tiny(t.GPT2Config(n_embd=48, n_layer=3, n_head=4, vocab_size=VOCABULARY,
                                  n_positions=CONTEXT, bos_token_id=1, eos_token_id=2), "gpt2"),
        "bitnet": Tiny(t.BitNetConfig(**SIZES, **rope(500000.0)), "bitnet",
                       lambda w: w.text("hidden_act", "relu2")),
    }
    return (made | scaled_models() | further_models() | clamped_models() | per_block_models()
            | stream_models() | recurrent_models())


def scaled_models() -> dict[str, Tiny]:
    """Positions that are scaled in ways that several architectures share."""
    t = transformers
    yarn = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
    return {
        "llama_yarn": Tiny(t.LlamaConfig(**SIZES, **rope(**yarn)), "llama", yarn_keys(16)),
        "qwen2_yarn": Tiny(t.Qwen2Config(**SIZES, **rope(1e6, **yarn, attention_factor=1.0)),
                           "qwen2", yarn_keys(16, 1 / (1 + 0.1 * np.log(4.0)))),
        "llama_yarn_ends": Tiny(t.LlamaConfig(**SIZES, **rope(
            **yarn, beta_fast=6.0, beta_slow=0.5, mscale=0.7, mscale_all_dim=1.0,
            truncate=False))),
        "llama_dynamic": Tiny(t.LlamaConfig(**SIZES, **rope(rope_type="dynamic", factor=4.0))),
    }


def further_models() -> dict[str, Tiny]:
    """Architectures that are variations of llama."""
    t = transformers
    experts = dict(num_experts=6, num_experts_per_tok=3)
    yarn = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16)
    granite = dict(embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.4,
                   logits_scaling=1.5)
    deep = {**SIZES, "num_hidden_layers": 5}
    heads = dict(head_dim=16)
    full = {**SIZES, "num_key_value_heads": 4}
    latent = dict(kv_lora_rank=24, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=12)
    routed = dict(n_routed_experts=6, num_experts_per_tok=3, moe_intermediate_size=40,
                  n_shared_experts=2, first_k_dense_replace=1, routed_scaling_factor=1.8,
                  norm_topk_prob=True, n_group=1, topk_group=1)
    return {
        "olmo": Tiny(t.OlmoConfig(**SIZES, **rope())),
        "olmo2": Tiny(t.Olmo2Config(**SIZES, **rope(5e5))),
        "olmo3": Tiny(t.Olmo3Config(**deep, sliding_window=8, rope_scaling=yarn, rope_theta=5e5)),
        "olmoe": Tiny(t.OlmoeConfig(**SIZES, **experts, **rope())),
        "granite": Tiny(t.GraniteConfig(**SIZES, **granite, **rope())),
        "granite_moe": Tiny(t.GraniteMoeConfig(**SIZES, **granite, num_local_experts=6,
                                               num_experts_per_tok=3, **rope())),
        "smollm3": Tiny(t.SmolLM3Config(**deep, **rope(2e6))),
        "smollm3_list": Tiny(t.SmolLM3Config(**SIZES, no_rope_layers=[0, 1, 0], **rope(2e6))),
        "ernie4_5": Tiny(t.Ernie4_5Config(**SIZES, **heads, use_bias=True, **rope(5e5))),
        "hunyuan": Tiny(t.HunYuanDenseV1Config(**SIZES, **heads, **rope())),
        "hunyuan_alpha": Tiny(t.HunYuanDenseV1Config(**SIZES, **heads, **rope(
            rope_type="dynamic", alpha=50.0, factor=1.0))),
        "seed_oss": Tiny(t.SeedOssConfig(**SIZES, **heads, **rope(1e7))),
        "arcee": Tiny(t.ArceeConfig(**SIZES, **rope(**yarn))),
        "jais2": Tiny(t.Jais2Config(**SIZES, head_dim=16, **rope(5e5))),
        "jais2_plain": Tiny(t.Jais2Config(**SIZES, attention_bias=False, mlp_bias=False,
                                          tie_word_embeddings=True, **rope())),
        "glm": Tiny(t.GlmConfig(**{**SIZES, "hidden_size": 64}, **heads, **rope())),
        "glm4": Tiny(t.Glm4Config(**SIZES, **heads, **rope())),
        "glm4_moe": Tiny(t.Glm4MoeConfig(**SIZES, **heads, **routed, use_qk_norm=True,
                                         attention_bias=True, **rope(partial_rotary_factor=0.5))),
        "dots1": Tiny(t.Dots1Config(**SIZES, **routed, **rope())),
        "deepseek_v2": Tiny(t.DeepseekV2Config(**full, **latent, **{
            **routed, "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "norm_topk_prob": False},
            topk_method="group_limited_greedy", q_lora_rank=20, **rope())),
        "deepseek_v2_lite": Tiny(t.DeepseekV2Config(**full, **latent, **{
            **routed, "norm_topk_prob": False}, q_lora_rank=None,
            **rope(**yarn, mscale=0.707, mscale_all_dim=0.707))),
        "deepseek_v3": Tiny(t.DeepseekV3Config(**full, **latent, **{
            **routed, "n_routed_experts": 8, "n_group": 4, "topk_group": 2}, q_lora_rank=20,
            **rope(**yarn, mscale=1.0, mscale_all_dim=1.0))),
        "starcoder2": Tiny(t.Starcoder2Config(**SIZES, sliding_window=8, **rope())),
        "stablelm": Tiny(t.StableLmConfig(**SIZES, use_qkv_bias=True, partial_rotary_factor=0.5,
                                          **rope())),
        "stablelm_parallel": Tiny(t.StableLmConfig(**SIZES, use_parallel_residual=True,
                                                   partial_rotary_factor=0.5, **rope())),
        "nemotron": Tiny(t.NemotronConfig(**SIZES, **rope(partial_rotary_factor=0.5))),
        "phi2": Tiny(t.PhiConfig(**{**full, "intermediate_size": 192},
                               **rope())),
        "cohere": Tiny(t.CohereConfig(**SIZES, logit_scale=0.25, **rope())),
        "cohere2": Tiny(t.Cohere2Config(**deep, sliding_window=8, logit_scale=0.25, **rope())),
        "exaone4": Tiny(t.Exaone4Config(**deep, **heads, sliding_window=8, **rope(1e6))),
        "exaone4_small": Tiny(t.Exaone4Config(**SIZES, **heads, sliding_window=None, layer_types=[
            "full_attention"] * 3, **rope(1e6))),
    }


def clamped_models() -> dict[str, Tiny]:
    """gpt-oss: attention sinks, experts with biases whose gates are clamped."""
    sizes = {**SIZES, "hidden_size": 64, "intermediate_size": 64}  # whole blocks of MXFP4
    more = dict(num_local_experts=6, num_experts_per_tok=3, head_dim=16, sliding_window=8)
    yarn = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, truncate=False)
    config = transformers.GptOssConfig
    return {
        "gpt_oss": Tiny(config(**sizes, **more, **rope(150000.0, **yarn))),
        "gpt_oss_mxfp4": Tiny(config(**sizes, **more, **rope(150000.0, **yarn)), is_mxfp4=True),
        "gpt_oss_limit": Tiny(config(**sizes, **more, swiglu_limit=0.5, swiglu_alpha=1.5,
                                     layer_types=["full_attention"] * 3, **rope())),
    }


def per_block_models() -> dict[str, Tiny]:
    """Gemma 4: blocks with inputs and sizes of their own, which share keys."""
    kinds = ["sliding_attention", "full_attention"] * 3
    sizes = {**SIZES, "num_hidden_layers": 6}
    gemma4 = dict(head_dim=16, global_head_dim=32, sliding_window=8, layer_types=kinds,
                  hidden_size_per_layer_input=0, vocab_size_per_layer_input=VOCABULARY)
    config = transformers.Gemma4TextConfig
    experts = dict(enable_moe_block=True, num_experts=6, top_k_experts=3, moe_intermediate_size=40)
    return {
        "gemma4_moe": Tiny(config(**sizes, **gemma4, **experts)),
        "gemma4": Tiny(config(**sizes, **{**gemma4, "hidden_size_per_layer_input": 12},
                              num_kv_shared_layers=3, use_double_wide_mlp=True)),
        "gemma4_dense": Tiny(config(**sizes, **gemma4, attention_k_eq_v=True,
                                    num_global_key_value_heads=1, final_logit_softcapping=1.5)),
    }


def stream_models() -> dict[str, Tiny]:
    """Gemma 3n: blocks that work on one of several streams, with sparse gates."""
    kinds = ["sliding_attention", "full_attention"] * 3
    sizes = {**SIZES, "num_hidden_layers": 6}
    gemma3n = dict(head_dim=16, sliding_window=8, layer_types=kinds, laurel_rank=10,
                   hidden_size_per_layer_input=12, vocab_size_per_layer_input=VOCABULARY,
                   activation_sparsity_pattern=[0.95, 0.5, 0.0, 0.3, 0.0, 0.0])
    config = transformers.Gemma3nTextConfig
    return {
        "gemma3n": Tiny(config(**sizes, **gemma3n, num_kv_shared_layers=2)),
        "gemma3n_whole": Tiny(config(**sizes, **gemma3n, num_kv_shared_layers=0), whole="gemma3n"),
        "gemma3n_differing": Tiny(config(**{
            **sizes, **gemma3n, "intermediate_size": [80, 96, 64, 80, 72, 80],
            "vocab_size_per_layer_input": 70, "activation_sparsity_pattern": None},
            num_kv_shared_layers=0, altup_num_inputs=3, altup_correct_scale=False,
            attention_bias=True, final_logit_softcapping=1.5)),
    }


def published_models() -> dict[str, Tiny]:
    """Gemma 3n with the sizes that llama.cpp has in its program, in more blocks than models()."""
    sizes = {**SIZES, "hidden_size": 64, "num_hidden_layers": 22, "intermediate_size": 1024}
    return {"gemma3n_published": Tiny(transformers.Gemma3nTextConfig(
        **sizes, head_dim=16, sliding_window=8, hidden_size_per_layer_input=256, laurel_rank=64,
        vocab_size_per_layer_input=90, num_kv_shared_layers=2), is_calm=True)}


def recurrent_models() -> dict[str, Tiny]:
    """Architectures whose blocks have a recurrence instead of attention, or beside it."""
    t = transformers
    deep = {**SIZES, "num_hidden_layers": 4}
    conv = ["conv", "conv", "full_attention", "conv"]
    linear = ["linear_attention", "linear_attention", "full_attention", "linear_attention"]
    scan = dict(mamba_n_heads=6, mamba_n_groups=2, mamba_d_state=10, mamba_d_head=16)
    granite = dict(embedding_multiplier=6.0, attention_multiplier=0.2, residual_multiplier=0.4,
                   logits_scaling=1.5)
    delta = dict(linear_conv_kernel_dim=4, linear_key_head_dim=8, linear_value_head_dim=8,
                 linear_num_key_heads=2, linear_num_value_heads=4)
    experts = dict(num_experts=6, num_experts_per_tok=3, moe_intermediate_size=40,
                   shared_expert_intermediate_size=56)
    falcon = dict(head_dim=12, mamba_d_ssm=64, mamba_n_heads=4, mamba_n_groups=2, mamba_d_state=10,
                  embedding_multiplier=1.5, lm_head_multiplier=0.7, key_multiplier=0.6,
                  mlp_multipliers=[0.8, 1.2], ssm_multipliers=[0.5, 1.3, 0.9, 1.1, 0.7],
                  ssm_in_multiplier=1.4, ssm_out_multiplier=0.6, attention_out_multiplier=0.9)
    jamba = dict(mamba_d_state=10, mamba_dt_rank=5, attn_layer_period=3, attn_layer_offset=1,
                 expert_layer_period=2, expert_layer_offset=1)
    nemotron = dict(mamba_num_heads=8, mamba_head_dim=16, n_groups=2, ssm_state_size=10,
                    head_dim=16)
    routed = dict(n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=40,
                  moe_shared_expert_intermediate_size=56, routed_scaling_factor=1.8,
                  norm_topk_prob=True)
    return {
        "lfm2": Tiny(t.Lfm2Config(**deep, layer_types=conv, block_multiple_of=24, **rope(1e6))),
        "lfm2_plain": Tiny(t.Lfm2Config(**SIZES, layer_types=conv[1:], conv_L_cache=4,
                                        block_auto_adjust_ff_dim=False, tie_word_embeddings=False,
                                        **rope(1e6))),
        "lfm2_moe": Tiny(t.Lfm2MoeConfig(**deep, layer_types=conv, num_experts=6,
                                         num_experts_per_tok=3, moe_intermediate_size=40,
                                         num_dense_layers=1, **rope(1e6))),
        "granite_hybrid": Tiny(t.GraniteMoeHybridConfig(
            **deep, **scan, **granite, num_local_experts=6, num_experts_per_tok=3,
            shared_intermediate_size=56, layer_types=linear)),
        "granite_hybrid_dense": Tiny(t.GraniteMoeHybridConfig(
            **{**deep, "intermediate_size": 56}, **scan, **granite, num_local_experts=0,
            shared_intermediate_size=56, attention_bias=True, mamba_conv_bias=False,
            layer_types=linear)),
        "granite_dense": Tiny(t.GraniteMoeHybridConfig(
            **{**SIZES, "intermediate_size": 56}, **scan, **granite, num_local_experts=0,
            num_experts_per_tok=0, shared_intermediate_size=56, layer_types=["attention"] * 3,
            position_embedding_type="rope", **rope())),
        "falcon_h1": Tiny(t.FalconH1Config(**deep, **falcon, mamba_rms_norm=True, mlp_bias=True,
                                           mamba_norm_before_gate=False, **rope(1e5))),
        "falcon_h1_plain": Tiny(t.FalconH1Config(**SIZES, **falcon, attention_in_multiplier=0.8,
                                                 **rope(1e5))),
        "falcon_h1_ones": Tiny(t.FalconH1Config(
            **SIZES, mamba_d_ssm=64, mamba_n_heads=4, mamba_n_groups=2, mamba_d_state=10,
            mamba_rms_norm=True, head_dim=12, **rope(1e5))),
        "qwen3_next": Tiny(t.Qwen3NextConfig(**deep, **delta, **experts, head_dim=16)),
        "qwen3_next_heads": Tiny(t.Qwen3NextConfig(**deep, **{
            **delta, "linear_value_head_dim": 10, "linear_num_key_heads": 4}, **experts,
            head_dim=16, layer_types=linear)),
        "qwen3_5": Tiny(t.Qwen3_5TextConfig(**deep, **delta, head_dim=16)),
        "jamba": Tiny(t.JambaConfig(**deep, **jamba, num_experts=6, num_experts_per_tok=3)),
        "jamba_dense": Tiny(t.JambaConfig(**SIZES, **{**jamba, "mamba_dt_rank": "auto"},
                                          num_experts=1, tie_word_embeddings=True)),
        "jamba_experts": Tiny(t.JambaConfig(
            **SIZES, **{**jamba, "expert_layer_period": 1, "expert_layer_offset": 0},
            num_experts=6, num_experts_per_tok=1, mamba_expand=1, mamba_conv_bias=False)),
        "nemotron_h": Tiny(t.NemotronHConfig(**SIZES, **nemotron, hybrid_override_pattern="M-M*-M")),
        "nemotron_h_moe": Tiny(t.NemotronHConfig(
            **SIZES, **nemotron, **routed, n_group=4, topk_group=2,
            hybrid_override_pattern="ME*EM")),
        "nemotron_h_mixed": Tiny(t.NemotronHConfig(
            **SIZES, **nemotron, **{**routed, "norm_topk_prob": False},
            hybrid_override_pattern="*EM-")),
        "nemotron_h_biases": Tiny(t.NemotronHConfig(
            **SIZES, **{**nemotron, "n_groups": 1}, mlp_bias=True, use_conv_bias=False,
            mlp_hidden_act="silu", layers_block_type=["mlp", "full_attention", "linear_attention"])),
        "qwen3_5_moe": Tiny(t.Qwen3_5MoeTextConfig(**{
            key: value for key, value in deep.items() if key != "intermediate_size"}, **delta,
            **experts, head_dim=16)),
    }


def gemma3_angles() -> dict:
    return {"full_attention": {"rope_theta": 1e6, "rope_type": "linear", "factor": 8.0},
            "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"}}


def randomize(model: torch.nn.Module) -> None:
    """Weights whose logits are of order 1, and gains and biases that matter."""
    generator = torch.Generator().manual_seed(5)
    kind = model.config.model_type
    has_offset = (kind.startswith(("gemma", "nemotron", "qwen3_next", "qwen3_5"))
                  and kind not in ("gemma3n_text", "gemma4_text"))
    offset = 0.0 if has_offset else 1.0
    ends = ("score_correction_bias", "expert_bias", "layer_scalar")
    biases = [(name, values) for name, values in model.named_buffers() if name.endswith(ends)]
    for name, values in [*model.named_parameters(), *biases]:
        noise = torch.randn(values.shape, generator=generator)
        is_norm = ("norm" in name or ".ln_" in name) and name.endswith("weight")  # Nemotron's add 1
        with torch.no_grad():
            if is_norm or "layer_scalar" in name or "scale" in name:
                values.copy_(offset + 0.2 * noise)
            else:
                values.copy_(noise * (0.15 if values.ndim > 1 else 0.1))
            if kind in ("gemma3n_text", "gemma4_text") and name.endswith("q_norm.weight"):
                values.mul_(0.2)  # scores have no factor: keeps rounding of float32 small
            if name.endswith("modality_router.weight"):
                values.mul_(model.config.hidden_size)  # that their inputs are divided by


def calm_down(model: torch.nn.Module) -> None:
    """Makes what blocks add small."""
    for name, values in model.named_parameters():
        if "post_" in name and name.endswith("norm.weight"):
            values.data.mul_(0.1)
        if name.endswith(("prediction_coefs.weight", "correction_coefs.weight")):
            values.data.mul_(0.2)


def round_to_mxfp4(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Random codes and scales of the experts by the names of OpenAI's files; the model gets what
    they mean."""
    generator = torch.Generator().manual_seed(7)
    levels = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    levels = torch.cat([levels, -levels])
    blocks = {}
    for name, values in model.named_parameters():
        if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
            continue
        experts, inputs, outputs = values.shape
        codes = torch.randint(0, 16, (experts, outputs, inputs // 32, 32), generator=generator)
        scales = torch.randint(120, 124, (experts, outputs, inputs // 32), generator=generator)
        numbers = levels[codes] * 2.0 ** (scales.float() - 127)[..., None]
        values.data = numbers.reshape(experts, outputs, inputs).transpose(1, 2).contiguous()
        blocks[f"{name}_blocks"] = (codes[..., ::2] + 16 * codes[..., 1::2]).to(torch.uint8)
        blocks[f"{name}_scales"] = scales.to(torch.uint8)
    return blocks


def split_blocks(folder: pathlib.Path, blocks: dict[str, torch.Tensor]) -> None:
    """Puts blocks and scales into a folder in place of what they mean."""
    file = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(file)
    for name in blocks:
        tensors.pop(name.rsplit("_", 1)[0], None)
    safetensors.torch.save_file(tensors | blocks, file, {"format": "pt"})
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["quantization_config"] = {"quant_method": "mxfp4"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def write_model(folder: pathlib.Path, name: str, tiny: Tiny) -> None:
    model = transformers.AutoModelForCausalLM.from_config(tiny.config, attn_implementation="eager")
    model = model.float().eval()
    randomize(model)
    if tiny.is_calm:
        calm_down(model)
    if tiny.is_bfloat16:
        for values in model.parameters():  # and no tables of angles
            values.data = values.data.bfloat16().float()
    blocks = round_to_mxfp4(model) if tiny.is_mxfp4 else {}
    tokens = np.random.default_rng(3).integers(0, VOCABULARY, TOKENS)
    with torch.no_grad():
        logits = model(torch.tensor(tokens)[None]).logits[0]
    (folder / f"{name}.logits").write_bytes(logits.numpy().astype(np.float32).tobytes())
    (folder / f"{name}.tokens").write_text(" ".join(map(str, tokens)), encoding="utf-8")
    if tiny.gguf:
        writer = Writer(folder / f"{name}.gguf", tiny.gguf, tiny.is_bfloat16)
        common_keys(writer, tiny.config)
        tiny.keys(writer)
        write_tensors(writer, model)
        writer.close()
    (model.bfloat16() if tiny.is_bfloat16 else model).save_pretrained(folder / name)
    if tiny.is_mxfp4:
        split_blocks(folder / name, blocks)
    if model.config.model_type == "granitemoehybrid":
        name_blocks(folder / name / "config.json")
    if name in ("nemotron_h", "nemotron_h_moe"):
        write_pattern(folder / name / "config.json")
    if tiny.whole:
        make_whole(folder / name, tiny.whole)


def make_whole(folder: pathlib.Path, kind: str) -> None:
    """Names the tensors and keys of a decoder as files of a model have them that sees and hears."""
    file = folder / "model.safetensors"
    tensors = {name.replace("model.", "model.language_model.", 1): values
               for name, values in safetensors.torch.load_file(file).items()}
    safetensors.torch.save_file(tensors, file, {"format": "pt"})
    text = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    name = text.pop("architectures")[0].replace("CausalLM", "ConditionalGeneration")
    config = {"architectures": [name], "model_type": kind, "text_config": text,
              "vision_config": {}, "audio_config": {}}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def name_blocks(file: pathlib.Path) -> None:
    """Writes the kinds of blocks as published files of Granite have them."""
    text = file.read_text(encoding="utf-8")
    text = text.replace('"linear_attention"', '"mamba"').replace('"full_attention"', '"attention"')
    file.write_text(text, encoding="utf-8")


def write_pattern(file: pathlib.Path) -> None:
    """Writes the kinds of blocks as published files of Nemotron-H have them, which name experts only
    where there are some."""
    config = json.loads(file.read_text(encoding="utf-8"))
    letters = {"linear_attention": "M", "full_attention": "*", "mlp": "-", "moe": "E"}
    pattern = "".join(letters[kind] for kind in config.pop("layers_block_type"))
    config |= {"hybrid_override_pattern": pattern, "num_hidden_layers": len(pattern)}
    if "E" not in pattern:
        for key in ("n_routed_experts", "num_experts_per_tok"):
            del config[key]
    text = json.dumps(config | {"time_step_limit": [0.0, float("inf")]})
    file.write_text(text, encoding="utf-8")


def write_models(folder: pathlib.Path) -> list[str]:
    """Writes all models. Returns their names."""
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    for name, tiny in models().items():
        write_model(folder, name, tiny)
    return list(models())


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(json.dumps(write_models(target)))
