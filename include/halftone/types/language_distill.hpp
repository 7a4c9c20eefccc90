// SPDX-License-Identifier: Apache-2.0
// How a language model is tuned, and how it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/types/defaults.hpp"
#include "halftone/types/resources.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For distill_language_model(): those of `halftone distill --text`, see docs/training.md.
  struct LanguageDistillOptions {
    std::filesystem::path second_text{};  ///< of another domain, to report on; empty: none
    std::size_t steps = 200;
    std::size_t batch = 4;  ///< samples of a step
    /// Learning rate, which falls to 0 along a cosine. Without one it is 0.003 sqrt(D), at most
    /// 0.003, for the divergence D of the held-out samples before the first step in nats per token.
    std::optional<double> learning_rate{};
    double basis_rate_factor = 1;               ///< learning rate of vector bases, relative to that
    std::size_t sample_tokens = kSampleTokens;  ///< of each sample, at least 2
    std::size_t held_out = 8;                   ///< samples of the texts to judge by
    std::optional<double> minutes{};  ///< the run ends after this time, with its best state so far
    /// A file that keeps the run: the same call continues after an interruption and writes the same
    /// bytes; empty: none. It is left there.
    std::filesystem::path state{};
    std::uint64_t seed = 0;  ///< of the order of the samples
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// A step of tuning.
  struct LanguageDistillStep {
    double loss = 0;  ///< mean divergence of its samples before the step, in nats per token
    double rate = 0;  ///< learning rate
    double seconds = 0;
  };

  /// The held-out samples during the tuning.
  struct LanguageDistillEvaluation {
    std::size_t steps = 0;  ///< done before it
    double divergence = 0;  ///< from the float model, in nats per token
  };

  /// The divergence of a model on a text from its float model, in nats per token.
  struct TextDivergence {
    double before = 0;
    double after = 0;
    std::size_t tokens = 0;
  };

  /// What distill_language_model() returns.
  struct LanguageDistillReport {
    std::uint64_t input_bytes = 0;  ///< of the student
    std::uint64_t output_bytes = 0;
    double seconds = 0;
    std::size_t fit_tokens = 0;  ///< of the texts, without those held out
    TextDivergence held_out{};
    std::optional<TextDivergence> second_text{};
    std::vector<LanguageDistillStep> steps{};
    std::vector<LanguageDistillEvaluation> evaluations{};  ///< the first before all steps
    std::size_t best_steps = 0;        ///< after which the model was as it is written; 0: as it was
    std::size_t num_scales = 0;        ///< scales and offsets, or their factors, that were tuned
    std::size_t num_gains = 0;         ///< elements of gains and biases that were tuned
    std::vector<std::string> bases{};  ///< vector bases that were tuned, such as "4x8"
    std::vector<std::string> warnings{};  ///< a line each
  };

}  // namespace v0
}  // namespace halftone
