// SPDX-License-Identifier: Apache-2.0
// What the tensors of a model are for, and what files call them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/model/description.h"

namespace halftone::lm {

enum class WeightRole : std::uint8_t {
  kTokenEmbedding,
  kPositionEmbedding,
  kFinalNorm,
  kFinalTransform,
  kBlockInputTable,  ///< of all blocks, as the next two
  kBlockInputProjection,
  kBlockInputNorm,
  kStreamStart,  ///< of each stream but the first, as the next
  kStreamEnd,
  kHead,
  // Of a block:
  kAttentionNorm,
  kMixerInput,
  kMixerGate,
  kMixerSteps,
  kMixerBeta,
  kMixerKernel,
  kSelection,  ///< gives what steps come from, and b and c
  kStepNorm,   ///< of these three
  kScanInputNorm,
  kScanOutputNorm,
  kStepProjection,
  kChannelDecay,  ///< of each state
  kDecay,
  kStepBias,
  kSkip,
  kMixerNorm,
  kMixerOutput,
  kQueryLatent,
  kQueryLatentNorm,
  kQuery,
  kKey,
  kValue,
  kLatent,
  kLatentNorm,
  kKeyValue,
  kQueryNorm,
  kKeyNorm,
  kSinks,
  kAttentionSubNorm,
  kAttentionOutput,
  kAttentionPostNorm,
  kFeedForwardNorm,
  kGate,
  kUp,
  kFeedForwardSubNorm,
  kDown,
  kFeedForwardPostNorm,
  kBlockInputGate,
  kBlockInputOutput,
  kBlockInputPostNorm,
  kBlockFactor,
  kBypassLeft,
  kBypassRight,
  kBypassNorm,
  kStreamRouter,
  kStreamRouterNorm,
  kStreamPrediction,
  kStreamCorrection,
  kStreamScale,
  kNetworkPostNorm,  ///< of the network beside experts, then of these
  kExpertsNorm,
  kExpertsPostNorm,
  kRouterGain,
  kExpertFactors,
  kRouter,
  kChoiceBias,
  kSharedGate,
  kSharedUp,
  kSharedDown,
  kSharedRouter,
  // Of an expert of a block:
  kExpertGate,
  kExpertUp,
  kExpertDown,
  kCount,  ///< the number of roles; itself none
};
/// "attention query", "up of an expert", ...
std::string_view to_string(WeightRole role);
/// Whether it is the gain or bias of a norm.
bool is_norm(WeightRole role);
/// Whether it is a matrix of few outputs that choose or mix: files have it as float32.
bool is_router(WeightRole role);
/// Matrices of one name: those of all experts of a block, of all streams but the first, else one.
std::size_t stack_of(const Description& description, WeightRole role);

enum class Part : std::uint8_t { kWeight, kBias };

/// Which tensor of a model.
struct WeightId {
  WeightRole role = WeightRole::kTokenEmbedding;
  std::size_t block = 0;
  Part part = Part::kWeight;
  std::size_t expert = 0;  ///< or stream, from the second on
  auto operator<=>(const WeightId&) const = default;
};
/// Whether it is a gain to which Description::norm_offset is added: not those of recurrences.
bool has_norm_offset(const WeightId& id);
/// "attention query of block 3", for messages.
std::string to_string(const WeightId& id);

/// The tensors that a graph of this description reads, each once; those of a tied head are not.
std::vector<WeightId> needed_weights(const Description& description);

/// [outputs, inputs] of a matrix, [n] of gains and biases.
std::vector<std::size_t> shape_of(const Description& description, const WeightId& id);

/// How tensors are called.
enum class Naming : std::uint8_t {
  kGguf,
  kHf,      ///< llama and what follows it
  kHfGpt2,  ///< whose matrices are [inputs, outputs]
};

/// Where a tensor may be in a file: itself, or a part of one that holds several.
struct TensorPlace {
  std::string name;
  std::size_t begin = 0;    ///< first output of the part
  std::size_t step = 1;     ///< from one output of the part to the next
  std::size_t outputs = 0;  ///< of the whole tensor, of one expert
  /// The tensor is [stacked, outputs, inputs]: a matrix of each expert or stream; 0: one matrix.
  std::size_t stacked = 0;
  /// The tensor is [inputs, outputs].
  bool is_transposed = false;
};

/// The places where files have a tensor, the commonest first. Names of Hugging Face's files come
/// after a prefix such as "model.", except that of the head.
std::vector<TensorPlace> places_of(const Description& description, Naming naming,
                                   const WeightId& id);

/// The place where llama.cpp expects a weight of this architecture in a GGUF file.
TensorPlace new_gguf_place(const Description& description, const WeightId& id);

}  // namespace halftone::lm
