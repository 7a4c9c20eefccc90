// SPDX-License-Identifier: Apache-2.0
// Layers of evenly spaced levels, whose codes C finds by comparisons of integers, have the bits of
// the runtime, which computes them in float32.
#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/export_c/sum_codes.h"
#include "halftone/export_c/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/test_data.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::export_c {
namespace {

using ir::ValueId;
using ir::test::float_type;

/// Levels a (2 v + shift) of a few bits, a by output.
ir::EncodedTensor even_weights(const ir::Shape& shape, int bits, int shift, Random& random) {
  const auto rows = static_cast<std::size_t>(shape[0]);
  std::vector<numerics::Basis> bases;
  for (std::size_t o = 0; o < rows; ++o) {
    const float sign = random.below(4) == 0 ? -1.0F : 1.0F;
    const float a = sign * std::exp(static_cast<float>(random.normal())) / 8;
    const float offset = a * static_cast<float>(shift + (1 << bits) - 1);
    bases.push_back(bits == 1 ? numerics::make_basis(std::array{a}, offset)
                              : numerics::make_basis(std::array{a, 2 * a}, offset));
  }
  const std::size_t cols = shape.element_count() / rows;
  const auto encoding = std::make_shared<numerics::MatrixEncoding>(
      numerics::basis_encoding(bases, true, numerics::Granularity::kChannel));
  numerics::BitPlanes codes = numerics::random_planes(random, rows, cols, bits);
  return {shape, encoding, std::move(codes)};
}

ir::Encode encode(int bits, float scale, float zero) {
  return {std::make_shared<numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::affine_basis(bits, scale, zero)))};
}

std::vector<std::string> kernels_of(const CSources& sources) {
  std::vector<std::string> kernels;
  for (const v0::CLayer& layer : sources.report.layers) kernels.push_back(layer.kernel);
  return kernels;
}

struct Bits {
  int w;
  int x;
  int shift;
  const char* kernel;
};
constexpr Bits kBits[] = {{1, 1, -1, "ht_signs"},    {1, 2, -1, "ht_planes"},
                          {2, 2, -3, "ht_digits_2"}, {2, 2, -4, "ht_digits_2"},
                          {2, 1, -4, "ht_digits_2"}, {2, 4, -4, "ht_digits_2"}};

class EvenExport : public testing::WithPrograms {};

TEST_F(EvenExport, FullyConnected) {
  for (const auto& [w, x, shift, kernel] : kBits) {
    SCOPED_TRACE(std::to_string(w) + " " + std::to_string(x) + " " + std::to_string(shift));
    Random random(3);
    ir::Graph graph;
    ValueId y = graph.add_input("x", float_type({1, 2, 70}));
    ir::Dim inputs = 70;
    int bits = x;
    for (const ir::Dim outputs : {37, 64, 68}) {
      y = graph.add_node("encode", encode(bits, 0.9F, 0.4F), {y});
      bits = std::min(bits, 2);
      const ValueId weights =
          graph.add_constant("w", even_weights({outputs, inputs}, w, shift, random));
      const ValueId bias = graph.add_constant("b", ir::test::random_tensor({outputs}, random));
      y = graph.add_node("dense", ir::FullyConnected{{ir::ActivationKind::kRelu6}},
                         {y, weights, bias});
      inputs = outputs;
    }
    graph.add_output(y);
    const CSources sources = export_network(graph, {});
    // Inputs of four bits are multiplied as bytes.
    EXPECT_EQ(std::ranges::count(kernels_of(sources), kernel), x > 2 ? 1 : 2);
    EXPECT_EQ(kernels_of(sources).back(), "ht_dense_even_f32");
    expect_runs(sources);
  }
}

TEST_F(EvenExport, Convolutions) {
  for (const auto& [w, x, shift, kernel] : kBits) {
    for (const ir::Dim taps : {1, 3}) {
      SCOPED_TRACE(std::to_string(w) + " " + std::to_string(x) + " " + std::to_string(taps));
      Random random(4);
      ir::Graph graph;
      ValueId y = graph.add_input("x", float_type({1, 5, 4, 12}));
      const std::vector<ir::Dim> pads =
          taps == 1 ? std::vector<ir::Dim>{0, 0} : std::vector<ir::Dim>{1, 1};
      int bits = x;
      for (int i = 0; i < 3; ++i) {
        y = graph.add_node("encode", encode(bits, 0.8F, 0.3F), {y});
        bits = std::min(bits, 2);
        const ValueId weights =
            graph.add_constant("w", even_weights({12, taps, taps, 12}, w, shift, random));
        const ir::Conv conv{{{1, 1}, {1, 1}, pads, pads}, 1, {ir::ActivationKind::kRelu}};
        y = graph.add_node("conv", conv, {y, weights});
      }
      graph.add_output(y);
      const CSources sources = export_network(graph, {});
      EXPECT_EQ(std::ranges::count(kernels_of(sources), kernel), 2);
      expect_runs(sources);
    }
  }
}

/// Levels of outputs lie half way between integers, and thresholds on them.
TEST_F(EvenExport, SumsOnAThresholdAreComputedInFloats) {
  const auto graph_of = [](ir::Dim outputs, bool is_conv) {
    Random random(5);
    ir::Graph graph;
    ValueId y = graph.add_input("x", float_type({1, 3, 3, 8}));
    for (int i = 0; i < 2; ++i) {
      y = graph.add_node("encode", encode(2, 1.0F, 1.0F), {y});
      ir::EncodedTensor weights =
          even_weights({outputs, 1, 1, i == 0 ? 8 : outputs}, 2, -4, random);
      for (std::size_t o = 0; o < weights.codes.rows; ++o) {
        std::const_pointer_cast<numerics::MatrixEncoding>(weights.encoding)
            ->set_levels(o, numerics::Levels(numerics::make_basis(std::array{0.5F, 1.0F}, -0.5F)));
      }
      ir::Operator op = ir::Conv{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1, {ir::ActivationKind::kRelu6}};
      if (!is_conv) {
        weights.shape = {outputs, weights.shape[3]};
        op = ir::FullyConnected{{ir::ActivationKind::kRelu6}};
      }
      *ir::arithmetic(op) = ir::Arithmetic::kBits;
      y = graph.add_node("layer", op, {y, graph.add_constant("w", weights)});
    }
    graph.add_output(y);
    return graph;
  };
  for (const bool is_conv : {false, true}) {
    const CSources few = export_network(graph_of(2, is_conv), {});
    EXPECT_NE(few.files[1].text.find("floats decide"), std::string::npos);
    expect_runs(few);
    const CSources many = export_network(graph_of(40, is_conv), {});
    EXPECT_EQ(std::ranges::count(kernels_of(many), "ht_digits_2"), 0);
    expect_runs(many);
  }
}

/// Thresholds of an output lie close together, and far from each other.
TEST_F(EvenExport, ThresholdsOfAllDistances) {
  for (const float growth : {1.0F, 30.0F}) {
    Random random(7);
    float scale = 0.5F;
    ir::Graph graph;
    ValueId y = graph.add_input("x", float_type({1, 4, 4, 32}));
    for (int i = 0; i < 3; ++i) {
      y = graph.add_node("encode", encode(2, scale, 1), {y});
      scale *= growth;
      // The second one writes codes that a depthwise convolution reads.
      const bool is_depthwise = i == 2;
      const ir::Shape shape = is_depthwise ? ir::Shape{32, 3, 3, 1} : ir::Shape{32, 1, 1, 32};
      const std::vector<ir::Dim> pads(2, is_depthwise ? 1 : 0);
      ir::Operator op = ir::Conv{{{1, 1}, {1, 1}, pads, pads}, is_depthwise ? 32 : 1, {}};
      *ir::arithmetic(op) = is_depthwise ? ir::Arithmetic::kIntegers : ir::Arithmetic::kBits;
      y = graph.add_node("conv", op,
                         {y, graph.add_constant("w", even_weights(shape, 2, -3, random))});
    }
    graph.add_output(y);
    const CSources sources = export_network(graph, {});
    const std::string kind = growth == 1 ? "ht_encode_near_" : "ht_encode_sums_";
    EXPECT_NE(sources.files[1].text.find(kind + "2(sums"), std::string::npos);
    EXPECT_NE(sources.files[1].text.find(kind + "packed(sums"), std::string::npos);
    expect_runs(sources);
  }
}

/// States of few bits times weights of all kinds: even, of levels, of bytes, in groups.
TEST_F(EvenExport, StatesOfRecurrentLayers) {
  constexpr ir::Dim kHidden = 64;
  using numerics::Granularity;
  using runtime::testing::WeightFormat;
  const auto graph_of = [](ir::RecurrentKind kind, int bits, const ir::EncodedTensor& weights) {
    ir::Recurrent op;
    op.kind = kind;
    if (bits != 0) {
      const auto highest = static_cast<float>((1 << bits) - 1);
      op.state_encoding = encode(bits, 2 / highest, highest / 2).encoding;
    }
    ir::Graph graph;
    std::vector<ValueId> inputs(ir::kPeepholes + 1, ir::kAbsent);
    inputs[ir::kGates] = graph.add_input("x", float_type({3, 1, weights.shape[0]}));
    inputs[ir::kRecurrenceWeights] = graph.add_constant("w", weights);
    graph.add_output(graph.add_node("layer", op, inputs));
    return graph;
  };
  ir::Graph all;
  for (const auto kind :
       {ir::RecurrentKind::kRnn, ir::RecurrentKind::kGru, ir::RecurrentKind::kLstm}) {
    Random random(8);
    const auto gates = kHidden * static_cast<ir::Dim>(ir::num_gates(kind));
    all.append(graph_of(kind, 2, even_weights({gates, kHidden}, 2, -3, random)));
    EXPECT_EQ(kernels_of(export_network(all, {})).back(), "ht_dense_even_f32");
    for (const WeightFormat& format : {WeightFormat{2, true},
                                       {8, true},
                                       {4, true, Granularity::kGroup, 24},
                                       {8, true, Granularity::kGroup, 24}}) {
      const auto rows = static_cast<std::size_t>(gates);
      const ir::EncodedTensor weights =
          runtime::testing::random_weights(rows, kHidden, format, random);
      for (const int bits : {0, 2, 8}) {
        const ir::Graph graph = graph_of(kind, bits, weights);
        const auto arithmetic = ir::arithmetic_of(graph, runtime::testing::layer_of(graph));
        if (bits == 0 || arithmetic != ir::Arithmetic::kFloat) all.append(graph);
      }
    }
  }
  expect_runs(export_network(all, {}), "-O0");
}

TEST(RoundedSum, BoundsWhatFloatsRound) {
  // The errors of 1, of 1 + 3 and of 4 + 12: each product once, each sum once but the first. Terms
  // of the second order are covered by a share of 2^-16; all numbers are exact in float64.
  constexpr double kSecondOrder = 1 + 0x1p-16;
  RoundedSum sum;
  sum.add(1, 1);
  EXPECT_EQ(sum.error(), 1 * kSecondOrder);
  sum.add(3, 1, 0.5);
  EXPECT_EQ(sum.error(), (1 + 3.5 + 4) * kSecondOrder);
  sum.add(12, 0);
  EXPECT_EQ(sum.reach(), 16);
  EXPECT_EQ(sum.error(), (8.5 + 16) * kSecondOrder);
  Random random(6);
  for (int i = 0; i < 1000; ++i) {
    float rounded = 0;
    double exact = 0;
    RoundedSum bound;
    for (int k = 0; k < 9; ++k) {
      const auto a = static_cast<float>(random.normal());
      const auto b = static_cast<float>(random.normal());
      rounded += a * b;
      exact += double{a} * double{b};
      bound.add(std::abs(double{a} * double{b}), 1);
    }
    EXPECT_LE(std::abs(double{rounded} - exact), 0x1p-24 * bound.error());
  }
}

TEST(SumCodes, AreThoseOfTheNumbers) {
  const kernels::EncodeTable table(numerics::Levels(numerics::affine_basis(2, 1, 0)));
  const LevelCounter counter(table, {-100, 1.75F});
  EXPECT_EQ(counter(-1), 0U);
  EXPECT_EQ(counter(0.5), 0U);
  EXPECT_EQ(counter(0.75), 1U);
  EXPECT_EQ(counter(9), 2U);  // limited to 1.75
  // 0.3 S + 0.1 passes 0.5 at 2, 1.5 at 5, never 2.5.
  auto codes = find_sum_codes(std::vector<OutputOfSum>{{0.3, 0.1, 0.01}}, 10, counter);
  ASSERT_TRUE(codes);
  EXPECT_EQ(codes->thresholds, (std::vector<std::int16_t>{2, 5, 11}));
  EXPECT_FALSE(codes->falls[0]);
  EXPECT_TRUE(codes->unsure.empty());
  // 0.1 - 0.3 S passes them down from -5 and -2: sums that do not reach -1 are above the first.
  codes = find_sum_codes(std::vector<OutputOfSum>{{-0.3, 0.1, 0.01}}, 10, counter);
  ASSERT_TRUE(codes);
  EXPECT_EQ(codes->thresholds, (std::vector<std::int16_t>{-10, -4, -1}));
  EXPECT_TRUE(codes->falls[0]);
  // 0.25 S is 0.5 at 2 and 1.5 at 6.
  codes = find_sum_codes(std::vector<OutputOfSum>{{0.25, 0, 0.01}}, 10, counter);
  ASSERT_TRUE(codes);
  EXPECT_EQ(codes->thresholds, (std::vector<std::int16_t>{3, 7, 11}));
  ASSERT_EQ(codes->unsure.size(), 2U);
  EXPECT_EQ(codes->unsure[1].sum, 6);
  EXPECT_FALSE(find_sum_codes(std::vector<OutputOfSum>{{0.25, 0, 9}}, 10, counter));
  EXPECT_FALSE(find_sum_codes(std::vector<OutputOfSum>{{0.25, 0, 0}}, 32767, counter));
}

}  // namespace
}  // namespace halftone::export_c
