// SPDX-License-Identifier: Apache-2.0
// Small integer tensors with values known during the import, where the batch is a symbol. Exporters
// use them for shape arithmetic (Shape -> Gather -> Unsqueeze -> Concat -> Reshape).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

class NodeBuilder;

/// The integer value + batches N, where N >= 1 is the symbolic batch.
struct Extent {
  std::int64_t value = 0;
  std::int64_t batches = 0;
  bool operator==(const Extent&) const = default;
};

/// An extent of a shape; nullopt if it is neither a number nor a multiple of the batch.
std::optional<ir::Dim> dim_of(Extent extent);
/// The same. @throws Error kUnsupported
ir::Dim checked_dim(Extent extent);

/// A scalar or vector of extents.
struct Integers {
  bool is_scalar = false;
  ir::ElementType element = ir::ElementType::kInt64;
  std::vector<Extent> values;

  /// The values as integers; nullopt if one of them depends on the batch.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> numbers() const;
};

/// The integers of a small tensor of rank 0 or 1 with integer or boolean elements, else nullopt.
std::optional<Integers> integers_of(const ir::Tensor& tensor);

/// The extents of a shape as integers.
Integers integers_of(const ir::Shape& shape);

/// The integers as a tensor. @pre none of them depends on the batch
ir::Tensor to_tensor(const Integers& integers);

/// Evaluates a node whose inputs are all known integers, or that returns a shape, and sets its
/// output. Returns false and does nothing for any other node.
bool evaluate_integers(NodeBuilder& node);

}  // namespace halftone::formats::onnx
