// SPDX-License-Identifier: Apache-2.0
// ONNX's own test cases, one small model per case with inputs and expected outputs, as the Debian
// package libonnx-testdata has them (ONNX 1.12, operator set 17).
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

namespace fs = std::filesystem;
using onnx_pb::ModelProto;
using onnx_pb::TensorProto;

constexpr const char* kFolder = "/usr/share/libonnx-testdata/data/node";

/// What one case comes to.
enum class Outcome { kRefused, kRight, kWrong };

template <typename Message>
Message parsed(const fs::path& path) {
  const auto bytes = read_file(path);
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(ErrorKind::kFormat, path.string());
  }
  return message;
}

/// @param infos  what the model says about these tensors
template <typename Infos>
std::vector<TensorProto> tensors_in(const fs::path& folder, const std::string& prefix,
                                    const Infos& infos) {
  std::vector<TensorProto> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) return tensors;
    tensors.push_back(parsed<TensorProto>(path));
    // These files call the bits of bfloat16 numbers uint16.
    if (i < infos.size() && infos[i].type().tensor_type().elem_type() == TensorProto::BFLOAT16) {
      tensors.back().set_data_type(TensorProto::BFLOAT16);
    }
  }
}

/// ONNX allows 1e-3 and 1e-7; sixteen bits are rounded where we compute in 32.
bool matches(const ir::Tensor& found, const TensorProto& expected_proto) {
  const ir::Tensor expected = decode_tensor(expected_proto, nullptr);
  const bool narrow = expected_proto.data_type() == TensorProto::FLOAT16 ||
                      expected_proto.data_type() == TensorProto::BFLOAT16;
  if (found.shape() != expected.shape() || found.element() != expected.element()) return false;
  const auto x = numbers(found);
  const auto y = numbers(expected);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float tolerance = (narrow ? 1e-2F : 1e-4F) * std::abs(y[i]) + 1e-6F;
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    if (!same && !(std::abs(x[i] - y[i]) <= tolerance)) return false;
  }
  return true;
}

/// Runs a case; with `constant_operands` all inputs but the first are initializers, as axes, shapes
/// and weights are in real models.
Outcome run_case(const fs::path& folder, bool constant_operands) {
  auto model = parsed<ModelProto>(folder / "model.onnx");
  std::vector<TensorProto> inputs;
  std::vector<TensorProto> outputs;
  ir::Graph graph;
  try {
    inputs = tensors_in(folder / "test_data_set_0", "input_", model.graph().input());
    outputs = tensors_in(folder / "test_data_set_0", "output_", model.graph().output());
    if (constant_operands) {
      auto& graph_proto = *model.mutable_graph();
      for (int i = 1; i < graph_proto.input_size(); ++i) {
        TensorProto& proto = *graph_proto.add_initializer();
        proto = inputs.at(static_cast<std::size_t>(i));
        proto.set_name(graph_proto.input(i).name());
      }
      if (inputs.size() > 1) inputs.resize(1);
    }
    const std::string text = model.SerializeAsString();
    graph = import_onnx(std::as_bytes(std::span(text)), {});
  } catch (const Error&) {
    return Outcome::kRefused;
  }
  std::vector<ir::Tensor> tensors;
  for (const TensorProto& input : inputs) tensors.push_back(decode_tensor(input, nullptr));
  const auto found = run_by_definition(graph, tensors);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!matches(found[i], outputs.at(i))) return Outcome::kWrong;
  }
  return Outcome::kRight;
}

struct Tally {
  std::size_t cases = 0;
  std::size_t right = 0;
  std::set<std::string> wrong;
};

Tally tally(bool constant_operands) {
  Tally result;
  for (const auto& entry : fs::directory_iterator(kFolder)) {
    ++result.cases;
    const Outcome outcome = run_case(entry.path(), constant_operands);
    if (outcome == Outcome::kRight) ++result.right;
    if (outcome == Outcome::kWrong) result.wrong.insert(entry.path().filename().string());
  }
  return result;
}

class Conformance : public testing::TestWithParam<std::pair<bool, std::size_t>> {};

TEST_P(Conformance, EveryCaseThatImportsGivesTheRightOutputs) {
  if (!fs::exists(kFolder)) GTEST_SKIP() << kFolder << " is absent (package libonnx-testdata)";
  const auto [constant_operands, at_least] = GetParam();
  const Tally result = tally(constant_operands);
  std::string wrong;
  for (const std::string& name : result.wrong) wrong += " " + name;
  RecordProperty("right", static_cast<int>(result.right));
  std::printf("[ cases    ] %zu of %zu import and are right\n", result.right, result.cases);
  EXPECT_EQ(wrong, "");
  EXPECT_GE(result.right, at_least);
}

INSTANTIATE_TEST_SUITE_P(Operands, Conformance,
                         testing::Values(std::pair{false, std::size_t{205}},
                                         std::pair{true, std::size_t{245}}),
                         [](const auto& instance) {
                           return instance.param.first ? "Constant" : "AsTheyAre";
                         });

}  // namespace
}  // namespace halftone::formats::onnx
