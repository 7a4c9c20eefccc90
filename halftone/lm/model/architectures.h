// SPDX-License-Identifier: Apache-2.0
// What the name of an architecture says that its files do not.
#pragma once

#include <string>
#include <string_view>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

struct Architecture {
  std::string_view gguf;  ///< general.architecture
  std::string_view hf;    ///< model_type of config.json
  Norm norm = Norm::kRms;
  Positions positions = Positions::kRotary;
  Pairing gguf_pairing = Pairing::kNeox;
  Pairing hf_pairing = Pairing::kNeox;
  bool gguf_merges = false;        ///< q, k and v, and gate and up, into one tensor each
  bool gguf_merges_gates = false;  ///< gate and up only
  FeedForward function = FeedForward::kSilu;
  bool is_gated = true;
  bool has_biases = false;  ///< of all products of blocks
  bool has_head_bias = false;
  bool has_qkv_bias = false;
  bool hf_biases_output = true;  ///< attention_bias is that of the output too
  bool normalizes_heads = false;
  bool normalizes_together = false;
  bool normalizes_rotated = false;
  bool has_sinks = false;
  bool has_expert_bias = false;
  bool truncates_yarn = true;  ///< where a GGUF file does not say
  bool gates_attention = false;
  bool has_norm_gain = true;
  bool has_norm_bias = true;
  bool has_pre_norms = true;
  bool has_post_norms = false;
  bool has_sub_norms = false;
  bool is_parallel = false;
  bool shares_pre_norm = false;
  bool scales_embedding = false;  ///< by the square root of the width
  bool divides_logits = false;    ///< by the number that files have, instead of multiplying
  bool softmax_after_choice = false;
  bool has_sigmoid_scores = false;  ///< of experts
  bool has_choice_bias = false;
  bool sums_group_scores = false;
  double hf_norm_offset = 0;
  Mixer recurrence = Mixer::kAttention;  ///< of the blocks without attention, if there are any
  bool has_single_branches = false;
  std::size_t window_period = 0;      ///< blocks of which the last has no window; 0: all have it
  std::size_t default_window = 0;     ///< of GGUF files that do not say
  bool scales_windows = true;         ///< scaled positions are those of blocks with a window too
  bool rotates_windows_only = false;  ///< where there are windows
  std::size_t unrotated_period = 0;   ///< blocks of which the last has no positions; 0: none
  double window_base = 0;             ///< of blocks with the window; 0: as the others
  double score_scale = 0;             ///< of all its models; 0: see complete()
  bool normalizes_values = false;
  double score_cap = 0, logit_cap = 0;  ///< where a GGUF file does not say
  bool renormalizes = false;            ///< where a file does not say
};

/// Whether no block has positions: files may have keys of them nevertheless, which nobody reads.
constexpr bool rotates_nothing(const Architecture& architecture) {
  return architecture.unrotated_period == 1;
}

/// Whether what the shared expert gives has a gate.
inline bool has_shared_gate(const Description& description) {
  const std::string& name = description.architecture;
  const bool has_gate = name == "qwen2moe" || name == "qwen3next" || name == "qwen35moe";
  return has_gate && description.shared_inner != 0;
}

/// @throws Error kUnsupported for another name, with those that are known
const Architecture& architecture_of_gguf(std::string_view name);
/// @throws Error as architecture_of_gguf()
const Architecture& architecture_of_hf(std::string_view model_type);

/// A description with what the architecture alone says; sizes are zero.
Description start_description(const Architecture& architecture);

/// Fills in what follows from sizes: `windowed` by the period, unless it is set; `value_width`,
/// `score_scale`, `rotary_dims`, the factor of the embedding, unless they are set.
void complete(Description& description, const Architecture& architecture);

}  // namespace halftone::lm
