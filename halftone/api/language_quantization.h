// SPDX-License-Identifier: Apache-2.0
// Quantizes language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/samples.h"
#include "halftone/lm/quantize/type_costs.h"
#include "halftone/lm/quantize/type_recipe.h"
#include "halftone/types/language_quantize.hpp"

namespace halftone {

/// A model to quantize and the file to write.
struct LanguageQuantizeJob {
  std::filesystem::path input;  ///< GGUF file or folder of Hugging Face
  /// NAME.safetensors, or NAME.gguf but for a model of llama2.c; a new folder if the input is one
  /// and is_decoded. A GGUF file of a folder has what lm::new_gguf_keys() and
  /// lm::set_gguf_text_keys() say of it.
  std::filesystem::path output;
  std::filesystem::path tokenizer{};           ///< of a model of llama2.c
  std::vector<std::filesystem::path> texts{};  ///< in UTF-8, to which the model is fitted
  /// Instead of texts: samples that the model writes itself. See lm::write_samples().
  bool is_synthetic = false;
  /// Keeps what was measured and fitted after each block, so that a job that was interrupted
  /// continues, with the same bytes; empty: nothing. See lm::QuantizeStateFile.
  std::filesystem::path state{};
  lm::TypeRecipe recipe{};
  /// Instead of a recipe: the types of the least predicted loss for a file of so many bytes, or for
  /// so many bits per weight of all matrices. See lm::measure_type_costs(), lm::choose_within().
  std::optional<std::uint64_t> size{};
  std::optional<double> bits_per_weight{};
  /// Instead of a size: the types of the fewest bytes whose predicted loss is at most so much, in
  /// nats per token. See lm::choose_below().
  std::optional<double> max_loss{};
  bool predicts_loss = false;             ///< of a recipe's types too
  std::size_t sensitivity_samples = 8;    ///< of those to fit, for the predicted loss
  std::filesystem::path recipe_output{};  ///< a recipe of the types; empty: none
  lm::SampleOptions samples{};            ///< its begin token is that of the model
  compress::Damping damping{};
  compress::MatrixFitOptions groups{};
  bool rotates = true;  ///< weights in Halftone's own types
  bool is_decoded =
      false;  ///< write what codes represent as float32, for programs that know no codes
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: those of the process
  ProgressSink progress{};
};

using v0::LanguageQuantizeReport;
using v0::QuantizedMatrix;

/// What is cheap to check is checked before anything is computed: options, types, sizes, and
/// whether files can be written.
/// @throws Error as lm::open_model(), lm::choose_types(), lm::choose_samples(),
/// lm::write_samples(),
///         lm::fit_model(), lm::QuantizeStateFile, lm::new_gguf_keys(),
///         lm::set_gguf_text_keys(); kUsage for an output that cannot hold the
///         types, a size that cannot be reached, several ways to choose types, both texts and
///         synthetic samples or neither; kIo if a file cannot be read or written
LanguageQuantizeReport quantize_language_model(const LanguageQuantizeJob& job);

}  // namespace halftone
