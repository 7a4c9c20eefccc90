// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/conv_layer.h"

#include <gtest/gtest.h>

#include "halftone/formats/model.h"
#include "halftone/ir/testing.h"

namespace halftone::formats {
namespace {

using ConvLayer = WithFolder;
using ir::ValueId;

/// Random codes of two bits, with one basis per output.
ir::EncodedTensor encoded_weights(ir::Shape shape, Random& random) {
  const auto [rows, cols] = matrix_extent(shape);
  std::vector<numerics::Basis> bases;
  numerics::BitPlanes codes(rows, cols, 2);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<float> a = {static_cast<float>(random.uniform()),
                                  static_cast<float>(random.uniform())};
    bases.push_back(numerics::make_basis(a, 0.25F));
    for (std::size_t c = 0; c < cols; ++c) {
      codes.set_code(r, c, static_cast<numerics::Code>(random.below(4)));
    }
  }
  auto encoding = numerics::basis_encoding(bases, true, numerics::Granularity::kChannel);
  return {std::move(shape), std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          std::move(codes)};
}

/// An encoded x, then a strided grouped convolution, then a transposed one with encoded weights.
ir::Graph network() {
  Random random(4);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 7, 6, 4}));
  const ValueId codes = graph.add_node("encode", ir::Encode{ir::test::odd_encoding()}, {x});
  const ValueId w = graph.add_constant("w", encoded_weights({6, 3, 2, 2}, random));
  const ValueId b = graph.add_constant("b", ir::test::random_tensor({6}, random));
  const ir::Conv conv{{{2, 1}, {1, 2}, {1, 0}, {0, 2}}, 2, {ir::ActivationKind::kRelu}};
  const ValueId y = graph.add_node("conv", conv, {codes, w, b});
  const ValueId v = graph.add_constant("v", encoded_weights({3, 2, 2, 6}, random));
  const ir::ConvTranspose back{{{2, 2}, {1, 1}, {0, 1}, {1, 0}}, {1, 0}, 1, {}};
  graph.add_output(graph.add_node("back", back, {y, v}));
  return graph;
}

TEST_F(ConvLayer, ComputesTheSameFromEveryFormat) {
  const ir::Graph graph = network();
  for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
    save_model(graph, path(name));
    ir::test::expect_same_function(load_model(path(name)), graph, {.tolerance = 0});
  }
}

TEST_F(ConvLayer, FieldsDescribeTheOperator) {
  const ir::Graph graph = network();
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Encode>(node.op)) continue;
    EXPECT_EQ(conv_of(conv_fields_of(graph, node)), node.op) << node.name;
  }
}

TEST(ConvWeightShape, DividesTheColumnsAmongTheTaps) {
  EXPECT_EQ(conv_weight_shape(std::vector<std::int64_t>{3, 2}, 24, 5), (ir::Shape{5, 3, 2, 4}));
  const struct {
    std::vector<std::int64_t> kernel;
    std::string text;
  } cases[] = {
      {{5}, "kernel: 5 taps do not divide 24 inputs"},
      {{0}, "kernel: expected extents whose product divides 24 inputs, found 0"},
      {{std::int64_t{1} << 62, 4}, "divides 24 inputs, found 4611686018427387904"},
      {{-3, 2}, "divides 24 inputs, found -3"},
  };
  for (const auto& [kernel, text] : cases) {
    expect_error(ErrorKind::kFormat, text,
                 [&, &extents = kernel] { conv_weight_shape(extents, 24, 5); });
  }
}

TEST(ConvOf, NeedsPadsAtBothEnds) {
  ConvFields fields;
  fields.strides = {1, 1};
  fields.pads = {0, 0, 0};
  expect_error(ErrorKind::kFormat, "pads: expected 4 numbers, found 3", [&] { conv_of(fields); });
}

}  // namespace
}  // namespace halftone::formats
