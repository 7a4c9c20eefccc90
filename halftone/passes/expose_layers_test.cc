// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/extent.h"
#include "halftone/ir/verify.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::MatMul;
using ir::Shape;
using ir::ValueId;
using testing::ElementsAre;

bool expose_all(Graph& graph) {
  return expose_layers(graph, [](const ir::Node&) { return true; });
}

/// The product of an input and a constant.
Graph product(const MatMul& op, const Shape& x, const Shape& constant, bool constant_left) {
  Graph graph;
  const ValueId input = graph.add_input("x", ir::test::float_type(x));
  const ValueId w = graph.add_constant("w", test::random_tensor(constant, 3));
  graph.add_output(constant_left ? graph.add_node("y", op, {w, input})
                                 : graph.add_node("y", op, {input, w}));
  return graph;
}

std::size_t count(const Graph& graph, const std::string& op) {
  const auto all = test::operators(graph);
  return static_cast<std::size_t>(std::ranges::count(all, op));
}

struct LayerCase {
  MatMul op;
  Shape x;
  Shape constant;
  bool constant_left;
  std::string layer;
};

TEST(ExposeLayers, AcceptsEveryPositionOfTheConstant) {
  const std::vector<LayerCase> cases = {
      // The constant on the left.
      {{}, {kBatch, 3, 5}, {4, 3}, true, "FullyConnected"},
      {{}, {3, 5}, {4, 3}, true, "FullyConnected"},
      {{}, {3}, {4, 3}, true, "FullyConnected"},
      {{true, false}, {kBatch, 3, 5}, {3, 4}, true, "FullyConnected"},
      {{false, true}, {kBatch, 5, 3}, {4, 3}, true, "FullyConnected"},
      {{true, true}, {kBatch, 2, 5, 3}, {3, 4}, true, "FullyConnected"},
      // The other operand transposed.
      {{true, false}, {kBatch, 3, 5}, {3, 4}, false, "FullyConnected"},
      {{true, true}, {kBatch, 3, 5}, {4, 3}, false, "FullyConnected"},
      // Vectors.
      {{}, {kBatch, 5, 3}, {3}, false, "FullyConnected"},
      {{}, {kBatch, 3}, {3}, false, "FullyConnected"},
      {{}, {kBatch, 3, 5}, {3}, true, "FullyConnected"},
      // One matrix per head.
      {{}, {kBatch, 4, 5, 3}, {4, 3, 6}, false, "Conv"},
      {{}, {kBatch, 4, 5, 3}, {1, 4, 3, 6}, false, "Conv"},
      {{}, {4, 5, 3}, {4, 3, 6}, false, "Conv"},
      {{true, true}, {kBatch, 4, 3, 5}, {4, 6, 3}, false, "Conv"},
      {{}, {kBatch, 4, 3, 5}, {4, 6, 3}, true, "Conv"},
      {{true, true}, {kBatch, 4, 5, 3}, {4, 3, 6}, true, "Conv"},
      // All heads read the same input.
      {{}, {kBatch, 1, 5, 3}, {4, 3, 6}, false, "FullyConnected"},
      {{}, {5, 3}, {4, 3, 6}, false, "FullyConnected"},
      {{}, {kBatch, 1, 3, 5}, {4, 6, 3}, true, "FullyConnected"},
      {{}, {5, 3}, {1, 3, 6}, false, "FullyConnected"},
      {{}, {kBatch, 2, 5, 3}, {1, 1, 3, 6}, false, "FullyConnected"},
  };
  for (const LayerCase& each : cases) {
    Graph graph = product(each.op, each.x, each.constant, each.constant_left);
    const std::string what = each.x.to_string() + " and " + each.constant.to_string() +
                             (each.constant_left ? ", constant left " : " ") +
                             attributes_of(each.op);
    EXPECT_TRUE(test::run_checked(graph, expose_all)) << what;
    EXPECT_EQ(count(graph, each.layer), 1U) << what;
    EXPECT_EQ(count(graph, "MatMul"), 0U) << what;
    for (const ir::NodeId id : graph.topological_order()) {
      const ir::Node& node = graph.node(id);
      EXPECT_EQ(node.name == "y", name_of(node.op) == each.layer) << what;
    }
    EXPECT_FALSE(test::run_checked(graph, expose_all)) << what;
  }
}

// A grouped Einsum with the batch among the rows, as in DeepFilterNet: "btgi,gih->btgh".
TEST(ExposeLayers, GivesConvolutionsTheBatchFirst) {
  Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 20, 4, 3}));
  const ValueId groups = graph.add_node("groups", ir::Transpose{{2, 0, 1, 3}}, {x});
  const ValueId rows = graph.add_node("rows", ir::Reshape{{4, 20 * kBatch, 3}}, {groups});
  const ValueId w = graph.add_constant("w", test::random_tensor({4, 3, 6}, 3));
  const ValueId y = graph.add_node("y", MatMul{}, {rows, w});
  graph.add_output(graph.add_node("out", ir::Reshape{{4, kBatch, 20, 6}}, {y}));
  EXPECT_TRUE(test::run_checked(graph, expose_all));
  EXPECT_EQ(count(graph, "Conv"), 1U);
}

TEST(ExposeLayers, TakesRowsThatTheNetworkCounts) {
  const ir::Dim rows = ir::dim_of(ir::Extent::symbol("#rows"));
  Graph graph = product({}, {4, rows, 3}, {4, 3, 6}, false);
  EXPECT_TRUE(expose_all(graph));
  ir::verify(graph);
  EXPECT_EQ(count(graph, "Conv"), 1U);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{4, rows, 6}));
}

TEST(ExposeLayers, KeepsOtherProducts) {
  Graph unwanted = product({}, {kBatch, 3, 5}, {4, 3}, true);
  EXPECT_FALSE(expose_layers(unwanted, [](const ir::Node& node) { return node.name != "y"; }));
  Graph two_axes = product({}, {2, 4, 5, 3}, {2, 4, 3, 6}, false);
  EXPECT_FALSE(test::run_checked(two_axes, expose_all));
  Graph other_heads = product({}, {1, 5, 3}, {1, 4, 3, 6}, false);
  EXPECT_FALSE(test::run_checked(other_heads, expose_all));
  Graph computed;
  const ValueId x = computed.add_input("x", ir::test::float_type({3, 3}));
  computed.add_output(computed.add_node("y", MatMul{}, {x, x}));
  EXPECT_FALSE(test::run_checked(computed, expose_all));
}

TEST(ExposeLayers, CancelsTheTransposesOfSplitHeads) {
  // Heads as networks split them: the surrounding transposes cancel.
  Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 5, 12}));
  const ValueId split = graph.add_node("split", ir::Reshape{{kBatch, 5, 4, 3}}, {x});
  const ValueId heads = graph.add_node("heads", ir::Transpose{{0, 2, 1, 3}}, {split});
  const ValueId w = graph.add_constant("w", test::random_tensor({4, 3, 6}, 3));
  const ValueId y = graph.add_node("y", MatMul{}, {heads, w});
  const ValueId back = graph.add_node("back", ir::Transpose{{0, 2, 1, 3}}, {y});
  graph.add_output(graph.add_node("joined", ir::Reshape{{kBatch, 5, 24}}, {back}));
  EXPECT_TRUE(test::run_checked(graph, [](Graph& g) {
    const bool exposed = expose_all(g);
    simplify(g);
    return exposed;
  }));
  EXPECT_THAT(test::operators(graph), ElementsAre("Conv"));
}

TEST(ExposeLayers, IsSafeOnRandomGraphs) { test::expect_safe_on_random_graphs(expose_all); }

}  // namespace
}  // namespace halftone::passes
