// SPDX-License-Identifier: Apache-2.0
// Small integer tensors with values known during the import, where the batch and open extents are
// symbols. Exporters use them for shape arithmetic (Shape -> Gather -> Unsqueeze -> Concat ->
// Reshape).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

class NodeBuilder;

using ir::Extent;

/// An extent of a shape. @throws Error kShape if it is negative
ir::Dim checked_dim(const Extent& extent);

/// A scalar, vector or matrix of extents. Floats are those that shape arithmetic makes of extents,
/// as the bits of Real.
struct Integers {
  bool is_scalar = false;
  ir::ElementType element = ir::ElementType::kInt64;
  std::vector<Extent> values;
  std::size_t columns = 0;  ///< of a matrix, whose rows are one after another

  [[nodiscard]] bool is_float() const { return element == ir::ElementType::kFloat32; }
  /// Whether they are whole numbers in a scalar or vector.
  [[nodiscard]] bool is_plain() const { return !is_float() && columns == 0; }
  /// The values as integers; nullopt if one of them depends on a symbol, or they are not plain.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> numbers() const;

  bool operator==(const Integers&) const = default;
};

/// The integers of a small tensor of rank 0 or 1 with integer or boolean elements, else nullopt.
std::optional<Integers> integers_of(const ir::Tensor& tensor);

/// The floats of a small float32 tensor of rank 0 or 1, else nullopt.
std::optional<Integers> floats_of(const ir::Tensor& tensor);

/// The extents of a shape as integers.
Integers integers_of(const ir::Shape& shape);

/// The integers or floats as a tensor. @pre none of them depends on a symbol
ir::Tensor to_tensor(const Integers& integers);

/// Evaluates a node whose inputs are all known integers, or that returns a shape, and sets its
/// output. Returns false and does nothing for any other node.
bool evaluate_integers(NodeBuilder& node);

}  // namespace halftone::formats::onnx
