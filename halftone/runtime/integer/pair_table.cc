// SPDX-License-Identifier: Apache-2.0
// Sums, differences and products of integers of codes: looked up, for both codes at once.
#include <memory>
#include <numeric>
#include <span>

#include "halftone/runtime/elementwise/broadcast.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

constexpr std::size_t kCodes = ir::Lookup::kCodes;

/// What a Lookup gives for all codes, ordered by their bits.
ir::Tensor integers_by_bits(const ir::Lookup& lookup, ir::ElementType codes,
                            const ir::Shape& shape) {
  ir::Tensor all(codes, shape);
  auto* bits = reinterpret_cast<std::uint8_t*>(all.bytes().data());
  std::iota(bits, bits + kCodes, std::uint8_t{0});
  return ir::evaluate_operator(lookup, std::vector<const ir::Tensor*>{&all});
}

/// The results for all pairs: row a, column b.
ir::Tensor results_of(const NodeContext& context) {
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
  for_broadcast_rows(shape, reinterpret_cast<Bytes>(buffers.inputs[0]),
                     reinterpret_cast<Bytes>(buffers.inputs[1]),
                     reinterpret_cast<std::uint8_t*>(buffers.output), body);
}

}  // namespace

Kernel create_pair_table(const NodeContext& context) {
  Kernel kernel;
  const auto results = std::make_shared<const ir::Tensor>(results_of(context));
  kernel.packed_bytes = results->bytes().size();
  kernel.bind = [results, shape = find_broadcast(context)](const Buffers& buffers) -> Call {
    return [results, shape, buffers] {
      look_up(reinterpret_cast<Bytes>(results->bytes().data()), shape, buffers);
    };
  };
  return kernel;
}

}  // namespace halftone::runtime
