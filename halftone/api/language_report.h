// SPDX-License-Identifier: Apache-2.0
// Everything that the page about a language model shows: what it is, its matrices, its measures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/api/language_speed.h"
#include "halftone/api/text_evaluation.h"

namespace halftone {

/// A tensor of a model by its role, of experts all.
struct MatrixFigures {
  std::string name;                    ///< as in GGUF files
  std::string role;                    ///< "attention query", "embedding"
  std::optional<std::size_t> block{};  ///< nothing: of no block
  std::string type;                    ///< in the file
  std::size_t rows = 0;
  std::size_t cols = 0;
  double bits = 0;  ///< of an element, with its share of the scales
  std::size_t bytes = 0;
};

/// Steps of a token that belong together: "feed_forward", "attention", ...
struct TokenPart {
  std::string name;
  double seconds = 0;  ///< of a token
};

struct LanguageReport {
  std::string name;         ///< of the file or folder
  std::string reference{};  ///< likewise; empty: none
  std::uintmax_t file_bytes = 0;
  std::uintmax_t reference_bytes = 0;  ///< of its file; 0: none
  std::size_t parameters = 0;          ///< of all weights that the model needs
  double bits_per_weight = 0;          ///< of these
  std::size_t vector_bytes = 0;        ///< of norms, biases and other vectors
  /// What it is: "architecture" "llama", "blocks" "5", ...
  std::vector<std::pair<std::string, std::string>> facts{};
  std::vector<MatrixFigures> matrices{};  ///< of no block first, then block by block
  std::vector<TextFileEvaluation> evaluations{};
  std::optional<LanguageSpeed> speed{};            ///< if times were asked for
  std::optional<LanguageSpeed> reference_speed{};  ///< likewise of the reference
  std::vector<TokenPart> parts{};                  ///< likewise, the longest first
  std::vector<std::string> missing{};              ///< what could not be shown, and why
};

/// Describes a model and, if there are texts, measures it on them.
/// @param measures_times  also how fast it and the reference write, and by which parts
/// @throws Error as lm::open_model(), evaluate_text_files() and measure_language_speed()
LanguageReport report_language_model(const TextEvaluationJob& job, bool measures_times = false);

}  // namespace halftone
