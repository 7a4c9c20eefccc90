// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/low_bit_layer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::formats {
namespace {

using numerics::Granularity;

ir::Tensor rows(const ir::Shape& shape, const std::vector<float>& numbers) {
  return ir::Tensor::from<float>(shape, numbers);
}

LowBitFields group_fields() { return {9, 3, 2, true, false, Granularity::kGroup, 4, 4}; }

TEST(LowBitFields, AreNamedOnceInTheOrderOfFiles) {
  std::string names;
  LowBitFields fields;
  for_each_field(fields, [&](const char* name, auto&) { names += std::string(name) + " "; });
  EXPECT_EQ(names,
            "inputs weight_bits activation_bits weight_offset activation_offset granularity "
            "group_size activation arithmetic weight_system activation_system "
            "scale_type scale_factor factor_type factor_share ");
}

TEST(LowBitFields, OutOfRangeAreRefused) {
  EXPECT_NO_THROW(group_fields().check());
  EXPECT_NO_THROW(LowBitFields().check());
  const auto expect = [](const std::string& text, const auto& change) {
    LowBitFields fields = group_fields();
    change(fields);
    expect_error(ErrorKind::kFormat, text, [&] { fields.check(); });
  };
  expect("inputs: expected 0 to 1099511627776, found -1", [](auto& f) { f.inputs = -1; });
  expect("weight_bits: expected 0 to 8, found 9", [](auto& f) { f.weight_bits = 9; });
  expect("activation_bits: expected 0 to 8, found -1", [](auto& f) { f.activation_bits = -1; });
  expect("group_size: expected 0 to 1099511627776, found -4", [](auto& f) { f.group_size = -4; });
  expect("group_size 0 does not go with granularity group", [](auto& f) { f.group_size = 0; });
  expect("group_size 4 does not go with granularity channel",
         [](auto& f) { f.granularity = Granularity::kChannel; });
  expect("factor_share 0 does not go with factor_type 'float16'",
         [](auto& f) { f.factor_type.text = "float16"; });
  expect("factor_share 8 does not go with factor_type ''",
         [](auto& f) { f.factor_share.number = 8; });
  expect("factor_share: expected 0 to 1099511627776, found -8",
         [](auto& f) { f.factor_share.number = -8; });
  expect("factor_type: expected groups of a number system with levels", [](auto& f) {
    f.factor_type.text = "float16";
    f.factor_share.number = 8;
  });
  expect("activation: expected 0 to 5, found 6", [](auto& f) { f.activation = 6; });
}

TEST(LowBitFields, NamesAndNumbersMapBothWays) {
  for (const auto each : {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    EXPECT_EQ(granularity_of(to_string(each)), each);
  }
  expect_error(ErrorKind::kFormat, "granularity: expected tensor, channel or group, found 'row'",
               [] { granularity_of("row"); });
  for (std::int64_t code = 0; code <= 5; ++code) {
    EXPECT_EQ(activation_code(activation_of_code(code).kind), code);
  }
  EXPECT_EQ(activation_of_code(4).kind, ir::ActivationKind::kTanh);
  EXPECT_EQ(activation_code(ir::ActivationKind::kSilu), std::nullopt);
  EXPECT_EQ(arithmetic_of_name("integers"), ir::Arithmetic::kIntegers);
  expect_error(ErrorKind::kFormat,
               "arithmetic: expected auto, bits, integers or float, found 'int4'",
               [] { arithmetic_of_name("int4"); });
}

TEST(LowBitFields, OfBothVersionsAreRead) {
  EXPECT_NO_THROW(check_low_bit_version(1));
  EXPECT_NO_THROW(check_low_bit_version(2));
  for (const std::int64_t version : {0, 3}) {
    expect_error(ErrorKind::kUnsupported,
                 "version: expected 1 to 2, found " + std::to_string(version),
                 [&] { check_low_bit_version(version); });
  }
}

TEST(LowBitLayer, RoundTripForEveryTailAndGranularity) {
  Random random(3);
  for (const auto granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    for (std::int64_t n = 1; n <= 70; ++n) {
      LowBitFields fields{n, 2, 0, n % 2 == 0, false, granularity, 0, 0};
      if (granularity == Granularity::kGroup) fields.group_size = 8;
      numerics::MatrixEncoding encoding;
      encoding.bits = 2;
      encoding.has_offset = fields.weight_offset;
      encoding.granularity = granularity;
      encoding.group_size = static_cast<std::size_t>(fields.group_size);
      encoding.allocate(5, static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
        const std::array a = {static_cast<float>(random.normal()), 0.25F};
        encoding.set_levels(i, numerics::make_basis(a, fields.weight_offset ? 0.1F : 0.0F));
      }
      numerics::BitPlanes codes(5, static_cast<std::size_t>(n), 2);
      for (auto& word : codes.planes.words()) word = random.next();
      codes.planes.clear_tails();
      const ir::Tensor planes = weight_planes(codes, static_cast<std::size_t>(n + 7) / 8);
      ASSERT_NO_THROW(check_planes(fields, planes.type()));
      const auto bases = read_weight_scales(fields, weight_scales(encoding));
      EXPECT_EQ(*bases, encoding);
      const ir::EncodedTensor weights = read_planes(fields, bases, planes);
      EXPECT_EQ(weights.shape, (ir::Shape{5, n}));
      EXPECT_EQ(weights.codes, codes);
    }
  }
}

TEST(LowBitLayer, BasesWithPartialRowsOrInfinitiesAreRejected) {
  const LowBitFields fields{5, 2, 2, false, true, Granularity::kChannel, 0, 0};
  expect_error(ErrorKind::kFormat,
               "scales of the weights: expected rows of 2 numbers, found [1, 3]", [&] {
                 read_weight_scales(fields, rows({1, 3}, {1, 2, 3}));
               });
  expect_error(ErrorKind::kFormat, "scales of the weights: expected rows of 2 numbers, found []",
               [&] { read_weight_scales(fields, rows({}, {1})); });
  const float infinity = std::numeric_limits<float>::infinity();
  expect_error(ErrorKind::kFormat, "scales of the weights: expected finite numbers, found inf",
               [&] {
                 read_weight_scales(fields, rows({1, 2}, {1, infinity}));
               });
  expect_error(ErrorKind::kFormat, "scales of the input: expected one, found [2, 3]", [&] {
    read_activation_scales(fields, rows({2, 3}, {1, 2, 3, 4, 5, 6}));
  });
  const auto encoding = read_activation_scales(fields, rows({3}, {1, 2, 0}));
  EXPECT_TRUE(encoding->has_offset);
  EXPECT_EQ(activation_scales(*encoding).shape(), (ir::Shape{3}));
}

/// Of rows of three groups of 4, 4 and 1 numbers, two of which share factors.
LowBitFields shared_factor_fields() {
  LowBitFields fields{9, 3, 0, true, false, Granularity::kGroup, 4, 0};
  fields.weight_system.text = "affine_k";
  fields.scale_type.text = "uint6";
  fields.factor_type.text = "float16";
  fields.factor_share.number = 2;
  return fields;
}

TEST(LowBitLayer, HasScalesThatShareFactorsInTheirBits) {
  // 1 and -2 in binary16, codes 1, 2, 3, 4; 0.5 and 0, codes 63, 33.
  const std::vector<std::uint8_t> bytes{0x00, 0x3C, 0x00, 0xC0, 0x81, 0x30, 0x10,
                                        0x00, 0x38, 0x00, 0x00, 0x7F, 0x08};
  const LowBitFields fields = shared_factor_fields();
  fields.check();
  const ir::Tensor row = ir::Tensor::from<std::uint8_t>({1, 13}, bytes);
  const auto encoding = read_weight_scales(fields, row);
  encoding->check(1, 9);
  const std::vector<float> scales{1, 2, 31.5};
  const std::vector<float> offsets{-6, -8, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(encoding->scales[i], scales[i]);
    EXPECT_EQ(encoding->offsets[i], offsets[i]);
  }
  EXPECT_TRUE(std::ranges::equal(weight_scales(*encoding).bytes(), row.bytes()));
  EXPECT_EQ(encoding->stored_bits(), 6U * 6 + 4 * 16);
  LowBitFields described{9, 0, 0, false, false, Granularity::kTensor, 0, 0};
  describe_weights(*encoding, described);
  EXPECT_EQ(described, fields);
}

TEST(LowBitLayer, ScalesThatShareFactorsAndDoNotFitAreRefused) {
  const auto expect = [](const std::string& text, const ir::Tensor& scales, const auto& change) {
    LowBitFields fields = shared_factor_fields();
    change(fields);
    expect_error(ErrorKind::kFormat, "scales of the weights: " + text, [&] {
      fields.check();
      const auto encoding = read_weight_scales(fields, scales);
    });
  };
  const auto keep = [](LowBitFields&) {};
  const std::string expected = "expected uint8 [outputs, 13] for rows of 3 groups, found ";
  const ir::Tensor good(ir::ElementType::kUint8, {1, 13});
  expect(expected + "uint8[1, 12]", ir::Tensor(ir::ElementType::kUint8, {1, 12}), keep);
  expect(expected + "uint8[13]", ir::Tensor(ir::ElementType::kUint8, {13}), keep);
  expect(expected + "float32[1, 13]", ir::Tensor(ir::ElementType::kFloat32, {1, 13}), keep);
  expect("factor_type: unknown 'float15'", good, [](auto& f) { f.factor_type.text = "float15"; });
  expect("factor_type: unknown 'uint6'", good, [](auto& f) { f.factor_type.text = "uint6"; });
  expect("scale_type: expected one of up to 8 bits beside factor_type, found ''", good,
         [](auto& f) { f.scale_type.text = ""; });
  expect("scale_type: expected one of up to 8 bits beside factor_type, found 'bfloat16'", good,
         [](auto& f) { f.scale_type.text = "bfloat16"; });
  std::vector<std::uint8_t> infinite(13, 0xFF);
  expect("a scale or offset that is no number", ir::Tensor::from<std::uint8_t>({1, 13}, infinite),
         keep);
  expect("expected groups, found none", good, [](auto& f) { f.inputs = 0; });
  // Rows that the codes do not have, and scales of zero.
  const LowBitFields fields = shared_factor_fields();
  const ir::Tensor planes(ir::ElementType::kUint8, {2, 3, 2});
  expect_error(ErrorKind::kFormat, "a matrix of 2 x 9 needs 6 scales, found 3",
               [&] { read_planes(fields, read_weight_scales(fields, good), planes); });
  const ir::Tensor two(ir::ElementType::kUint8, {2, 13});
  expect_error(ErrorKind::kFormat, "scale of block 0: expected a number other than 0",
               [&] { read_planes(fields, read_weight_scales(fields, two), planes); });
}

TEST(LowBitLayer, PlanesThatDoNotFitAreRefused) {
  const LowBitFields fields = group_fields();
  const auto expect = [&](const ir::ValueType& type, const std::string& found) {
    expect_error(ErrorKind::kFormat,
                 "bit planes: expected uint8 [outputs, 3, 2] for 9 inputs, found " + found,
                 [&] { check_planes(fields, type); });
  };
  expect(ir::dense_type(ir::ElementType::kInt8, {4, 3, 2}), "int8[4, 3, 2]");
  expect(ir::dense_type(ir::ElementType::kUint8, {12, 2}), "uint8[12, 2]");
  expect(ir::dense_type(ir::ElementType::kUint8, {4, 2, 2}), "uint8[4, 2, 2]");
  expect(ir::dense_type(ir::ElementType::kUint8, {4, 3, 3}), "uint8[4, 3, 3]");
  const ir::Tensor planes(ir::ElementType::kUint8, {4, 3, 2});
  const auto few = read_weight_scales(fields, rows({1, 4}, {1, 2, 3, 4}));
  expect_error(ErrorKind::kFormat, "a matrix of 4 x 9 needs 36 coefficients, found 3",
               [&] { read_planes(fields, few, planes); });
}

TEST(LowBitLayer, VectorsThatDoNotFitAreRefused) {
  LowBitFields fields{5, 8, 0, false, false, Granularity::kGroup, 64, 0};
  fields.weight_system = {"2x6"};
  fields.scale_type = {"e3m5"};
  ASSERT_NO_THROW(fields.check());
  const ir::Tensor scales(ir::ElementType::kUint8, {4, 1});
  const auto encoding = read_weight_scales(fields, scales);
  ASSERT_NE(encoding->vectors, nullptr);
  ir::Tensor codes(ir::ElementType::kUint8, {4, 1, 3});
  ASSERT_NO_THROW(check_planes(fields, codes.type()));
  const ir::EncodedTensor weights = read_planes(fields, encoding, codes);
  EXPECT_EQ(weight_codes(weights).as<std::uint8_t>()[11], 0);
  const auto refuse = [&](const ir::ValueType& type) {
    expect_error(ErrorKind::kFormat,
                 "codes of 2x6: expected uint8 [outputs, 1, 3] for 5 inputs, found ",
                 [&] { check_planes(fields, type); });
  };
  refuse(ir::dense_type(ir::ElementType::kUint8, {4, 8, 1}));
  refuse(ir::dense_type(ir::ElementType::kUint8, {4, 1, 4}));
  refuse(ir::dense_type(ir::ElementType::kInt8, {4, 1, 3}));
  codes.as<std::uint8_t>()[11] = 4;
  expect_error(ErrorKind::kFormat, "codes of 2x6: expected zero bits behind code 3 of row 3",
               [&] { read_planes(fields, encoding, codes); });
  LowBitFields other = fields;
  other.weight_bits = 6;
  expect_error(ErrorKind::kFormat, "number system '2x6': does not have 6 bits",
               [&] { read_weight_scales(other, scales); });
  other = fields;
  other.granularity = Granularity::kChannel;
  other.group_size = 0;
  expect_error(ErrorKind::kFormat, "a vector basis: expected int of 8 bits in groups", [&] {
    read_planes(other, read_weight_scales(other, scales), ir::Tensor(codes.element(), {4, 1, 3}));
  });
  other.activation_bits = 8;
  other.activation_system = {"2x6"};
  expect_error(ErrorKind::kFormat, "activation_system: expected single numbers, found vectors",
               [&] { read_activation_scales(other, rows({1}, {1})); });
}

TEST(LowBitLayer, OnlyVectorsOfShippedBasesAreWritten) {
  const auto basis = numerics::shipped_vector_basis("2x6");
  std::vector<std::int8_t> matrix(basis->matrix().begin(), basis->matrix().end());
  matrix[0] = static_cast<std::int8_t>(-matrix[0]);
  auto encoding =
      numerics::empty_encoding(numerics::find_system("2x6"), 8, {Granularity::kGroup, 64}, 1, 2);
  encoding.vectors = std::make_shared<const numerics::VectorBasis>(2, matrix);
  numerics::BitPlanes codes =
      planes_of_vectors(std::vector<std::uint16_t>{5}, *encoding.vectors, 1, 2);
  const ir::EncodedTensor weights{
      {1, 2}, std::make_shared<const numerics::MatrixEncoding>(encoding), codes};
  expect_error(ErrorKind::kUnsupported, "other than that which Halftone ships",
               [&] { weight_codes(weights); });
  encoding.vectors = basis;
  codes.set_code(0, 0, 255);
  codes.set_code(0, 1, 0);
  const ir::EncodedTensor others{
      {1, 2}, std::make_shared<const numerics::MatrixEncoding>(encoding), codes};
  expect_error(ErrorKind::kFormat, "weights: row 0, columns 0 to 1: no codeword of 2x6",
               [&] { weight_codes(others); });
}

TEST(LowBitLayer, RefusesAFunctionBeforeTheEncoding) {
  const float one[] = {1};
  const auto encoding = std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::make_basis(one)));
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {1, 2}));
  const auto codes =
      graph.add_node("codes", ir::Encode{encoding, {ir::ActivationKind::kTanh}}, {x});
  const auto w = graph.add_constant("w", rows({1, 2}, {1, 2}));
  graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {codes, w}));
  const ir::Node& layer = graph.node(graph.topological_order().back());
  expect_error(
      ErrorKind::kUnsupported,
      "node 'codes' (Encode): no file format has a function before the encoding, found Tanh",
      [&] { take_apart(graph, layer); });
}

}  // namespace
}  // namespace halftone::formats
