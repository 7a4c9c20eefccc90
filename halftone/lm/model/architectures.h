// SPDX-License-Identifier: Apache-2.0
// What the name of an architecture says that its files do not.
#pragma once

#include <span>
#include <string_view>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

/// A row: an architecture. Where code must tell one from another, it reads a field of the row; it
/// never compares names.
struct Architecture {
  std::string_view hf;  ///< model_type of config.json
  /// What all its models have, or those whose file does not say; sizes are zero, and `architecture`
  /// is general.architecture of GGUF files.
  Description start{};

  // The order and the names of tensors.
  Pairing gguf_pairing = Pairing::kNeox;
  Pairing hf_pairing = Pairing::kNeox;
  bool gguf_merges = false;            ///< q, k and v, and gate and up, into one tensor each
  bool gguf_merges_gates = false;      ///< gate and up only
  bool hf_transposes = false;          ///< matrices are [inputs, outputs]
  bool hf_transposes_experts = false;  ///< those of experts; rows of gate and up take turns
  /// Matrices of a delta rule have the rows of one head of keys after the other, in both files.
  bool groups_delta_rows = false;
  double hf_norm_offset = 0;
  bool has_mxfp4_experts = false;  ///< in folders that say so

  // Which general.architecture files of some of its models have.
  std::string_view experts_gguf{};  ///< with experts; empty: the same
  std::string_view plain_gguf{};    ///< whose blocks all have attention; empty: the same

  // Blocks that differ from each other, and what follows from sizes: see complete().
  Mixer recurrence = Mixer::kAttention;  ///< of the blocks without attention, if there are any
  bool has_full_heads = false;        ///< blocks without a window have heads of another width, keys
                                      ///< may be shared, and the last block has no window
  bool has_streams = false;           ///< and widths that may differ
  bool scales_embedding = false;      ///< by the square root of the width
  std::size_t window_period = 0;      ///< blocks of which the last has no window; 0: all have it
  bool scales_windows = true;         ///< scaled positions are those of blocks with a window too
  bool rotates_windows_only = false;  ///< where there are windows
  double window_base = 0;             ///< of blocks with the window; 0: as the others
  std::size_t unrotated_period = 0;   ///< blocks of which the last has no positions; 0: none

  // What keys of config.json mean.
  bool hf_biases_output = true;          ///< attention_bias is that of the output too
  bool hf_renormalizes = false;          ///< where no key says it
  bool hf_gelu_is_tanh = false;          ///< files say "gelu" and mean its approximation
  bool hf_norms_have_own_gains = false;  ///< use_qk_norm means gains for each head
  bool hf_yarn_is_long = false;          ///< "yarn" of older files means "longrope"
  bool hf_alpha_is_base = false;         ///< "alpha" of "dynamic" changes the base for all contexts
  bool hf_has_picture_axes = false;  ///< positions have keys of pictures, which texts do not need

  // What GGUF files leave out, as llama.cpp knows it.
  std::size_t gguf_window = 0;         ///< where a file does not say
  std::size_t gguf_window_blocks = 0;  ///< models with another number have no window; 0: no matter
  std::size_t gguf_wide_blocks = 0;    ///< that many: scores are divided by sqrt(width / heads)
  bool gguf_truncates_yarn = true;
  bool gguf_names_function = false;    ///< as hidden_activation; all may as hidden_act
  bool gguf_may_share_norm = false;    ///< blocks without a second norm are parallel
  bool gguf_has_dense_blocks = false;  ///< those without a router
  /// Files have factors of rows and scores, one that divides logits, and say so if no block has
  /// positions.
  bool has_factors = false;

  // What GGUF files of it have, and what llama.cpp computes whatever a file says.
  bool gguf_has_divisors = false;      ///< tensors with factors of rotary positions
  bool gguf_has_expert_inner = true;   ///< a key for the width of experts
  bool gguf_has_shared_inner = false;  ///< a key for the width of the shared expert
  bool gguf_ties = false;
  bool gguf_doubles_scan = false;  ///< scans are twice as wide as rows
  bool gguf_renormalizes = false;
  bool gguf_has_choice_bias = false;
};

/// Whether no block has positions: files may have keys of them nevertheless, which nobody reads.
inline bool rotates_nothing(const Architecture& architecture) {
  return architecture.unrotated_period == 1;
}

/// @throws Error kUnsupported for another name, with those that are known
const Architecture& architecture_of_gguf(std::string_view name);
/// @throws Error as architecture_of_gguf()
const Architecture& architecture_of_hf(std::string_view model_type);
/// All rows, for tests.
std::span<const Architecture> architectures();

/// A description with what the architecture alone says; sizes are zero.
Description start_description(const Architecture& architecture);

/// Fills in what follows from sizes: `windowed` by the period, unless it is set; `value_width`,
/// `score_scale`, `rotary_dims`, the factor of the embedding, unless they are set.
void complete(Description& description, const Architecture& architecture);

}  // namespace halftone::lm
