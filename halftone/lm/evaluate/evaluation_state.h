// SPDX-License-Identifier: Apache-2.0
// What an evaluation of a text has measured so far, and its file. Private to this folder.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/base/state/state_file.h"
#include "halftone/lm/evaluate/text_evaluation.h"

namespace halftone::lm {

struct EvaluationState {
  std::size_t num_windows = 0;  ///< that are done
  Mean loss;
  Mean reference_loss;
  Mean difference;  ///< loss - reference_loss
  Mean kl;
  Mean same_top;
  std::vector<double> kls;  ///< of all tokens, for quantiles

  void add(const TokenMeasures& measures, bool has_reference);
  [[nodiscard]] TextEvaluation result(bool has_reference) const;
};

/// What a state belongs to: the models and texts of the job, its tokens and windows.
JobIdentity evaluation_identity(const TextEvaluationJob& job);

/// The windows that a file has: a record for each.
/// @throws Error kFormat if a record has another form
EvaluationState known_windows(const StateFile& kept);
/// Keeps the last window.
/// @param num_kls  of state.kls that the file has
void keep_window(const EvaluationState& state, std::size_t num_kls, StateFile& kept);

}  // namespace halftone::lm
