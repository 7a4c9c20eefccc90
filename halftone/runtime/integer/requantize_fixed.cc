// SPDX-License-Identifier: Apache-2.0
// Sums of int32 to 8-bit codes in integer arithmetic.
#include <vector>

#include "halftone/kernels/encode/requantize.h"
#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

Verdict judge_requantize_fixed(const NodeContext& context) {
  const bool twice = context.op<ir::Requantize>().rounding == ir::CodeRounding::kTwice;
  return twice ? accept("integer arithmetic only") : refuse("rounds once");
}

Kernel create_requantize_fixed(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const auto& op = context.op<ir::Requantize>();
  std::vector<numerics::FixedMultiplier> multipliers;
  for (const double m : op.multipliers) {
    multipliers.push_back(numerics::divided(numerics::fixed_multiplier(m), op.count));
  }
  const kernels::Requantization how(multipliers, {op.zero_point, op.low, op.high});
  return code_kernel([how, count, element = op.element](const std::byte* x, std::byte* y) {
    const std::span sums(reinterpret_cast<const std::int32_t*>(x), count);
    if (element == ir::ElementType::kInt8) {
      kernels::requantize(sums, how, std::span(reinterpret_cast<std::int8_t*>(y), count));
    } else {
      kernels::requantize(sums, how, std::span(reinterpret_cast<std::uint8_t*>(y), count));
    }
  });
}

}  // namespace

constinit const Implementation kRequantizeTwice{
    .name = "codes_fixed", .judge = judge_requantize_fixed, .create = create_requantize_fixed};

}  // namespace halftone::runtime
