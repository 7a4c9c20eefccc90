// SPDX-License-Identifier: Apache-2.0
// Writes quantized models.
#pragma once

#include <filesystem>
#include <map>

#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/model_file.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/folding.h"

namespace halftone::lm {

/// What an output file holds of fitted matrices.
enum class FittedForm {
  kCodes,
  kDecoded,  ///< the numbers that codes represent, as float32
};

/// Writes a GGUF file like another one: with fitted matrices in place of its own, all other tensors
/// and keys as they are, except general.file_type and general.quantization_version.
/// @param folding  of the model of `source`; for codes without rotations
/// @throws Error kUsage if the matrices of one tensor have several types, or one that GGUF does not
///         have; kIo if the file cannot be written
void write_gguf_model(const std::filesystem::path& path, const formats::GgufFile& source,
                      const Folding& folding, const FittedMatrices& fitted, FittedForm form);

/// Writes a GGUF file of a model that comes from other files: see new_gguf_tensors().
/// @param keys     new_gguf_keys() and those of texts; general.file_type and
///                 general.quantization_version are added
/// @param folding  for codes without rotations
/// @throws Error as new_gguf_tensors(); kIo if the file cannot be written
void write_gguf_model(const std::filesystem::path& path, formats::GgufKeys keys,
                      const Folding& folding, const FittedMatrices& fitted, FittedForm form);

/// Bytes of a file that write_gguf_model() would write without the fitted matrices, at most.
std::size_t gguf_bytes_without(const formats::GgufFile& source, const ModelParts& model,
                               const TypeChoice& choice);
std::size_t gguf_bytes_without(const formats::GgufKeys& keys, const ModelParts& model,
                               const TypeChoice& choice);
/// The same of write_own_model().
std::size_t own_bytes_without(const Folding& folding, const TypeChoice& choice,
                              const TextFiles& texts);

/// Writes Halftone's own file: fitted matrices in codes of the folded model, others as
/// kept_matrix(); or all of them as float32, in the basis of the model.
/// @throws Error kIo if the file cannot be written
void write_own_model(const std::filesystem::path& path, const Folding& folding,
                     const FittedMatrices& fitted, const TextFiles& texts, FittedForm form);

/// Checks what write_folder_model() refuses, before matrices are fitted.
/// @throws Error kUnsupported if a matrix to be fitted comes in blocks of MXFP4
void check_folder_types(const ModelParts& model, const TypeChoice& choice);

/// Writes a folder of Hugging Face like another one, for programs that know no codes: fitted
/// matrices in the basis of the model, in one file model.safetensors; other tensors and files as
/// they are. Decoded, they are the float32 that codes represent, which config.json says; otherwise
/// they are rounded to the type that their tensor has, F32, F16 or BF16.
/// @param path     new, or an empty folder
/// @param source   the folder of the model
/// @throws Error kUsage if `path` is in use, or as TensorParts; kUnsupported if a matrix comes in
///         blocks, or with a factor; kIo if a file cannot be read or written
void write_folder_model(const std::filesystem::path& path, const std::filesystem::path& source,
                        const Folding& folding, const FittedMatrices& fitted, FittedForm form);

}  // namespace halftone::lm
