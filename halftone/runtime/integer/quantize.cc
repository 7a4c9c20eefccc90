// SPDX-License-Identifier: Apache-2.0
// float32 to 8-bit codes.
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

Verdict judge_quantize(const NodeContext& context) {
  const auto& op = context.op<ir::QuantizeLinear>();
  if (op.parameters.scales.size() != 1) return refuse("several scales");
  if (ir::size_bytes(op.element) != 1) return refuse("the output is not 8-bit codes");
  return accept("one scale");
}

Kernel create_quantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const auto& op = context.op<ir::QuantizeLinear>();
  const auto [low, high] = ir::code_range(op.element);
  const kernels::CodeRounder how{op.parameters.scales[0],
                                 {op.parameters.zero_points[0], low, high},
                                 op.rounding == ir::CodeRounding::kHalfAway};
  const bool is_signed = op.element == ir::ElementType::kInt8;
  return code_kernel([how, is_signed, count](const std::byte* x, std::byte* y) {
    const std::span numbers(reinterpret_cast<const float*>(x), count);
    if (is_signed) {
      kernels::quantize_linear(numbers, how, {reinterpret_cast<std::int8_t*>(y), count});
    } else {
      kernels::quantize_linear(numbers, how, {reinterpret_cast<std::uint8_t*>(y), count});
    }
  });
}

}  // namespace

constinit const Implementation kQuantizeCodes{
    .name = "codes", .judge = judge_quantize, .create = create_quantize};

}  // namespace halftone::runtime
