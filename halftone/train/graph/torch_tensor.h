// SPDX-License-Identifier: Apache-2.0
// Conversion between tensors of the graph and of libtorch.
#pragma once

#include <ATen/core/Tensor.h>

#include "halftone/ir/tensor.h"

namespace halftone::train {

/// The libtorch type for an element type. libtorch has no unsigned integers of more than 8 bits:
/// signed ones of the same size hold their bits, which only to_ir() reads.
at::ScalarType scalar_type(ir::ElementType element);

/// A copy with the same shape that owns its memory.
at::Tensor to_torch(const ir::Tensor& tensor);

/// A copy of the elements in row-major order; float64 becomes float32.
/// @param element  of the result; scalar_type() of it is the tensor's type, or both are floats
/// @throws Error kShape "expected elements of TYPE, found TYPE" otherwise
ir::Tensor to_ir(const at::Tensor& tensor, ir::ElementType element = ir::ElementType::kFloat32);

}  // namespace halftone::train
