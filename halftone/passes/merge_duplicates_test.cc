// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using ir::test::floats;
using ir::test::kAdd;
using ir::test::kTanh;
using testing::ElementsAre;

struct Fixture {
  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
  bool run() { return test::run_checked(graph, merge_duplicates); }
};

TEST(MergeDuplicates, EqualEncodesOfAValueBecomeOne) {
  Fixture f;
  for (const std::string name : {"a", "b"}) {
    const ValueId codes = f.graph.add_node(name, ir::Encode{ir::test::odd_encoding()}, {f.x});
    const ValueId w = f.graph.add_constant("w" + name, test::random_tensor({3, 2}, 4));
    f.graph.add_output(f.graph.add_node("dense" + name, ir::FullyConnected{}, {codes, w}));
  }
  EXPECT_TRUE(f.run());
  EXPECT_THAT(test::operators(f.graph), ElementsAre("Encode", "FullyConnected", "FullyConnected"));
  EXPECT_FALSE(f.run());
}

TEST(MergeDuplicates, WholeChainsCollapseInOneRun) {
  Fixture f;
  ValueId a = f.x;
  ValueId b = f.x;
  for (int i = 0; i < 5; ++i) {
    a = f.graph.add_node("a", kTanh, {a});
    b = f.graph.add_node("b", kTanh, {b});
  }
  f.graph.add_output(f.graph.add_node("y", kAdd, {a, b}));
  EXPECT_TRUE(f.run());
  EXPECT_EQ(test::operators(f.graph).size(), 6u);
}

TEST(MergeDuplicates, KeepsNodesThatDiffer) {
  Fixture f;
  const auto other = std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::symmetric_basis(2, 3)));
  const ValueId w = f.graph.add_constant("w", test::random_tensor({2, 2}, 1));
  for (const auto& encoding : {ir::test::odd_encoding(), other}) {
    const ValueId codes = f.graph.add_node("codes", ir::Encode{encoding}, {f.x});
    const ValueId y = f.graph.add_node("y", ir::FullyConnected{}, {codes, w});
    f.graph.add_output(f.graph.add_node("sum", kAdd, {y, f.x}));
  }
  EXPECT_FALSE(f.run());
}

TEST(MergeDuplicates, OutputsKeepTheirNames) {
  Fixture f;
  const ValueId a = f.graph.add_node("a", kTanh, {f.x});
  const ValueId b = f.graph.add_node("b", kTanh, {f.x});
  f.graph.add_output(f.graph.add_node("sum", kAdd, {a, b}));
  f.graph.add_output(b);
  EXPECT_TRUE(f.run());
  EXPECT_EQ(f.graph.value(a).name, "b");
  const ValueId c = f.graph.add_node("c", kTanh, {f.x});
  f.graph.add_output(c);
  EXPECT_FALSE(f.run()) << "b and c are both outputs";
}

TEST(MergeDuplicates, SmallEqualConstantsBecomeOne) {
  Fixture f;
  const ValueId one = f.graph.add_constant("one", floats({1}, {1}));
  const ValueId uno = f.graph.add_constant("uno", floats({1}, {1}));
  const ValueId other_shape = f.graph.add_constant("other", floats({}, {1}));
  const ValueId other_type =
      f.graph.add_constant("bits", ir::test::tensor<std::int32_t>({1}, {0x3f800000}));
  const ValueId a = f.graph.add_node("a", kAdd, {f.x, one});
  const ValueId b = f.graph.add_node("b", kAdd, {f.x, uno});
  const ValueId c = f.graph.add_node("c", kAdd, {f.x, other_shape});
  const ValueId cast = f.graph.add_node("cast", ir::Cast{}, {other_type});
  for (const ValueId id : {a, c, cast}) {
    f.graph.add_output(f.graph.add_node("y", kAdd, {b, id}));
  }
  EXPECT_TRUE(f.run());
  EXPECT_EQ(f.graph.num_uses(one), 1u);
  EXPECT_EQ(f.graph.constant(uno), nullptr);
  EXPECT_NE(f.graph.constant(other_shape), nullptr);
  EXPECT_NE(f.graph.constant(other_type), nullptr);
}

TEST(MergeDuplicates, LargeConstantsBecomeOneIfTheyShareStorage) {
  for (const bool shared : {true, false}) {
    Fixture f;
    const ValueId a = f.graph.add_constant("a", test::random_tensor({2000, 2}, 1));
    const ValueId b = shared ? f.graph.add_constant("b", f.graph.value(a).constant)
                             : f.graph.add_constant("b", test::random_tensor({2000, 2}, 1));
    for (const ValueId w : {a, b}) {
      const ValueId y = f.graph.add_node("y", ir::FullyConnected{}, {f.x, w});
      f.graph.add_output(f.graph.add_node("tanh", kTanh, {y}));
    }
    EXPECT_EQ(f.run(), shared);
  }
}

/// A lookup table, and a product with a constant.
struct Tied {
  Graph graph;
  ValueId tokens = graph.add_input("tokens", ir::dense_type(ir::ElementType::kInt64, {kBatch}));
  ValueId rows;
  explicit Tied(ir::Constant table)
      : rows(graph.add_node("rows", ir::Gather{0},
                            {graph.add_constant("table", std::move(table)), tokens})) {}
  ValueId multiply(ir::Constant weights) {
    const ValueId w = graph.add_constant("w", std::move(weights));
    graph.add_output(graph.add_node("y", ir::FullyConnected{}, {rows, w}));
    return graph.node(*graph.producer(rows)).inputs[0];
  }
  ValueId weights() { return test::output_node(graph).inputs[1]; }
};

TEST(MergeDuplicates, ATableAndEqualWeightsBecomeOne) {
  Tied dense(test::random_tensor({9, 5}, 3));
  const ValueId table = dense.multiply(test::random_tensor({9, 5}, 3));
  EXPECT_TRUE(merge_duplicates(dense.graph));
  EXPECT_EQ(dense.weights(), table);
  EXPECT_FALSE(merge_duplicates(dense.graph));
  Tied others(test::random_tensor({9, 5}, 3));
  others.multiply(test::random_tensor({9, 5}, 4));
  EXPECT_FALSE(merge_duplicates(others.graph));

  const auto codes = [](std::uint64_t last) {
    ir::EncodedTensor tensor{{9, 5}, ir::test::odd_encoding(), numerics::BitPlanes(9, 5, 2)};
    tensor.codes.planes.words().back() = last;
    return tensor;
  };
  Tied coded(codes(3));
  const ValueId coded_table = coded.multiply(codes(3));
  EXPECT_TRUE(merge_duplicates(coded.graph));
  EXPECT_EQ(coded.weights(), coded_table);
  Tied other_codes(codes(3));
  other_codes.multiply(codes(1));
  EXPECT_FALSE(merge_duplicates(other_codes.graph));
}

TEST(MergeDuplicates, IsSafeOnRandomGraphs) {
  test::expect_safe_on_random_graphs(merge_duplicates);
}

}  // namespace
}  // namespace halftone::passes
