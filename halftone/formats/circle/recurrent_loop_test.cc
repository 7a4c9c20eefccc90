// SPDX-License-Identifier: Apache-2.0
// Loops as Keras writes them, built operator by operator.
#include "halftone/formats/circle/recurrent_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/formats/circle/operator_code.h"
#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using ir::test::numbers;
using schema::TensorType;
using testing::HasSubstr;
using Op = OperatorCode;

constexpr std::int32_t kSteps = 3;
constexpr std::int32_t kInputs = 2;
constexpr std::int32_t kHidden = 2;

/// The matrices of an LSTM in the order of Keras: i, f, c, o.
struct Weights {
  std::vector<float> kernel = numbers(random_tensor({4 * kHidden, kInputs}, 1));
  std::vector<float> recurrent = numbers(random_tensor({4 * kHidden, kHidden}, 2));
  std::vector<float> bias = numbers(random_tensor({4 * kHidden}, 3));
};

FileTensor number() { return {{}, TensorType::INT32}; }
FileTensor number(std::int32_t value) {
  return constant_tensor(Ints{}, TensorType::INT32, Ints{value});
}
FileTensor state() { return {{1, kHidden}}; }
FileTensor gates() { return {{1, 4 * kHidden}}; }

/// Counter, step, last state, hidden state, cell, sequence.
std::vector<std::int32_t> add_variables(FileBuilder& file) {
  std::vector<std::int32_t> variables;
  for (const FileTensor& each : {number(), number(), FileTensor{{1, 1, kHidden}}, state(), state(),
                                 FileTensor{{kSteps, 1, kInputs}}}) {
    variables.push_back(file.tensor(each));
  }
  return variables;
}

void add_condition(FileBuilder& file, std::int32_t steps) {
  file.subgraph();
  const auto variables = add_variables(file);
  const auto end = file.tensor(number(steps));
  const FileTensor answer{{}, TensorType::BOOL};
  const auto a = file.computed(Op::kLess, {variables[1], end}, answer);
  const auto b = file.computed(Op::kLess, {variables[0], end}, answer);
  file.ends(variables, {file.computed(Op::kLogicalAnd, {a, b}, answer)});
}

/// A step. @param last  the function of the hidden state
void add_body(FileBuilder& file, const Weights& weights, Op last) {
  file.subgraph();
  const auto variables = add_variables(file);
  const auto one = file.tensor(number(1));
  const auto matrix = [&](const std::vector<float>& values, std::int32_t cols) {
    return file.tensor(constant_tensor(Ints{4 * kHidden, cols}, TensorType::FLOAT32, values));
  };
  const auto add = [&](std::int32_t a, std::int32_t b, const FileTensor& type) {
    return file.computed(Op::kAdd, {a, b}, type);
  };
  const auto mul = [&](std::int32_t a, std::int32_t b) {
    return file.computed(Op::kMul, {a, b}, state());
  };
  const auto function = [&](Op op, std::int32_t x) { return file.computed(op, {x}, state()); };
  const auto x = file.computed(Op::kGather, {variables[5], variables[1]}, {{1, kInputs}});
  const auto inner = file.computed(Op::kFullyConnected,
                                   {variables[3], matrix(weights.recurrent, kHidden), -1}, gates());
  const auto outer =
      file.computed(Op::kFullyConnected, {x, matrix(weights.kernel, kInputs), -1}, gates());
  const auto bias =
      file.tensor(constant_tensor(Ints{4 * kHidden}, TensorType::FLOAT32, weights.bias));
  const auto sums = add(add(outer, inner, gates()), bias, gates());
  std::vector<std::int32_t> parts;
  for (int i = 0; i < 4; ++i) parts.push_back(file.tensor(state()));
  schema::SplitOptionsT split;
  split.num_splits = 4;
  file.op(Op::kSplit, {one, sums}, parts, united(split));
  const auto kept = mul(function(Op::kLogistic, parts[1]), variables[4]);
  const auto added = mul(function(Op::kLogistic, parts[0]), function(Op::kTanh, parts[2]));
  const auto cell = add(kept, added, state());
  const auto hidden = mul(function(Op::kLogistic, parts[3]), function(last, cell));
  const auto result = file.computed(Op::kReshape, {hidden, file.tensor(integers({1, 1, kHidden}))},
                                    {{1, 1, kHidden}});
  file.ends(variables, {add(variables[0], one, number()), add(variables[1], one, number()), result,
                        hidden, cell, variables[5]});
}

/// A network that returns the last state of an LSTM.
std::vector<std::byte> keras_lstm(const Weights& weights, std::int32_t steps = kSteps,
                                  Op last = Op::kTanh) {
  FileBuilder file;
  const auto x = file.tensor({{1, kSteps, kInputs}});
  const auto sequence = file.computed(
      Op::kReshape, {x, file.tensor(integers({kSteps, 1, kInputs}))}, {{kSteps, 1, kInputs}});
  const auto zeros = [&](Ints shape) {
    const std::vector<float> values(kHidden, 0.0F);
    return file.tensor(constant_tensor(std::move(shape), TensorType::FLOAT32, values));
  };
  const auto zero = file.tensor(number(0));
  std::vector<std::int32_t> results;
  for (const FileTensor& each : {number(), number(), FileTensor{{1, 1, kHidden}}, state(), state(),
                                 FileTensor{{kSteps, 1, kInputs}}}) {
    results.push_back(file.tensor(each));
  }
  schema::WhileOptionsT options;
  options.cond_subgraph_index = 1;
  options.body_subgraph_index = 2;
  file.op(Op::kWhile,
          {zero, zero, zeros({1, 1, kHidden}), zeros({1, kHidden}), zeros({1, kHidden}), sequence},
          results, united(options));
  const auto y = file.computed(Op::kReshape, {results[2], file.tensor(integers({1, kHidden}))},
                               {{1, kHidden}});
  file.ends({x}, {y});
  add_condition(file, steps);
  add_body(file, weights, last);
  return file.bytes();
}

/// The last hidden state, step by step. @param last  the function of the cell
std::vector<float> lstm(const Weights& weights, const std::vector<float>& x,
                        std::size_t steps = kSteps, float (*last)(float) = std::tanh) {
  const auto sigmoid = [](float v) { return 1 / (1 + std::exp(-v)); };
  std::vector<float> h(kHidden, 0);
  std::vector<float> c(kHidden, 0);
  for (std::size_t t = 0; t < steps; ++t) {
    std::vector<float> sums = weights.bias;
    for (std::size_t g = 0; g < sums.size(); ++g) {
      for (std::size_t i = 0; i < kInputs; ++i) {
        sums[g] += weights.kernel[g * kInputs + i] * x[t * kInputs + i];
      }
      for (std::size_t i = 0; i < kHidden; ++i) {
        sums[g] += weights.recurrent[g * kHidden + i] * h[i];
      }
    }
    for (std::size_t i = 0; i < kHidden; ++i) {
      c[i] =
          sigmoid(sums[kHidden + i]) * c[i] + sigmoid(sums[i]) * std::tanh(sums[2 * kHidden + i]);
    }
    for (std::size_t i = 0; i < kHidden; ++i) {
      h[i] = sigmoid(sums[3 * kHidden + i]) * last(c[i]);
    }
  }
  return h;
}

TEST(RecurrentLoop, BecomesALayerOfAnyBatch) {
  const Weights weights;
  const ir::Graph graph = import_circle(keras_lstm(weights));
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (ir::Shape{kBatch, kSteps, kInputs}));
  std::size_t layers = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    layers += std::holds_alternative<ir::Recurrent>(graph.node(id).op) ? 1U : 0U;
  }
  EXPECT_EQ(layers, 1U);
  const std::vector<float> x = numbers(random_tensor({1, kSteps, kInputs}, 4));
  std::vector<ir::Tensor> inputs;
  inputs.push_back(floats({1, kSteps, kInputs}, x));
  const std::vector<float> found = numbers(run_reference(graph, inputs)[0]);
  const std::vector<float> expected = lstm(weights, x);
  // Each step has sums of five terms below 3, and functions with slopes of at most 1.
  constexpr float kTolerance = kSteps * 2 * 5 * 3 * 8 * 0x1p-24F;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kTolerance);
}

/// Expects the states of steps of a loop that is no layer.
void expect_loop(const std::vector<std::byte>& file, std::size_t steps, float (*last)(float)) {
  const ir::Graph graph = import_circle(file);
  const auto is_loop = [&](ir::NodeId id) {
    return std::holds_alternative<ir::Loop>(graph.node(id).op);
  };
  EXPECT_EQ(std::ranges::count_if(graph.topological_order(), is_loop), 1);
  const std::vector<float> x = numbers(random_tensor({1, kSteps, kInputs}, 4));
  std::vector<ir::Tensor> inputs;
  inputs.push_back(floats({1, kSteps, kInputs}, x));
  const std::vector<float> found = numbers(run_reference(graph, inputs)[0]);
  const std::vector<float> expected = lstm({}, x, steps, last);
  // As for the layer.
  constexpr float kTolerance = kSteps * 2 * 5 * 3 * 8 * 0x1p-24F;
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], kTolerance);
}

TEST(RecurrentLoop, OfAnotherKindIsALoop) {
  expect_loop(keras_lstm({}, kSteps - 1), kSteps - 1, std::tanh);
  expect_loop(keras_lstm({}, kSteps, Op::kAbs), kSteps, std::abs);
}

/// The absolute value of the input if it is 1 or more, else its hyperbolic tangent.
std::vector<std::byte> branches(Op otherwise = Op::kTanh) {
  FileBuilder file;
  const FileTensor one_float{{1}};
  const auto x = file.tensor(one_float);
  const auto limit =
      file.tensor(constant_tensor(Ints{1}, TensorType::FLOAT32, std::vector<float>{1}));
  const auto flag = file.computed(Op::kLess, {limit, x}, {{1}, TensorType::BOOL});
  schema::IfOptionsT options;
  options.then_subgraph_index = 1;
  options.else_subgraph_index = 2;
  file.ends({x}, {file.computed(Op::kIf, {flag, x}, one_float, united(options))});
  for (const Op op : {Op::kAbs, otherwise}) {
    file.subgraph();
    const auto inner = file.tensor(one_float);
    if (op == Op::kConcatenation) {
      schema::ConcatenationOptionsT joined;
      file.ends({inner}, {file.computed(op, {inner, inner}, {{2}}, united(joined))});
    } else {
      file.ends({inner}, {file.computed(op, {inner}, one_float)});
    }
  }
  return file.bytes();
}

TEST(Branches, OnDataAreChosenWhenTheyRun) {
  const ir::Graph graph = import_circle(branches());
  const auto run = [&](float x) {
    std::vector<ir::Tensor> inputs;
    inputs.push_back(floats({1}, {x}));
    return numbers(run_reference(graph, inputs)[0])[0];
  };
  EXPECT_FLOAT_EQ(run(2), 2);
  EXPECT_FLOAT_EQ(run(0.5F), std::tanh(0.5F));
}

TEST(Branches, NeedOneType) {
  const Error error = error_of([] { import_circle(branches(Op::kConcatenation)); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("output 0 is float32[1] in one branch and float32[2] in the "
                                      "other: expected one type"));
}

TEST(Branches, RefuseExtentsThatDependOnData) {
  FileBuilder file;
  const FileTensor three{{3}};
  const auto x = file.tensor(three);
  const auto flag = file.tensor({{1}, TensorType::BOOL});
  schema::IfOptionsT options;
  options.then_subgraph_index = options.else_subgraph_index = 1;
  const FileTensor indices{{-1, 1}, TensorType::INT64};
  file.ends({x, flag}, {file.computed(Op::kIf, {flag, x}, indices, united(options))});
  file.subgraph();
  const auto inner = file.tensor(three);
  file.ends({inner}, {file.computed(Op::kWhere, {inner}, indices)});
  const Error error = error_of([&] { import_circle(file.bytes()); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("subgraphs cannot have extents that depend on data"));
}

TEST(Branches, ThatDoubleAreRefused) {
  constexpr int kLevels = 18;
  FileBuilder file;
  for (int level = 0; level < kLevels; ++level) {
    if (level > 0) file.subgraph();
    const FileTensor one_float{{1}};
    const auto x = file.tensor(one_float);
    const FileTensor flag_type{{1}, TensorType::BOOL};
    const auto flag = file.computed(Op::kLess, {x, x}, flag_type);
    schema::IfOptionsT options;
    options.then_subgraph_index = level + 1;
    options.else_subgraph_index = level + 1;
    const bool is_last = level + 1 == kLevels;
    file.ends({x}, {is_last ? file.computed(Op::kAbs, {x}, one_float)
                            : file.computed(Op::kIf, {flag, x}, one_float, united(options))});
  }
  const Error error = error_of([&] { import_circle(file.bytes()); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("subgraphs that name each other: expected at most 16384"));
}

TEST(RecurrentLoop, RefusesDeepNesting) {
  const auto file = edited(keras_lstm({}), [](schema::ModelT& model) {
    auto& body = *model.subgraphs[2];
    body.operators.push_back(
        std::make_unique<schema::OperatorT>(*model.subgraphs[0]->operators[1]));
    body.operators.back()->inputs = body.inputs;
    body.operators.back()->outputs.clear();
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      body.operators.back()->outputs.push_back(static_cast<std::int32_t>(body.tensors.size()));
      const auto input = static_cast<std::size_t>(body.inputs[i]);
      body.tensors.push_back(std::make_unique<schema::TensorT>(*body.tensors[input]));
    }
  });
  const Error error = error_of([&] { import_circle(file); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(error.what(), HasSubstr("nested subgraphs: expected at most 32 levels"));
}

}  // namespace
}  // namespace halftone::formats::circle
