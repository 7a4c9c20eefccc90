// SPDX-License-Identifier: Apache-2.0
// How language models are quantized and measured, and what became of them.
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
#include "halftone/types/sensitivity.hpp"

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
  /// systems such as "nvfp4", "nested3+4" of two precisions; "keep" leaves matrices as they are.
  struct TypeRecipe {
    std::string type{};             ///< of the matrices in blocks; empty: they stay as they are
    std::string table_type{};       ///< of embeddings and head; empty: the same, or one of 4 bits
    std::vector<TypeRule> rules{};  ///< of single matrices; a later one wins

    bool operator==(const TypeRecipe& other) const = default;
  };

  /// The samples of a language model that is quantized or measured, and what is made of them.
  struct LanguageFitOptions {
    std::filesystem::path tokenizer{};  ///< a file, for a model of llama2.c; else empty
    bool synthetic = false;  ///< instead of texts: fit to samples that the model writes itself
    /// A file that keeps what was fitted and measured: the same call continues after an
    /// interruption and has the same result; empty: none. It is left there.
    std::filesystem::path state{};
    std::size_t samples = kFitSamples;  ///< of the texts to fit to, at most; evenly spaced
    std::size_t held_out =
        kHeldOutSamples;  ///< of the texts to judge by, which the fit does not see
    std::size_t sample_tokens = kSampleTokens;  ///< of each sample, at least 2
    /// Share of each input's second moment that is added to it, at least 0: more trusts the texts
    /// less.
    double damping = kFitDamping;
    /// Spread outliers over the channels, in Halftone's own files. Types of GGUF have no rotations.
    bool rotates = true;
    /// Types such as "Q4_K" or "2x6" that are measured, or that a size, bits per weight or a loss
    /// chooses from; empty: of GGUF for a GGUF file, Halftone's own for others.
    std::vector<std::string> choices{};
    std::uint64_t seed = 0;
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// For quantize_language_model(). One of types, size_bytes, bits_per_weight and max_loss says
  /// which type each matrix gets.
  struct LanguageQuantizeOptions : LanguageFitOptions {
    TypeRecipe types{};
    /// "3,4": matrices in blocks get the type "nested3+4", whose codes of 4 bits begin with codes
    /// of 3 that are a model too: see LanguageModelOptions::bits. Empty: as `types` says.
    std::string nested{};
    /// The types of the least predicted loss for a file of so many bytes.
    std::optional<std::uint64_t> size_bytes{};
    /// The same for so many bits per weight of all matrices: above 0, 32 at most.
    std::optional<double> bits_per_weight{};
    /// The types of the fewest bytes whose predicted divergence is at most so much, in nats per
    /// token: above 0.
    std::optional<double> max_loss{};
    bool predict_loss = false;              ///< of given types too, which takes longer
    std::filesystem::path recipe_output{};  ///< a file to write the types to; empty: none
    int candidates = kFitCandidates;        ///< scales to try for each group of weights: 1 to 64
    int sweeps = kFitSweeps;  ///< passes that choose scales and codes anew by the outputs: 0 to 100
    bool decoded = false;     ///< write what codes represent as float32, for programs without codes
  };

  /// For language_sensitivity().
  struct LanguageSensitivityOptions : LanguageFitOptions {};

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
    /// If types were chosen for a size or a loss: predicted files that none beats in both loss and
    /// bytes, from the smallest to the largest.
    std::vector<NetworkCosts> front{};
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
