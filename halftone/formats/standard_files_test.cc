// SPDX-License-Identifier: Apache-2.0
// Files in ONNX's standard form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "halftone/base/file.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/formats/model.h"
#include "halftone/formats/onnx/standard_form.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/text.h"
#include "halftone/numerics/systems.h"
#include "onnx.pb.h"

namespace halftone::formats {
namespace {

using numerics::BlockShape;
using numerics::Granularity;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr BlockShape kTensor{Granularity::kTensor, 0};
constexpr BlockShape kChannel{Granularity::kChannel, 0};
constexpr BlockShape groups_of(std::size_t size) { return {Granularity::kGroup, size}; }

constexpr ExportOptions kStandard{.standard = true};
constexpr ExportOptions kNBits{.matmul_nbits = true};

ir::EncodedTensor weights_of(const char* name, int bits, BlockShape blocks,
                             const ir::Shape& shape = {6, 40}) {
  const auto [rows, cols] = ir::matrix_extent(shape);
  Random random(7);
  const ir::Tensor values = ir::test::random_tensor(shape, random);
  const MatrixView<const float> view{values.as<float>(), rows, cols};
  const auto& system = numerics::find_system(name);
  auto encoding = numerics::encoding_by_rule(system, bits, blocks, view).compact();
  auto codes = numerics::encode(view, encoding);
  return {shape, std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          std::move(codes)};
}

/// Offsets that are `zero` steps below 0.
ir::EncodedTensor with_zero_point(ir::EncodedTensor weights, float zero) {
  numerics::MatrixEncoding encoding = *weights.encoding;
  std::vector<float> offsets;
  for (std::size_t i = 0; i < encoding.scales.size(); ++i) {
    offsets.push_back(-zero * encoding.scales[i]);
  }
  encoding.offsets = numerics::StoredNumbers::of(offsets);
  weights.encoding = std::make_shared<const numerics::MatrixEncoding>(std::move(encoding));
  return weights;
}

std::shared_ptr<const numerics::MatrixEncoding> rounding(const char* name, int bits, float scale,
                                                         float offset = 0) {
  const auto& system = numerics::find_system(name);
  numerics::MatrixEncoding encoding = numerics::empty_encoding(system, bits, kTensor, 1, 1);
  encoding.scales = numerics::StoredNumbers::of({&scale, 1});
  if (encoding.has_offset) encoding.offsets = numerics::StoredNumbers::of({&offset, 1});
  return std::make_shared<const numerics::MatrixEncoding>(std::move(encoding));
}

ir::Graph fully_connected(ir::EncodedTensor weights,
                          std::shared_ptr<const numerics::MatrixEncoding> input = nullptr,
                          std::size_t rank = 2) {
  std::vector<ir::Dim> dims(rank, 3);
  dims[0] = ir::kBatch;
  dims.back() = weights.shape[1];
  const ir::Dim outputs = weights.shape[0];
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(ir::Shape(dims)));
  if (input != nullptr) x = graph.add_node("encode", ir::Encode{std::move(input)}, {x});
  const auto w = graph.add_constant("w", std::move(weights));
  const auto b = graph.add_constant("b", ir::test::random_tensor({outputs}, std::uint64_t{3}));
  ir::FullyConnected op;
  op.activation = {ir::ActivationKind::kRelu, 0, 0};
  graph.add_output(graph.add_node("layer", op, {x, w, b}));
  return graph;
}

class StandardFiles : public WithFolder {
 protected:
  /// Writes and reads a network, and checks that both have the same function.
  ir::Graph rewritten(const ir::Graph& graph, const ExportOptions& options = kStandard) {
    save_model(graph, path("m.onnx"), options);
    ir::Graph found = load_model(path("m.onnx"));
    Random random(5);
    std::vector<ir::Tensor> inputs;
    for (const ir::ValueId id : graph.inputs()) {
      inputs.push_back(ir::test::random_tensor(graph.value(id).type.shape.with_batch(3), random));
    }
    const auto expected = ir::test::run_reference(graph, inputs);
    // Sums of at most 64 products of numbers below 4.
    ir::test::expect_near(ir::test::run_reference(found, inputs), expected, 64 * 4 * 0x1p-22F);
    return found;
  }
  /// The operators of the file, with their domains.
  std::multiset<std::string> operators() {
    const auto file = map_file(path("m.onnx"));
    onnx_pb::ModelProto model;
    EXPECT_TRUE(model.ParseFromArray(file.bytes.data(), static_cast<int>(file.bytes.size())));
    std::multiset<std::string> names;
    for (const auto& node : model.graph().node()) {
      names.insert(node.domain() + (node.domain().empty() ? "" : ".") + node.op_type());
    }
    for (const auto& each : model.opset_import()) {
      if (each.domain().empty()) opset_ = each.version();
    }
    return names;
  }
  void expect_refused(const ir::Graph& graph, const std::string& text,
                      const ExportOptions& options = kStandard) {
    expect_error(ErrorKind::kUnsupported, text,
                 [&] { save_model(graph, path("no.onnx"), options); });
    EXPECT_FALSE(std::filesystem::exists(path("no.onnx")));
  }

  std::int64_t opset_ = 0;
};

struct Case {
  const char* system;
  int bits;
  BlockShape blocks;
  const char* form;  ///< in which weights read back
  std::int64_t opset;
};

TEST_F(StandardFiles, HoldWeightsOfManySystems) {
  const std::vector<Case> cases{
      {"int", 4, kTensor, "int(4 bits, tensor)", 21},
      {"int", 4, kChannel, "int(4 bits, channel)", 21},
      {"int", 4, groups_of(16), "int(4 bits, groups of 16)", 21},
      {"int", 2, kChannel, "int(4 bits, channel)", 21},
      {"int", 8, kChannel, "int(8 bits, channel)", 17},
      {"int", 8, groups_of(20), "int(8 bits, groups of 20)", 21},
      {"int", 5, kChannel, "int(8 bits, channel)", 17},
      {"int_narrow", 4, kChannel, "int(4 bits, channel)", 21},
      {"ternary", 2, kChannel, "int(4 bits, channel)", 21},
      {"fixed", 8, kChannel, "int(8 bits, channel)", 17},
      {"symmetric", 4, kChannel, "int(8 bits, channel)", 17},
      {"pot", 4, kChannel, "int(8 bits, channel)", 17},
      {"bfp", 4, groups_of(32), "int(4 bits, groups of 32)", 21},
      {"mxint8", 8, groups_of(32), "int(8 bits, groups of 32)", 21},
      {"int_k", 4, groups_of(16), "int(4 bits, groups of 16)", 21},
      {"e4m3", 8, kChannel, "e4m3(8 bits, channel)", 19},
      {"e5m2", 8, kTensor, "e5m2(8 bits, tensor)", 19},
      {"e4m3fnuz", 8, groups_of(16), "e4m3fnuz(8 bits, groups of 16)", 21},
      {"e5m2fnuz", 8, kChannel, "e5m2fnuz(8 bits, channel)", 19},
      {"mxfp8_e4m3", 8, groups_of(32), "e4m3(8 bits, groups of 32)", 21},
      {"e2m1", 4, kChannel, "e2m1(4 bits, channel)", 23},
      {"nvfp4", 4, groups_of(16), "e2m1(4 bits, groups of 16)", 23}};
  for (const Case& each : cases) {
    SCOPED_TRACE(std::string(each.system) + " " + std::to_string(each.bits));
    for (const std::size_t rank : {2U, 3U}) {
      const auto graph =
          fully_connected(weights_of(each.system, each.bits, each.blocks), nullptr, rank);
      const std::string text = ir::to_text(rewritten(graph));
      EXPECT_THAT(text, HasSubstr(each.form));
      EXPECT_THAT(text, HasSubstr("arithmetic=float"));
      EXPECT_THAT(operators(), Contains("DequantizeLinear"));
      EXPECT_THAT(operators(), Not(Contains(HasSubstr("ai.halftone"))));
      EXPECT_EQ(opset_, each.opset);
    }
  }
}

TEST_F(StandardFiles, HoldZeroPoints) {
  for (const int bits : {4, 8}) {
    for (const float zero : {0.0F, 3.0F, 15.0F}) {
      const auto weights = with_zero_point(weights_of("affine", bits, kChannel), zero);
      const std::string text = ir::to_text(rewritten(fully_connected(weights)));
      EXPECT_THAT(text, HasSubstr("affine(" + std::to_string(bits) + " bits, channel, offset)"));
    }
  }
  const auto far = with_zero_point(weights_of("affine", 4, kChannel), -20);
  EXPECT_THAT(ir::to_text(rewritten(fully_connected(far))), HasSubstr("affine(8 bits"));
}

/// Learned levels, each a little off even ones.
ir::EncodedTensor learned_weights(int bits, BlockShape blocks, const ir::Shape& shape = {6, 40}) {
  const auto [rows, cols] = ir::matrix_extent(shape);
  numerics::MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.has_offset = true;
  encoding.granularity = blocks.granularity;
  encoding.group_size = blocks.group_size;
  encoding.allocate(rows, cols);
  Random random(8);
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    std::vector<float> a;
    for (int i = 0; i < bits; ++i) {
      a.push_back(std::ldexp(0.4F + 0.2F * static_cast<float>(random.uniform()), -i));
    }
    encoding.set_levels(block, numerics::make_basis(a, 0.1F));
  }
  const ir::Tensor values = ir::test::random_tensor(shape, random);
  auto codes = numerics::encode({values.as<float>(), rows, cols}, encoding);
  return {shape, std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
          std::move(codes)};
}

// Readers see float32: the nodes read constants only.
TEST_F(StandardFiles, LookUpLearnedLevels) {
  constexpr std::size_t kOthers = 3000;  // bytes of biases, names and nodes
  const std::map<int, std::size_t> fields{{1, 1}, {2, 2}, {3, 4}, {4, 4}, {5, 8}, {8, 8}};
  for (const BlockShape& blocks : {kTensor, kChannel, groups_of(80)}) {
    for (const auto& [bits, field] : fields) {
      SCOPED_TRACE(bits);
      const auto weights = learned_weights(bits, blocks, {6, 400});
      EXPECT_THAT(ir::to_text(rewritten(fully_connected(weights))), HasSubstr("float32[6, 400]"));
      if (bits == 8 && blocks.granularity == Granularity::kGroup) {
        EXPECT_THAT(operators(), Not(Contains("GatherElements")));  // a table would be larger
        continue;
      }
      EXPECT_THAT(operators(), Contains("GatherElements"));
      EXPECT_THAT(operators(), Not(Contains(HasSubstr("ai.halftone"))));
      EXPECT_EQ(operators().contains("BitwiseAnd"), field < 8);
      const std::size_t table = weights.encoding->num_blocks() * sizeof(float) << bits;
      EXPECT_LT(std::filesystem::file_size(path("m.onnx")), 6 * 400 * field / 8 + table + kOthers);
    }
  }
  // An odd number of codes, two of which share a byte.
  rewritten(fully_connected(learned_weights(3, kTensor, {3, 33})));
  EXPECT_THAT(operators(), Contains("Slice"));
}

TEST_F(StandardFiles, LookUpLevelsThatAreScaled) {
  for (const auto& weights :
       {weights_of("nf4", 4, groups_of(8)), weights_of("nf4", 4, groups_of(16)),
        weights_of("nf4", 4, groups_of(64)), weights_of("affine", 4, groups_of(20)),
        with_zero_point(weights_of("affine", 4, kChannel), 300),
        with_zero_point(weights_of("affine", 4, kChannel), 3.5F)}) {
    rewritten(fully_connected(weights));
    EXPECT_THAT(operators(), Contains("Gather"));
    EXPECT_THAT(operators(), Not(Contains("DequantizeLinear")));
    EXPECT_EQ(opset_, 18);
  }
}

TEST_F(StandardFiles, LookUpFiltersAndTables) {
  ir::Graph image;
  const auto x = image.add_input("x", ir::test::float_type({ir::kBatch, 5, 5, 8}));
  const auto w = image.add_constant("w", learned_weights(3, kChannel, {4, 3, 3, 8}));
  image.add_output(image.add_node("conv", ir::Conv{ir::plain_window(2)}, {x, w}));
  rewritten(image);
  EXPECT_THAT(operators(), Contains("GatherElements"));
  ir::Graph table;
  const auto i = table.add_input("i", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch}));
  const auto weights = learned_weights(2, kChannel, {5, 64});
  table.add_output(table.add_node("rows", ir::Gather{0}, {table.add_constant("w", weights), i}));
  save_model(table, path("m.onnx"), kStandard);
  EXPECT_THAT(operators(), Contains("GatherElements"));
  const std::vector<std::int64_t> rows{3, 0};
  const auto found = ir::test::run_reference(
      load_model(path("m.onnx")), ir::test::list(ir::Tensor::from<std::int64_t>({2}, rows)));
  const ir::Tensor all = ir::to_float(weights);
  EXPECT_TRUE(std::ranges::equal(found[0].as<float>().first(64),
                                 std::as_const(all).as<float>().subspan(3 * 64, 64)));
}

TEST_F(StandardFiles, ShiftInputsWithoutZero) {
  const auto weights = [] { return weights_of("int", 4, kChannel); };
  for (const auto& input : {rounding("affine", 4, 0.25F, 1.1F), rounding("affine", 8, 0.25F, 10),
                            rounding("affine", 8, -0.25F, -10)}) {
    const std::string text = ir::to_text(rewritten(fully_connected(weights(), input)));
    EXPECT_THAT(text, HasSubstr("DequantizeLinear"));
    EXPECT_THAT(operators(), Contains("Sub"));
  }
}

TEST_F(StandardFiles, RoundInputsStepByStep) {
  const auto weights = [] { return weights_of("int", 4, kChannel); };
  for (const auto& input : {rounding("symmetric", 4, 0.25F), rounding("int_narrow", 9, 0.125F),
                            ir::test::odd_encoding()}) {
    SCOPED_TRACE(numerics::system_name(*input));
    const std::string text = ir::to_text(rewritten(fully_connected(weights(), input)));
    EXPECT_THAT(text, Not(HasSubstr("Encode")));
    EXPECT_THAT(operators(), Not(Contains(HasSubstr("ai.halftone"))));
  }
}

TEST_F(StandardFiles, NameTheLayersThatTheyCannotHold) {
  expect_refused(fully_connected(weights_of("fp16", 16, kChannel)),
                 "operators of ONNX alone cannot hold weights in fp16 of 16 bits: codes of more "
                 "than 8 bits ('layer'); Halftone's own operators do");
  ir::Graph up;
  const auto image = up.add_input("x", ir::test::float_type({ir::kBatch, 4, 4}));
  const auto filters = up.add_constant("w", learned_weights(2, kChannel, {2, 3, 4}));
  up.add_output(up.add_node("up", ir::ConvTranspose{ir::plain_window(1), {0}}, {image, filters}));
  expect_refused(up, "weights in basis of 2 bits: learned levels ('up')");
  ir::Graph dynamic;
  const auto x = dynamic.add_input("x", ir::test::float_type({ir::kBatch, 4}));
  const ir::FakeQuantize op{&numerics::find_system("int"), 8, kTensor};
  dynamic.add_output(dynamic.add_node("round", op, {x}));
  expect_refused(dynamic, "rounding with scales computed at run time ('round')");
}

TEST_F(StandardFiles, AreOfOnnxAlone) {
  const auto graph = fully_connected(weights_of("int", 4, kChannel));
  for (const char* name : {"m.tflite", "m.circle"}) {
    expect_error(ErrorKind::kUsage, "the standard form is one of ONNX",
                 [&] { check_model(graph, path(name), kStandard); });
  }
  check_model(graph, path("m.onnx"), kStandard);
}

TEST_F(StandardFiles, RoundInputs) {
  const auto weights = [] { return weights_of("int", 8, kChannel); };
  const std::vector<std::pair<std::shared_ptr<const numerics::MatrixEncoding>, bool>> cases{
      {rounding("int", 8, 1.0F / 64), false},  {rounding("affine", 8, 1.0F / 64, -2), false},
      {rounding("int", 4, 0.125F), true},      {rounding("affine", 4, 0.125F, -1), true},
      {rounding("affine", 3, 0.25F, 0), true}, {rounding("ternary", 2, 0.5F), true}};
  for (const auto& [input, clips] : cases) {
    SCOPED_TRACE(std::string(numerics::system_name(*input)) + std::to_string(input->bits));
    const std::string text = ir::to_text(rewritten(fully_connected(weights(), input)));
    EXPECT_THAT(text, HasSubstr("QuantizeLinear"));
    EXPECT_EQ(text.find("Clip") != std::string::npos, clips);
    EXPECT_THAT(operators(), Contains("QuantizeLinear"));
  }
  for (const char* floats : {"e4m3", "e5m2_nan", "e2m1"}) {
    SCOPED_TRACE(floats);
    for (const float scale : {0.25F, -0.25F}) {
      const auto input = rounding(floats, numerics::find_system(floats).max_bits, scale);
      const std::string text = ir::to_text(rewritten(fully_connected(weights(), input, 3)));
      EXPECT_THAT(text, HasSubstr(std::string("Encode(x) ") + floats));
    }
    // Rounding inputs to floats must not round the bias.
    EXPECT_THAT(operators(), Contains("Add"));
    EXPECT_EQ(opset_, std::string(floats) == "e2m1" ? 23 : 21);
  }
}

// The lowest code of int_narrow names no number: of 3 bits, it has -3 to 3.
TEST_F(StandardFiles, ClipInputsToTheLevelsThatTheyTake) {
  for (const float scale : {0.5F, -0.5F}) {
    const auto graph =
        fully_connected(weights_of("int", 8, kChannel), rounding("int_narrow", 3, scale));
    EXPECT_THAT(ir::to_text(rewritten(graph)), HasSubstr("Clip(x) alpha=-1.500000 beta=1.500000"));
  }
  const auto graph =
      fully_connected(weights_of("int", 8, kChannel), rounding("int_narrow", 8, 1.0F / 64));
  EXPECT_THAT(ir::to_text(rewritten(graph)), HasSubstr("alpha=-1.984375 beta=1.984375"));
}

// ONNX Runtime rounds the bias of a layer between conversions to int32 of coarse scales.
TEST_F(StandardFiles, AddTheBiasOfARoundedInputApart) {
  rewritten(fully_connected(weights_of("int", 4, kChannel), rounding("int", 3, 0.25F)));
  EXPECT_THAT(operators(), Contains("Add"));
  rewritten(fully_connected(weights_of("int", 4, kChannel)));
  EXPECT_THAT(operators(), Not(Contains("Add")));
  ir::Graph image;
  const auto x = image.add_input("x", ir::test::float_type({ir::kBatch, 4, 4, 3}));
  const auto codes = image.add_node("codes", ir::Encode{rounding("int", 3, 0.25F)}, {x});
  const auto w = image.add_constant("w", ir::test::random_tensor({2, 3, 3, 3}, 4));
  const auto b = image.add_constant("b", ir::test::random_tensor({2}, 5));
  image.add_output(image.add_node("conv", ir::Conv{ir::plain_window(2)}, {codes, w, b}));
  rewritten(image);  // an Add would move back into a Conv of constant weights
  EXPECT_THAT(operators(), Contains("Sub"));
}

ir::EncodedTensor with_negative_scales(ir::EncodedTensor weights) {
  numerics::MatrixEncoding encoding = *weights.encoding;
  for (std::size_t i = 0; i < encoding.scales.size(); i += 2) {
    encoding.scales.set(i, -static_cast<double>(encoding.scales[i]));
  }
  weights.encoding = std::make_shared<const numerics::MatrixEncoding>(std::move(encoding));
  return weights;
}

TEST_F(StandardFiles, HoldNegativeScales) {
  for (const int bits : {4, 8}) {
    const auto weights = with_negative_scales(weights_of("int", bits, kChannel));
    rewritten(fully_connected(weights, rounding("int", 8, 1.0F / 64)));
    rewritten(fully_connected(weights));
  }
  rewritten(fully_connected(with_negative_scales(weights_of("int", 4, groups_of(16)))), kNBits);
}

TEST_F(StandardFiles, CutGroupsAtTheTapsOfAConvolution) {
  const auto convolution = [](const ir::EncodedTensor& weights) {
    ir::Graph graph;
    const ir::Dim channels = weights.shape.back();
    const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5, 5, channels}));
    const auto w = graph.add_constant("w", weights);
    const ir::Conv op{ir::plain_window(2)};
    graph.add_output(graph.add_node("layer", op, {x, w}));
    return graph;
  };
  const auto text = [&](const ir::EncodedTensor& weights) {
    return ir::to_text(rewritten(convolution(weights)));
  };
  EXPECT_THAT(text(weights_of("int", 4, groups_of(32), {2, 2, 2, 16})),
              HasSubstr("int(4 bits, groups of 16)[2, 2, 2, 16]"));
  EXPECT_THAT(text(weights_of("int", 4, groups_of(4), {2, 2, 2, 8})),
              HasSubstr("int(4 bits, groups of 4)[2, 2, 2, 8]"));
  EXPECT_THAT(text(weights_of("int", 4, groups_of(6), {2, 1, 1, 8})),
              HasSubstr("int(4 bits, groups of 6)[2, 1, 1, 8]"));
  EXPECT_THAT(text(weights_of("e4m3", 8, kChannel, {2, 2, 2, 3})),
              HasSubstr("e4m3(8 bits, channel)[2, 2, 2, 3]"));
  // A scale for each weight would take more than the weight.
  EXPECT_THAT(text(weights_of("int", 4, groups_of(32), {2, 2, 2, 3})),
              HasSubstr("float32[2, 2, 2, 3]"));
}

TEST_F(StandardFiles, HoldTransposedConvolutionsAndTables) {
  const auto transposed = [](ir::Dim groups) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 4, 4 * groups}));
    const auto w = graph.add_constant("w", weights_of("int", 4, kChannel, {2 * groups, 3, 4}));
    graph.add_output(
        graph.add_node("up", ir::ConvTranspose{ir::plain_window(1), {0}, groups}, {x, w}));
    return graph;
  };
  EXPECT_THAT(ir::to_text(rewritten(transposed(1))), HasSubstr("int(4 bits, channel)[2, 3, 4]"));
  expect_refused(transposed(2), "groups of a transposed convolution ('up')");
  ir::Graph table;
  const auto i = table.add_input("i", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch}));
  const auto w = table.add_constant("w", weights_of("int", 4, groups_of(8), {5, 16}));
  table.add_output(table.add_node("rows", ir::Gather{0}, {w, i}));
  save_model(table, path("t.onnx"), kStandard);
  EXPECT_THAT(ir::to_text(load_model(path("t.onnx"))),
              HasSubstr("int(4 bits, groups of 8)[5, 16]"));
}

TEST_F(StandardFiles, HoldMatMulNBits) {
  for (const int bits : {2, 4, 8}) {
    for (const std::size_t size : {16U, 32U, 64U}) {
      SCOPED_TRACE(std::to_string(bits) + " bits in groups of " + std::to_string(size));
      // Rows have 40 weights.
      const std::string blocks = size == 64 ? "channel" : "groups of " + std::to_string(size);
      const std::string form = std::to_string(bits) + " bits, " + blocks;
      const auto plain = fully_connected(weights_of("int", bits, groups_of(size)));
      EXPECT_THAT(ir::to_text(rewritten(plain, kNBits)), HasSubstr("int(" + form));
      EXPECT_THAT(operators(), Contains("com.microsoft.MatMulNBits"));
      EXPECT_EQ(opset_, 17);
      const auto shifted = fully_connected(
          with_zero_point(weights_of("affine", bits, groups_of(size)), 1), nullptr, 3);
      EXPECT_THAT(ir::to_text(rewritten(shifted, kNBits)), HasSubstr("affine(" + form));
    }
  }
  const auto between = with_zero_point(weights_of("affine", 4, groups_of(16)), 3.3F);
  EXPECT_THAT(ir::to_text(rewritten(fully_connected(between), kNBits)),
              HasSubstr("affine(4 bits, groups of 16"));
  rewritten(fully_connected(weights_of("int", 4, groups_of(20))), kNBits);
  EXPECT_THAT(operators(), Not(Contains("com.microsoft.MatMulNBits")));
  rewritten(fully_connected(weights_of("e2m1", 4, groups_of(16))), kNBits);
  EXPECT_THAT(operators(), Not(Contains("com.microsoft.MatMulNBits")));
}

TEST_F(StandardFiles, IntegersOfAConversionReadBackAsCodes) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 3}));
  const auto q =
      graph.add_constant("w", ir::test::tensor<std::int8_t>({2, 3}, {1, -2, 3, 4, 5, -128}));
  const auto w = graph.add_node("numbers", ir::DequantizeLinear{{{0.5F}, {0}, 0}}, {q});
  graph.add_output(graph.add_node("layer", ir::FullyConnected{}, {x, w}));
  EXPECT_THAT(ir::to_text(rewritten(graph, {})), HasSubstr("int(8 bits, tensor)[2, 3]"));
}

TEST_F(StandardFiles, RecurrentLayersHaveFloatWeights) {
  const auto network = [](std::shared_ptr<const numerics::MatrixEncoding> states,
                          std::shared_ptr<const numerics::MatrixEncoding> input) {
    ir::Graph graph;
    ir::ValueId x = graph.add_input("x", ir::test::float_type({2, ir::kBatch, 8}));
    if (input != nullptr) x = graph.add_node("encode", ir::Encode{input}, {x});
    const auto w = graph.add_constant("w", weights_of("int", 4, kChannel, {16, 8}));
    const auto r = graph.add_constant("r", weights_of("int", 4, kChannel, {16, 4}));
    const auto gates = graph.add_node("gates", ir::FullyConnected{}, {x, w});
    ir::Recurrent op;
    op.state_encoding = std::move(states);
    graph.add_output(graph.add_node("lstm", op, {gates, r}));
    return graph;
  };
  const std::string text = ir::to_text(rewritten(network(nullptr, nullptr)));
  EXPECT_THAT(text, Not(HasSubstr("int(4 bits")));
  EXPECT_THAT(operators(), Contains("LSTM"));
  ir::Graph clipped = network(nullptr, nullptr);
  const ir::NodeId last = *clipped.producer(clipped.outputs()[0]);
  ir::Recurrent clips = std::get<ir::Recurrent>(clipped.node(last).op);
  clips.cell_clip = 0.5F;
  clipped.replace_node(last, clips, clipped.node(last).inputs);
  expect_refused(clipped, "'lstm' (Recurrent): ONNX has no such operator, only Halftone's own");
  expect_refused(network(rounding("int", 4, 0.25F), nullptr),
                 "states of a recurrent layer in int of 4 bits ('lstm')");
  expect_refused(network(nullptr, rounding("e4m3", 8, 0.25F)),
                 "inputs of a recurrent layer in e4m3 of 8 bits ('gates')");
}

}  // namespace
}  // namespace halftone::formats
