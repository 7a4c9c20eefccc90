// SPDX-License-Identifier: Apache-2.0
// Options of imports and exports.
#pragma once

#include <map>
#include <set>
#include <string>

#include "halftone/ir/graph.h"

namespace halftone::formats {

struct ImportOptions {
  /// Values of inputs, by name. Such an input becomes a constant, so it may determine a shape
  /// (axes, a size, a number of repeats). A scalar fills the shape of its input. Integers and
  /// floats are converted if that changes no value.
  std::map<std::string, ir::Tensor> constants;
  /// Shapes of inputs, by name, which replace those of the file; ir::kBatch is the batch.
  std::map<std::string, ir::Shape> shapes;
  /// Iterations until a loop of the network counts as one without an end.
  std::size_t max_iterations = ir::Loop::kMaxIterations;
};

/// Names of the inputs that the options name.
std::set<std::string> names_of(const ImportOptions& options);

/// Checks the names of the options.
/// @param inputs  names of the inputs of the model
/// @param used    null if the model must have every name; otherwise the names that it has are added
/// @throws Error kUsage if `used` is null and the model lacks a name
void check_names(const ImportOptions& options, const std::set<std::string>& inputs,
                 std::set<std::string>* used);

/// The shape that the options give an input, or null.
/// @param rank  number of axes in the file
/// @throws Error kUsage if the number of axes differs
const ir::Shape* given_shape(const ImportOptions& options, const std::string& input,
                             std::size_t rank);

/// The value as another type. @throws Error kUsage if that changes an element
ir::Tensor exactly(const ir::Tensor& value, ir::ElementType element);

/// Adds a value of which every element is the scalar: a constant, or a broadcast if the shape
/// contains the batch.
ir::ValueId add_filled(ir::Graph& graph, const std::string& name, const ir::Tensor& scalar,
                       const ir::Shape& shape);

struct ExportOptions {
  /// ONNX only: layers with codes become operators of ONNX that read DequantizeLinear, in place of
  /// Halftone's own; see standard_form() in onnx/standard_form.h.
  bool standard = false;
  /// The same, with com.microsoft.MatMulNBits, an operator of ONNX Runtime, for fully connected
  /// layers whose weights have groups of 16, 32, 64, ... inputs.
  bool matmul_nbits = false;
  /// ONNX and TFLite: the whole network as one operator of Halftone, for ONNX Runtime with the
  /// library libhalftone_onnxruntime or LiteRT with libhalftone_litert; see onnx/one_operator.h and
  /// circle/one_operator.h.
  bool one_operator = false;

  [[nodiscard]] bool is_standard() const { return standard || matmul_nbits; }
};

}  // namespace halftone::formats
