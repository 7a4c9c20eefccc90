// SPDX-License-Identifier: Apache-2.0
// Measures language models on a text.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/lm/evaluate/text_evaluation.h"

namespace halftone {

struct TextEvaluationOptions {
  lm::WindowOptions windows{};
  std::filesystem::path state{};  ///< of an evaluation that may be interrupted; empty: none
  JobIdentity identity{};         ///< by which the state knows models and text
  ProgressSink progress{};        ///< may be empty
};

/// Perplexity of a text, and closeness to a reference.
/// @param reference  null: none
/// @throws Error kUsage if the reference has other tokens for the text; as lm::evaluate_text()
lm::TextEvaluation evaluate_text(LanguageModel& model, LanguageModel* reference,
                                 std::string_view text, const TextEvaluationOptions& options = {});

struct TextEvaluationJob {
  std::filesystem::path model;
  std::filesystem::path reference{};           ///< decoded to float32; empty: none
  std::vector<std::filesystem::path> texts{};  ///< files in UTF-8
  LanguageModelOptions open{};                 ///< its context is that of the windows
  lm::WindowOptions windows{};
  std::filesystem::path state{};  ///< of the first text; of the second one "STATE.2", and so on
  ProgressSink progress{};
};

/// The measures of a text file.
struct TextFileEvaluation {
  std::string text;  ///< name of the file
  lm::TextEvaluation measures;
};

/// One for each text, in their order.
/// @throws Error kUsage without texts; kIo if one cannot be read; as LanguageModel::open() and
///         evaluate_text(), whose messages start with the text if there are several
std::vector<TextFileEvaluation> evaluate_text_files(const TextEvaluationJob& job);

}  // namespace halftone
