// SPDX-License-Identifier: Apache-2.0
// The table of cases is complete, and the reference implementation computes each of them.
#include "halftone/ir/testing/operator_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "halftone/ir/testing.h"

namespace halftone::ir::test {
namespace {

template <std::size_t... indices>
std::vector<std::string_view> all_names(std::index_sequence<indices...> /*all*/) {
  return {std::variant_alternative_t<indices, Operator>::kName...};
}

TEST(OperatorCases, HaveEveryOperator) {
  std::set<std::size_t> found;
  for (const OperatorCase& test : operator_cases()) found.insert(test.op.index());
  constexpr std::size_t kCount = std::variant_size_v<Operator>;
  const auto names = all_names(std::make_index_sequence<kCount>());
  for (std::size_t i = 0; i < kCount; ++i) {
    EXPECT_TRUE(found.contains(i)) << names[i] << " has no case in ir/testing";
  }
}

TEST(OperatorCases, HaveEveryKind) {
  std::set<std::string_view> found;
  for (const OperatorCase& test : operator_cases()) {
    found.insert(name_of(test.op));
    if (const auto* reduce = std::get_if<Reduce>(&test.op)) found.insert(to_string(reduce->kind));
  }
  for (const ActivationTraits& traits : activation_table()) {
    EXPECT_TRUE(found.contains(traits.name)) << traits.name;
  }
  for (const BinaryTraits& traits : binary_table()) {
    EXPECT_TRUE(found.contains(traits.name)) << traits.name;
  }
  for (int i = 0; to_string(static_cast<ReduceKind>(i)) != "unknown"; ++i) {
    EXPECT_TRUE(found.contains(to_string(static_cast<ReduceKind>(i)))) << i;
  }
}

TEST(OperatorCases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const OperatorCase& test : operator_cases()) {
    EXPECT_TRUE(names.insert(test.name).second) << test.name;
    EXPECT_TRUE(std::ranges::all_of(test.name, [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    })) << test.name;
  }
}

TEST(OperatorCases, HaveDefinedResultsOfTheInferredType) {
  std::size_t num_elements = 0;
  for (const OperatorCase& test : operator_cases()) {
    const CaseGraph graph = graph_of(test);
    const CaseGraph symbolic = graph_of(test, {.symbolic = true, .constants = true});
    const ValueType& type = symbolic.graph.value(symbolic.graph.outputs()[0]).type;
    const std::vector<Tensor> y = run_reference(graph.graph, graph.inputs);
    EXPECT_EQ(y[0].shape(), type.shape.with_batch(graph.batch)) << describe(test);
    EXPECT_EQ(y[0].element(), type.encoding.element) << describe(test);
    num_elements += y[0].size();
    // The mean of nothing is no number.
    const bool is_empty =
        std::ranges::any_of(graph.inputs, [](const Tensor& x) { return x.size() == 0; });
    const std::vector<float> values = numbers(y[0]);
    EXPECT_TRUE(is_empty || std::ranges::none_of(values, [](float v) { return std::isnan(v); }))
        << describe(test);
    EXPECT_TRUE(std::isfinite(tolerance_of(graph))) << describe(test);
  }
  EXPECT_GT(num_elements, 2 * operator_cases().size());
}

}  // namespace
}  // namespace halftone::ir::test
