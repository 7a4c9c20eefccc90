// SPDX-License-Identifier: Apache-2.0
// The types of a language model, and what became of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A type for the matrices whose name matches a shell pattern: * ? [...].
  struct TypeRule {
    std::string pattern;  ///< of the name in GGUF files: "blk.*.attn_v.weight"
    std::string type;     ///< as those of TypeRecipe
    std::string where{};  ///< the position of the rule, for messages: "types.toml: line 3"

    /// Whether pattern and type are equal.
    bool operator==(const TypeRule& other) const {
      return pattern == other.pattern && type == other.type;
    }
  };

  /// The types of a model's matrices: of GGUF such as "Q3_K", vector bases such as "4x8", number
  /// systems such as "nvfp4"; "keep" leaves matrices as they are.
  struct TypeRecipe {
    std::string type{};             ///< of the matrices in blocks; empty: they stay as they are
    std::string table_type{};       ///< of embeddings and head; empty: the same, or one of 4 bits
    std::vector<TypeRule> rules{};  ///< of single matrices; a later one wins

    bool operator==(const TypeRecipe& other) const = default;
  };

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

  /// A matrix of a model, of experts all.
  struct SensitiveMatrix {
    std::string name;  ///< as in GGUF files
    std::string type;  ///< in the file of the model
    std::size_t rows = 0;
    std::size_t cols = 0;
    std::size_t bytes = 0;  ///< in this type
  };

  /// A matrix in a type.
  struct MatrixSensitivity {
    double bits = 0;  ///< of a weight, with its share of the scales
    std::size_t bytes = 0;
    /// Predicted divergence KL(model || quantized) in nats per token, if it is the only quantized
    /// matrix: 1/2 sum_o s_o e_o' M e_o over its outputs o, with s_o the expected squared gradient
    /// of the model's own predictions, e_o the error of a row, M the second moments of its inputs.
    double loss = 0;
  };

  /// All matrices in a type.
  struct TypeSensitivity {
    std::string name;
    /// As LanguageSensitivity::matrices; nothing where rows are no whole blocks of the type, or the
    /// type is no choice.
    std::vector<std::optional<MatrixSensitivity>> matrices{};
  };

  /// What language_sensitivity() returns.
  struct LanguageSensitivity {
    std::size_t samples = 0;      ///< on which losses are predicted: those held out, or of the fit
    std::size_t tokens = 0;       ///< of each
    bool on_fit_samples = false;  ///< whether they are those of the fit
    double model_loss = 0;        ///< of the model itself on them: mean of -log p in nats per token
    std::vector<SensitiveMatrix> matrices{};
    std::vector<TypeSensitivity> choices{};  ///< by rising bits
    std::vector<std::string> warnings{};     ///< a line each
  };

}  // namespace v0
}  // namespace halftone
