// SPDX-License-Identifier: Apache-2.0
// Vector bases that change while the codes of their matrices stay.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "halftone/ir/tensor.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::train {

/// The gradient of a loss L with respect to the matrix P of the basis of a tensor: float64 [d, D],
/// sum over the codes of s (dL/dw) b' for the scale s of the block and the signs b of the code. The
/// rounding of P passes it straight through.
/// @param blocks   whose encoding is a numerics::VectorEncoding
/// @param weights  dL/dw, float32 of their shape
at::Tensor basis_gradient(const ir::BlockTensor& blocks, const at::Tensor& weights);

/// The matrix of a vector basis that is nearest to `matrix`: each entry is rounded, then entries of
/// rows whose magnitudes sum to more than 127 move towards 0 by one where that costs least.
/// @param matrix  float32 [d, D]
/// @param like    has the extents
std::shared_ptr<const numerics::VectorBasis> nearest_basis(const at::Tensor& matrix,
                                                           const numerics::VectorBasis& like);

}  // namespace halftone::train
