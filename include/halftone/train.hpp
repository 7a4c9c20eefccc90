// SPDX-License-Identifier: Apache-2.0
// Trains networks on labels, and students on the answers of teachers. Link Halftone::train.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/recipe.hpp"
#include "halftone/types/train.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// What train() and distill() return.
  struct TrainResult {
    std::optional<Model> model{};  ///< nothing if interrupted
    std::vector<EpochResult> epochs;
    std::optional<std::size_t> best{};  ///< epoch whose network this is, with a validation split
    bool interrupted = false;
    double seconds = 0;
  };

  /// Trains a float network on labels.
  /// @param keeps_values  start from the values of the network, else from initial ones
  /// @throws Error kUsage if an option is out of range or there are no labels; kShape if the
  /// samples
  ///         do not fit; kUnsupported for operators without a gradient; kDevice without the device
  HALFTONE_CPP_API TrainResult train(const Model& model, const Data& samples,
                                     const TrainOptions& options = {}, bool keeps_values = false);

  /// For distill().
  struct DistillOptions : TeachingOptions {
    /// Quantizes the student before it learns; nullopt: it is trained as it is.
    std::optional<Recipe> recipe{};
    std::optional<Model> student{};  ///< nullopt: the first teacher
    TrainOptions train{};
  };

  /// Trains a student on the averaged answers of teachers.
  /// @param teachers  at least one
  /// @throws Error as quantize() and train(); kUsage for stages without a recipe
  HALFTONE_CPP_API TrainResult distill(const std::vector<Model>& teachers, const Data& samples,
                                       const DistillOptions& options = {});

}  // namespace v0
}  // namespace halftone
