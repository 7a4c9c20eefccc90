// SPDX-License-Identifier: Apache-2.0
// Constants of which a file stores only some elements.
#pragma once

#include <cstddef>
#include <span>

#include "circle_generated.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::circle {

/// Reads a sparse constant. Elements that are not stored are zero.
/// @param bytes  the stored elements, in the order of the levels
/// @throws Error kFormat if the levels do not fit the shape or the elements; otherwise as
///         read_tensor()
/// Source: TensorFlow Lite, schema.fbs, SparsityParameters.
ir::Tensor read_sparse(schema::TensorType type, const ir::Shape& shape,
                       const schema::SparsityParameters& sparsity,
                       std::span<const std::byte> bytes);

}  // namespace halftone::formats::circle
