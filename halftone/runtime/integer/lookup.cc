// SPDX-License-Identifier: Apache-2.0
// Codes looked up in a table.
#include <array>

#include "halftone/runtime/integer/code_kernel.h"
#include "halftone/runtime/integer/integer.h"

namespace halftone::runtime {
namespace {

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

constinit const Implementation kLookupTable{
    .name = "table", .judge = judge_lookup, .create = create_lookup};

}  // namespace halftone::runtime
