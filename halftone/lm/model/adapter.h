// SPDX-License-Identifier: Apache-2.0
// Low-rank changes of the matrices of a model (LoRA).
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "halftone/lm/model/description.h"
#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {

/// What a matrix W gives for x becomes W x + b (a x): Hu et al. (2021), LoRA, equation 3, with the
/// factor alpha / rank in b.
struct LowRankChange {
  std::size_t rank = 0;
  std::vector<float> a;  ///< [rank, inputs]
  std::vector<float> b;  ///< [outputs, rank]
};

/// Whether adapters may change a weight: matrices but for tables of embeddings and experts.
bool is_changeable(const Description& description, const WeightId& id);

class Adapter {
 public:
  /// Reads a folder of the package peft with adapter_config.json and adapter_model.safetensors, or
  /// an adapter in GGUF.
  /// @param description  of the model that is changed; the order of its rows is followed
  /// @throws Error kIo, kFormat as the files' readers; kFormat if a change does not fit its matrix;
  ///         kUnsupported for what is not followed: the key or the tensor is named
  static Adapter open(const std::filesystem::path& path, const Description& description);

  /// The change of a matrix; null if there is none.
  [[nodiscard]] const LowRankChange* find(const WeightId& id) const;
  [[nodiscard]] std::size_t size() const { return changes_.size(); }

 private:
  std::map<WeightId, LowRankChange> changes_;
};

}  // namespace halftone::lm
