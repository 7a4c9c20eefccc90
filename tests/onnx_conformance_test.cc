// SPDX-License-Identifier: Apache-2.0
// Imports, plans and runs ONNX's own test cases from the Debian package libonnx-testdata
// (ONNX 1.12, operator set 17), or those of another folder, HALFTONE_ONNX_CASES: the package onnx
// of PyPI writes its own with "python -m onnx.backend.test.cmd_tools generate-data -o FOLDER". A
// case is a small model with inputs and expected outputs.
//
// An input that determines a shape (axes, sizes, a condition) must be known during the import. So a
// case is imported as it is; if that is refused, with all inputs but the first as constants; and if
// that is refused too, with all inputs as constants. An input without elements tells a type only
// and always is a constant.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/runtime/execute/session.h"

namespace halftone {
namespace {

namespace fs = std::filesystem;
using formats::ImportOptions;
using onnx_pb::ModelProto;
using onnx_pb::TensorProto;

/// Relative and absolute tolerance of float outputs. The expected values are float32 themselves,
/// sums of numbers around 1.
constexpr float kRelative = 1e-5F;
constexpr float kAbsolute = 2e-6F;
/// float16 and bfloat16 become float32 here, while the expected values were rounded after each of a
/// few operations, by half a unit in the last of 11 or 8 bits.
constexpr float kHalfRelative = 1.0F / 512;
constexpr float kBfloatRelative = 1.0F / 64;

fs::path cases_folder() {
  const char* chosen = std::getenv("HALFTONE_ONNX_CASES");
  return chosen != nullptr ? chosen : "/usr/share/libonnx-testdata/data";
}

template <typename Message>
Message parsed(const fs::path& path) {
  const auto bytes = read_file(path);
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(ErrorKind::kUnsupported, "a file that holds no tensor");
  }
  return message;
}

/// @param infos  the model's declarations of these tensors
template <typename Infos>
std::vector<TensorProto> tensors_in(const fs::path& folder, const std::string& prefix,
                                    const Infos& infos) {
  std::vector<TensorProto> tensors;
  for (int i = 0; i < infos.size(); ++i) {
    const fs::path path = folder / (prefix + std::to_string(i) + ".pb");
    if (!fs::exists(path)) break;
    tensors.push_back(parsed<TensorProto>(path));
    // These files store bfloat16 values as uint16.
    if (infos[i].type().tensor_type().elem_type() == TensorProto::BFLOAT16) {
      tensors.back().set_data_type(TensorProto::BFLOAT16);
    }
  }
  return tensors;
}

float relative_tolerance(std::int32_t data_type) {
  if (data_type == TensorProto::FLOAT16) return kHalfRelative;
  return data_type == TensorProto::BFLOAT16 ? kBfloatRelative : kRelative;
}

/// Describes the error of an output; empty if it is right.
std::string difference(const ir::Tensor& found, const TensorProto& expected_proto) {
  const ir::Tensor expected = formats::onnx::decode_tensor(expected_proto, nullptr);
  if (found.type() != expected.type()) {
    return "expected " + expected.type().to_string() + ", found " + found.type().to_string();
  }
  if (found.element() != ir::ElementType::kFloat32) {
    return std::ranges::equal(found.bytes(), expected.bytes()) ? "" : "other integers";
  }
  const auto x = found.as<float>();
  const auto y = expected.as<float>();
  const float relative = relative_tolerance(expected_proto.data_type());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    if (std::abs(x[i] - y[i]) <= relative * std::abs(y[i]) + kAbsolute) continue;
    return "element " + std::to_string(i) + ": expected " + std::to_string(y[i]) + ", found " +
           std::to_string(x[i]);
  }
  return "";
}

/// Imports a model with the inputs from `first` on as constants; nullopt if it is refused.
std::optional<ir::Graph> imported(const ModelProto& model, const std::vector<TensorProto>& inputs,
                                  std::size_t first, std::string& refusal) {
  try {
    ImportOptions options;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool is_empty = std::ranges::count(inputs[i].dims(), 0) > 0;
      if (i < first && !is_empty) continue;
      options.constants.emplace(model.graph().input(static_cast<int>(i)).name(),
                                formats::onnx::decode_tensor(inputs[i], nullptr));
    }
    const std::string text = model.SerializeAsString();
    return formats::import_onnx(std::as_bytes(std::span(text)), {}, options);
  } catch (const Error& error) {
    if (refusal.empty() || first == inputs.size()) refusal = error.what();
    return std::nullopt;
  }
}

std::size_t batch_of(const ir::Graph& graph, const std::vector<ir::Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Shape& shape = graph.value(graph.inputs()[i]).type.shape;
    if (!shape.is_static()) return static_cast<std::size_t>(inputs[i].shape()[0]);
  }
  return 1;
}

/// Runs a graph on one set of tensors and describes the error.
/// @param names  of the inputs of the model, of which the graph has some
std::string run(const ir::Graph& graph, const std::vector<std::string>& names,
                const std::vector<TensorProto>& inputs, const std::vector<TensorProto>& outputs) {
  std::vector<ir::Tensor> tensors;
  for (const ir::ValueId id : graph.inputs()) {
    const auto name = std::ranges::find(names, graph.value(id).name);
    const auto i = static_cast<std::size_t>(name - names.begin());
    tensors.push_back(formats::onnx::decode_tensor(inputs.at(i), nullptr));
  }
  runtime::PlanSettings options;
  options.batch = batch_of(graph, tensors);
  runtime::Session session(runtime::make_plan(graph, options));
  const std::vector<ir::Tensor> found = session.run(tensors);
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::string wrong = difference(found[i], outputs.at(i));
    if (!wrong.empty()) return "output " + std::to_string(i) + ": " + wrong;
  }
  return "";
}

/// Runs a case and describes the error; empty if it is right.
std::string failure(const fs::path& folder) {
  try {
    const auto model = parsed<ModelProto>(folder / "model.onnx");
    for (int set = 0;; ++set) {
      const fs::path data = folder / ("test_data_set_" + std::to_string(set));
      if (!fs::exists(data)) return set == 0 ? "no data" : "";
      const auto inputs = tensors_in(data, "input_", model.graph().input());
      const auto outputs = tensors_in(data, "output_", model.graph().output());
      std::string refusal;
      auto graph = imported(model, inputs, inputs.size(), refusal);
      if (!graph && inputs.size() > 1) graph = imported(model, inputs, 1, refusal);
      if (!graph && !inputs.empty()) graph = imported(model, inputs, 0, refusal);
      if (!graph) return refusal;
      std::vector<std::string> names;
      for (const auto& input : model.graph().input()) names.push_back(input.name());
      std::string wrong = run(*graph, names, inputs, outputs);
      if (!wrong.empty()) return wrong;
    }
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not an Error: ") + error.what();
  }
}

/// The reasons in the list, by "set/case".
std::map<std::string, std::string> left_out() {
  std::ifstream file(HALFTONE_SOURCE_DIR "/tests/onnx_conformance_left_out.txt");
  std::map<std::string, std::string> reasons;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    EXPECT_NE(space, std::string::npos) << line << ": without a reason";
    reasons.emplace(line.substr(0, space), line.substr(std::min(space, line.size())));
  }
  return reasons;
}

class Conformance : public testing::TestWithParam<std::pair<const char*, std::size_t>> {};

TEST_P(Conformance, EveryCaseThatIsNotLeftOutGivesTheRightOutputs) {
  const auto [set, at_least] = GetParam();
  const fs::path folder = cases_folder() / set;
  if (!fs::exists(folder)) {
    GTEST_SKIP() << folder << " is absent: install libonnx-testdata, or say in "
                 << "HALFTONE_ONNX_CASES where its data lie";
  }
  const std::map<std::string, std::string> reasons = left_out();
  const bool is_packaged = std::getenv("HALFTONE_ONNX_CASES") == nullptr;
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(folder)) cases.push_back(entry.path());
  std::ranges::sort(cases);
  std::size_t right = 0;
  for (const fs::path& path : cases) {
    const std::string name = std::string(set) + "/" + path.filename().string();
    const std::string wrong = failure(path);
    if (wrong.empty()) ++right;
    if (reasons.contains(name)) {
      if (!is_packaged) continue;  // of other versions, whose data may have been mended
      EXPECT_NE(wrong, "") << name << " is right: strike it from the list of those left out";
    } else {
      EXPECT_EQ(wrong, "") << name;
    }
  }
  std::printf("[ cases    ] %s: %zu of %zu are right\n", set, right, cases.size());
  EXPECT_GE(right, at_least);
}

INSTANTIATE_TEST_SUITE_P(Sets, Conformance,
                         testing::Values(std::pair{"node", std::size_t{855}},
                                         std::pair{"pytorch-converted", std::size_t{30}},
                                         std::pair{"pytorch-operator", std::size_t{30}},
                                         std::pair{"simple", std::size_t{6}}),
                         [](const auto& instance) {
                           std::string name = instance.param.first;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace halftone
