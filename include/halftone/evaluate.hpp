// SPDX-License-Identifier: Apache-2.0
// Measures how well a network answers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/run.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For evaluate().
  struct EvaluateOptions {
    std::optional<Model> reference{};  ///< a network to compare with
    std::size_t batch = 64;            ///< samples per run
    Resources resources{};
    Execution execution{};
    Progress progress{};  ///< may be empty
  };

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

  /// Runs a classifier over samples. The predicted class is the index of the largest element of the
  /// first output, the first of equal ones; of a single element, whether it exceeds 1/2.
  /// @throws Error kShape if samples, network and reference do not fit; kFormat if a label is no
  /// class
  ///         of the network; kUsage if there are neither labels nor a reference; kInterrupted
  HALFTONE_CPP_API Evaluation evaluate(const Model& model, const Data& samples,
                                       const EvaluateOptions& options = {});

}  // namespace v0
}  // namespace halftone
