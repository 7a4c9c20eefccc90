// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/architectures.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::lm {
namespace {

constexpr Pairing kInterleaved = Pairing::kInterleaved;

/// The same blocks by another name of config.json.
Architecture with_model_type(Architecture architecture, std::string_view hf) {
  architecture.hf = hf;
  return architecture;
}

/// The same blocks by another name of GGUF files, too.
Architecture with_names(Architecture architecture, const char* gguf, std::string_view hf) {
  architecture.start.architecture = gguf;
  architecture.hf = hf;
  return architecture;
}

Architecture llama() {
  return {.hf = "llama",
          .start = {.architecture = "llama", .renormalizes = true},
          .gguf_pairing = kInterleaved,
          .hf_renormalizes = true,
          .gguf_has_divisors = true,
          .gguf_has_expert_inner = false};
}

Architecture olmo2() {
  return {.hf = "olmo2",
          .start = {.architecture = "olmo2",
                    .has_pre_norms = false,
                    .has_post_norms = true,
                    .normalizes_heads = true,
                    .normalizes_together = true},
          .window_period = 4,
          .scales_windows = false};
}

/// Its experts have GGUF files of another name.
Architecture nemotron_h() {
  return {.hf = "nemotron_h",
          .start = {.architecture = "nemotron_h",
                    .has_single_branches = true,
                    .function = FeedForward::kReluSquared,
                    .is_gated = false,
                    .has_sigmoid_scores = true,
                    .has_choice_bias = true,
                    .renormalizes = true,
                    .sums_group_scores = true},
          .experts_gguf = "nemotron_h_moe",
          .recurrence = Mixer::kScan,
          .unrotated_period = 1,
          .gguf_has_shared_inner = true};
}

Architecture qwen35() {
  return {.hf = "qwen3_5_text",
          .start = {.architecture = "qwen35",
                    .gates_attention = true,
                    .normalizes_heads = true,
                    .renormalizes = true},
          .hf_norm_offset = 1,
          .recurrence = Mixer::kDelta,
          .hf_has_picture_axes = true};
}

Architecture qwen35_experts() {
  Architecture architecture = with_names(qwen35(), "qwen35moe", "qwen3_5_moe_text");
  architecture.start.has_shared_gate = true;
  architecture.gguf_has_shared_inner = architecture.gguf_renormalizes = true;
  return architecture;
}

Architecture qwen3_next() {
  Architecture architecture = with_names(qwen35_experts(), "qwen3next", "qwen3_next");
  architecture.groups_delta_rows = true;
  architecture.hf_has_picture_axes = false;
  return architecture;
}

const Architecture kArchitectures[] = {
    llama(),
    with_model_type(llama(), "mistral"),
    with_model_type(llama(), "mixtral"),
    {.hf = "qwen2", .start = {.architecture = "qwen2", .has_qkv_bias = true}},
    {.hf = "qwen2_moe",
     .start = {.architecture = "qwen2moe", .has_qkv_bias = true, .has_shared_gate = true},
     .gguf_has_shared_inner = true},
    {.hf = "qwen3", .start = {.architecture = "qwen3", .normalizes_heads = true}},
    {.hf = "qwen3_moe",
     .start = {.architecture = "qwen3moe", .normalizes_heads = true, .renormalizes = true}},
    {.hf = "gemma",
     .start = {.architecture = "gemma", .function = FeedForward::kGeluTanh},
     .hf_norm_offset = 1,
     .scales_embedding = true,
     .hf_gelu_is_tanh = true},
    {.hf = "gemma2",
     .start = {.architecture = "gemma2",
               .logit_cap = 30,
               .has_post_norms = true,
               .score_cap = 50,
               .function = FeedForward::kGeluTanh},
     .hf_norm_offset = 1,
     .scales_embedding = true,
     .window_period = 2,
     .gguf_window = 4096,
     .gguf_wide_blocks = 46},
    {.hf = "gemma3_text",
     .start = {.architecture = "gemma3",
               .has_post_norms = true,
               .normalizes_heads = true,
               .function = FeedForward::kGeluTanh},
     .hf_norm_offset = 1,
     .scales_embedding = true,
     .window_period = 6,
     .window_base = 10000,
     .gguf_wide_blocks = 62},
    {.hf = "gemma3n_text",
     .start = {.architecture = "gemma3n",
               .has_post_norms = true,
               .score_scale = 1,
               .normalizes_values = true,
               .normalizes_heads = true,
               .function = FeedForward::kGeluTanh},
     .has_streams = true,
     .scales_embedding = true,
     .window_period = 5,
     .window_base = 10000},
    {.hf = "gemma4_text",
     .start = {.architecture = "gemma4",
               .has_post_norms = true,
               .score_scale = 1,
               .normalizes_values = true,
               .normalizes_heads = true,
               .function = FeedForward::kGeluTanh,
               .has_network_beside = true,
               .renormalizes = true},
     .has_full_heads = true,
     .scales_embedding = true,
     .window_period = 6,
     .window_base = 10000,
     .hf_renormalizes = true,
     .gguf_has_divisors = true},
    {.hf = "phi3",
     .start = {.architecture = "phi3"},
     .gguf_merges = true,
     .hf_yarn_is_long = true,
     .gguf_has_divisors = true},
    {.hf = "gpt2",
     .start = {.architecture = "gpt2",
               .norm = Norm::kLayer,
               .has_qkv_bias = true,
               .has_output_bias = true,
               .positions = Positions::kLearned,
               .function = FeedForward::kGeluTanh,
               .is_gated = false,
               .has_ffn_bias = true},
     .gguf_merges = true,
     .hf_transposes = true},
    {.hf = "bitnet",
     .start = {.architecture = "bitnet", .has_sub_norms = true},
     .gguf_names_function = true,
     .gguf_ties = true},
    {.hf = "olmo",
     .start = {.architecture = "olmo",
               .norm = Norm::kLayer,
               .has_norm_gain = false,
               .has_norm_bias = false},
     .gguf_pairing = kInterleaved},
    olmo2(),
    with_model_type(olmo2(), "olmo3"),
    {.hf = "olmoe",
     .start = {.architecture = "olmoe", .normalizes_heads = true, .normalizes_together = true}},
    {.hf = "granite",
     .start = {.architecture = "granite"},
     .gguf_pairing = kInterleaved,
     .experts_gguf = "granitemoe",
     .has_factors = true,
     .gguf_has_divisors = true},
    {.hf = "granitemoe",
     .start = {.architecture = "granitemoe", .softmax_after_choice = true},
     .gguf_pairing = kInterleaved,
     .has_factors = true,
     .gguf_has_divisors = true,
     .gguf_has_shared_inner = true},
    {.hf = "smollm3",
     .start = {.architecture = "smollm3"},
     .gguf_pairing = kInterleaved,
     .unrotated_period = 4},
    {.hf = "ernie4_5",
     .start = {.architecture = "ernie4_5"},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved},
    {.hf = "hunyuan_v1_dense",
     .start = {.architecture = "hunyuan-dense",
               .normalizes_heads = true,
               .normalizes_rotated = true},
     .hf_alpha_is_base = true},
    {.hf = "seed_oss", .start = {.architecture = "seed_oss"}, .hf_biases_output = false},
    {.hf = "arcee",
     .start = {.architecture = "arcee", .function = FeedForward::kReluSquared, .is_gated = false},
     .gguf_pairing = kInterleaved,
     .gguf_has_divisors = true},
    {.hf = "glm",
     .start = {.architecture = "chatglm"},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .gguf_merges = true,
     .hf_biases_output = false},
    {.hf = "glm4",
     .start = {.architecture = "glm4", .has_post_norms = true},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .gguf_merges_gates = true,
     .hf_biases_output = false},
    {.hf = "starcoder2",
     .start = {.architecture = "starcoder2",
               .norm = Norm::kLayer,
               .function = FeedForward::kGeluTanh,
               .is_gated = false}},
    {.hf = "stablelm",
     .start = {.architecture = "stablelm", .norm = Norm::kLayer},
     .gguf_may_share_norm = true},
    {.hf = "nemotron",
     .start = {.architecture = "nemotron",
               .norm = Norm::kLayer,
               .function = FeedForward::kReluSquared,
               .is_gated = false},
     .hf_norm_offset = 1},
    {.hf = "jais2",
     .start = {.architecture = "jais2",
               .norm = Norm::kLayer,
               .function = FeedForward::kReluSquared,
               .is_gated = false}},
    {.hf = "phi",
     .start = {.architecture = "phi2",
               .has_head_bias = true,
               .norm = Norm::kLayer,
               .is_parallel = true,
               .shares_pre_norm = true,
               .has_qkv_bias = true,
               .has_output_bias = true,
               .function = FeedForward::kGeluTanh,
               .is_gated = false,
               .has_ffn_bias = true},
     .gguf_merges = true},
    {.hf = "cohere",
     .start = {.architecture = "command-r",
               .norm = Norm::kLayer,
               .has_norm_bias = false,
               .is_parallel = true,
               .shares_pre_norm = true},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .hf_norms_have_own_gains = true},
    {.hf = "cohere2",
     .start = {.architecture = "cohere2",
               .norm = Norm::kLayer,
               .has_norm_bias = false,
               .is_parallel = true,
               .shares_pre_norm = true},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .window_period = 4,
     .rotates_windows_only = true},
    {.hf = "glm4_moe",
     .start = {.architecture = "glm4moe", .has_sigmoid_scores = true, .has_choice_bias = true},
     .hf_biases_output = false},
    {.hf = "deepseek_v2",
     .start = {.architecture = "deepseek2"},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved},
    {.hf = "deepseek_v3",
     .start = {.architecture = "deepseek2",
               .has_sigmoid_scores = true,
               .has_choice_bias = true,
               .sums_group_scores = true},
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved},
    {.hf = "dots1",
     .start = {.architecture = "dots1",
               .normalizes_heads = true,
               .has_sigmoid_scores = true,
               .has_choice_bias = true}},
    {.hf = "lfm2",
     .start = {.architecture = "lfm2", .normalizes_heads = true},
     .recurrence = Mixer::kConvolution},
    {.hf = "lfm2_moe",
     .start = {.architecture = "lfm2moe",
               .normalizes_heads = true,
               .has_sigmoid_scores = true,
               .has_choice_bias = true,
               .renormalizes = true},
     .recurrence = Mixer::kConvolution,
     .gguf_renormalizes = true,
     .gguf_has_choice_bias = true},
    {.hf = "granitemoehybrid",
     .start = {.architecture = "granitehybrid", .softmax_after_choice = true},
     .gguf_pairing = kInterleaved,
     .plain_gguf = "granite",
     .recurrence = Mixer::kScan,
     .has_factors = true,
     .gguf_has_shared_inner = true,
     .gguf_doubles_scan = true},
    nemotron_h(),
    with_names(nemotron_h(), "nemotron_h_moe", "nemotron_h"),
    {.hf = "jamba",
     .start = {.architecture = "jamba"},
     .recurrence = Mixer::kChannelScan,
     .unrotated_period = 1,
     .gguf_has_dense_blocks = true,
     .gguf_doubles_scan = true},
    {.hf = "falcon_h1",
     .start = {.architecture = "falcon-h1"},
     .recurrence = Mixer::kAttentionAndScan},
    qwen35(),
    qwen35_experts(),
    qwen3_next(),
    {.hf = "exaone4",
     .start = {.architecture = "exaone4",
               .has_pre_norms = false,
               .has_post_norms = true,
               .normalizes_heads = true},
     .window_period = 4,
     .rotates_windows_only = true,
     .gguf_window_blocks = 64,
     .gguf_has_divisors = true},
    {.hf = "gpt_oss",
     .start = {.architecture = "gpt-oss",
               .has_sinks = true,
               .function = FeedForward::kClampedSwish,
               .has_expert_bias = true,
               .softmax_after_choice = true},
     .hf_transposes_experts = true,
     .has_mxfp4_experts = true,
     .window_period = 2,
     .gguf_truncates_yarn = false},
};

/// The names of a row.
std::string_view gguf_of(const Architecture& architecture) {
  return architecture.start.architecture;
}
std::string_view hf_of(const Architecture& architecture) { return architecture.hf; }

const Architecture& find_architecture(std::string_view (*name_of)(const Architecture&),
                                      const char* what, std::string_view name) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (name_of(architecture) == name) return architecture;
    const std::string word(name_of(architecture));
    if (!known.ends_with(word)) known += (known.empty() ? "" : ", ") + word;
  }
  fail(ErrorKind::kUnsupported, "architecture '" + printable(name) + "' (" + what +
                                    "): its blocks are not described here; known: " + known);
}

}  // namespace

const Architecture& architecture_of_gguf(std::string_view name) {
  return find_architecture(gguf_of, "general.architecture", name);
}

const Architecture& architecture_of_hf(std::string_view model_type) {
  return find_architecture(hf_of, "model_type", model_type);
}

std::span<const Architecture> architectures() { return kArchitectures; }

Description start_description(const Architecture& architecture) {
  Description d = architecture.start;
  d.window_rotary.base = architecture.window_base;
  return d;
}

namespace {

/// Blocks whose number is the last of a period have `last`, the others the contrary.
std::vector<bool> every(std::size_t period, bool last, std::size_t blocks) {
  std::vector<bool> entries;
  for (std::size_t i = 0; i < blocks && blocks <= (1 << 12); ++i) {
    entries.push_back((i % period == period - 1) == last);
  }
  return entries;
}

void complete_windows(Description& d, const Architecture& architecture) {
  if (d.window == 0) {
    d.windowed.clear();
  } else if (d.windowed.empty()) {
    const std::size_t period = architecture.window_period;
    // All have the window where there is no period.
    d.windowed = period == 0 ? every(1, true, d.blocks) : every(period, false, d.blocks);
  }
  if (std::ranges::none_of(d.windowed, [](bool is) { return is; })) {
    d.window = 0;
    d.windowed.clear();
  }
  if (d.unrotated.empty() && architecture.unrotated_period != 0) {
    d.unrotated = every(architecture.unrotated_period, true, d.blocks);
  }
  if (d.window != 0 && architecture.rotates_windows_only) {
    d.unrotated = d.windowed;
    d.unrotated.flip();
  }
  const bool has_none = std::ranges::none_of(d.unrotated, [](bool is) { return is; });
  if (has_none) d.unrotated.clear();
}

}  // namespace

void complete(Description& d, const Architecture& architecture) {
  if (d.value_width == 0) d.value_width = d.head_width;
  if (d.rotary_dims == 0) d.rotary_dims = d.head_width;
  if (d.score_scale == 0) d.score_scale = 1 / std::sqrt(static_cast<double>(d.head_width));
  if (architecture.scales_embedding) d.embedding_factor = std::sqrt(static_cast<double>(d.width));
  for (bool* of_experts :
       {&d.renormalizes, &d.softmax_after_choice, &d.has_sigmoid_scores, &d.has_choice_bias,
        &d.has_expert_bias, &d.sums_group_scores, &d.has_network_beside, &d.has_shared_gate}) {
    *of_experts = *of_experts && d.experts != 0;
  }
  d.sums_group_scores = d.sums_group_scores && d.expert_groups > 1;
  d.has_shared_gate = d.has_shared_gate && d.shared_inner != 0;
  complete_windows(d, architecture);
  // Blocks with a window have angles of their own only if a base is given, or theirs stay as they
  // were.
  const bool is_scaled = d.window == 0 || architecture.scales_windows;
  if (d.window_rotary.base == 0) {
    d.window_rotary = is_scaled ? d.rotary : RotaryAngles{.base = d.rotary.base};
  }
}

}  // namespace halftone::lm
