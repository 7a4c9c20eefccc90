// SPDX-License-Identifier: Apache-2.0
// A matrix in a vector basis whose codes stay while its scales and basis change.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "halftone/ir/tensor.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::train {

/// Element i of group g is fl(factor e3m5(s_g)) c_i, where c_i is a number of a codeword P b and
///
///     s_g = s0_g e^u_g, rounded to e3m5
///
/// for the scale s0_g of the file. u [groups], in the order of the blocks, and P change.
class VectorMatrix {
 public:
  /// @param blocks  whose encoding is a numerics::VectorEncoding
  explicit VectorMatrix(const ir::BlockTensor& blocks);

  [[nodiscard]] std::size_t num_groups() const { return start_.size(); }
  [[nodiscard]] const numerics::VectorBasis& basis() const { return *encoding_->basis; }
  /// The bounds of u within which s is a number of e3m5: [groups] each.
  [[nodiscard]] at::Tensor least() const;
  [[nodiscard]] at::Tensor largest() const;

  /// Sets the scales and the basis.
  /// @param u      float32 [groups]
  /// @param basis  of the same rate
  void set(const at::Tensor& u, std::shared_ptr<const numerics::VectorBasis> basis);
  /// The matrix as a file stores it. Shares its memory, which set() changes.
  [[nodiscard]] ir::BlockTensor blocks() const;
  /// The numbers that it represents: float32 of its shape, without a gradient.
  [[nodiscard]] at::Tensor weights() const;

  /// The gradients of a loss L.
  struct Gradients {
    at::Tensor u;      ///< float32 [groups]: dL/du_g = sum over the group of w_i dL/dw_i
    at::Tensor basis;  ///< float64 [d, D]: dL/dP = sum over the codes of s (dL/dw) b'
  };
  /// The rounding of scales and of the basis passes gradients straight through.
  /// @param weights  dL/dw, float32 of the shape of weights()
  [[nodiscard]] Gradients gradients(const at::Tensor& weights) const;

 private:
  ir::Shape shape_;
  std::vector<std::byte> bytes_;
  std::shared_ptr<const numerics::VectorEncoding> encoding_;
  std::vector<float> start_;  ///< s0
};

/// The numbers of blocks: float32 of their shape.
/// @throws Error as numerics::decode_blocks()
at::Tensor decoded(const ir::BlockTensor& blocks);

/// The matrix of a vector basis that is nearest to `matrix`: each entry is rounded, then entries of
/// rows whose magnitudes sum to more than 127 move towards 0 by one where that costs least.
/// @param matrix  float32 [d, D]
/// @param like    has the extents
std::shared_ptr<const numerics::VectorBasis> nearest_basis(const at::Tensor& matrix,
                                                           const numerics::VectorBasis& like);

}  // namespace halftone::train
