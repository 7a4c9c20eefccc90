// SPDX-License-Identifier: Apache-2.0
// Operators that move elements or compute statistics, compared with the reference implementation.
#include <gtest/gtest.h>

#include <string>

#include "halftone/base/parallel.h"
#include "halftone/numerics/test_data.h"
#include "halftone/runtime/move/layout.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ElementType;
using ir::Shape;
using ir::test::expect_error;

struct MovingCase {
  ir::Operator op;
  std::vector<Shape> inputs;
  std::string kernel = "strided_copy";
  float tolerance = 0;
};

/// Runs one node on inputs of a type and compares it with the reference implementation.
void expect_definition(const MovingCase& test, ElementType element, int threads = 1) {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;
  for (const Shape& shape : test.inputs) {
    inputs.push_back(graph.add_input("x", ir::dense_type(element, shape)));
  }
  graph.add_output(graph.add_node("node", test.op, inputs));
  SCOPED_TRACE(std::string(name_of(test.op)) + " " + attributes_of(test.op));
  const auto plan =
      testing::expect_reference_result(graph, {.batch = 2, .threads = threads}, test.tolerance);
  EXPECT_EQ(plan->steps()[0].kernel, test.kernel);
}

TEST(MovingOperators, MatchReference) {
  constexpr ir::Dim n = ir::kBatch;
  const std::vector<MovingCase> cases{
      {ir::Transpose{{0, 2, 3, 1}}, {{n, 3, 5, 7}}},
      {ir::Transpose{{0, 3, 1, 2}}, {{n, 33, 35, 37}}},
      {ir::Transpose{{1, 0}}, {{n, 1}}},
      {ir::Transpose{{2, 1, 0}}, {{17, 18, 19}}},
      {ir::Transpose{{3, 1, 0, 2}}, {{2, 3, 4, 5}}},
      {ir::Transpose{{0, 2, 1, 3}}, {{n, 4, 6, 64}}},
      {ir::Transpose{{1, 0, 2}}, {{3, 0, 2}}},
      {ir::Transpose{{}}, {Shape{}}},
      {ir::Slice{1, 5, -2, 3}, {{n, 7, 3}}},
      {ir::Slice{2, 1, 1, 40}, {{n, 3, 50}}},
      {ir::Slice{0, 1, 1, 0}, {{3, 50}}},
      {ir::Concat{1}, {{n, 3, 9}, {n, 1, 9}, {n, 0, 9}}},
      {ir::Concat{2}, {{n, 3, 2}, {n, 3, 7}}},
      {ir::BroadcastTo{{n, 4, 5, 6}}, {{5, 1}}},
      {ir::BroadcastTo{{3, 40}}, {{3, 1}}},
      {ir::BroadcastTo{{2, 3}}, {Shape{}}},
      {ir::Tile{{1, 2, 3}}, {{n, 5, 7}}},
      {ir::Tile{{0, 2}}, {{4, 7}}},
      {ir::Pad{ir::PadMode::kConstant, {0, 1, 2}, {0, 3, 0}}, {{n, 5, 7}}},
      {ir::Pad{ir::PadMode::kConstant, {0, 1, 2, 0}, {0, 3, 0, 0}}, {{n, 5, 7, 8}, Shape{}}},
      {ir::Pad{ir::PadMode::kReflect, {0, 1}, {0, 2}}, {{n, 5}}, "reference"},
  };
  for (const MovingCase& test : cases) {
    for (const ElementType element :
         {ElementType::kFloat32, ElementType::kInt8, ElementType::kInt16, ElementType::kInt64}) {
      expect_definition(test, element);
    }
    expect_definition(test, ElementType::kFloat32, 3);
  }
}

TEST(MovingOperators, DivideLargeCopiesAmongThreads) {
  expect_definition({ir::Transpose{{0, 2, 1}}, {{ir::kBatch, 600, 500}}}, ElementType::kFloat32, 3);
  expect_definition({ir::Transpose{{1, 0}}, {{1 << 19, 2}}}, ElementType::kFloat32, 2);
}

TEST(Statistics, MatchReference) {
  using ir::ReduceKind;
  constexpr ir::Dim n = ir::kBatch;
  const std::string fast = "joined_axes_f32";
  const std::vector<std::pair<Shape, std::vector<std::size_t>>> shapes{
      {{n, 33}, {1}},   {{n, 5, 7}, {1}},       {{n, 5, 37}, {1}},      {{n, 5, 7}, {1, 2}},
      {{9, 33}, {0}},   {{n, 3, 4, 5}, {1, 2}}, {{n, 3, 1, 5}, {1, 3}}, {{n, 4}, {}},
      {{n, 3, 0}, {2}}, {{n, 0, 3}, {2}},       {{40000, 9}, {0}},      {{n, 70000}, {1}}};
  for (const auto& [shape, axes] : shapes) {
    for (const ReduceKind kind :
         {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kMax, ReduceKind::kMin, ReduceKind::kL1,
          ReduceKind::kL2, ReduceKind::kSumSquare}) {
      expect_definition({ir::Reduce{kind, axes, false}, {shape}, fast, 1e-6F},
                        ElementType::kFloat32, 2);
    }
    for (const bool centres : {true, false}) {
      expect_definition({ir::Normalize{axes, 1e-5F, centres}, {shape}, fast, 1e-6F},
                        ElementType::kFloat32, 2);
    }
  }
  const MovingCase apart{ir::Reduce{ReduceKind::kSum, {1, 3}, true}, {{n, 3, 4, 5}}, "reference"};
  expect_definition(apart, ElementType::kFloat32);
  expect_definition({ir::Normalize{{1, 3}, 0.5F, true}, {{n, 3, 4, 5}}, "reference"},
                    ElementType::kFloat32);
  expect_definition({ir::Reduce{ReduceKind::kLogSumExp, {1}, true}, {{n, 3}}, "reference"},
                    ElementType::kFloat32);
  expect_definition({ir::Reduce{ReduceKind::kSum, {1}, true}, {{n, 3}}, "joined_axes_i32"},
                    ElementType::kInt32);
  expect_definition({ir::Reduce{ReduceKind::kMean, {1}, true}, {{n, 3}}, "reference"},
                    ElementType::kInt32);
}

TEST(Where, MatchesReference) {
  constexpr ir::Dim n = ir::kBatch;
  const std::vector<std::vector<Shape>> shapes{{{n, 3, 5}, {n, 3, 5}, {n, 3, 5}},
                                               {{3, 1}, {n, 3, 5}, Shape{}},
                                               {{n, 1, 5}, {1, 3, 1}, {n, 3, 5}},
                                               {{7, 1, 5}, {4, 1}, {5}},
                                               {Shape{}, Shape{}, Shape{}}};
  for (const auto& operands : shapes) {
    for (const ElementType element :
         {ElementType::kFloat32, ElementType::kInt8, ElementType::kInt16, ElementType::kInt64}) {
      ir::Graph graph;
      const auto c = graph.add_input("c", ir::dense_type(ElementType::kBool, operands[0]));
      const auto a = graph.add_input("a", ir::dense_type(element, operands[1]));
      const auto b = graph.add_input("b", ir::dense_type(element, operands[2]));
      graph.add_output(graph.add_node("node", ir::Where{}, {c, a, b}));
      const auto plan = testing::expect_reference_result(graph, {.batch = 2}, 0);
      EXPECT_EQ(plan->steps()[0].kernel, "rows");
    }
  }
}

TEST(Gather, CopiesRowsAndChecksIndices) {
  for (const ElementType element : {ElementType::kInt32, ElementType::kInt64}) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type({2, 3, 2}));
    const auto i = graph.add_input("i", ir::dense_type(element, {2}));
    graph.add_output(graph.add_node("y", ir::Gather{1}, {x, i}));
    const auto plan = make_plan(graph);
    EXPECT_EQ(plan->steps()[0].kernel, "row_copy");
    Session session(plan);
    const auto indices = [&](std::int64_t a, std::int64_t b) {
      return ir::test::tensor<std::int64_t>({2}, {a, b}).cast(element);
    };
    const auto y = session.run(ir::test::list(ir::test::counting({2, 3, 2}), indices(2, -3)));
    EXPECT_THAT(ir::test::elements<float>(y[0]), ::testing::ElementsAre(4, 5, 0, 1, 10, 11, 6, 7));
    expect_error(ErrorKind::kShape, "index 3 is out of range for an extent of 3", [&] {
      session.run(ir::test::list(ir::test::counting({2, 3, 2}), indices(0, 3)));
    });
  }
}

/// Random codes of a table, and their bases.
ir::EncodedTensor coded_table(std::size_t rows, std::size_t cols, numerics::Granularity granularity,
                              Random& random) {
  constexpr int kBits = 3;
  const std::size_t group = granularity == numerics::Granularity::kGroup ? 6 : 0;
  auto encoding = numerics::random_encoding(random, rows, cols, kBits, true, granularity, group);
  return {{static_cast<ir::Dim>(rows), static_cast<ir::Dim>(cols)},
          std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          numerics::random_planes(random, rows, cols, kBits)};
}

TEST(Gather, DecodesTheRowsOfATableOfCodes) {
  Random random(3);
  for (const auto granularity : {numerics::Granularity::kTensor, numerics::Granularity::kChannel,
                                 numerics::Granularity::kGroup}) {
    for (const ElementType element : {ElementType::kInt32, ElementType::kInt64}) {
      for (const std::size_t width : {1U, 7U, 64U, 65U, 130U}) {
        ir::Graph graph;
        const auto i = graph.add_input("i", ir::dense_type(element, {ir::kBatch, 5}));
        const auto table = graph.add_constant("table", coded_table(21, width, granularity, random));
        graph.add_output(graph.add_node("y", ir::Gather{0}, {table, i}));
        const auto plan = make_plan(graph, {.batch = 2});
        EXPECT_EQ(plan->steps()[0].kernel, "decoded_rows");
        // Only the codes: 3 planes of whole words.
        EXPECT_EQ(plan->constant_bytes(), 21 * 3 * ((width + 63) / 64) * sizeof(std::uint64_t));
        EXPECT_EQ(plan->packed_weight_bytes(), 0U);
        const auto indices =
            ir::test::tensor<std::int64_t>({2, 5}, {0, 20, -1, -21, 3, 3, 7, 11, -20, 19});
        const auto inputs = ir::test::list(indices.cast(element));
        Session session(plan);
        ir::test::expect_near(session.run(inputs), ir::test::run_reference(graph, inputs), 0);
      }
    }
  }
}

TEST(Gather, OfCodesChecksIndicesAndThreadsDoNotMatter) {
  Random random(4);
  ir::Graph graph;
  constexpr ir::Dim kCount = 3000;  // enough to divide the work
  const auto i = graph.add_input("i", ir::dense_type(ElementType::kInt64, {kCount}));
  const auto table =
      graph.add_constant("table", coded_table(50, 64, numerics::Granularity::kChannel, random));
  graph.add_output(graph.add_node("y", ir::Gather{0}, {table, i}));
  std::vector<std::int64_t> numbers(kCount);
  for (auto& number : numbers) number = static_cast<std::int64_t>(random.below(100)) - 50;
  const auto run = [&](int threads) {
    set_num_threads(threads);
    Session session(make_plan(graph, {.threads = threads}));
    return session.run(ir::test::list(ir::test::tensor<std::int64_t>({kCount}, numbers)));
  };
  const auto one = run(1);
  EXPECT_TRUE(ir::test::same_bytes(run(3), one));
  for (const int threads : {1, 3}) {
    for (const std::int64_t bad : {50, -51}) {
      numbers[2000] = bad;
      expect_error(ErrorKind::kShape,
                   "index " + std::to_string(bad) + " is out of range for an extent of 50",
                   [&] { run(threads); });
    }
  }
  set_num_threads(0);
}

TEST(Gather, OfComputedCodesRunsTheReference) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({4, 9}));
  const auto codes = graph.add_node("codes", ir::Encode{ir::test::odd_encoding()}, {x});
  const auto i = graph.add_constant("i", ir::test::tensor<std::int64_t>({3}, {2, 0, -1}));
  graph.add_output(graph.add_node("y", ir::Gather{0}, {codes, i}));
  const auto plan = testing::expect_reference_result(graph, {}, 0);
  EXPECT_EQ(plan->steps()[1].kernel, "reference");
}

TEST(StridedCopy, HasTheFewestAxes) {
  const StridedCopy whole = simplified(copy_to_rows({3, 4, 50}, {200, 50, 1}, 4));
  EXPECT_EQ(whole.axes.size(), 0U);
  EXPECT_EQ(whole.chunk_bytes, 2400U);
  const StridedCopy rows = simplified(copy_to_rows({3, 4, 5}, {100, 5, 1}, 4));
  EXPECT_EQ(rows.axes.size(), 1U);
  EXPECT_EQ(rows.chunk_bytes, 80U);
  const StridedCopy channels = simplified(copy_to_rows({2, 7, 9, 3}, {189, 9, 1, 63}, 4));
  EXPECT_EQ(channels.axes.size(), 3U);
  EXPECT_EQ(simplified(copy_to_rows({3, 0}, {0, 1}, 4)).axes[0].count, 0U);
}

}  // namespace
}  // namespace halftone::runtime
