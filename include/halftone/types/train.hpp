// SPDX-License-Identifier: Apache-2.0
// Epochs of training, stages, and features to match.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A finished epoch.
  struct EpochResult {
    double loss = 0;       ///< mean over the samples
    double agreement = 0;  ///< share of samples that agree with the teachers, or else the labels
    std::optional<double> validation_accuracy{};
    double rate = 0;  ///< learning rate of the last step
    double seconds = 0;
  };

  /// A stage in more bits, before those of the recipe.
  struct Stage {
    int bits = 8;
    std::size_t epochs = 1;

    bool operator==(const Stage& other) const = default;
  };

  /// A value of the first teacher and the student's value that should match it, by name.
  struct FeatureMatch {
    std::string teacher;
    std::string student;
    double weight = 1;  ///< in the loss; above 0
  };

}  // namespace v0
}  // namespace halftone
