// SPDX-License-Identifier: Apache-2.0
// A Gather from an encoded table, in every format.
#include <gtest/gtest.h>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/model.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::formats {
namespace {

using TableLayer = WithFolder;
using ir::ValueId;
using numerics::Granularity;

constexpr ir::Dim kRows = 400;
constexpr ir::Dim kWidth = 70;

ir::EncodedTensor table_of(Granularity granularity) {
  Random random(7);
  numerics::MatrixEncoding encoding = numerics::random_encoding(
      random, kRows, kWidth, 3, true, granularity, granularity == Granularity::kGroup ? 32 : 0);
  // As fitted bases: exact in half precision.
  for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
    encoding.set_levels(i, numerics::make_basis(std::array{0.5F, 1.25F, -2.0F}, 0.375F));
  }
  return {{kRows, kWidth},
          std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          numerics::random_planes(random, kRows, kWidth, 3)};
}

/// tokens -> rows of the table and, if the table is tied, their products with it.
ir::Graph network(Granularity granularity, bool tied) {
  ir::Graph graph;
  const ValueId tokens =
      graph.add_input("tokens", ir::dense_type(ir::ElementType::kInt32, {ir::kBatch, 4}));
  const ValueId table = graph.add_constant("table", table_of(granularity));
  const ValueId rows = graph.add_node("rows", ir::Gather{0}, {table, tokens});
  graph.add_output(tied ? graph.add_node("scores", ir::FullyConnected{}, {rows, table}) : rows);
  return graph;
}

TEST_F(TableLayer, ComputesTheSameFromEveryFormat) {
  const auto tokens =
      ir::test::list(ir::test::tensor<std::int32_t>({2, 4}, {0, 399, -1, -400, 17, 17, 64, 200}));
  for (const auto granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    for (const bool tied : {false, true}) {
      const ir::Graph graph = network(granularity, tied);
      for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
        save_model(graph, path(name));
        const ir::Graph loaded = load_model(path(name));
        ir::test::expect_near(ir::test::run_reference(loaded, tokens),
                              ir::test::run_reference(graph, tokens), 0, name);
      }
    }
  }
}

TEST_F(TableLayer, FileHoldsBitsAndSmallBasesOnce) {
  constexpr std::size_t kCodes = kRows * 3 * ((kWidth + 7) / 8);
  constexpr std::size_t kBases = kRows * 4 * 2;
  constexpr std::size_t kRest = 2000;
  for (const bool tied : {false, true}) {
    for (const char* name : {"m.onnx", "m.tflite", "m.circle"}) {
      save_model(network(Granularity::kChannel, tied), path(name));
      const std::size_t bytes = std::filesystem::file_size(path(name));
      EXPECT_GT(bytes, kCodes + kBases) << name;
      EXPECT_LT(bytes, kCodes + kBases + kRest) << name << (tied ? " tied" : "");
    }
  }
}

TEST(TableFields, OfALayerThatMultipliesAreRefused) {
  LowBitFields fields{9, 3, 0, true, false, Granularity::kChannel, 0, 0};
  EXPECT_NO_THROW(fields.check_table());
  const auto refused = [&](const std::string& text) {
    expect_error(ErrorKind::kFormat, "a table: expected codes alone, found " + text,
                 [&] { fields.check_table(); });
  };
  fields.activation = 1;
  refused("3 weight_bits, 0 activation_bits, activation 1");
  fields.activation = 0;
  fields.activation_bits = 2;
  refused("3 weight_bits, 2 activation_bits, activation 0");
  fields.activation_bits = 0;
  fields.weight_bits = 0;
  refused("0 weight_bits, 0 activation_bits, activation 0");
  fields.weight_bits = 3;
  fields.arithmetic = ir::Arithmetic::kFloat;
  expect_error(ErrorKind::kFormat, "arithmetic: expected none for a table, found float",
               [&] { fields.check_table(); });
}

}  // namespace
}  // namespace halftone::formats
