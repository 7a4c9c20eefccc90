// SPDX-License-Identifier: Apache-2.0
// Halftone's own file of a language model: NAME.safetensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/base/shared_bytes.h"
#include "halftone/formats/safetensors/safetensors_file.h"
#include "halftone/lm/model/description.h"
#include "halftone/numerics/block_encoding.h"

namespace halftone::lm {

/// A matrix in blocks.
struct EncodedMatrix {
  numerics::SharedBlockEncoding encoding;
  SharedBytes bytes;  ///< rows one after another
};

/// A tensor of a model: numbers of float32, or blocks.
struct ModelTensor {
  std::string name;                ///< as GGUF files call it
  std::vector<std::size_t> shape;  ///< the outermost extent first
  std::variant<std::vector<float>, EncodedMatrix> elements;
};

/// Files that say how text becomes tokens, by name: tokenizer.json and others of a folder of
/// Hugging Face, or keys.gguf, a GGUF file without tensors.
using TextFiles = std::map<std::string, SharedBytes, std::less<>>;

/// A description, tensors and text files in one container of safetensors, which programs of others
/// can list. Its metadata have the keys
///
///     halftone.model         "1", the version
///     halftone.description   description_to_json()
///     halftone.encodings     {"NAME": {"type": "4x8", "shape": [576, 576], "factor": 0.012}, ...}
///
/// Tensors in blocks are U8 [rows, bytes of a row]; "type" is that of a GGUF file, a number
/// system of numerics::system_encoding(), or a vector basis, whose matrix is the tensor
/// halftone.basis.TYPE, I8 [d, D]. Of "nested3+4" the tensor has the blocks of the first three
/// bits, and halftone.fourth.NAME, U8 [rows, n / 8], the fourth ones: a reader of 3 bits needs
/// nothing else. Others are F32. halftone.text.NAME are text files as gzip packs them, U8.
class ModelFile {
 public:
  /// Whether a container is such a file.
  static bool is_model(const formats::SafetensorsFile& file);
  /// @param bits  of nested matrices, 3 or 4; nullopt: 4, or there are none
  /// @throws Error kFormat if the container is no such file, or a tensor does not fit its encoding;
  ///         kUnsupported for another version or an unknown type; kUsage for other bits, or bits
  ///         of a file without nested matrices
  static ModelFile parse(formats::SafetensorsFile file,
                         std::optional<std::size_t> bits = std::nullopt);

  [[nodiscard]] const Description& description() const { return description_; }
  [[nodiscard]] const formats::SafetensorsFile& container() const { return file_; }
  /// Whether matrices are nested, and read in 4 bits.
  [[nodiscard]] bool has_fourth_bits() const {
    return std::ranges::any_of(encodings_,
                               [](const auto& each) { return !each.second.fourth.bytes.empty(); });
  }
  /// The tensors of the model.
  struct Entry {
    std::string name;
    std::vector<std::size_t> shape;
    numerics::SharedBlockEncoding encoding;  ///< null: plain elements
    formats::SafetensorsType type = formats::SafetensorsType::kF32;
    SharedBytes bytes;  ///< of nested matrices in 4 bits a copy; else a view of the file

    [[nodiscard]] std::size_t num_elements() const {
      return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies());
    }
    /// As float32. @param values  [num_elements()]
    void decode(std::span<float> values) const;
  };
  [[nodiscard]] std::vector<Entry> tensors() const;
  [[nodiscard]] const TextFiles& texts() const { return texts_; }

 private:
  Description description_;
  formats::SafetensorsFile file_;
  struct Stored {
    numerics::SharedBlockEncoding encoding;
    std::vector<std::size_t> shape;
    SharedBytes fourth{};  ///< bits of a nested matrix that is read in 4 bits
  };
  /// The bytes of a tensor [rows, blocks * block_bytes] that an encoding needs.
  [[nodiscard]] SharedBytes part_of(const std::string& name, const Stored& stored,
                                    std::size_t block_bytes) const;
  void read_texts();
  std::map<std::string, Stored, std::less<>> encodings_;
  TextFiles texts_;
};

/// Writes a model; the file is complete or unchanged.
/// @throws Error kIo if it cannot be written
void write_model_file(const std::filesystem::path& path, const Description& description,
                      const std::vector<ModelTensor>& tensors, const TextFiles& texts);

}  // namespace halftone::lm
