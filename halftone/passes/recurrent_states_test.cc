// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/verify.h"
#include "halftone/passes/prepare_fit.h"

namespace halftone::passes {
namespace {

using ir::kBatch;
using ir::Recurrent;
using ir::RecurrentKind;
using ir::Tensor;
using ir::ValueId;
using ir::test::expect_error;

constexpr ir::Dim kSize = 3;

struct Layer {
  Recurrent op;
  ir::Dim steps = 4;

  [[nodiscard]] ir::Graph graph() const {
    Random random(4);
    const auto gates = static_cast<ir::Dim>(num_gates(op.kind)) * kSize;
    ir::Graph graph;
    const ir::Shape shape =
        op.batch_major ? ir::Shape{2, steps, gates} : ir::Shape{steps, 2, gates};
    const ValueId x = graph.add_input("x", ir::test::float_type(shape));
    const ValueId w =
        graph.add_constant("w", ir::test::uniform_tensor({gates, kSize}, random, -1, 1));
    graph.add_output(graph.add_node("layer", op, {x, w}, "y"));
    return graph;
  }
};

/// Steps [first, first + count) of x.
Tensor steps(const Tensor& x, std::size_t axis, std::size_t first, std::size_t count) {
  return ir::test::evaluate(ir::Slice{axis, first, 1, count}, x.clone());
}

void expect_same_in_parts(const Recurrent& op, std::size_t num_states) {
  Random random(9);
  const std::size_t time = 1 - batch_axis(op);
  const ir::Graph whole = Layer{op, 4}.graph();
  ir::Graph part = Layer{op, 2}.graph();
  ASSERT_EQ(keep_recurrent_states(part), num_states);
  EXPECT_NO_THROW(ir::verify(part));
  EXPECT_EQ(part.value(part.outputs()[0]).name, "y");
  const Tensor x =
      ir::test::uniform_tensor(whole.value(whole.inputs()[0]).type.shape, random, -1, 1);
  const Tensor expected = ir::evaluate_graph(whole, ir::test::list(x.clone()))[0].clone();
  std::vector<Tensor> states;
  for (const ir::State& state : part.states()) {
    states.emplace_back(ir::ElementType::kFloat32, part.value(state.before).type.shape);
  }
  for (const std::size_t first : {0U, 2U}) {
    std::vector<Tensor> inputs = ir::test::list(steps(x, time, first, 2));
    for (const Tensor& state : states) inputs.push_back(state.clone());
    std::vector<Tensor> outputs = ir::evaluate_graph(part, inputs);
    EXPECT_EQ(ir::test::elements<float>(outputs[0]),
              ir::test::elements<float>(steps(expected, time, first, 2)));
    states.clear();
    for (std::size_t i = 1; i < outputs.size(); ++i) states.push_back(outputs[i].clone());
  }
}

TEST(RecurrentStates, GoOnWhereTheLastRunEnded) {
  for (const auto kind : {RecurrentKind::kRnn, RecurrentKind::kGru, RecurrentKind::kLstm}) {
    for (const bool batch_major : {false, true}) {
      Recurrent op;
      op.kind = kind;
      op.batch_major = batch_major;
      const bool has_cell = kind == RecurrentKind::kLstm;
      expect_same_in_parts(op, has_cell ? 2 : 1);
      op.with_cell = has_cell;
      if (has_cell) expect_same_in_parts(op, 2);
    }
  }
}

TEST(RecurrentStates, RefuseWhatCannotGoOn) {
  Recurrent op;
  op.reverse = true;
  ir::Graph reversed = Layer{op}.graph();
  expect_error(ErrorKind::kUnsupported,
               "node 'layer' (Recurrent): it reads its sequence backwards, so it cannot go on",
               [&] { keep_recurrent_states(reversed); });
}

TEST(RecurrentCells, AreDroppedWhereNobodyReadsThem) {
  for (const bool reads_cell : {false, true}) {
    Recurrent op;
    op.with_cell = true;
    ir::Graph graph = Layer{op}.graph();
    const ValueId y = graph.outputs()[0];
    const auto half = [&](const char* name, ValueId from, std::size_t first) {
      return graph.add_node(name, ir::Slice{2, first, 1, kSize}, {from});
    };
    const ValueId last = graph.add_node("last", ir::Slice{0, 3, 1, 1}, {y});
    std::vector<ValueId> outputs = {half("h", y, 0), half("last h", last, 0)};
    if (reads_cell) outputs.push_back(half("last c", last, kSize));
    graph.set_outputs(outputs);
    const ir::Graph before = graph;
    EXPECT_EQ(drop_unused_cells(graph), !reads_cell);
    EXPECT_NO_THROW(ir::verify(graph));
    EXPECT_EQ(graph.value(graph.outputs()[0]).name, "h");
    EXPECT_EQ(graph.value(graph.outputs()[1]).name, "last h");
    ir::test::expect_same_function(graph, before);
  }
}

}  // namespace
}  // namespace halftone::passes
