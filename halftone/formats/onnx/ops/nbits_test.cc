// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::HasSubstr;

/// MatMulNBits of 20 inputs and 2 outputs in blocks of 16, with a single 1 among the inputs.
struct NBitsCase {
  std::int64_t bits = 4;
  std::vector<int> bytes{};  ///< empty: those that count up
  std::vector<float> scales{1, 10, 100, 1000};
  std::function<void(TestModel&, NodeProto&)> change{};

  [[nodiscard]] TestModel model() const {
    TestModel model(17);
    auto& domain = *model.proto().add_opset_import();
    domain.set_domain("com.microsoft");
    domain.set_version(1);
    model.input("x", {-1, 20}).output("y");
    const int size = 64 * static_cast<int>(bits) / 8;
    const auto& stored = bytes.empty() ? counted(size, 0) : bytes;
    model.initializer("w", codes(TensorProto::UINT8, {2, 2, size / 4}, stored));
    model.floats("s", {static_cast<std::int64_t>(scales.size())}, scales);
    NodeProto& node = model.node("MatMulNBits", {"x", "w", "s"}, {"y"});
    node.set_domain("com.microsoft");
    set(node, "K", std::int64_t{20});
    set(node, "N", std::int64_t{2});
    set(node, "bits", bits);
    set(node, "block_size", std::int64_t{16});
    if (change) change(model, node);
    return model;
  }
  [[nodiscard]] std::vector<float> run(std::size_t input, const std::string& form) const {
    const ir::Graph graph = model().import();
    EXPECT_THAT(ir::to_text(graph), HasSubstr(form));
    ir::Tensor x(ir::ElementType::kFloat32, {1, 20});
    x.as<float>()[input] = 1;
    return numbers(run_reference(graph, list(std::move(x)))[0]);
  }
};

TEST(MatMulNBits, HasGroupsOfCodes) {
  const std::string four = "int(4 bits, groups of 16)[2, 20]";
  EXPECT_EQ((NBitsCase{4}.run(17, four)), (std::vector<float>{10 * (0 - 8), 1000 * (1 - 8)}));
  EXPECT_EQ((NBitsCase{8}.run(17, "int(8 bits, groups of 16)")),
            (std::vector<float>{10 * (17 - 128), 1000 * (49 - 128)}));
  // Byte 0x04 holds inputs 16 to 19 of output 0, byte 0x0c those of output 1.
  EXPECT_EQ((NBitsCase{2}.run(17, "int(2 bits, groups of 16)")),
            (std::vector<float>{10 * (1 - 2), 1000 * (3 - 2)}));
}

TEST(MatMulNBits, HasZeroPoints) {
  const NBitsCase packed{4, {}, {1, 10, 100, 1000}, [](TestModel& m, NodeProto& n) {
                           m.initializer("z", codes(TensorProto::UINT8, {2}, {0x31, 0x52}));
                           n.add_input("z");
                         }};
  EXPECT_EQ(packed.run(17, "affine(4 bits, groups of 16, offset)"),
            (std::vector<float>{10 * (0 - 3), 1000 * (1 - 5)}));
  const NBitsCase numbers{4, {}, {1, 10, 100, 1000}, [](TestModel& m, NodeProto& n) {
                            m.floats("z", {4}, {1, 0.5F, 2, 7.5F});
                            n.add_input("z");
                          }};
  EXPECT_EQ(numbers.run(17, "affine(4 bits, groups of 16, offset)"),
            (std::vector<float>{-5, -6500}));
}

TEST(MatMulNBits, AddsABias) {
  const NBitsCase biased{4, {}, {1, 10, 100, 1000}, [](TestModel& m, NodeProto& n) {
                           std::vector<std::int32_t> order;
                           for (int k = 0; k < 20; ++k) order.push_back(k / 16);
                           m.initializer("g", encode_tensor(ir::Tensor::from<std::int32_t>(
                                                  {20}, std::span<const std::int32_t>(order))));
                           m.floats("b", {2}, {1, 2});
                           for (const char* name : {"", "g", "b"}) n.add_input(name);
                         }};
  EXPECT_EQ(biased.run(17, "int(4 bits"), (std::vector<float>{-79, -6998}));
}

/// Adds g_idx, the block of each input.
std::function<void(TestModel&, NodeProto&)> blocks_of_inputs(std::vector<std::int64_t> blocks) {
  return [blocks](TestModel& model, NodeProto& node) {
    model.integers("g", blocks);
    for (const char* name : {"", "g"}) node.add_input(name);
  };
}

TEST(MatMulNBits, HasBlocksInAnyOrderOfTheInputs) {
  // Block 1 has the inputs 0, 7, 14 and 19.
  std::vector<std::int64_t> blocks(20);
  for (const std::size_t k : {0U, 7U, 14U, 19U}) blocks[k] = 1;
  const NBitsCase mixed{8, {}, {1, 10, 100, 1000}, blocks_of_inputs(blocks)};
  const std::string form = "int(8 bits, groups of 16)[2, 20]";
  EXPECT_EQ(mixed.run(7, form), (std::vector<float>{10 * (7 - 128), 1000 * (39 - 128)}));
  EXPECT_EQ(mixed.run(8, form), (std::vector<float>{8 - 128, 100 * (40 - 128)}));
  EXPECT_EQ(mixed.run(19, form), (std::vector<float>{10 * (19 - 128), 1000 * (51 - 128)}));
  // Blocks of other sizes.
  blocks[1] = 1;
  const NBitsCase uneven{8, {}, {1, 10, 100, 1000}, blocks_of_inputs(blocks)};
  EXPECT_EQ(uneven.run(1, "float32[2, 20]"),
            (std::vector<float>{10 * (1 - 128), 1000 * (33 - 128)}));
  EXPECT_EQ(uneven.run(2, "float32[2, 20]"), (std::vector<float>{2 - 128, 100 * (34 - 128)}));
}

TEST(MatMulNBits, DescribesWhatIsWrong) {
  const auto refuse = [](NBitsCase wrong, ErrorKind kind, const std::string& text) {
    expect_failure(wrong.model(), kind, text);
  };
  const auto attribute = [](const char* name, std::int64_t value) {
    return [=](TestModel&, NodeProto& node) {
      std::ranges::find(*node.mutable_attribute(), name, &onnx_pb::AttributeProto::name)
          ->set_i(value);
    };
  };
  NBitsCase wrong;
  wrong.change = attribute("bits", 3);
  refuse(wrong, ErrorKind::kUnsupported, "expected 2, 4 or 8 bits, found 3");
  wrong.change = attribute("block_size", 24);
  refuse(wrong, ErrorKind::kFormat, "block_size: expected a power of two, found 24");
  wrong.change = attribute("block_size", 8);
  refuse(wrong, ErrorKind::kFormat, "block_size: expected 16 to");
  wrong.change = attribute("K", 40);
  refuse(wrong, ErrorKind::kShape, "bytes of weights: expected 48, found 32");
  wrong.change = attribute("N", 0);
  refuse(wrong, ErrorKind::kFormat, "N: expected 1 to");
  wrong.change = [](TestModel&, NodeProto& node) { node.mutable_input()->Clear(); };
  refuse(wrong, ErrorKind::kFormat, "input 1 is missing");
  wrong.change = [](TestModel& m, NodeProto& n) {
    m.initializer("z", codes(TensorProto::UINT8, {3}, {1, 2, 3}));
    n.add_input("z");
  };
  refuse(wrong, ErrorKind::kShape, "bytes of zero points: expected 2, found 3");
  wrong.change = [](TestModel& m, NodeProto& n) {
    m.floats("z", {3}, {1, 2, 3});
    n.add_input("z");
  };
  refuse(wrong, ErrorKind::kShape, "zero points: expected 4, found 3");
  wrong.change = blocks_of_inputs(std::vector<std::int64_t>(20, 2));
  refuse(wrong, ErrorKind::kFormat, "g_idx: expected 0 to 1, found 2");
  wrong.change = blocks_of_inputs(std::vector<std::int64_t>(20, -1));
  refuse(wrong, ErrorKind::kFormat, "g_idx: expected 0 to 1, found -1");
  wrong.change = blocks_of_inputs({0, 0});
  refuse(wrong, ErrorKind::kShape, "g_idx: expected 20, found 2");
  std::vector<std::int64_t> turned(20);
  std::ranges::fill(turned.begin(), turned.begin() + 4, 1);
  wrong.change = [turned](TestModel& m, NodeProto& n) {
    blocks_of_inputs(turned)(m, n);
    m.input("wide", {-1, 21});
    n.set_input(0, "wide");
  };
  refuse(wrong, ErrorKind::kShape, "expected 20 inputs, found the shape [N, 21]");
  wrong.change = [](TestModel& m, NodeProto& n) {
    m.floats("f", {2, 2, 8}, std::vector<float>(32, 1));
    n.set_input(1, "f");
  };
  refuse(wrong, ErrorKind::kFormat, "bytes of weights: expected uint8, found float32");
  wrong.change = {};
  wrong.scales = {1, 2, 3};
  refuse(wrong, ErrorKind::kShape, "scales: expected 4, found 3");
  wrong.scales = {1, 2, 3, std::numeric_limits<float>::infinity()};
  refuse(wrong, ErrorKind::kFormat, "scales: expected finite numbers, found inf");
}

}  // namespace
}  // namespace halftone::formats::onnx
