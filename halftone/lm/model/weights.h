// SPDX-License-Identifier: Apache-2.0
// The tensors of a model by what they are for, decoded when they are asked for.
#pragma once

#include <cstddef>
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
#include "halftone/formats/gguf/gguf_file.h"
#include "halftone/formats/safetensors/safetensors_file.h"
#include "halftone/ir/tensor.h"
#include "halftone/lm/model/description.h"
#include "halftone/lm/model/llama2c.h"
#include "halftone/lm/model/model_file.h"
#include "halftone/lm/model/tensor_names.h"

namespace halftone::lm {

/// How a file stores elements: in blocks, or plain elements.
using StorageType = std::variant<numerics::SharedBlockEncoding, formats::SafetensorsType>;

/// "Q4_K", "BF16": as files call it.
std::string_view type_name(const StorageType& type);
/// Bytes of a number of elements, whole blocks of the type.
std::size_t bytes_of(const StorageType& type, std::size_t elements);

/// A matrix or vector as a file stores it, or the matrices of several experts: a whole tensor or a
/// part of one.
struct Weight {
  std::string name;           ///< of the tensor; "NAME[64:96]" if it is a part of its outputs
  std::string tensor{};       ///< its name in the file
  std::size_t first_row = 0;  ///< of the tensor as a matrix, unless it is transposed
  std::vector<std::size_t> shape{};  ///< [outputs, inputs], [experts, outputs, inputs] or [n]
  StorageType type{};
  /// The rows of the matrix one after the other, a view of the file. A transposed one: the whole
  /// tensor, [inputs, stored_outputs], of which `begin` is the first output. One with a step or
  /// scales: the whole tensor, [stored_outputs, inputs].
  SharedBytes bytes{};
  bool is_transposed = false;
  std::size_t begin = 0;
  std::size_t step = 1;  ///< outputs of the tensor from one of the matrix to the next
  std::size_t stored_outputs = 0;
  /// Of MXFP4 blocks of 16 bytes, whose elements follow each other: one byte for each block.
  SharedBytes scales{};
  float factor = 1;  ///< of all elements, which the file keeps beside them

  /// Rows: the outputs of all experts if there are several.
  [[nodiscard]] std::size_t outputs() const {
    return std::accumulate(shape.begin(), shape.end() - 1, std::size_t{1}, std::multiplies());
  }
  [[nodiscard]] std::size_t inputs() const { return shape.back(); }
  [[nodiscard]] std::size_t num_elements() const { return outputs() * inputs(); }

  /// The rows of the matrix one after the other in its type, with a scale in front of each block.
  /// @pre not transposed
  [[nodiscard]] SharedBytes packed() const;
  /// The matrix as the file stores it, which layers read: floats, or blocks of numbers or codes.
  /// Nothing for a vector, a transposed matrix, one with a factor, and other types.
  [[nodiscard]] std::optional<ir::Constant> stored() const;
  /// Rows of the matrix as float32; a vector is one row.
  /// @param first   row
  /// @param values  [rows * inputs()], which says how many rows
  /// @throws Error kUnsupported if Halftone does not decode this type; kShape if there are no such
  ///         rows
  void decode(std::size_t first, std::span<float> values) const;
  /// All rows. @throws Error as above
  [[nodiscard]] std::vector<float> decode() const;

 private:
  [[nodiscard]] SharedBytes packed_rows(std::size_t first, std::size_t count) const;
};

/// The tensors that a description needs, as views of a file. Any number of threads may use it.
class Weights {
 public:
  /// @throws Error kFormat if tensors are missing or have other shapes: the first few by name;
  ///         kUnsupported if a block has a tensor that the description does not read, because such
  ///         a model computes something else
  Weights(const Description& description, const formats::GgufFile& file);
  Weights(const Description& description, const formats::SafetensorsFile& file);
  Weights(const Description& description, const Llama2cFile& file);
  Weights(const Description& description, const ModelFile& file);

  /// The tensor; for a tied head that of the token embedding.
  /// @throws Error kInternal if the description does not need it
  [[nodiscard]] const Weight& at(const WeightId& id) const;
  /// The matrices of all experts of a block as one tensor: a view of the file if they follow each
  /// other there, otherwise a copy. In its name, * is the number of an expert. Biases as rows.
  /// @throws Error kInternal as at(); as Weight::decode() if experts are stored in different ways
  [[nodiscard]] Weight experts(WeightRole role, std::size_t block, Part part = Part::kWeight) const;
  /// Names of the file's tensors that nothing here reads, in their order.
  [[nodiscard]] std::span<const std::string> unused() const { return unused_; }

 private:
  std::vector<std::string> unused_;  // before weights_, whose initializer fills it
  std::map<WeightId, Weight> weights_;
};

}  // namespace halftone::lm
