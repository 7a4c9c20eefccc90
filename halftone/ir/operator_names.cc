// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/operator_names.h"

#include <type_traits>
#include <utility>

#include "halftone/ir/operator.h"

namespace halftone::ir {
namespace {

/// The name of an operator that is not named by its function.
template <typename Op>
void add_name(std::vector<std::string_view>& names) {
  constexpr bool kByFunction =
      std::is_same_v<Op, Unary> || std::is_same_v<Op, Binary> || std::is_same_v<Op, Pool>;
  if constexpr (!kByFunction) names.push_back(Op::kName);
}

template <std::size_t... kIndices>
void add_names(std::index_sequence<kIndices...> /*indices*/, std::vector<std::string_view>& names) {
  (add_name<std::variant_alternative_t<kIndices, Operator>>(names), ...);
}

}  // namespace

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names = {to_string(PoolKind::kMax), to_string(PoolKind::kAverage)};
  for (std::size_t i = 0; i < kNumActivationKinds; ++i) {
    names.push_back(to_string(static_cast<ActivationKind>(i)));
  }
  for (std::size_t i = 0; i < kNumBinaryKinds; ++i) {
    names.push_back(to_string(static_cast<BinaryKind>(i)));
  }
  add_names(std::make_index_sequence<std::variant_size_v<Operator>>(), names);
  return names;
}

}  // namespace halftone::ir
