// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/convolution/convolution_lines.h"

#include <algorithm>

#include "halftone/base/buffer.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Bytes of outputs to compute before the steps that follow the product.
constexpr std::size_t kStepBytes = std::size_t{1} << 15;

/// Moves an activation into the kernel if it is a pair of limits.
bool take_limits(const ir::Activation& activation, kernels::ConvFinish& finish) {
  const auto limits = ir::limits_of(activation);
  if (!limits) return false;
  finish.low = limits->low;
  finish.high = limits->high;
  return true;
}

}  // namespace

ConvLines::ConvLines(const NodeContext& context, const kernels::ConvShape& shape, double us,
                     std::size_t scratch, std::size_t min_pixels)
    : lines_(shape.num_lines()),
      line_pixels_(shape.line_pixels()),
      outputs_(shape.outputs),
      step_(1),
      shares_(std::clamp<std::size_t>(lines_, 1, threads_for(context, us))),
      product_bytes_(scratch),
      share_bytes_(scratch) {
  const std::size_t line_bytes = std::max<std::size_t>(1, line_pixels_ * outputs_ * sizeof(float));
  const std::size_t width = std::max<std::size_t>(line_pixels_, 1);
  step_ = std::max<std::size_t>({kStepBytes / line_bytes, (min_pixels + width - 1) / width, 1});
  const auto& op = context.op<ir::Conv>();
  activation_ = op.activation;
  if (op.codes != nullptr) {
    const numerics::Levels levels = op.codes->levels(0);
    const bool is_moved = can_encode_argument(activation_, levels);
    encoder_.emplace(levels, is_moved ? activation_ : ir::Activation{}, context.output_layout(),
                     outputs_);
    if (is_moved) activation_ = {};
    constexpr std::size_t kAlignment = AlignedBuffer::kAlignment;
    share_bytes_ +=
        (std::min(step_, lines_) * line_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  if (take_limits(activation_, finish_)) activation_ = {};
}

MatrixView<float> ConvLines::outputs_of(kernels::LineRange lines, std::span<std::byte> memory,
                                        std::byte* y) const {
  const ir::MatrixExtent extent{lines.count() * line_pixels_, outputs_};
  if (encoder_) return float_matrix(memory.data() + product_bytes_, extent);
  return float_matrix(y + lines.begin * line_pixels_ * outputs_ * sizeof(float), extent);
}

kernels::ConvFinish ConvLines::finish_of(kernels::LineRange lines,
                                         const std::byte* residual) const {
  kernels::ConvFinish finish = finish_;
  if (residual != nullptr) {
    finish.residual = float_matrix(residual, {lines_ * line_pixels_, outputs_})
                          .rows_from(lines.begin * line_pixels_, lines.count() * line_pixels_);
  }
  return finish;
}

void ConvLines::follow(kernels::LineRange lines, MatrixView<float> outputs, std::byte* y) const {
  if (activation_.kind != ir::ActivationKind::kIdentity) {
    const std::span values(outputs.data_handle(), outputs.rows() * outputs.cols());
    apply_activation(activation_, values, values);
  }
  if (encoder_) (*encoder_)(outputs, y + lines.begin * line_pixels_ * encoder_->row_bytes());
}

}  // namespace halftone::runtime
