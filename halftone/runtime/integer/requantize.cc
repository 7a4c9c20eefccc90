// SPDX-License-Identifier: Apache-2.0
// Sums of int32 to 8-bit codes, rounded once.
#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

/// Exceeds every code, and is small enough for this rounding.
constexpr double kFar = 1e9;
constexpr double kRoundDouble = 6755399441055744.0;  // 1.5 * 2^52

/// To the nearest integer. @param x  at most kFar in magnitude
template <bool away>
double rounded(double x) {
  // Adding and subtracting a constant so large that no fraction bits remain rounds ties to even.
  if constexpr (!away) return (x + kRoundDouble) - kRoundDouble;
  const auto whole = static_cast<double>(static_cast<std::int32_t>(x));
  const double rest = x - whole;  // exact
  return whole +
         static_cast<double>(static_cast<int>(rest >= 0.5) - static_cast<int>(rest <= -0.5));
}

template <bool away, typename Code>
void requantize(const ir::Requantize& op, const std::int32_t* x, std::size_t count, Code* q) {
  const std::size_t cols = op.multipliers.size();
  const auto zero_point = static_cast<double>(op.zero_point);
  const auto low = static_cast<double>(op.low);
  const auto high = static_cast<double>(op.high);
  const auto code = [&](std::int32_t sum, double multiplier) {
    const double scaled = bounded(static_cast<double>(sum) * multiplier, -kFar, kFar);
    const double whole = rounded<away>(scaled);
    return static_cast<Code>(static_cast<std::int32_t>(bounded(whole + zero_point, low, high)));
  };
  if (cols == 1) {
    const double multiplier = op.multipliers[0];
    for (std::size_t i = 0; i < count; ++i) q[i] = code(x[i], multiplier);
    return;
  }
  const double* multipliers = op.multipliers.data();
  for (std::size_t first = 0; first < count; first += cols) {
    for (std::size_t o = 0; o < cols; ++o) q[first + o] = code(x[first + o], multipliers[o]);
  }
}

template <typename Code>
void requantize_as(const ir::Requantize& op, const std::int32_t* x, std::size_t count, Code* q) {
  if (op.rounding == ir::CodeRounding::kHalfAway) return requantize<true>(op, x, count, q);
  requantize<false>(op, x, count, q);
}

Verdict judge_requantize(const NodeContext& context) {
  const bool twice = context.op<ir::Requantize>().rounding == ir::CodeRounding::kTwice;
  return twice ? refuse("rounds twice") : accept("to 8 bits");
}

Kernel create_requantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  return code_kernel([op = context.op<ir::Requantize>(), count](const std::byte* x, std::byte* y) {
    const auto* sums = reinterpret_cast<const std::int32_t*>(x);
    if (op.element == ir::ElementType::kInt8) {
      requantize_as(op, sums, count, reinterpret_cast<std::int8_t*>(y));
    } else {
      requantize_as(op, sums, count, reinterpret_cast<std::uint8_t*>(y));
    }
  });
}

}  // namespace

constinit const Implementation kRequantizeOnce{
    .name = "codes", .judge = judge_requantize, .create = create_requantize};

}  // namespace halftone::runtime
