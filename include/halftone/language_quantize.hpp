// SPDX-License-Identifier: Apache-2.0
// Quantizes, measures and converts language models: from file to file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/options.hpp"
#include "halftone/types/language_quantize.hpp"
#include "halftone/types/sensitivity.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The types of a TOML file, such as LanguageQuantizeOptions::recipe_output.
  /// @throws Error kIo if it cannot be read; as parse_type_recipe()
  HALFTONE_CPP_API TypeRecipe load_type_recipe(const std::filesystem::path& path);
  /// The types of a text:
  ///
  ///     [default]
  ///     type = "4x8"
  ///     [ends]
  ///     type = "2x8"
  ///     [[layer]]
  ///     name = "blk.*.attn_v.weight"
  ///     weight_scheme = "nvfp4"
  ///
  /// [ends] are the embeddings and the head. Number systems with their bits and groups are types.
  /// @param name  of the recipe in messages
  /// @throws Error kUsage with the line on a syntax error, an unknown key or an unknown type, and
  ///         for settings of other networks
  HALFTONE_CPP_API TypeRecipe parse_type_recipe(std::string_view toml,
                                                const std::string& name = "recipe");

  /// Quantizes a language model, fitted to texts. The file depends on model, texts, options and
  /// seed alone: it is the same bytes for any number of threads and any processor, and those of
  /// `halftone quantize --text`. LanguageModel::open() reads it.
  /// @param model   a GGUF file, a folder of Hugging Face or a *.bin file of llama2.c
  /// @param texts   files in UTF-8, such as the model will read; none if options.synthetic
  /// @param output  NAME.safetensors, or NAME.gguf but for a model of llama2.c; decoded weights of
  ///                a folder of Hugging Face may go to a new folder
  /// @throws Error kUsage for an option out of range, unknown or several types, rows that a type
  ///         does not hold, or a text that is too short; kUnsupported for a size or a loss that
  ///         cannot be met; kIo, kFormat, kUnsupported, kShape, kMemory as LanguageModel::open();
  ///         kInterrupted. No file is written then
  HALFTONE_CPP_API LanguageQuantizeReport quantize_language_model(
      const std::filesystem::path& model, std::span<const std::filesystem::path> texts,
      const std::filesystem::path& output, const LanguageQuantizeOptions& options);

  /// Predicts what each matrix of a language model loses in each type by itself; where a sum of
  /// losses is small, it predicts that of several matrices. The result is that of
  /// `halftone sensitivity --text`, for any number of threads and any processor.
  /// @param model  as for quantize_language_model()
  /// @param texts  likewise
  /// @throws Error as quantize_language_model(); kUsage for a type that comes twice; kUnsupported
  ///         for recurrences, which have no gradient yet
  HALFTONE_CPP_API Sensitivity language_sensitivity(const std::filesystem::path& model,
                                                    std::span<const std::filesystem::path> texts,
                                                    const LanguageSensitivityOptions& options = {});

  /// Writes a language model in another form, without a fit: a GGUF file of a folder of Hugging
  /// Face, with the numbers that it has; or a model with the changes of an adapter, W + alpha/r B A
  /// (Hu et al., 2021, LoRA, equation 3), rounded to the type of W, or to F16 if W has codes.
  /// @param model   a GGUF file or a folder of Hugging Face
  /// @param output  NAME.gguf; with an adapter also a new folder, if the model is one
  /// @param lora    a folder of the package peft or a GGUF file; empty: none
  /// @throws Error kUsage for another output, or a GGUF file without an adapter; kUnsupported for a
  ///         change without a place, such as that of a head which is the embedding; kIo, kFormat,
  ///         kMemory as LanguageModel::open(). Nothing is written then
  HALFTONE_CPP_API LanguageConvertReport convert_language_model(
      const std::filesystem::path& model, const std::filesystem::path& output,
      const std::filesystem::path& lora = {});

}  // namespace v0
}  // namespace halftone
