// SPDX-License-Identifier: Apache-2.0
// Small integer tensors whose numbers are known during the import, the batch as a symbol: what
// exporters compute shapes with (Shape -> Gather -> Unsqueeze -> Concat -> Reshape).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/ir/tensor.h"

namespace halftone::formats::onnx {

class NodeBuilder;

/// A number, or the extent of the batch.
struct Extent {
  std::int64_t value = 0;
  bool is_batch = false;  ///< then value is 0
  bool operator==(const Extent&) const = default;
};

/// A scalar or vector of extents.
struct Integers {
  bool is_scalar = false;
  ir::ElementType element = ir::ElementType::kInt64;
  std::vector<Extent> values;

  /// The plain numbers; none if the batch is among them.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> numbers() const;
};

/// The integers in a tensor, if it is small, of rank 0 or 1, and of integers or booleans.
std::optional<Integers> integers_of(const ir::Tensor& tensor);

/// Extents as integers: kBatch becomes the symbol.
Integers integers_of(const ir::Shape& shape);

/// The tensor of integers without the batch. @pre integers.numbers()
ir::Tensor to_tensor(const Integers& integers);

/// Computes a node whose inputs are all known integers (or that asks for a shape) and sets its
/// output. Returns false, and does nothing, if it is not such a node.
bool evaluate_integers(NodeBuilder& node);

}  // namespace halftone::formats::onnx
