// SPDX-License-Identifier: Apache-2.0
// Sums, differences and products of codes, in float32 between their conversions.
#include <optional>

#include "halftone/ir/ops/activation.h"
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/runtime/elementwise/broadcast.h"
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

kernels::FloatPair pair_of(const NodeContext& context) {
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
  for_broadcast_rows(shape, reinterpret_cast<const Code*>(buffers.inputs[0]),
                     reinterpret_cast<const Code*>(buffers.inputs[1]),
                     reinterpret_cast<Code*>(buffers.output), body);
}

}  // namespace

bool takes_pairs(const ir::Binary& op) {
  return pair_kind(op.kind).has_value() && ir::limits_of(op.activation).has_value();
}

Kernel create_binary_codes(const NodeContext& context) {
  Kernel kernel;
  kernel.bind = [how = pair_of(context), shape = find_broadcast(context),
                 is_signed = context.fused->quantize->element ==
                             ir::ElementType::kInt8](const Buffers& buffers) -> Call {
    return [how, shape, is_signed, buffers] {
      if (is_signed) return combine<std::int8_t>(shape, how, buffers);
      combine<std::uint8_t>(shape, how, buffers);
    };
  };
  return kernel;
}

}  // namespace halftone::runtime
