// SPDX-License-Identifier: Apache-2.0
// Measures language models on a text.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/lm/evaluate/text_evaluation.h"

namespace halftone {

struct TextEvaluationSettings {
  lm::WindowOptions windows{};
  std::filesystem::path state{};  ///< of an evaluation that may be interrupted; empty: none
  JobIdentity identity{};         ///< by which the state knows models and text
  ProgressSink progress{};        ///< may be empty
  std::function<void(const lm::MeasuredToken&)> visit{};  ///< as in lm::TextEvaluationJob
};

/// Perplexity of a text, and closeness to a reference.
/// @param reference  null: none
/// @throws Error kUsage if the reference has other tokens for the text; as lm::evaluate_text()
lm::TextEvaluation evaluate_text(TextModel& model, TextModel* reference, std::string_view text,
                                 const TextEvaluationSettings& options = {});

struct TextEvaluationJob {
  std::filesystem::path model;
  std::filesystem::path reference{};           ///< decoded to float32; empty: none
  std::vector<std::filesystem::path> texts{};  ///< files in UTF-8
  OpenOptions open{};                          ///< its context is that of the windows
  lm::WindowOptions windows{};
  std::filesystem::path state{};  ///< of the first text; of the second one "STATE.2", and so on
  bool details = false;           ///< also where in the text losses are
  ProgressSink progress{};
};

/// Tokens of neighbouring positions in their windows.
struct PositionLoss {
  std::size_t first = 0;  ///< position
  std::size_t last = 0;
  lm::Estimate loss;  ///< in nats
  lm::Estimate kl;    ///< zero without a reference
};

/// A token that the model predicts otherwise than the reference.
struct ChangedToken {
  std::size_t index = 0;            ///< in the text
  std::string before;               ///< the text in front of it
  std::string token;                ///< what follows
  std::string predicted;            ///< the most probable token of the model
  std::string reference_predicted;  ///< of the reference
  double loss = 0;                  ///< -log p(token) of the model, in nats
  double reference_loss = 0;
  double kl = 0;  ///< divergence of the predictions
};

/// Where in a text losses are.
struct TextDetails {
  std::vector<PositionLoss> positions{};  ///< each from a power of two to the next
  std::vector<ChangedToken> changed{};    ///< those with the largest divergence first
};

/// The measures of a text file.
struct TextFileEvaluation {
  std::string text;  ///< name of the file
  lm::TextEvaluation measures;
  TextDetails details{};  ///< if asked for
};

/// One for each text, in their order.
/// @throws Error kUsage without texts; kIo if one cannot be read; as TextModel::open() and
///         evaluate_text(), whose messages start with the text if there are several
std::vector<TextFileEvaluation> evaluate_text_files(const TextEvaluationJob& job);

}  // namespace halftone
