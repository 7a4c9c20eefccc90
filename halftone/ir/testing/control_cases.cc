// SPDX-License-Identifier: Apache-2.0
// Loops and their results.
#include <memory>
#include <utility>

#include "halftone/ir/graph.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::ir::test {
namespace {

/// s' = s + c x[t]; stacks the states.
std::shared_ptr<const Graph> summing_body(bool is_while) {
  auto body = std::make_shared<Graph>();
  const auto floats = [](Shape shape) {
    return dense_type(ElementType::kFloat32, std::move(shape));
  };
  const ValueId t = body->add_input("t", dense_type(ElementType::kInt64, Shape{}));
  const ValueId s = body->add_input("s", floats({kBatch, 3}));
  const Binary add{BinaryKind::kAdd, {}};
  const Binary multiply{BinaryKind::kMul, {}};
  if (is_while) {
    const ValueId c = body->add_input("c", floats({3}));
    const std::int64_t last = 4;
    const ValueId end = body->add_constant("end", Tensor::from<std::int64_t>({}, {&last, 1}));
    body->add_output(body->add_node("go", Binary{BinaryKind::kLess, {}}, {t, end}));
    body->add_output(body->add_node("sum", add, {s, c}));
    return body;
  }
  const ValueId x = body->add_input("x", floats({kBatch, 3}));
  const ValueId c = body->add_input("c", floats({3}));
  const ValueId sum = body->add_node("sum", add, {s, body->add_node("product", multiply, {x, c})});
  body->add_output(sum);
  body->add_output(sum);
  return body;
}

}  // namespace

std::vector<OperatorCase> control_cases() {
  const CaseInput yes = integers_input(ElementType::kBool, {}, {1});
  const CaseInput s = numbers_input({kBatch, 3});
  Loop scan{.body = summing_body(false), .trips = 4, .reads = {{1, true}}, .keeps = {true}};
  scan.stacks = {{1, false}};
  const Loop goes_on{.body = summing_body(true), .is_while = true, .keeps = {true}};
  return {
      {"LoopOverSlices",
       scan,
       {yes, absent_input(), s, numbers_input({kBatch, 4, 3}), numbers_input({3})}},
      {"LoopWhile", goes_on, {yes, absent_input(), s, numbers_input({3})}},
      {"LoopLimited",
       goes_on,
       {yes, integers_input(ElementType::kInt64, {1}, {2}), s, numbers_input({3})}},
      {"LoopResult",
       LoopResult{ElementType::kFloat32, {2}, 4},
       {integers_input(ElementType::kUint8, {12}, {1, 2, 3, 4, 0, 0, 128, 63, 0, 0, 0, 64})}},
  };
}

}  // namespace halftone::ir::test
