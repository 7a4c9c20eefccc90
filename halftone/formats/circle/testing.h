// SPDX-License-Identifier: Apache-2.0
// Helpers shared by the tests of this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "circle_generated.h"
#include "halftone/formats/circle/export.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/import.h"
#include "halftone/ir/testing.h"

namespace halftone::formats::circle {

using ir::test::expect_same_function;
using ir::test::floats;
using ir::test::random_tensor;
using ir::test::run_reference;

/// Random codes in random bases.
ir::EncodedTensor random_encoded(Random& random, ir::Dim rows, ir::Dim cols,
                                 numerics::MatrixEncoding encoding);

/// A float perceptron [N, 6] -> 5 (Relu) -> 3 -> Softmax with named values.
ir::Graph small_network();
/// Both layers in bases: the first fits LQ_FULLY_CONNECTED, the second is custom (offsets, groups).
ir::Graph small_lowbit_network();

/// Exports and imports.
ir::Graph round_trip(const ir::Graph& graph, CircleFlavor flavor);

/// A file as objects, and back.
schema::ModelT unpacked(std::span<const std::byte> bytes);
std::vector<std::byte> packed(const schema::ModelT& model, const char* identifier = "TFL3");
/// The file after an edit.
std::vector<std::byte> edited(std::span<const std::byte> bytes,
                              const std::function<void(schema::ModelT&)>& edit);

/// A tensor of a TFLite file with one operator, for cases that the exporter never writes.
struct FileTensor {
  std::vector<std::int32_t> shape;
  schema::TensorType type = schema::TensorType::FLOAT32;
  std::vector<std::byte> data = {};  ///< empty unless constant
};
template <typename T>
FileTensor constant_tensor(std::vector<std::int32_t> shape, schema::TensorType type,
                           const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {std::move(shape), type, {bytes.begin(), bytes.end()}};
}
/// A constant list of int32.
using Ints = std::vector<std::int32_t>;
inline FileTensor integers(const Ints& numbers) {
  return constant_tensor(Ints{static_cast<std::int32_t>(numbers.size())}, schema::TensorType::INT32,
                         numbers);
}
/// Builds TFLite files that the exporter never writes.
class FileBuilder {
 public:
  using Indices = std::vector<std::int32_t>;  ///< of tensors

  FileBuilder();
  /// Starts another subgraph, to which the next calls add.
  void subgraph();
  std::int32_t tensor(const FileTensor& tensor);
  void op(OperatorCode code, Indices inputs, Indices outputs,
          schema::BuiltinOptionsUnion options = {});
  /// Adds an operator and its only output.
  std::int32_t computed(OperatorCode code, Indices inputs, const FileTensor& output,
                        schema::BuiltinOptionsUnion options = {});
  /// Sets the inputs and outputs of the subgraph.
  void ends(Indices inputs, Indices outputs);

  [[nodiscard]] schema::ModelT& model() { return model_; }
  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  schema::ModelT model_;
};

/// Tensor 0 is the input of the graph; the operator reads `inputs` and computes `outputs`, which
/// are the graph's.
schema::ModelT one_operator(std::int32_t code, const std::vector<FileTensor>& tensors,
                            std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs,
                            schema::BuiltinOptionsUnion options = {});

/// The error a call throws; fails the test if it throws none.
Error error_of(const std::function<void()>& call);

}  // namespace halftone::formats::circle
