// SPDX-License-Identifier: Apache-2.0
// Writes language models in another form, without a fit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halftone/formats/gguf/gguf_writer.h"
#include "halftone/lm/model/description.h"
#include "halftone/types/language_quantize.hpp"

namespace halftone {

/// A model and the file or folder to write.
struct LanguageConvertJob {
  std::filesystem::path input;   ///< GGUF file or folder of Hugging Face
  std::filesystem::path output;  ///< NAME.gguf; or a new folder, if the input is one
  /// A folder of the package peft or a GGUF file, whose changes go into the matrices: see
  /// lm::merge(). Empty: none, which makes a GGUF file of a folder.
  std::filesystem::path lora{};
};

using v0::LanguageConvertReport;

/// By its name.
bool is_gguf_file(const std::filesystem::path& path);

/// The keys of a GGUF file of a folder.
/// @throws Error as lm::new_gguf_keys() and lm::set_gguf_text_keys()
formats::GgufKeys gguf_keys_of_folder(const std::filesystem::path& folder,
                                      const lm::Description& description);

/// @throws Error as lm::open_model(), lm::Adapter::open(), lm::merge(), gguf_keys_of_folder();
///         kUsage for an output of another form, or nothing to do; kIo if a file cannot be read or
///         written
LanguageConvertReport convert_language_model(const LanguageConvertJob& job);

}  // namespace halftone
