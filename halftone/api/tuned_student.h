// SPDX-License-Identifier: Apache-2.0
// A quantized language model whose numbers are tuned, and its file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/lm/model/model_file.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/train/tune/tune.h"

namespace halftone {

/// A GGUF file or Halftone's own file, of which constants of the network become other numbers while
/// all else stays: keys, order, shapes and types of tensors, codes.
class TunedStudent {
 public:
  /// @throws Error kUsage unless it is NAME.gguf or NAME.safetensors of a language model; as
  ///         lm::open_model()
  explicit TunedStudent(const std::filesystem::path& path);

  [[nodiscard]] const lm::ModelParts& model() const { return model_; }
  /// Constants of parts of the network that tensors of the file hold and train::can_be_tuned().
  /// @throws Error kUnsupported if there is no matrix among them
  [[nodiscard]] train::NamedConstants tuned_of(const train::SequenceParts& parts) const;
  /// Writes the file with these constants, by name.
  /// @throws Error kIo if it cannot be written
  void write(const std::filesystem::path& path, const train::NamedConstants& tuned) const;

 private:
  using File = std::variant<formats::GgufFile, lm::ModelFile>;
  /// Where a constant is.
  struct Place {
    std::string tensor;
    std::size_t first = 0;  ///< byte
    float offset = 0;       ///< which the network adds to the numbers of the file
  };

  static lm::ModelParts model_of(const File& file);
  static std::map<std::string, Place> places_of(const File& file, const lm::ModelParts& model);

  File file_;
  lm::ModelParts model_;
  std::map<std::string, Place> places_;  ///< by the names of constants
};

}  // namespace halftone
