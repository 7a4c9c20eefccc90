// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/work.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::IntegerConvPart;
using kernels::IntegerConvWeights;
using kernels::IntegerDepthwiseWeights;

/// Sums that become codes together: 8 KiB.
constexpr std::size_t kMaxSums = 2048;
/// Estimated time of one product.
constexpr double kPicosecondsPerProduct = 20;

void convolve(const std::int8_t* q, const IntegerConvWeights& w, const IntegerConvPart& part) {
  kernels::integer_conv(q, w, part);
}
void convolve(const std::int8_t* q, const IntegerDepthwiseWeights& w, const IntegerConvPart& part) {
  kernels::integer_depthwise_conv(q, w, part);
}

/// A layer whose weights are packed. A FullyConnected is a Conv whose kernel has one tap. Sums
/// become codes line by line, while they are in the nearest cache.
template <typename Weights>
struct IntegerLayer {
  Weights weights;
  std::optional<SumsToCodes> codes;  ///< of the output; nothing: int32
  bool is_signed;                    ///< whether the input is int8
  std::size_t shares;

  [[nodiscard]] std::size_t inputs() const {
    const kernels::ConvShape& shape = weights.shape();
    return shape.images * shape.image_input_pixels() * shape.channels;
  }
  /// Scratch: the input as int8, then that of each share.
  [[nodiscard]] std::size_t copy_bytes() const {
    return is_signed ? 0 : AlignedBuffer::rounded_up(inputs());
  }
  /// The sums of the lines that a share computes before it makes codes of them.
  [[nodiscard]] std::size_t line_sums() const {
    return weights.shape().line_pixels() * weights.shape().outputs;
  }
  [[nodiscard]] std::size_t lines_at_once() const {
    return std::max<std::size_t>(kMaxSums / std::max<std::size_t>(line_sums(), 1), 1);
  }
  [[nodiscard]] std::size_t sums_bytes() const {
    return codes ? AlignedBuffer::rounded_up(lines_at_once() * line_sums() * sizeof(std::int32_t))
                 : 0;
  }
  [[nodiscard]] std::size_t share_bytes() const { return weights.scratch_bytes() + sums_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const { return copy_bytes() + shares * share_bytes(); }

  void convolve_lines(const std::byte* x, kernels::LineRange lines, std::byte* scratch,
                      std::int32_t* y) const {
    const kernels::ConvShape& shape = weights.shape();
    const MatrixView<std::int32_t> sums(y, lines.count() * shape.line_pixels(), shape.outputs,
                                        shape.outputs);
    convolve(reinterpret_cast<const std::int8_t*>(x), weights,
             {lines, {scratch, weights.scratch_bytes()}, sums});
  }

  void run_lines(const std::byte* x, kernels::LineRange lines, std::byte* scratch,
                 std::byte* y) const {
    if (!codes) {
      auto* const sums = reinterpret_cast<std::int32_t*>(y);
      return convolve_lines(x, lines, scratch, sums + lines.begin * line_sums());
    }
    auto* const sums = reinterpret_cast<std::int32_t*>(scratch + weights.scratch_bytes());
    for (std::size_t first = lines.begin; first < lines.end; first += lines_at_once()) {
      const kernels::LineRange some{first, std::min(first + lines_at_once(), lines.end)};
      convolve_lines(x, some, scratch, sums);
      (*codes)({sums, some.count() * line_sums()}, y + first * line_sums());
    }
  }

  void run(const std::byte* x, std::byte* scratch, std::byte* y) const {
    if (!is_signed) {
      kernels::as_signed({reinterpret_cast<const std::uint8_t*>(x), inputs()},
                         {reinterpret_cast<std::int8_t*>(scratch), inputs()});
      x = scratch;
    }
    const std::size_t lines = weights.shape().num_lines();
    const auto body = [&](std::size_t share) {
      run_lines(x, {lines * share / shares, lines * (share + 1) / shares},
                scratch + copy_bytes() + share * share_bytes(), y);
    };
    if (shares == 1) return body(0);
    parallel_for(shares, std::ref(body));  // by reference: allocates nothing
  }
};

Verdict judge_integer_layer(const NodeContext& context) {
  if (!ir::are_integers(context.input(0), context.input(1))) return refuse("not integers");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (context.output().shape.element_count() == 0 || context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  if (std::holds_alternative<ir::Conv>(context.node.op)) {
    if (context.input(0).shape.rank() > 5) return refuse("more than three spatial axes");
    if (!ir::has_usual_window(context.graph, context.node)) {
      return refuse("too many taps, or taps too far apart");
    }
  }
  return accept("integers of 8 bits");
}

std::optional<SumsToCodes> codes_of(const NodeContext& context) {
  if (context.fused == nullptr) return std::nullopt;
  return SumsToCodes(*context.fused->requantize);
}

template <typename Weights>
Kernel create(const NodeContext& context, Weights weights) {
  const double us =
      1e-6 * kPicosecondsPerProduct * ir::work_of(context.graph, context.node).products();
  const std::size_t lines = std::max<std::size_t>(weights.shape().num_lines(), 1);
  const auto layer = std::make_shared<const IntegerLayer<Weights>>(IntegerLayer<Weights>{
      std::move(weights), codes_of(context), context.input(0).is_dense(ir::ElementType::kInt8),
      std::clamp<std::size_t>(threads_for(context, us), 1, lines)});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->run(x, scratch, y);
    };
  };
  return kernel;
}

/// @param zero_points  of the node
Kernel create(const NodeContext& context, const kernels::ConvShape& shape,
              const ir::ZeroPoints& zero_points) {
  const auto& weights = std::get<ir::Tensor>(*context.constant(1));
  std::vector<std::int32_t> zeros;
  for (std::size_t o = 0; o < shape.outputs; ++o) zeros.push_back(zero_points.of_output(o));
  kernels::IntegerWeights integers{weights.bytes(), weights.element() == ir::ElementType::kInt8,
                                   zeros};
  if (context.has_input(2)) {
    integers.bias = std::get<ir::Tensor>(*context.constant(2)).as<std::int32_t>();
  }
  // uint8 is computed as int8: both code and zero point less 128.
  const bool is_signed = context.input(0).is_dense(ir::ElementType::kInt8);
  const std::int32_t x_zero = zero_points.x - (is_signed ? 0 : 128);
  if (shape.groups > 1 && shape.groups == shape.channels && shape.groups == shape.outputs) {
    return create(context, IntegerDepthwiseWeights(shape, integers, x_zero));
  }
  return create(context,
                IntegerConvWeights(shape, integers, x_zero, kernels::preferred_integer_layout()));
}

Kernel create_integer_layer(const NodeContext& context) {
  if (const auto* conv = std::get_if<ir::Conv>(&context.node.op)) {
    return create(context, conv_shape(context), conv->zero_points);
  }
  const ir::MatrixExtent x = row_extent(context.input(0).shape);
  const auto outputs = static_cast<std::size_t>(context.output().shape.back());
  return create(context, pointwise_shape(x.rows, x.cols, outputs),
                context.op<ir::FullyConnected>().zero_points);
}

}  // namespace

constinit const Implementation kIntegerLayer{
    .name = "integers", .judge = judge_integer_layer, .create = create_integer_layer};

}  // namespace halftone::runtime
