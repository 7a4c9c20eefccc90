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
constexpr Architecture with_model_type(Architecture architecture, std::string_view hf) {
  architecture.hf = hf;
  return architecture;
}

constexpr Architecture kQwen35 = {.gguf = "qwen35",
                                  .hf = "qwen3_5_text",
                                  .normalizes_heads = true,
                                  .gates_attention = true,
                                  .hf_norm_offset = 1,
                                  .recurrence = Mixer::kDelta,
                                  .renormalizes = true};

/// The same blocks by another name of GGUF files, too.
constexpr Architecture with_names(Architecture architecture, std::string_view gguf,
                                  std::string_view hf) {
  architecture.gguf = gguf;
  architecture.hf = hf;
  return architecture;
}

constexpr Architecture kOlmo2 = {.gguf = "olmo2",
                                 .hf = "olmo2",
                                 .normalizes_heads = true,
                                 .normalizes_together = true,
                                 .has_pre_norms = false,
                                 .has_post_norms = true,
                                 .window_period = 4,
                                 .scales_windows = false};

/// Its experts have GGUF files of another name.
constexpr Architecture kNemotronH = {.gguf = "nemotron_h",
                                     .hf = "nemotron_h",
                                     .function = FeedForward::kReluSquared,
                                     .is_gated = false,
                                     .has_sigmoid_scores = true,
                                     .has_choice_bias = true,
                                     .sums_group_scores = true,
                                     .recurrence = Mixer::kScan,
                                     .has_single_branches = true,
                                     .unrotated_period = 1,
                                     .renormalizes = true};

constexpr Architecture kArchitectures[] = {
    {.gguf = "llama", .hf = "llama", .gguf_pairing = kInterleaved, .renormalizes = true},
    {.gguf = "llama", .hf = "mistral", .gguf_pairing = kInterleaved},
    {.gguf = "llama", .hf = "mixtral", .gguf_pairing = kInterleaved, .renormalizes = true},
    {.gguf = "qwen2", .hf = "qwen2", .has_qkv_bias = true},
    {.gguf = "qwen2moe", .hf = "qwen2_moe", .has_qkv_bias = true},
    {.gguf = "qwen3", .hf = "qwen3", .normalizes_heads = true},
    {.gguf = "qwen3moe", .hf = "qwen3_moe", .normalizes_heads = true, .renormalizes = true},
    {.gguf = "gemma",
     .hf = "gemma",
     .function = FeedForward::kGeluTanh,
     .scales_embedding = true,
     .hf_norm_offset = 1},
    {.gguf = "gemma2",
     .hf = "gemma2",
     .function = FeedForward::kGeluTanh,
     .has_post_norms = true,
     .scales_embedding = true,
     .hf_norm_offset = 1,
     .window_period = 2,
     .default_window = 4096,
     .score_cap = 50,
     .logit_cap = 30},
    {.gguf = "gemma3",
     .hf = "gemma3_text",
     .function = FeedForward::kGeluTanh,
     .normalizes_heads = true,
     .has_post_norms = true,
     .scales_embedding = true,
     .hf_norm_offset = 1,
     .window_period = 6,
     .window_base = 10000},
    {.gguf = "gemma3n",
     .hf = "gemma3n_text",
     .function = FeedForward::kGeluTanh,
     .normalizes_heads = true,
     .has_post_norms = true,
     .scales_embedding = true,
     .window_period = 5,
     .window_base = 10000,
     .score_scale = 1,
     .normalizes_values = true},
    {.gguf = "gemma4",
     .hf = "gemma4_text",
     .function = FeedForward::kGeluTanh,
     .normalizes_heads = true,
     .has_post_norms = true,
     .scales_embedding = true,
     .window_period = 6,
     .window_base = 10000,
     .score_scale = 1,
     .normalizes_values = true},
    {.gguf = "phi3", .hf = "phi3", .gguf_merges = true},
    {.gguf = "gpt2",
     .hf = "gpt2",
     .norm = Norm::kLayer,
     .positions = Positions::kLearned,
     .gguf_merges = true,
     .function = FeedForward::kGeluTanh,
     .is_gated = false,
     .has_biases = true},
    {.gguf = "bitnet", .hf = "bitnet", .has_sub_norms = true},
    {.gguf = "olmo",
     .hf = "olmo",
     .norm = Norm::kLayer,
     .gguf_pairing = kInterleaved,
     .has_norm_gain = false,
     .has_norm_bias = false},
    kOlmo2,
    with_model_type(kOlmo2, "olmo3"),
    {.gguf = "olmoe", .hf = "olmoe", .normalizes_heads = true, .normalizes_together = true},
    {.gguf = "granite", .hf = "granite", .gguf_pairing = kInterleaved, .divides_logits = true},
    {.gguf = "granitemoe",
     .hf = "granitemoe",
     .gguf_pairing = kInterleaved,
     .divides_logits = true,
     .softmax_after_choice = true},
    {.gguf = "smollm3", .hf = "smollm3", .gguf_pairing = kInterleaved, .unrotated_period = 4},
    {.gguf = "ernie4_5",
     .hf = "ernie4_5",
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved},
    {.gguf = "hunyuan-dense",
     .hf = "hunyuan_v1_dense",
     .normalizes_heads = true,
     .normalizes_rotated = true},
    {.gguf = "seed_oss", .hf = "seed_oss", .hf_biases_output = false},
    {.gguf = "arcee",
     .hf = "arcee",
     .gguf_pairing = kInterleaved,
     .function = FeedForward::kReluSquared,
     .is_gated = false},
    {.gguf = "chatglm",
     .hf = "glm",
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .gguf_merges = true,
     .hf_biases_output = false},
    {.gguf = "glm4",
     .hf = "glm4",
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .gguf_merges_gates = true,
     .hf_biases_output = false,
     .has_post_norms = true},
    {.gguf = "starcoder2",
     .hf = "starcoder2",
     .norm = Norm::kLayer,
     .function = FeedForward::kGeluTanh,
     .is_gated = false},
    {.gguf = "stablelm", .hf = "stablelm", .norm = Norm::kLayer},
    {.gguf = "nemotron",
     .hf = "nemotron",
     .norm = Norm::kLayer,
     .function = FeedForward::kReluSquared,
     .is_gated = false,
     .hf_norm_offset = 1},
    {.gguf = "phi2",
     .hf = "phi",
     .norm = Norm::kLayer,
     .gguf_merges = true,
     .function = FeedForward::kGeluTanh,
     .is_gated = false,
     .has_biases = true,
     .has_head_bias = true,
     .is_parallel = true,
     .shares_pre_norm = true},
    {.gguf = "command-r",
     .hf = "cohere",
     .norm = Norm::kLayer,
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .has_norm_bias = false,
     .is_parallel = true,
     .shares_pre_norm = true},
    {.gguf = "cohere2",
     .hf = "cohere2",
     .norm = Norm::kLayer,
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .has_norm_bias = false,
     .is_parallel = true,
     .shares_pre_norm = true,
     .window_period = 4,
     .rotates_windows_only = true},
    {.gguf = "glm4moe",
     .hf = "glm4_moe",
     .hf_biases_output = false,
     .has_sigmoid_scores = true,
     .has_choice_bias = true},
    {.gguf = "deepseek2",
     .hf = "deepseek_v2",
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved},
    {.gguf = "deepseek2",
     .hf = "deepseek_v3",
     .gguf_pairing = kInterleaved,
     .hf_pairing = kInterleaved,
     .has_sigmoid_scores = true,
     .has_choice_bias = true,
     .sums_group_scores = true},
    {.gguf = "dots1",
     .hf = "dots1",
     .normalizes_heads = true,
     .has_sigmoid_scores = true,
     .has_choice_bias = true},
    {.gguf = "lfm2", .hf = "lfm2", .normalizes_heads = true, .recurrence = Mixer::kConvolution},
    {.gguf = "lfm2moe",
     .hf = "lfm2_moe",
     .normalizes_heads = true,
     .has_sigmoid_scores = true,
     .has_choice_bias = true,
     .recurrence = Mixer::kConvolution,
     .renormalizes = true},
    {.gguf = "granitehybrid",
     .hf = "granitemoehybrid",
     .gguf_pairing = kInterleaved,
     .divides_logits = true,
     .softmax_after_choice = true,
     .recurrence = Mixer::kScan},
    kNemotronH,
    with_names(kNemotronH, "nemotron_h_moe", "nemotron_h"),
    {.gguf = "jamba", .hf = "jamba", .recurrence = Mixer::kChannelScan, .unrotated_period = 1},
    {.gguf = "falcon-h1", .hf = "falcon_h1", .recurrence = Mixer::kAttentionAndScan},
    kQwen35,
    with_names(kQwen35, "qwen35moe", "qwen3_5_moe_text"),
    with_names(kQwen35, "qwen3next", "qwen3_next"),
    {.gguf = "exaone4",
     .hf = "exaone4",
     .normalizes_heads = true,
     .has_pre_norms = false,
     .has_post_norms = true,
     .window_period = 4,
     .rotates_windows_only = true},
    {.gguf = "gpt-oss",
     .hf = "gpt_oss",
     .function = FeedForward::kClampedSwish,
     .has_sinks = true,
     .has_expert_bias = true,
     .truncates_yarn = false,
     .softmax_after_choice = true,
     .window_period = 2},
};

const Architecture& find_architecture(std::string_view Architecture::*file, const char* what,
                                      std::string_view name) {
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.*file == name) return architecture;
    const std::string word(architecture.*file);
    if (!known.ends_with(word)) known += (known.empty() ? "" : ", ") + word;
  }
  fail(ErrorKind::kUnsupported, "architecture '" + printable(name) + "' (" + what +
                                    "): its blocks are not described here; known: " + known);
}

}  // namespace

const Architecture& architecture_of_gguf(std::string_view name) {
  return find_architecture(&Architecture::gguf, "general.architecture", name);
}

const Architecture& architecture_of_hf(std::string_view model_type) {
  return find_architecture(&Architecture::hf, "model_type", model_type);
}

Description start_description(const Architecture& architecture) {
  Description d;
  d.architecture = architecture.gguf;
  d.norm = architecture.norm;
  d.has_norm_gain = architecture.has_norm_gain;
  d.has_norm_bias = architecture.has_norm_bias;
  d.has_pre_norms = architecture.has_pre_norms;
  d.has_post_norms = architecture.has_post_norms;
  d.has_sub_norms = architecture.has_sub_norms;
  d.is_parallel = architecture.is_parallel;
  d.shares_pre_norm = architecture.shares_pre_norm;
  d.positions = architecture.positions;
  d.function = architecture.function;
  d.is_gated = architecture.is_gated;
  d.has_qkv_bias = architecture.has_qkv_bias || architecture.has_biases;
  d.has_output_bias = d.has_ffn_bias = architecture.has_biases;
  d.has_head_bias = architecture.has_head_bias;
  d.normalizes_heads = architecture.normalizes_heads;
  d.normalizes_together = architecture.normalizes_together;
  d.normalizes_rotated = architecture.normalizes_rotated;
  d.score_scale = architecture.score_scale;
  d.normalizes_values = architecture.normalizes_values;
  d.has_sinks = architecture.has_sinks;
  d.has_expert_bias = architecture.has_expert_bias;
  d.gates_attention = architecture.gates_attention;
  d.has_single_branches = architecture.has_single_branches;
  d.score_cap = architecture.score_cap;
  d.logit_cap = architecture.logit_cap;
  d.softmax_after_choice = architecture.softmax_after_choice;
  d.has_sigmoid_scores = architecture.has_sigmoid_scores;
  d.has_choice_bias = architecture.has_choice_bias;
  d.sums_group_scores = architecture.sums_group_scores;
  d.renormalizes = architecture.renormalizes;
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
  d.renormalizes = d.renormalizes && d.experts != 0;
  d.softmax_after_choice = d.softmax_after_choice && d.experts != 0;
  d.has_sigmoid_scores = d.has_sigmoid_scores && d.experts != 0;
  d.has_choice_bias = d.has_choice_bias && d.experts != 0;
  d.has_expert_bias = d.has_expert_bias && d.experts != 0;
  d.sums_group_scores = d.sums_group_scores && d.experts != 0 && d.expert_groups > 1;
  complete_windows(d, architecture);
  // Blocks with a window have angles of their own only if a base is given, or theirs stay as they
  // were.
  const bool is_scaled = d.window == 0 || architecture.scales_windows;
  if (d.window_rotary.base == 0) {
    d.window_rotary = is_scaled ? d.rotary : RotaryAngles{.base = d.rotary.base};
  }
}

}  // namespace halftone::lm
