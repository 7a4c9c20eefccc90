// SPDX-License-Identifier: Apache-2.0
// Operators of two operands of 8 bits.
#include <memory>
#include <numeric>
#include <optional>
#include <span>

#include "halftone/ir/ops/activation.h"
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

std::optional<kernels::PairKind> pair_kind(ir::BinaryKind kind) {
  if (kind == ir::BinaryKind::kAdd) return kernels::PairKind::kSum;
  if (kind == ir::BinaryKind::kSub) return kernels::PairKind::kDifference;
  if (kind == ir::BinaryKind::kMul) return kernels::PairKind::kProduct;
  return std::nullopt;
}

kernels::CodeScale scale_of(const ir::AffineParameters& parameters) {
  return {parameters.scales[0], parameters.zero_points[0]};
}

/// The elements of an operand in a row: all, or the one that repeats.
template <typename Code>
std::span<const Code> row_of(const Code* operand, const Walk& walk, const Rows& rows,
                             std::size_t row) {
  return {operand + row * walk.row_step, walk.step == 0 ? 1 : rows.cols};
}

template <typename Code>
void combine(const Broadcast& shape, const kernels::FloatPair& how, const Buffers& buffers) {
  const auto body = [&](const Rows& rows, const Code* a, const Code* b, Code* y) {
    for (std::size_t row = 0; row < rows.rows; ++row) {
      kernels::combine_codes(row_of(a, rows.a, rows, row), row_of(b, rows.b, rows, row), how,
                             std::span<Code>(y + row * rows.cols, rows.cols));
    }
  };
  shape.for_rows(reinterpret_cast<const Code*>(buffers.inputs[0]),
                 reinterpret_cast<const Code*>(buffers.inputs[1]),
                 reinterpret_cast<Code*>(buffers.output), body);
}

constexpr std::size_t kCodes = ir::Lookup::kCodes;

/// What a Lookup gives for all codes, ordered by their bits.
ir::Tensor integers_by_bits(const ir::Lookup& lookup, ir::ElementType codes,
                            const ir::Shape& shape) {
  ir::Tensor all(codes, shape);
  auto* bits = reinterpret_cast<std::uint8_t*>(all.bytes().data());
  std::iota(bits, bits + kCodes, std::uint8_t{0});
  return ir::evaluate_operator(lookup, std::vector<const ir::Tensor*>{&all});
}

using Bytes = const std::uint8_t*;

/// Codes at a constant step; 0 for one that repeats.
struct Codes {
  Bytes first;
  std::size_t step;
};

/// @param table  [kCodes][kCodes]
/// @param y      a row, apart from all others: bytes would alias them
void look_up_row(Bytes table, const Codes a, const Codes b, std::span<std::uint8_t> y) {
  std::uint8_t* __restrict to = y.data();
  const std::size_t n = y.size();
  if (a.step == 1 && b.step == 1) {
    for (std::size_t i = 0; i < n; ++i) to[i] = table[a.first[i] * kCodes + b.first[i]];
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    to[i] = table[a.first[i * a.step] * kCodes + b.first[i * b.step]];
  }
}

void look_up(Bytes table, const Broadcast& shape, const Buffers& buffers) {
  const auto body = [table](const Rows& rows, Bytes a, Bytes b, std::uint8_t* y) {
    for (std::size_t row = 0; row < rows.rows; ++row) {
      look_up_row(table, {a + row * rows.a.row_step, rows.a.step},
                  {b + row * rows.b.row_step, rows.b.step}, {y + row * rows.cols, rows.cols});
    }
  };
  shape.for_rows(reinterpret_cast<Bytes>(buffers.inputs[0]),
                 reinterpret_cast<Bytes>(buffers.inputs[1]),
                 reinterpret_cast<std::uint8_t*>(buffers.output), body);
}

}  // namespace

ir::Tensor pair_results(const NodeContext& context) {
  const FusedCodes& fused = *context.fused;
  const auto codes = [&](std::size_t i) {
    const ir::Node& lookup = context.graph.node(*context.graph.producer(context.node.inputs[i]));
    return context.graph.value(lookup.inputs[0]).type.encoding.element;
  };
  const ir::Tensor a = integers_by_bits(*fused.a_integers, codes(0), {kCodes, 1});
  const ir::Tensor b = integers_by_bits(*fused.b_integers, codes(1), {1, kCodes});
  const ir::Tensor sums =
      ir::evaluate_operator(context.node.op, std::vector<const ir::Tensor*>{&a, &b});
  return ir::evaluate_operator(*fused.requantize, std::vector<const ir::Tensor*>{&sums});
}

bool takes_pairs(const ir::Binary& op) {
  return pair_kind(op.kind).has_value() && ir::limits_of(op.activation).has_value();
}

kernels::FloatPair float_pair(const NodeContext& context) {
  const auto& op = context.op<ir::Binary>();
  const ir::QuantizeLinear& quantize = *context.fused->quantize;
  const auto [low, high] = ir::code_range(quantize.element);
  const ir::Limits limits = *ir::limits_of(op.activation);
  return {*pair_kind(op.kind),
          scale_of(context.fused->a->parameters),
          scale_of(context.fused->b->parameters),
          limits.low,
          limits.high,
          {quantize.parameters.scales[0],
           {quantize.parameters.zero_points[0], low, high},
           quantize.rounding == ir::CodeRounding::kHalfAway}};
}

Kernel create_binary_codes(const NodeContext& context) {
  Kernel kernel;
  kernel.bind = [how = float_pair(context), shape = find_broadcast(context),
                 is_signed = context.fused->quantize->element ==
                             ir::ElementType::kInt8](const Buffers& buffers) -> Call {
    return [how, shape, is_signed, buffers] {
      if (is_signed) return combine<std::int8_t>(shape, how, buffers);
      combine<std::uint8_t>(shape, how, buffers);
    };
  };
  return kernel;
}

Kernel create_pair_table(const NodeContext& context) {
  Kernel kernel;
  const auto results = std::make_shared<const ir::Tensor>(pair_results(context));
  kernel.packed_bytes = results->bytes().size();
  kernel.bind = [results, shape = find_broadcast(context)](const Buffers& buffers) -> Call {
    return [results, shape, buffers] {
      look_up(reinterpret_cast<Bytes>(results->bytes().data()), shape, buffers);
    };
  };
  return kernel;
}

}  // namespace halftone::runtime
