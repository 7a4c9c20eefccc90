// SPDX-License-Identifier: Apache-2.0
// What files call the tensors of models. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {

/// What a tensor of a file holds.
enum class TensorContents : std::uint8_t {
  kOne,
  kQueryKeyValue,    ///< the outputs of all three, in this order
  kGateUp,           ///< the outputs of both, in this order
  kExperts,          ///< one matrix per expert
  kExpertsGateUp,    ///< both matrices per expert
  kExpertsByTurns,   ///< both, a row of gate, one of up, and so on
  kFeedForwardNorm,  ///< the norm before the feed-forward network, unless there are post-norms
  kOfQueryLatent,    ///< one, if queries come from a latent row
  kShort,            ///< one, of a short convolution alone
  kDelta,            ///< queries, keys and values of a delta rule
  kMergedSteps,      ///< steps that are merged with beta
  kStreams,          ///< one matrix per stream but the first
  kNamed,            ///< one, of which the pattern is the whole name
};

struct NameRow {
  WeightRole role;
  Naming naming;
  const char* pattern;  ///< {} is the block, {e} the expert
  TensorContents contents = TensorContents::kOne;
  std::string_view architecture{};  ///< that alone has the name; empty: all
};

/// The names of GGUF files.
std::span<const NameRow> gguf_name_rows();
/// The names of Hugging Face's files.
std::span<const NameRow> hf_name_rows();

}  // namespace halftone::lm
