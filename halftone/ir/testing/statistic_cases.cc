// SPDX-License-Identifier: Apache-2.0
// Reductions and normalizations.
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

std::vector<OperatorCase> reduce_cases() {
  std::vector<OperatorCase> cases;
  for (std::size_t i = 0; i <= static_cast<std::size_t>(ReduceKind::kLogSumExp); ++i) {
    const auto kind = static_cast<ReduceKind>(i);
    const std::string name = "Reduce" + std::string(to_string(kind));
    const Domain domain = kind == ReduceKind::kLogSum ? Domain::kPositive : Domain::kAnywhere;
    for (const bool keep : {false, true}) {
      const std::string suffix = keep ? "Kept" : "";
      const auto add = [&](const std::string& axes, std::vector<std::size_t> list, Shape x) {
        cases.push_back({name + axes + suffix,
                         Reduce{kind, std::move(list), keep},
                         {numbers_input(std::move(x), domain)}});
      };
      add("Middle", {1}, {kBatch, 3, 2});
      add("Last", {2}, {kBatch, 3, 4});
      add("Two", {1, 2}, {kBatch, 3, 2});
      add("Outer", {0, 2}, {2, 3, 2});
      add("None", {}, {kBatch, 3});
      add("Nothing", {1}, {kBatch, 0, 3});
    }
    cases.push_back({name + "int32",
                     Reduce{kind, {1}, true},
                     {integers_input(ElementType::kInt32, {kBatch, 4})}});
  }
  for (const bool largest : {false, true}) {
    const std::string name = largest ? "Largest" : "Smallest";
    cases.push_back(
        {"ArgReduce" + name, ArgReduce{1, largest, false, true}, {numbers_input({kBatch, 4, 2})}});
    cases.push_back({"ArgReduceLast" + name,
                     ArgReduce{1, largest, true, false},
                     {integers_input(ElementType::kInt8, {kBatch, 4})}});
    cases.push_back({"TopK" + name, TopK{1, 2, largest}, {numbers_input({kBatch, 4, 2})}});
  }
  return cases;
}

std::vector<OperatorCase> cumulated_cases() {
  std::vector<OperatorCase> cases;
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const std::string name =
          std::string("CumSum") + (exclusive ? "Exclusive" : "") + (reverse ? "Reverse" : "");
      const CumSum op{1, exclusive, reverse};
      cases.push_back({name, op, {numbers_input({kBatch, 4, 3})}});
      cases.push_back({name + "int64", op, {integers_input(ElementType::kInt64, {kBatch, 4})}});
    }
  }
  return cases;
}

std::vector<OperatorCase> normalize_cases() {
  return {
      {"Softmax", Softmax{1}, {numbers_input({kBatch, 10})}},
      {"SoftmaxDeep", Softmax{2}, {numbers_input({kBatch, 4, 33})}},
      {"SoftmaxMiddle", Softmax{1, 2.0F, false}, {numbers_input({kBatch, 4, 3})}},
      {"SoftmaxNegative", Softmax{1, -0.5F, false}, {numbers_input({kBatch, 4, 3})}},
      {"SoftmaxLog", Softmax{1, 1.0F, true}, {numbers_input({kBatch, 10})}},
      {"SoftmaxLogMiddle", Softmax{1, 0.5F, true}, {numbers_input({kBatch, 3, 2})}},
      {"Normalize", Normalize{{2}}, {numbers_input({kBatch, 3, 5})}},
      {"NormalizeMiddle", Normalize{{1}, 0.1F, true}, {numbers_input({kBatch, 4, 2})}},
      {"NormalizeAroundZero", Normalize{{1, 2}, 0.1F, false}, {numbers_input({kBatch, 3, 2})}},
      {"NormalizeNoAxes", Normalize{{}, 0.1F, false}, {numbers_input({kBatch, 3})}},
      {"LocalNormalize", LocalNormalize{1, 1, 2, 0.3F, 0.75F, 2}, {numbers_input({kBatch, 6, 2})}},
      {"LocalNormalizeBefore",
       LocalNormalize{2, 9, 0, 0.3F, 0.5F, 1},
       {numbers_input({kBatch, 2, 4})}},
  };
}

}  // namespace

std::vector<OperatorCase> statistic_cases() {
  std::vector<OperatorCase> cases = reduce_cases();
  for (const auto& family : {cumulated_cases(), normalize_cases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

}  // namespace halftone::ir::test
