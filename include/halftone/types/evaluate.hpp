// SPDX-License-Identifier: Apache-2.0
// How well a network answers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A network and its reference on the same samples.
  struct Comparison {
    std::optional<double> value{};  ///< accuracy of the reference, if there are labels
    double agreement = 0;           ///< share of samples with the same predicted class
    double sqnr_db = 0;             ///< of the first output; that of the reference is the signal
    /// Kullback-Leibler divergence of the predicted probabilities from those of the reference, in
    /// nats per sample; only if that is a classifier: its first output has a row of scores for each
    /// sample, and there are labels or the row comes from a Softmax.
    std::optional<double> divergence{};
  };

  /// What evaluate() returns.
  struct Evaluation {
    std::string metric;  ///< "accuracy" with labels, else "agreement"
    double value = 0;    ///< in [0, 1]
    std::size_t samples = 0;
    std::optional<Comparison> reference{};
  };

}  // namespace v0
}  // namespace halftone
