// SPDX-License-Identifier: Apache-2.0
// Language models by their shape alone: what a prompt and a token cost.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/accel/estimate.h"
#include "halftone/accel/workload.h"
#include "halftone/types/hardware.hpp"

namespace halftone::lm {
struct ModelParts;
}

namespace halftone::accel {

/// How a file stores a matrix.
struct StoredMatrix {
  Number number;    ///< of a code or a float
  double bits = 0;  ///< of a weight, with its share of the scales
};

/// The shape of a decoder: blocks of attention and a feed-forward network.
struct LanguageWorkload {
  std::string name;
  std::size_t layers = 0;
  std::size_t width = 0;     ///< of the hidden state
  std::size_t heads = 0;     ///< of queries
  std::size_t kv_heads = 0;  ///< of keys and values
  std::size_t head_width = 0;
  std::size_t inner = 0;  ///< width of the feed-forward network, of one expert
  std::size_t vocabulary = 0;
  std::size_t experts = 1;         ///< feed-forward networks of a block
  std::size_t active_experts = 1;  ///< that a token passes through
  std::size_t shared_inner = 0;    ///< width of a network that all tokens pass through beside them
  std::size_t window = 0;          ///< tokens that blocks with a window look back; 0: all
  std::vector<bool> windowed{};    ///< [layers] which have the window; empty: all
  bool is_gated = true;            ///< two matrices up, one down; else one up
  bool ties_embeddings = false;    ///< the table of the input is the matrix of the output

  /// Of a model in a file, by name of the operation that reads it; empty: as the settings say.
  std::map<std::string, StoredMatrix> stored{};
  double stored_bytes = 0;  ///< of all matrices of the file

  /// Matrices and the embedding table, without norms and biases.
  [[nodiscard]] double parameters() const;
  /// Those that a token is multiplied with.
  [[nodiscard]] double active_parameters() const;
};

/// Reads config.json of a Hugging Face folder.
/// @param name  put before messages
/// @throws Error as lm::config_sizes(): kUnsupported for an architecture that is not known, with
///         those that are
LanguageWorkload parse_language_model(std::string_view json, const std::string& name);
/// The shape of a model in a file, with the formats of its matrices.
LanguageWorkload language_model_of(const lm::ModelParts& model, const std::string& name);

struct LanguageSettings {
  Number weights{16, true};
  Number activations{16, true};
  Number cache{16, true};
  std::size_t group = 0;  ///< weights that share a scale of 16 bits; 0: scales are not counted
  std::size_t batch = 1;  ///< sequences
  std::size_t prompt = v0::LanguageEstimateOptions().prompt;
  std::size_t context = v0::LanguageEstimateOptions().context;  ///< see there
};

/// The work of `tokens` new tokens of each sequence, whose last one sees `context` tokens. Scores
/// stay on the chip: attention reads the keys and values of the cache once. Of an expert layer, as
/// many experts are read as tokens choose on average, E (1 - (1 - k / E)^tokens), rounded up.
Workload language_workload(const LanguageWorkload& model, const LanguageSettings& settings,
                           std::size_t tokens, std::size_t context);

using v0::BatchPoint;
using v0::LanguageEstimate;

/// @throws Error as estimate()
LanguageEstimate estimate_language(const LanguageWorkload& model, const LanguageSettings& settings,
                                   const Accelerator& accelerator,
                                   const EstimateSettings& options = {});

}  // namespace halftone::accel
