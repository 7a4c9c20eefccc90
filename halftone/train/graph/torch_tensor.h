// SPDX-License-Identifier: Apache-2.0
// Between tensors of the graph and of libtorch.
#pragma once

#include <ATen/core/Tensor.h>

#include "halftone/ir/tensor.h"

namespace halftone::train {

/// libtorch's word for an element type. It has no unsigned integers of more than 8 bits: their bits
/// are kept in signed ones of the same size, which nothing but to_ir() reads.
at::ScalarType scalar_type(ir::ElementType element);

/// A copy of the elements under the same shape; its memory is its own.
at::Tensor to_torch(const ir::Tensor& tensor);

/// A copy of the elements in row-major order; float64 becomes float32.
/// @param element  of the result: what scalar_type() says is the tensor's, or both are real numbers
/// @throws Error kShape "expected elements of TYPE, found TYPE" if the tensor has others
ir::Tensor to_ir(const at::Tensor& tensor, ir::ElementType element = ir::ElementType::kFloat32);

}  // namespace halftone::train
