// SPDX-License-Identifier: Apache-2.0
// Between float32 and codes of 8 bits, and from codes to others.
#include <array>
#include <vector>

#include "halftone/kernels/encode/linear_codes.h"
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

/// The table, indexed by the bits of a code.
template <typename Number>
std::array<Number, ir::Lookup::kCodes> table_of(const ir::Lookup& op, ir::ElementType codes) {
  std::array<Number, ir::Lookup::kCodes> table{};
  const auto first = static_cast<std::size_t>(ir::code_range(codes).low) % table.size();
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[(first + i) % table.size()] = static_cast<Number>(op.table[i]);
  }
  return table;
}

Verdict judge_lookup(const NodeContext& /*context*/) { return accept("a table of 256"); }

Kernel create_lookup(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const auto& op = context.op<ir::Lookup>();
  const auto kernel = [&](auto zero) {
    using Number = decltype(zero);
    return code_kernel([table = table_of<Number>(op, context.input(0).encoding.element), count](
                           const std::byte* x, std::byte* y) {
      const auto* codes = reinterpret_cast<const std::uint8_t*>(x);
      auto* numbers = reinterpret_cast<Number*>(y);
      for (std::size_t i = 0; i < count; ++i) numbers[i] = table[codes[i]];
    });
  };
  if (op.element == ir::ElementType::kInt32) return kernel(std::int32_t{});
  return kernel(std::uint8_t{});  // int8 has the same bits
}

}  // namespace

constinit const Implementation kQuantizeCodes{
    .name = "codes", .judge = judge_quantize, .create = create_quantize};

constinit const Implementation kDequantizeCodes{
    .name = "numbers", .judge = judge_dequantize, .create = create_dequantize};

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

constinit const Implementation kLookupTable{
    .name = "table", .judge = judge_lookup, .create = create_lookup};

}  // namespace halftone::runtime
