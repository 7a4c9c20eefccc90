// SPDX-License-Identifier: Apache-2.0
// A matrix in blocks whose codes stay while the factors of its blocks change.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "halftone/ir/tensor.h"
#include "halftone/numerics/block_encoding.h"

namespace halftone::train {

/// A block holds K factors, its float16 numbers or a scale of e3m5. What it represents is linear in
/// them:
///
///     w = sum_k f_k part_k,    f_k = f0_k e^v_k, rounded as a file stores it
///
/// for the factors f0 of the file and v [blocks, K]. Signs stay, and so do factors of 0.
class FactoredMatrix {
 public:
  /// Whether blocks of an encoding hold factors, and can be decoded.
  static bool can_hold(const numerics::BlockEncoding& encoding);
  /// @param blocks  of an encoding that can_hold()
  explicit FactoredMatrix(const ir::BlockTensor& blocks);

  [[nodiscard]] std::size_t num_factors() const { return start_.size(); }
  [[nodiscard]] const numerics::BlockEncoding& encoding() const { return *encoding_; }
  /// Changes what the bytes mean. @param encoding  which stores codes and factors in the same way
  void set_encoding(numerics::SharedBlockEncoding encoding) { encoding_ = std::move(encoding); }
  /// Limits v, where a factor would be 0 or infinite, and sets the factors.
  /// @param v  float32 [num_factors()], contiguous
  void set(const at::Tensor& v);
  /// The matrix as a file stores it. Shares its memory, which set() changes.
  [[nodiscard]] ir::BlockTensor blocks() const { return {shape_, encoding_, {nullptr, bytes_}}; }
  /// The numbers that it represents: float32 of its shape, without a gradient.
  [[nodiscard]] at::Tensor weights() const;
  /// The gradient of a loss L with respect to v, float32 [num_factors()]: f_k sum part_k dL/dw over
  /// the block. The rounding of factors passes it straight through.
  /// @param weights  dL/dw, float32 of the shape of weights()
  [[nodiscard]] at::Tensor gradient(const at::Tensor& weights) const;

 private:
  ir::Shape shape_;
  std::vector<std::byte> bytes_;
  numerics::SharedBlockEncoding encoding_;
  std::vector<float> start_;  ///< f0
};

/// The numbers of blocks: float32 of their shape.
/// @throws Error as numerics::decode_blocks()
at::Tensor decoded(const ir::BlockTensor& blocks);

/// Calls body(chunk, begin, end) for chunks of the blocks of a tensor, on several threads. Threads
/// do not change the chunks.
void for_block_chunks(const ir::BlockTensor& blocks,
                      const std::function<void(std::size_t, std::size_t, std::size_t)>& body);
std::size_t num_block_chunks(const ir::BlockTensor& blocks);

}  // namespace halftone::train
