// SPDX-License-Identifier: Apache-2.0
// For tests: compares operators on a tape with the reference implementation and with finite
// differences: those of the table of cases, and single ones.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/gradient/tape.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/testing/operator_cases.h"

namespace halftone::gradient {

/// An input that holds booleans or indices.
struct FixedInput {
  std::size_t input = 1;
  ir::ElementType element = ir::ElementType::kInt32;
  std::vector<float> numbers;
};

struct TapeCase {
  ir::Operator op;
  std::vector<ir::Shape> shapes;  ///< of the inputs; an input without elements is absent
  bool positive = false;          ///< inputs are at least 1/2; else at least 1/10 away from 0
  std::optional<FixedInput> fixed = {};
};

/// A graph of one node. All its inputs except the first are constants.
struct OneNode {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;
  std::vector<ir::ValueId> wanted;  ///< inputs that have a gradient
  ir::ValueId output = ir::kAbsent;
};

inline ir::Tensor random_input(const TapeCase& test, std::size_t i, Random& random) {
  ir::Tensor result = ir::test::random_tensor(test.shapes[i], random);
  for (float& x : result.as<float>()) {
    x = test.positive ? 0.5F + std::abs(x) : x + (x < 0 ? -0.1F : 0.1F);
  }
  return result;
}

inline OneNode one_node(const TapeCase& test) {
  Random random(5);
  OneNode result;
  for (std::size_t i = 0; i < test.shapes.size(); ++i) {
    const bool is_fixed = test.fixed && test.fixed->input == i;
    if (test.shapes[i].element_count() == 0) {
      result.inputs.push_back(ir::kAbsent);
    } else if (is_fixed) {
      const ir::Tensor numbers = ir::test::floats(test.shapes[i], test.fixed->numbers);
      result.inputs.push_back(
          result.graph.add_constant("fixed", numbers.cast(test.fixed->element)));
    } else if (result.graph.inputs().empty()) {
      result.inputs.push_back(result.graph.add_input("x", ir::test::float_type(test.shapes[i])));
    } else {
      result.inputs.push_back(result.graph.add_constant("c", random_input(test, i, random)));
    }
    if (!is_fixed && result.inputs.back() != ir::kAbsent) {
      result.wanted.push_back(result.inputs.back());
    }
  }
  result.output = result.graph.add_node("node", test.op, result.inputs);
  result.graph.add_output(result.output);
  return result;
}

/// sum_i weight_i y_i, a function whose gradient with respect to y is `weight`.
inline double weighted_sum(std::span<const float> y, std::span<const float> weight) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += static_cast<double>(y[i]) * static_cast<double>(weight[i]);
  }
  return sum;
}

/// Fills in the only input of the graph.
inline void fill_input(const TapeCase& test, const OneNode& node, Tape& tape) {
  Random random(7);
  std::size_t i = 0;
  while (node.inputs[i] != node.graph.inputs()[0]) ++i;
  const ir::Tensor x = random_input(test, i, random);
  std::ranges::copy(x.as<float>(), tape.data(node.inputs[i]).begin());
}

/// Compares every gradient with central differences of the output.
inline void expect_true_gradients(const TapeCase& test) {
  OneNode node = one_node(test);
  Tape tape(node.graph, {}, node.wanted, {});
  fill_input(test, node, tape);
  Random random(9);
  std::vector<float> weight(tape.data(node.output).size());
  for (float& w : weight) w = static_cast<float>(random.normal());
  tape.forward({});
  std::ranges::copy(weight, tape.gradient(node.output).begin());
  tape.backward(node.output);
  for (const ir::ValueId id : node.wanted) {
    const std::vector<float> gradient(tape.gradient(id).begin(), tape.gradient(id).end());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      constexpr float kStep = 1e-2F;
      float& x = tape.data(id)[i];
      const float middle = x;
      x = middle + kStep;
      tape.forward({});
      const double above = weighted_sum(tape.data(node.output), weight);
      x = middle - kStep;
      tape.forward({});
      const double below = weighted_sum(tape.data(node.output), weight);
      x = middle;
      // The error of a central difference is a third derivative times the squared step, plus
      // rounding.
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-3 * (1 + std::abs(gradient[i])))
          << name_of(test.op) << " " << attributes_of(test.op) << " input "
          << static_cast<std::uint32_t>(id) << " element " << i;
    }
  }
}

/// Checks that the tape and the reference implementation compute the same outputs.
inline void expect_true_outputs(const TapeCase& test, bool with_gradients = true) {
  OneNode node = one_node(test);
  Tape tape(node.graph, {}, with_gradients ? node.wanted : std::vector<ir::ValueId>(), {});
  fill_input(test, node, tape);
  const auto as_tensors = [&](ir::ValueId id) {
    const std::span<const float> numbers = tape.data(id);
    return ir::test::list(ir::Tensor::from<float>(node.graph.value(id).type.shape, numbers));
  };
  tape.forward({});
  ir::test::expect_near(as_tensors(node.output),
                        ir::test::run_reference(node.graph, as_tensors(node.graph.inputs()[0])),
                        1e-5F, std::string(name_of(test.op)) + " " + attributes_of(test.op));
}

/// A tape on a case; null if an operator has no gradient there.
inline std::unique_ptr<Tape> tape_of(const ir::test::CaseGraph& test,
                                     std::span<const ir::ValueId> wanted) {
  std::unique_ptr<Tape> tape;
  try {
    tape = std::make_unique<Tape>(test.graph, std::map<ir::ValueId, std::span<const float>>(),
                                  wanted, std::map<ir::ValueId, const numerics::LevelTable*>());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnsupported) << error.what();
    return nullptr;
  }
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    std::ranges::copy(ir::test::numbers(test.inputs[i]),
                      tape->data(test.graph.inputs()[i]).begin());
  }
  return tape;
}

/// The weights of the outputs of a case in a sum.
inline std::vector<float> output_weights(std::size_t count) {
  Random random(9);
  std::vector<float> weights(count);
  for (float& w : weights) w = static_cast<float>(random.normal());
  return weights;
}

/// The gradients of the weighted sum of a case's outputs, by float input.
inline std::vector<std::vector<float>> case_gradients(const ir::test::CaseGraph& test, Tape& tape) {
  const ir::ValueId output = test.graph.outputs()[0];
  tape.forward({});
  std::ranges::copy(output_weights(tape.data(output).size()), tape.gradient(output).begin());
  tape.backward(output);
  std::vector<std::vector<float>> gradients;
  for (const ir::ValueId id : test.float_inputs) {
    gradients.emplace_back(tape.gradient(id).begin(), tape.gradient(id).end());
  }
  return gradients;
}

/// Compares all gradients of a case with central differences. These are off by a third of what
/// twice the step changes, and by the rounding of the outputs over the step. Around a kink or jump
/// they are off by half of what the differences to both sides differ.
/// @return the number of elements near a kink or jump
inline std::size_t expect_slopes(const ir::test::CaseGraph& test, Tape& tape,
                                 const std::string& context) {
  const auto gradients = case_gradients(test, tape);
  const ir::ValueId output = test.graph.outputs()[0];
  const std::vector<float> weights = output_weights(tape.data(output).size());
  constexpr float kStep = 0x1p-6F;
  const auto rounding = static_cast<double>(tolerance_of(test));
  double sum_of_weights = 0;
  for (const float w : weights) sum_of_weights += static_cast<double>(std::abs(w));
  std::size_t num_kinks = 0;
  for (std::size_t input = 0; input < gradients.size(); ++input) {
    const std::span<float> data = tape.data(test.float_inputs[input]);
    for (std::size_t i = 0; i < data.size(); ++i) {
      const float middle = data[i];
      const auto slope = [&](float from, float to) {
        data[i] = middle + to;
        tape.forward({});
        const double above = weighted_sum(tape.data(output), weights);
        data[i] = middle + from;
        tape.forward({});
        const double below = weighted_sum(tape.data(output), weights);
        data[i] = middle;
        return (above - below) / static_cast<double>(to - from);
      };
      const auto found = static_cast<double>(gradients[input][i]);
      const double difference = slope(-kStep, kStep);
      double tolerance = std::abs(slope(-2 * kStep, 2 * kStep) - difference) +
                         rounding * (1 + std::abs(found) + sum_of_weights / kStep);
      if (std::abs(found - difference) > tolerance) {
        ++num_kinks;
        tolerance += std::abs(slope(0, kStep) - slope(-kStep, 0)) / 2;
      }
      EXPECT_NEAR(found, difference, tolerance)
          << context << ", input " << input << " element " << i;
    }
  }
  return num_kinks;
}

}  // namespace halftone::gradient
