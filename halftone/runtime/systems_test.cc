// SPDX-License-Identifier: Apache-2.0
// Layers with codes of every number system: the kernels compute what the codes mean, a sample has
// the same bits in every batch.
#include "halftone/numerics/systems.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::runtime {
namespace {

using numerics::Granularity;
using numerics::NumberSystem;
using testing::kSamples;
using testing::layer_of;
using testing::LayerCase;
using testing::run_in_batches;
using testing::same_bits;
using testing::with_arithmetic;

std::shared_ptr<const numerics::MatrixEncoding> input_encoding(const NumberSystem& system, int bits,
                                                               Random& random) {
  const ir::Tensor values = testing::random_tensor({1, 400}, random);
  return std::make_shared<const numerics::MatrixEncoding>(numerics::encoding_by_rule(
      system, bits, {Granularity::kTensor, 0}, {values.as<float>(), 1, 400}));
}

ir::EncodedTensor encoded_weights(const NumberSystem& system, int bits, const ir::Shape& shape,
                                  Random& random) {
  const ir::Tensor weights = testing::random_tensor(shape, random);
  const auto [rows, cols] = ir::matrix_extent(shape);
  const MatrixView<const float> view(weights.as<float>(), rows, cols);
  auto encoding = numerics::encoding_by_rule(system, bits, system.blocks, view);
  auto codes = numerics::encode(view, encoding);
  return {shape, std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          std::move(codes)};
}

/// @param input  null: the input stays float32
ir::Graph graph_of(const LayerCase& layer, const NumberSystem& weights, int bits,
                   const NumberSystem* input) {
  Random random(71);
  ir::Graph graph;
  ir::Operator op = layer.op;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(layer.x));
  if (input != nullptr) {
    const auto encoding = input_encoding(*input, std::min(input->max_bits, 8), random);
    if (auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
      recurrent->state_encoding = encoding;
    } else {
      x = graph.add_node("encode", ir::Encode{encoding}, {x});
    }
  }
  const auto w = graph.add_constant("w", encoded_weights(weights, bits, layer.w, random));
  graph.add_output(graph.add_node("layer", std::move(op), {x, w}));
  return graph;
}

/// Calls visit(system, bits) for the systems with a codebook, at few and many bits.
template <typename Visit>
void for_each_codebook(const Visit& visit) {
  for (const NumberSystem& system : numerics::number_systems()) {
    // e8m0 has no weights below zero.
    if (system.is_learned() || system.name == "e8m0") continue;
    for (const int bits :
         std::set<int>{system.min_bits, std::clamp(4, system.min_bits, system.max_bits),
                       std::clamp(8, system.min_bits, system.max_bits), system.max_bits}) {
      SCOPED_TRACE(std::string(system.name) + " of " + std::to_string(bits) + " bits");
      visit(system, bits);
    }
  }
}

class LayerOfCodes : public ::testing::TestWithParam<LayerCase> {};

TEST_P(LayerOfCodes, HasTheSameBitsInEveryBatch) {
  Random random(72);
  const ir::Tensor samples = testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for_each_codebook([&](const NumberSystem& system, int bits) {
    for (const char* input : {"", "int", "e2m1", "e4m3"}) {
      const NumberSystem* x = *input == 0 ? nullptr : &numerics::find_system(input);
      const ir::Graph graph = graph_of(GetParam(), system, bits, x);
      PlanSettings options{.batch = kSamples};
      const auto expected = run_in_batches(graph, options, samples.as<float>());
      for (const std::size_t batch : {1U, 7U}) {
        options.batch = batch;
        EXPECT_TRUE(same_bits(run_in_batches(graph, options, samples.as<float>()), expected))
            << "input '" << input << "', batch " << batch;
      }
    }
  });
}

double mean_square(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += double{value} * double{value};
  return sum / static_cast<double>(x.size());
}

/// The most that the levels of any block move onto the grid of weights.
double grid_error(const numerics::MatrixEncoding& encoding) {
  double most = 0;
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    most = std::max(most, double{kernels::weight_grid(encoding.levels(block)).half_step});
  }
  return most;
}

/// Without states, which amplify what rounding changes.
class StatelessLayerOfCodes : public LayerOfCodes {};

TEST_P(StatelessLayerOfCodes, ComputesInIntegersWhatTheCodesMean) {
  const LayerCase& layer = GetParam();
  Random random(73);
  const ir::Tensor samples = testing::random_tensor(layer.x.with_batch(kSamples), random);
  for_each_codebook([&](const NumberSystem& system, int bits) {
    const NumberSystem& input = numerics::find_system("int");  // 8 bits: levels are exact
    const ir::Graph graph = graph_of(layer, system, bits, &input);
    if (ir::why_not(ir::Arithmetic::kIntegers, graph, layer_of(graph))) return;
    const PlanSettings options{.batch = kSamples};
    const auto run = [&](ir::Arithmetic arithmetic) {
      return run_in_batches(with_arithmetic(graph, arithmetic), options, samples.as<float>());
    };
    const auto integers = run(ir::Arithmetic::kIntegers);
    auto difference = run(ir::Arithmetic::kFloat);
    const double power = mean_square(difference);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= integers[i];
    // A weight moves by half a step of its grid at most, an input not at all; the errors of the n
    // products of an output are independent.
    const auto& weights = std::get<ir::EncodedTensor>(*graph.constant(layer_of(graph).inputs[1]));
    const double n = static_cast<double>(ir::matrix_extent(weights.shape).cols);
    const double x_power = mean_square(samples.as<float>());
    const double w_error = grid_error(*weights.encoding);
    const double expected = n * x_power * w_error * w_error;
    EXPECT_LE(mean_square(difference), expected + 1e-10 * power);
  });
}

std::vector<LayerCase> stateless_cases() {
  std::vector<LayerCase> cases = testing::layer_cases();
  std::erase_if(cases, [](const LayerCase& layer) { return ir::is_recurrent(layer.op); });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerOfCodes, ::testing::ValuesIn(testing::layer_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Layers, StatelessLayerOfCodes, ::testing::ValuesIn(stateless_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace halftone::runtime
