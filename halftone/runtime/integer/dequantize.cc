// SPDX-License-Identifier: Apache-2.0
// Codes to float32.
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

/// With one scale, vectors of codes.
void dequantize_codes(std::span<const std::int8_t> q, kernels::CodeScale scale,
                      std::span<float> x) {
  kernels::dequantize_linear(q, scale, x);
}
void dequantize_codes(std::span<const std::uint8_t> q, kernels::CodeScale scale,
                      std::span<float> x) {
  kernels::dequantize_linear(q, scale, x);
}
void dequantize_codes(std::span<const std::int32_t> q, kernels::CodeScale scale,
                      std::span<float> x) {
  for (std::size_t i = 0; i < q.size(); ++i) {
    x[i] = scale.scale * static_cast<float>(std::int64_t{q[i]} - scale.zero_point);
  }
}

template <typename Code>
void dequantize(const ir::AffineParameters& parameters, const std::byte* codes, std::size_t count,
                float* x) {
  const auto* q = reinterpret_cast<const Code*>(codes);
  const std::size_t cols = parameters.scales.size();
  if (cols == 1) {
    return dequantize_codes({q, count}, {parameters.scales[0], parameters.zero_points[0]},
                            {x, count});
  }
  for (std::size_t first = 0; first < count; first += cols) {
    for (std::size_t o = 0; o < cols; ++o) {
      const std::int64_t steps = std::int64_t{q[first + o]} - parameters.zero_points[o];
      x[first + o] = parameters.scales[o] * static_cast<float>(steps);
    }
  }
}

Verdict judge_dequantize(const NodeContext& context) {
  const auto& parameters = context.op<ir::DequantizeLinear>().parameters;
  const ir::ElementType element = context.input(0).encoding.element;
  if (ir::size_bytes(element) != 1 && element != ir::ElementType::kInt32) {
    return refuse("codes of 16 or 64 bits");
  }
  if (parameters.scales.size() == 1) return accept("one scale");
  if (parameters.axis + 1 != context.input(0).shape.rank()) return refuse("not the last axis");
  return accept("scales of the last axis");
}

Kernel create_dequantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const ir::ElementType element = context.input(0).encoding.element;
  const auto& op = context.op<ir::DequantizeLinear>();
  return code_kernel(
      [parameters = op.parameters, count, element](const std::byte* x, std::byte* y) {
        auto* numbers = reinterpret_cast<float*>(y);
        if (element == ir::ElementType::kInt8) {
          dequantize<std::int8_t>(parameters, x, count, numbers);
        } else if (element == ir::ElementType::kUint8) {
          dequantize<std::uint8_t>(parameters, x, count, numbers);
        } else {
          dequantize<std::int32_t>(parameters, x, count, numbers);
        }
      });
}

}  // namespace

constinit const Implementation kDequantizeCodes{
    .name = "numbers", .judge = judge_dequantize, .create = create_dequantize};

}  // namespace halftone::runtime
