// SPDX-License-Identifier: Apache-2.0
// Measures language models on a text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "halftone/api/language_model.h"
#include "halftone/lm/evaluate/text_evaluation.h"

namespace halftone {

struct TextEvaluationOptions {
  lm::WindowOptions windows{};
  std::filesystem::path state{};  ///< of an evaluation that may be interrupted; empty: none
  std::string identity{};         ///< by which the state knows models and text
  ProgressSink progress{};        ///< may be empty
};

/// Perplexity of a text, and closeness to a reference.
/// @param reference  null: none
/// @throws Error kUsage if the reference has other tokens for the text; as lm::evaluate_text()
lm::TextEvaluation evaluate_text(LanguageModel& model, LanguageModel* reference,
                                 std::string_view text, const TextEvaluationOptions& options = {});

struct TextEvaluationJob {
  std::filesystem::path model;
  std::filesystem::path reference{};  ///< decoded to float32; empty: none
  std::filesystem::path text;         ///< a file in UTF-8
  LanguageModelOptions open{};        ///< its context is that of the windows
  lm::WindowOptions windows{};
  std::filesystem::path state{};
  ProgressSink progress{};
};

/// @throws Error as LanguageModel::open() and evaluate_text(); kIo if the text cannot be read
lm::TextEvaluation evaluate_text_file(const TextEvaluationJob& job);

}  // namespace halftone
