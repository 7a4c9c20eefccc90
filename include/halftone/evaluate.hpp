// SPDX-License-Identifier: Apache-2.0
// Measures how well a network answers.
#pragma once

#include <cstddef>
#include <optional>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/run.hpp"
#include "halftone/types/defaults.hpp"
#include "halftone/types/evaluate.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For evaluate().
  struct EvaluateOptions {
    std::optional<Model> reference{};  ///< a network to compare with
    std::size_t batch = kRunBatch;     ///< samples per run
    Resources resources{};
    Execution execution{};
    Progress progress{};  ///< may be empty
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
