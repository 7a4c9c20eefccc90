// SPDX-License-Identifier: Apache-2.0
// Checked access to a file's tables: everything returned exists and lies within the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "circle_generated.h"
#include "halftone/base/buffer.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/formats/circle/flavor.h"
#include "halftone/formats/circle/operator_code.h"
#include "halftone/ir/ops/encoding.h"
#include "halftone/ir/shape.h"

namespace halftone::formats::circle {

/// The elements of a FlatBuffers vector that may be absent.
template <typename T>
std::span<const T> elements(const flatbuffers::Vector<T>* vector) {
  // The verifier checks the alignment of a vector's length, which is 4, but not of its elements.
  static_assert(sizeof(T) <= sizeof(flatbuffers::uoffset_t), "copy wider elements");
  return vector == nullptr ? std::span<const T>() : std::span(vector->data(), vector->size());
}

/// A verified file and one of its subgraphs, the first unless another is asked for.
class FileModel {
 public:
  /// @param file  without an owner, its bytes must outlive this object
  /// @throws Error kFormat if the bytes are not a valid file, or tables are missing
  explicit FileModel(SharedBytes file);

  /// Another subgraph of the same file. This object must outlive it.
  /// @throws Error kFormat if there is none
  [[nodiscard]] FileModel subgraph(std::size_t index) const;
  /// Whether this is the first subgraph, the network itself.
  [[nodiscard]] bool is_main() const;

  [[nodiscard]] std::size_t size_bytes() const { return bytes_.size(); }
  [[nodiscard]] std::size_t num_tensors() const { return graph_->tensors()->size(); }
  [[nodiscard]] std::size_t num_operators() const;
  [[nodiscard]] const schema::Operator& table(std::size_t op) const;
  /// Indices of tensors; @throws Error kFormat if one is out of range
  [[nodiscard]] std::vector<std::size_t> graph_inputs() const;
  [[nodiscard]] std::vector<std::size_t> graph_outputs() const;
  /// The tensors that an operator reads; nullopt if an input is absent (-1).
  /// @throws Error kFormat if an index is out of range or there are more than kMaxOperands
  [[nodiscard]] std::vector<std::optional<std::size_t>> inputs(std::size_t op) const;
  [[nodiscard]] std::vector<std::size_t> outputs(std::size_t op) const;

  /// @throws Error kFormat if the index of the operator's code is out of range
  [[nodiscard]] OperatorCode code(std::size_t op) const;
  /// The name of a custom operator; empty for others.
  [[nodiscard]] std::string custom_name(std::size_t op) const;
  /// The version of an operator; custom ones may share a name.
  [[nodiscard]] std::int32_t version(std::size_t op) const { return code_table(op).version(); }
  /// The options of a custom operator, with the file as their owner, if it can be.
  [[nodiscard]] SharedBytes shared_options(std::size_t op) const;

  [[nodiscard]] const schema::Tensor& tensor(std::size_t index) const;
  /// The tensor's name without control characters; "tensor 12" if it has none.
  [[nodiscard]] std::string tensor_name(std::size_t index) const;
  /// The declared extents. @throws Error kFormat if one is negative or there are over kMaxAxes
  [[nodiscard]] ir::Shape shape(std::size_t index) const;
  /// The axes that have -1 in the shape signature.
  [[nodiscard]] std::vector<std::size_t> open_axes(std::size_t index) const;
  /// The axis of the batch: the first if it is open, otherwise the only open one; nullopt if there
  /// is none.
  [[nodiscard]] std::optional<std::size_t> batch_axis(std::size_t index) const;
  /// The tensor's constant data; empty if it has none.
  /// @throws Error kFormat if its buffer is out of range
  [[nodiscard]] std::span<const std::byte> data(std::size_t index) const;
  /// The same with the file as their owner, if it can be.
  [[nodiscard]] SharedBytes shared_data(std::size_t index) const;
  /// The affine parameters of a quantized tensor, otherwise nullopt.
  /// @throws Error kFormat if they are invalid; kUnsupported if the quantization is not affine
  [[nodiscard]] std::optional<ir::AffineParameters> quantization(std::size_t index) const;

  static constexpr std::size_t kMaxOperands = 4096;
  static constexpr std::size_t kMaxAxes = 32;

 private:
  FileModel(const FileModel& whole, std::size_t index);
  void set_subgraph(std::size_t index);
  [[nodiscard]] SharedBytes shared(std::span<const std::byte> found) const;
  [[nodiscard]] const schema::OperatorCode& code_table(std::size_t op) const;
  [[nodiscard]] std::vector<std::size_t> tensors(std::span<const std::int32_t> indices,
                                                 const char* what) const;

  AlignedBuffer copy_;  ///< used if the caller's bytes are not aligned
  SharedBytes file_;    ///< without an owner if they are the copy
  std::span<const std::byte> bytes_;
  CircleFlavor flavor_;
  const schema::Model* model_ = nullptr;
  const schema::SubGraph* graph_ = nullptr;
};

}  // namespace halftone::formats::circle
