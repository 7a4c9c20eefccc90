// SPDX-License-Identifier: Apache-2.0
// Functions by type of operator. Each family lists its own, so that a new operator is added where
// its family is, and nowhere else.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <variant>

#include "halftone/ir/operator.h"

namespace halftone::ir {

/// The index of a type among the alternatives of Operator.
template <typename Op>
constexpr std::size_t operator_index() {
  constexpr auto kIndex = []<typename... Ops>(std::type_identity<std::variant<Ops...>> /*types*/) {
    const std::array same = {std::is_same_v<Op, Ops>...};
    return static_cast<std::size_t>(std::ranges::find(same, true) - same.begin());
  }(std::type_identity<Operator>());
  static_assert(kIndex < std::variant_size_v<Operator>, "no operator of the graph");
  return kIndex;
}

/// What a table holds for one type of operator.
/// @tparam Function  a pointer to a function, or a few of them
template <typename Function>
struct OperatorEntry {
  std::size_t op;  ///< operator_index()
  Function function;
};

template <typename Function>
class OperatorTable {
 public:
  using Family = std::span<const OperatorEntry<Function>>;

  /// @pre no operator is in two families
  OperatorTable(std::initializer_list<Family> families) {
    for (const Family& family : families) {
      for (const OperatorEntry<Function>& entry : family) functions_[entry.op] = entry.function;
    }
  }

  /// The function of an operator; null if no family has it.
  Function operator[](const Operator& op) const { return functions_[op.index()]; }

 private:
  std::array<Function, std::variant_size_v<Operator>> functions_{};
};

}  // namespace halftone::ir
