// SPDX-License-Identifier: Apache-2.0
// What became of a language model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A matrix of a quantized model.
  struct QuantizedMatrix {
    std::string name;  ///< as in GGUF files; of experts with their number
    std::string type;
    double bits = 0;        ///< of a weight, with its share of the scales
    std::size_t bytes = 0;  ///< of codes and scales
    /// Of the outputs, relative: sum of E[(w x - q x)^2] / sum of E[(w x)^2], on the samples held
    /// out or, without them, on those of the fit.
    double error = 0;
  };

  /// What quantize_language_model() returns.
  struct LanguageQuantizeReport {
    std::uint64_t input_bytes = 0;   ///< of the model, in its files
    std::uint64_t output_bytes = 0;  ///< of the file written
    double seconds = 0;
    double bits = 0;  ///< of a weight: the mean over all matrices that were quantized
    /// Predicted divergence from the float model, in nats per token; if types were chosen for a
    /// size, or with predict_loss.
    std::optional<double> predicted_loss{};
    std::size_t fit_tokens = 0;
    std::size_t held_out_tokens = 0;
    double fit_loss = 0;  ///< of the float model on the samples: mean of -log p in nats per token
    std::optional<double> held_out_loss{};  ///< likewise
    std::vector<QuantizedMatrix> matrices{};
    std::vector<std::string> warnings{};  ///< a line each
  };

  /// What convert_language_model() returns.
  struct LanguageConvertReport {
    std::uint64_t input_bytes = 0;        ///< of the model, in its files
    std::uint64_t output_bytes = 0;       ///< of what was written
    std::size_t changed = 0;              ///< matrices that an adapter changes
    std::vector<std::string> warnings{};  ///< a line each
  };

}  // namespace v0
}  // namespace halftone
