// SPDX-License-Identifier: Apache-2.0
// float32 to 8-bit codes. Adding and subtracting a constant so large that no fraction bits remain
// rounds ties to even.
#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

/// Exceeds every code, and is small enough for this rounding.
constexpr float kFarFloat = 1e6F;
constexpr float kRoundFloat = 12582912.0F;  // 1.5 * 2^23

/// kHalfAway corrects ties that were rounded toward zero.
template <bool kHalfAway>
float rounded(float x) {
  const float even = (x + kRoundFloat) - kRoundFloat;
  if (!kHalfAway) return even;
  const float rest = x - even;
  return even + (rest == 0.5F && x > 0 ? 1.0F : 0.0F) - (rest == -0.5F && x < 0 ? 1.0F : 0.0F);
}

template <bool kHalfAway, typename Code>
void quantize(const ir::QuantizeLinear& op, const float* x, std::size_t count, Code* q) {
  const float scale = op.parameters.scales[0];
  const auto zero_point = static_cast<float>(op.parameters.zero_points[0]);
  const auto [lowest, highest] = ir::code_range(op.element);
  const auto low = static_cast<float>(lowest);
  const auto high = static_cast<float>(highest);
  for (std::size_t i = 0; i < count; ++i) {
    const float scaled = bounded(x[i] / scale, -kFarFloat, kFarFloat);
    const float bound = bounded(rounded<kHalfAway>(scaled) + zero_point, low, high);
    q[i] = static_cast<Code>(bound == bound ? static_cast<std::int32_t>(bound) : 0);
  }
}

template <typename Code>
void quantize(const ir::QuantizeLinear& op, const float* x, std::size_t count, Code* q) {
  if (op.rounding == ir::CodeRounding::kHalfAway) return quantize<true>(op, x, count, q);
  quantize<false>(op, x, count, q);
}

Verdict judge_quantize(const NodeContext& context) {
  const auto& op = context.op<ir::QuantizeLinear>();
  if (op.parameters.scales.size() != 1) return refuse("several scales");
  if (ir::size_bytes(op.element) != 1) return refuse("the output is not 8-bit codes");
  return accept("one scale");
}

Kernel create_quantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const auto& op = context.op<ir::QuantizeLinear>();
  return code_kernel([op, count](const std::byte* x, std::byte* y) {
    const auto* numbers = reinterpret_cast<const float*>(x);
    if (op.element == ir::ElementType::kInt8) {
      quantize(op, numbers, count, reinterpret_cast<std::int8_t*>(y));
    } else {
      quantize(op, numbers, count, reinterpret_cast<std::uint8_t*>(y));
    }
  });
}

}  // namespace

constinit const Implementation kQuantizeCodes{
    .name = "codes", .judge = judge_quantize, .create = create_quantize};

}  // namespace halftone::runtime
