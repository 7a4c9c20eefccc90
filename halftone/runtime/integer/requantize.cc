// SPDX-License-Identifier: Apache-2.0
// Sums of int32 to 8-bit codes.
#include "halftone/runtime/integer/requantize.h"

#include <vector>

#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

kernels::Requantization requantization_of(const ir::Requantize& op) {
  const kernels::CodeBounds bounds{op.zero_point, op.low, op.high};
  if (op.rounding != ir::CodeRounding::kTwice) {
    const bool away = op.rounding == ir::CodeRounding::kHalfAway;
    const auto rounding = away ? kernels::SumRounding::kHalfAway : kernels::SumRounding::kHalfEven;
    return {op.multipliers, bounds, rounding};
  }
  std::vector<numerics::FixedMultiplier> multipliers;
  for (const double m : op.multipliers) {
    multipliers.push_back(numerics::divided(numerics::fixed_multiplier(m), op.count));
  }
  return {multipliers, bounds};
}

Verdict judge_requantize(const NodeContext& /*context*/) { return accept("to 8 bits"); }

Kernel create_requantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  return code_kernel(
      [how = SumsToCodes(context.op<ir::Requantize>()), count](const std::byte* x, std::byte* y) {
        how({reinterpret_cast<const std::int32_t*>(x), count}, y);
      });
}

}  // namespace

SumsToCodes::SumsToCodes(const ir::Requantize& op)
    : how_(requantization_of(op)), is_signed_(op.element == ir::ElementType::kInt8) {}

void SumsToCodes::operator()(std::span<const std::int32_t> sums, std::byte* y) const {
  if (is_signed_) {
    kernels::requantize(sums, how_, std::span(reinterpret_cast<std::int8_t*>(y), sums.size()));
  } else {
    kernels::requantize(sums, how_, std::span(reinterpret_cast<std::uint8_t*>(y), sums.size()));
  }
}

constinit const Implementation kRequantizeCodes{
    .name = "codes", .judge = judge_requantize, .create = create_requantize};

}  // namespace halftone::runtime
