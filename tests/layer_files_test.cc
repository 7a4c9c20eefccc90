// SPDX-License-Identifier: Apache-2.0
// A layer of codes computes the same bits after it was saved and loaded, for every pair of bits, in
// every format.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/import.h"
#include "halftone/formats/model.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone {
namespace {

using ir::Arithmetic;
using runtime::testing::kSamples;
using runtime::testing::layer_of;
using runtime::testing::LayerCase;
using runtime::testing::same_bits;
using runtime::testing::with_arithmetic;

constexpr formats::ModelFormat kFormats[] = {
    formats::ModelFormat::kOnnx, formats::ModelFormat::kTflite, formats::ModelFormat::kCircle};

/// The graph after writing and reading.
ir::Graph stored(const ir::Graph& graph, formats::ModelFormat format) {
  using formats::CircleFlavor;
  if (format == formats::ModelFormat::kOnnx) {
    return formats::import_onnx(formats::export_onnx(graph), {});
  }
  const bool is_tflite = format == formats::ModelFormat::kTflite;
  const auto flavor = is_tflite ? CircleFlavor::kTflite : CircleFlavor::kCircle;
  return formats::import_circle(formats::export_circle(graph, flavor));
}

std::vector<float> outputs(const ir::Graph& graph, const ir::Tensor& samples, std::size_t batch) {
  runtime::PlanSettings options{.batch = batch};
  options.execution.float_order =
      runtime::FloatOrder::kFixed;  // oneDNN's order may follow the batch
  return runtime::testing::run_in_batches(graph, options, samples.as<float>());
}

/// The layer of a loaded graph: a format may add nodes after it.
const ir::Node& stored_layer(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (ir::arithmetic(node.op) != nullptr && ir::layer_codes(graph, node).any()) return node;
  }
  return layer_of(graph);
}

class LayerFile : public ::testing::TestWithParam<LayerCase> {
 protected:
  static void expect_same_bits(const ir::Graph& graph, const ir::Tensor& samples) {
    const std::vector<float> expected = outputs(graph, samples, kSamples);
    for (const formats::ModelFormat format : kFormats) {
      const std::string_view file = to_string(format);
      const ir::Graph loaded = stored(graph, format);
      EXPECT_EQ(ir::arithmetic_of(loaded, stored_layer(loaded)),
                ir::arithmetic_of(graph, layer_of(graph)))
          << file;
      for (const std::size_t batch : {std::size_t{1}, std::size_t{2}, std::size_t{7}, kSamples}) {
        EXPECT_TRUE(same_bits(outputs(loaded, samples, batch), expected))
            << file << ", batch " << batch;
      }
    }
  }
};

TEST_P(LayerFile, GivesTheSameBitsForEveryPairOfBits) {
  Random random(71);
  const ir::Tensor samples =
      runtime::testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for (int w_bits = 1; w_bits <= numerics::kMaxBits; ++w_bits) {
    for (int x_bits = 0; x_bits <= numerics::kMaxBits; ++x_bits) {
      SCOPED_TRACE(std::to_string(w_bits) + "/" + std::to_string(x_bits));
      const ir::Graph unset = runtime::testing::graph_of(GetParam(), w_bits, x_bits);
      const auto by_rule = ir::arithmetic_of(unset, layer_of(unset));
      expect_same_bits(with_arithmetic(unset, by_rule.value()), samples);
    }
  }
}

TEST_P(LayerFile, KeepsAnArithmeticThatTheRuleWouldNotChoose) {
  Random random(72);
  const ir::Tensor samples =
      runtime::testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for (const int w_bits : {1, 4}) {
    for (const int x_bits : {0, 2, 3}) {
      for (const auto arithmetic :
           {Arithmetic::kAuto, Arithmetic::kBits, Arithmetic::kIntegers, Arithmetic::kFloat}) {
        SCOPED_TRACE(std::to_string(w_bits) + "/" + std::to_string(x_bits) + " " +
                     std::string(to_string(arithmetic)));
        const ir::Graph graph =
            with_arithmetic(runtime::testing::graph_of(GetParam(), w_bits, x_bits), arithmetic);
        if (ir::why_not(arithmetic, graph, layer_of(graph))) continue;
        expect_same_bits(graph, samples);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, LayerFile, ::testing::ValuesIn(runtime::testing::layer_cases()),
                         [](const auto& layer) { return layer.param.name; });

}  // namespace
}  // namespace halftone
