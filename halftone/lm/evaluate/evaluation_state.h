// SPDX-License-Identifier: Apache-2.0
// What an evaluation of a text has measured so far, and its file. Private to this folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

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

/// What a state belongs to: a hash of names, tokens and windows.
std::string evaluation_key(const TextEvaluationJob& job);

/// Reads the file if there is one, else gives an empty state.
/// @throws Error kFormat if it is not such a file, or has another key
EvaluationState read_state(const std::filesystem::path& path, const std::string& key);
/// @throws Error kIo as write_file()
void write_state(const std::filesystem::path& path, const std::string& key,
                 const EvaluationState& state);

}  // namespace halftone::lm
