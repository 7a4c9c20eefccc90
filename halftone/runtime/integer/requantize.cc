// SPDX-License-Identifier: Apache-2.0
// Conversions between float32 or int32 and 8-bit codes, element by element. Adding and subtracting
// a constant so large that no fraction bits remain rounds ties to even.
#include "halftone/kernels/encode/requantize.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Exceeds every code, and is small enough for this rounding.
constexpr double kFar = 1e9;
constexpr double kRoundDouble = 6755399441055744.0;  // 1.5 * 2^52
constexpr float kFarFloat = 1e6F;
constexpr float kRoundFloat = 12582912.0F;  // 1.5 * 2^23

/// NaN stays NaN.
template <typename Number>
Number bounded(Number x, Number low, Number high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

template <typename Code>
void requantize(const ir::Requantize& op, const std::int32_t* x, std::size_t count, Code* q) {
  const std::size_t cols = op.multipliers.size();
  const auto zero_point = static_cast<double>(op.zero_point);
  const auto low = static_cast<double>(op.low);
  const auto high = static_cast<double>(op.high);
  const auto code = [&](std::int32_t sum, double multiplier) {
    const double scaled = bounded(static_cast<double>(sum) * multiplier, -kFar, kFar);
    const double rounded = (scaled + kRoundDouble) - kRoundDouble;
    return static_cast<Code>(static_cast<std::int32_t>(bounded(rounded + zero_point, low, high)));
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

template <typename Code>
void dequantize(const ir::AffineParameters& parameters, const std::byte* codes, std::size_t count,
                float* x) {
  const auto* q = reinterpret_cast<const Code*>(codes);
  const std::size_t cols = parameters.scales.size();
  const auto number = [&](Code code, std::size_t o) {
    return parameters.scales[o] *
           static_cast<float>(std::int64_t{code} - parameters.zero_points[o]);
  };
  if (cols == 1) {
    for (std::size_t i = 0; i < count; ++i) x[i] = number(q[i], 0);
    return;
  }
  for (std::size_t first = 0; first < count; first += cols) {
    for (std::size_t o = 0; o < cols; ++o) x[first + o] = number(q[first + o], o);
  }
}

/// The kernel of an elementwise operator; its body takes the memory of input and output.
template <typename Body>
Kernel element_wise(Body body) {
  Kernel kernel;
  kernel.bind =
      [body = std::make_shared<const Body>(std::move(body))](const Buffers& buffers) -> Call {
    return [body, x = buffers.inputs[0], y = buffers.output] { (*body)(x, y); };
  };
  return kernel;
}

Verdict judge_requantize(const NodeContext& context) {
  const bool once = context.op<ir::Requantize>().rounding == ir::CodeRounding::kHalfEven;
  return once ? accept("to 8 bits") : refuse("rounds twice");
}

Kernel create_requantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  return element_wise([op = context.op<ir::Requantize>(), count](const std::byte* x, std::byte* y) {
    const auto* sums = reinterpret_cast<const std::int32_t*>(x);
    if (op.element == ir::ElementType::kInt8) {
      requantize(op, sums, count, reinterpret_cast<std::int8_t*>(y));
    } else {
      requantize(op, sums, count, reinterpret_cast<std::uint8_t*>(y));
    }
  });
}

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
  return element_wise([how, count, element = op.element](const std::byte* x, std::byte* y) {
    const std::span sums(reinterpret_cast<const std::int32_t*>(x), count);
    if (element == ir::ElementType::kInt8) {
      kernels::requantize(sums, how, std::span(reinterpret_cast<std::int8_t*>(y), count));
    } else {
      kernels::requantize(sums, how, std::span(reinterpret_cast<std::uint8_t*>(y), count));
    }
  });
}

Verdict judge_lookup(const NodeContext& /*context*/) { return accept("a table of 256"); }

Kernel create_lookup(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const auto& op = context.op<ir::Lookup>();
  const auto kernel = [&](auto zero) {
    using Number = decltype(zero);
    return element_wise([table = table_of<Number>(op, context.input(0).encoding.element), count](
                            const std::byte* x, std::byte* y) {
      const auto* codes = reinterpret_cast<const std::uint8_t*>(x);
      auto* numbers = reinterpret_cast<Number*>(y);
      for (std::size_t i = 0; i < count; ++i) numbers[i] = table[codes[i]];
    });
  };
  if (op.element == ir::ElementType::kInt32) return kernel(std::int32_t{});
  return kernel(std::uint8_t{});  // int8 has the same bits
}

Verdict judge_quantize(const NodeContext& context) {
  const auto& op = context.op<ir::QuantizeLinear>();
  if (op.parameters.scales.size() != 1) return refuse("several scales");
  if (op.element == ir::ElementType::kInt32) return refuse("the output is not 8-bit codes");
  return accept("one scale");
}

Kernel create_quantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const auto& op = context.op<ir::QuantizeLinear>();
  return element_wise([op, count](const std::byte* x, std::byte* y) {
    const auto* numbers = reinterpret_cast<const float*>(x);
    if (op.element == ir::ElementType::kInt8) {
      quantize(op, numbers, count, reinterpret_cast<std::int8_t*>(y));
    } else {
      quantize(op, numbers, count, reinterpret_cast<std::uint8_t*>(y));
    }
  });
}

Verdict judge_dequantize(const NodeContext& context) {
  const auto& parameters = context.op<ir::DequantizeLinear>().parameters;
  if (parameters.scales.size() == 1) return accept("one scale");
  if (parameters.axis + 1 != context.input(0).shape.rank()) return refuse("not the last axis");
  return accept("scales of the last axis");
}

Kernel create_dequantize(const NodeContext& context) {
  const std::size_t count = context.output().shape.element_count();
  const ir::ElementType element = context.input(0).encoding.element;
  const auto& op = context.op<ir::DequantizeLinear>();
  return element_wise(
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

constinit const Implementation kRequantizeOnce{
    .name = "codes", .judge = judge_requantize, .create = create_requantize};
constinit const Implementation kRequantizeTwice{
    .name = "codes_fixed", .judge = judge_requantize_fixed, .create = create_requantize_fixed};
constinit const Implementation kLookupTable{
    .name = "table", .judge = judge_lookup, .create = create_lookup};
constinit const Implementation kQuantizeCodes{
    .name = "codes", .judge = judge_quantize, .create = create_quantize};
constinit const Implementation kDequantizeCodes{
    .name = "numbers", .judge = judge_dequantize, .create = create_dequantize};

}  // namespace halftone::runtime
