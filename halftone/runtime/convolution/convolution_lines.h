// SPDX-License-Identifier: Apache-2.0
// The parts that all convolutions of codes share, besides the product.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "halftone/base/parallel.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

using kernels::ConvPart;

/// Divides the lines of a convolution's outputs among as many shares as there are threads worth
/// waking. Each share computes a few lines at a time, so that the steps after the product find them
/// in a near cache: the residual and limits inside the kernel, then another activation, then the
/// encoding. Results do not depend on the number of shares, bit for bit.
class ConvLines {
 public:
  /// @param us          estimated time of one thread
  /// @param scratch     bytes of scratch memory for the product, per share
  /// @param min_pixels  output pixels to compute in a call of the product
  ConvLines(const NodeContext& context, const kernels::ConvShape& shape, double us,
            std::size_t scratch, std::size_t min_pixels);

  /// Memory of all shares.
  [[nodiscard]] std::size_t scratch_bytes() const { return shares_ * share_bytes_; }

  /// Calls product(part) for parts that make up all lines, in parallel.
  /// @param residual  null: none
  template <typename Product>
  void run(const std::byte* residual, std::byte* scratch, std::byte* y,
           const Product& product) const {
    const auto body = [&](std::size_t share) {
      const std::span memory(scratch + share * share_bytes_, share_bytes_);
      const std::size_t end = lines_ * (share + 1) / shares_;
      for (std::size_t first = lines_ * share / shares_; first < end;) {
        const kernels::LineRange lines{first, first + std::min(step_, end - first)};
        const MatrixView<float> outputs = outputs_of(lines, memory, y);
        product(ConvPart{lines, finish_of(lines, residual), memory.first(product_bytes_), outputs});
        follow(lines, outputs, y);
        first = lines.end;
      }
    };
    if (shares_ == 1) return body(0);
    parallel_for(shares_, std::ref(body));  // by reference: allocates nothing
  }

 private:
  [[nodiscard]] MatrixView<float> outputs_of(kernels::LineRange lines, std::span<std::byte> memory,
                                             std::byte* y) const;
  [[nodiscard]] kernels::ConvFinish finish_of(kernels::LineRange lines,
                                              const std::byte* residual) const;
  void follow(kernels::LineRange lines, MatrixView<float> outputs, std::byte* y) const;

  std::size_t lines_;
  std::size_t line_pixels_;
  std::size_t outputs_;
  std::size_t step_;  ///< lines per step
  std::size_t shares_;
  std::size_t product_bytes_;
  std::size_t share_bytes_;
  kernels::ConvFinish finish_;
  ir::Activation activation_;  ///< applied by neither the kernel nor the encoder
  std::optional<RowEncoder> encoder_;
};

/// The kernel of a Conv whose weights are packed.
/// @param us          estimated time of one thread
/// @param product     product(x, weights, part)
/// @param min_pixels  output pixels to compute in a call of the product
template <typename Weights, typename Product>
Kernel coded_conv_kernel(const NodeContext& context, double us, Weights weights, Product product,
                         std::size_t min_pixels = 1) {
  struct LineLayer {
    Weights weights;
    Product product;
    ConvLines lines;
  };
  ConvLines lines(context, weights.shape(), us, weights.scratch_bytes(), min_pixels);
  const auto layer = std::make_shared<LineLayer>(
      LineLayer{std::move(weights), std::move(product), std::move(lines)});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->lines.scratch_bytes();
  kernel.bind = [layer, has_residual = context.has_input(3)](const Buffers& buffers) -> Call {
    const std::byte* residual = has_residual ? buffers.inputs[3] : nullptr;
    return [layer, residual, x = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->lines.run(residual, scratch, y,
                       [&](const ConvPart& part) { layer->product(x, layer->weights, part); });
    };
  };
  return kernel;
}

}  // namespace halftone::runtime
