// SPDX-License-Identifier: Apache-2.0
// Models for the tests of this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/testing.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// An ONNX model under construction.
class TestModel {
 public:
  explicit TestModel(std::int64_t opset = 17);

  /// Adds a graph input; -1 denotes the dim_param "N".
  TestModel& input(const std::string& name, const std::vector<std::int64_t>& dims,
                   std::int32_t data_type = onnx_pb::TensorProto::FLOAT);
  TestModel& output(const std::string& name);
  TestModel& floats(const std::string& name, const std::vector<std::int64_t>& dims,
                    const std::vector<float>& values);
  TestModel& integers(const std::string& name, const std::vector<std::int64_t>& values);
  TestModel& scalar(const std::string& name, float value) { return floats(name, {}, {value}); }
  TestModel& initializer(const std::string& name, onnx_pb::TensorProto proto);
  onnx_pb::NodeProto& node(const std::string& op_type, const std::vector<std::string>& inputs,
                           const std::vector<std::string>& outputs);

  onnx_pb::ModelProto& proto() { return proto_; }
  [[nodiscard]] std::vector<std::byte> bytes() const;
  /// @throws Error as import_onnx()
  [[nodiscard]] ir::Graph import(const std::filesystem::path& folder = {}) const;

 private:
  onnx_pb::ModelProto proto_;
};

void set(onnx_pb::NodeProto& node, const std::string& name, std::int64_t value);
void set(onnx_pb::NodeProto& node, const std::string& name, float value);
void set(onnx_pb::NodeProto& node, const std::string& name, const std::string& value);
void set(onnx_pb::NodeProto& node, const std::string& name,
         const std::vector<std::int64_t>& values);

/// Elements of up to eight bits; negative integers wrap around.
onnx_pb::TensorProto codes(std::int32_t type, const ir::Shape& shape,
                           const std::vector<int>& values);
/// first, first + 1, ...
std::vector<int> counted(int count, int first);

/// An input of an operator under test.
struct Operand {
  std::vector<std::int64_t> dims;
  int seed = 0;                                     ///< of its floats
  std::vector<std::int64_t> integers{};             ///< instead of floats, if there are any
  std::int32_t type = onnx_pb::TensorProto::FLOAT;  ///< UNDEFINED for an absent input
};
/// Floats: element i is ((7 i + 3 seed) mod 11 - 5) / 10.
Operand pattern(const std::vector<std::int64_t>& dims, int seed);
Operand whole(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& values,
              std::int32_t type = onnx_pb::TensorProto::INT64);
Operand absent();

/// A node "n" of a domain. Its first input is one of the graph if it holds floats; all others are
/// constants.
struct OperatorCase {
  std::string op_type;
  std::vector<Operand> inputs;
  std::function<void(onnx_pb::NodeProto&)> fill{};
  std::string domain{};
  std::int64_t opset = 28;

  [[nodiscard]] TestModel model(std::size_t num_outputs = 1) const;
  /// The elements of each output, from the reference implementations.
  [[nodiscard]] std::vector<std::vector<float>> run(std::size_t num_outputs = 1) const;
};

using ir::test::floats;
using ir::test::list;
using ir::test::numbers;
using ir::test::random_tensor;
using ir::test::run_reference;

/// The message of the Error that the import throws.
/// @param kind  set to the error's kind
std::string import_failure(std::span<const std::byte> bytes, ErrorKind& kind);
/// Checks that the import fails with this kind and a one-line message that contains `text`.
void expect_failure(const TestModel& model, ErrorKind kind, const std::string& text);

}  // namespace halftone::formats::onnx
