// SPDX-License-Identifier: Apache-2.0
// What the name of an architecture says that its files do not.
#pragma once

#include <string_view>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

struct Architecture {
  std::string_view gguf;  ///< general.architecture
  std::string_view hf;    ///< model_type of config.json
  Norm norm = Norm::kRms;
  Positions positions = Positions::kRotary;
  Pairing gguf_pairing = Pairing::kHalves;  ///< folders of Hugging Face have halves
  bool gguf_merges = false;                 ///< q, k and v, and gate and up, into one tensor each
  FeedForward function = FeedForward::kSilu;
  bool is_gated = true;
  bool has_biases = false;  ///< of all products
  bool has_qkv_bias = false;
  bool normalizes_heads = false;
  bool has_sub_norms = false;
  bool has_post_norms = false;
  bool scales_embedding = false;  ///< by the square root of the width
  double hf_norm_offset = 0;
  bool ties_embeddings = false;         ///< where config.json does not say
  std::size_t window_period = 0;        ///< blocks of which the last has no window; 0: all have it
  std::size_t default_window = 0;       ///< of GGUF files that do not say
  double base = 10000;                  ///< of rotary positions, where a file does not say
  double window_base = 0;               ///< of blocks with the window; 0: as the others
  double score_cap = 0, logit_cap = 0;  ///< where a file does not say
  bool renormalizes = false;            ///< where a file does not say
};

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
