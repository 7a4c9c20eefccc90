// SPDX-License-Identifier: Apache-2.0
// Interface of operator builders to the file and to the graph under construction.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/formats/onnx/integers.h"
#include "halftone/formats/onnx/quantized_weight.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/graph.h"
#include "onnx.pb.h"

namespace halftone::formats::onnx {

/// The reason why a name of the file has no value.
struct Unavailable {
  std::string reason;
};

/// A constant of floats of up to eight bits: what DequantizeLinear reads.
struct FloatCodes {
  std::int32_t data_type;
  std::shared_ptr<const ir::Tensor> codes;  ///< uint8
};

/// A value rounded to a float of up to eight bits, with one scale: of that type behind
/// QuantizeLinear and Cast, numbers behind DequantizeLinear. Layers read numbers by an Encode,
/// others by add_numbers().
struct RoundedFloat {
  ir::ValueId x;
  std::shared_ptr<const numerics::MatrixEncoding> encoding;
  std::int32_t data_type;  ///< of the file's value: FLOAT, or the type that it was rounded to

  [[nodiscard]] bool is_codes() const { return data_type != onnx_pb::TensorProto::FLOAT; }
  [[nodiscard]] float scale() const { return encoding->scales[0]; }
};

/// A sequence of tensors, whose number is known during the import.
using Sequence = std::vector<ir::ValueId>;

/// The meaning of a name in the file: a value of the graph, integers known during the import,
/// numbers of a few bits that enter the graph in the form that their reader needs, or a sequence.
using Binding = std::variant<ir::ValueId, Integers, Unavailable, FloatCodes, RoundedFloat,
                             std::shared_ptr<const QuantizedWeight>, Sequence>;

/// The graph under construction and the bindings of the file's names.
struct ImportState {
  ir::Graph graph;
  std::map<std::string, std::int64_t> opsets;  ///< by domain, "" for the standard operators
  std::unordered_map<std::string, Binding> bindings;
  std::map<ir::ValueId, ir::ValueId> transposed;  ///< weights with their existing transposes
  /// Values of types of fewer bits that Halftone lacks, with these types: integers in eight bits,
  /// floats as float32.
  std::map<ir::ValueId, std::int32_t> widened;
  /// Weights in the order of their layers, by what they were and the order of the axes.
  std::map<std::pair<const QuantizedWeight*, std::vector<std::size_t>>,
           std::pair<std::shared_ptr<const QuantizedWeight>, ir::ValueId>>
      encoded;
  /// Whether the file rounds values to 8-bit integers at run time: then weights of 8 bits stay
  /// integers, for integer arithmetic.
  bool rounds_values = false;
  std::map<ir::ValueId, ir::Tensor> wide_copies;     ///< of floats of 16 bits, see tensor()
  std::map<ir::ValueId, Extent> computed{};          ///< see NodeBuilder::computed_extent()
  std::map<std::string, ir::ValueId> open_values{};  ///< see open_value()
  ReadExternal external;
  /// The model's own operators, by domain and name.
  std::map<std::pair<std::string, std::string>, const onnx_pb::FunctionProto*> functions;
  std::vector<std::string>* scope = nullptr;              ///< names bound in the current subgraph
  std::size_t max_iterations = ir::Loop::kMaxIterations;  ///< as in ir::Loop
  int depth = 0;                                          ///< nesting depth of graphs and functions
  std::size_t budget_bytes = 0;  ///< remaining memory for constants created during the import

  /// Subtracts bytes from the budget. Returns false and changes nothing if they exceed it.
  [[nodiscard]] bool try_charge(std::size_t bytes);
  /// @throws Error kUnsupported if the bytes exceed the budget
  void charge(std::size_t bytes);
  /// @throws Error kFormat if the name is already bound
  void bind(const std::string& name, Binding binding);
  /// Adds a tensor of the file to the graph; one of floats of 16 bits and several axes with the
  /// Cast that reads it. Floats of up to eight bits stay outside. @throws Error as decode_tensor()
  Binding add_constant(const std::string& name, const onnx_pb::TensorProto& proto);
  /// Adds a weight to the graph as numbers: integers with the DequantizeLinear that reads them, or
  /// float32. @throws Error as charge()
  ir::ValueId add_numbers(const QuantizedWeight& weight);
  /// Whether a value is the output of the Cast of add_constant().
  [[nodiscard]] bool reads_halves(ir::ValueId id) const;
  /// The elements of a dense constant, also behind the Cast of add_constant(); null for any other
  /// value.
  const ir::Tensor* tensor(ir::ValueId id);
  /// Adds a rounded value as float32: layers alone read codes, so a convolution multiplies each
  /// number by 1, which is exact. Values of the file's float type are numbers without the scale.
  /// @throws Error kUnsupported for two axes that depend on the batch
  ir::ValueId add_numbers(const RoundedFloat& rounded);
  /// Integers as a value: numbers as a constant, others as nodes that count.
  /// @throws Error kUnsupported if they depend on the batch, or may be negative
  ir::ValueId add_integers(const std::string& name, const Integers& integers);
  /// The same for integers that are not numbers: one value for all of the same texts.
  ir::ValueId open_value(const std::string& name, const Integers& integers);
  /// The value of a name; integers enter the graph as a constant, weights as numbers.
  /// @throws Error kFormat if the name is not defined; kUnsupported if its value is not available
  ir::ValueId value(const std::string& name);
  /// The same for the meaning of a name, which becomes that value.
  ir::ValueId value(const std::string& name, Binding& binding);
};

/// @throws Error kShape if an extent or the element count (of one sample) exceeds 2^40
void check_extents(const ir::Shape& shape);

/// One node of the file during its import. Builders add operators with emit() and bind results with
/// set_output().
class NodeBuilder {
 public:
  NodeBuilder(ImportState& state, const onnx_pb::NodeProto& proto);

  [[nodiscard]] const std::string& op_type() const { return proto_.op_type(); }
  /// Version of the node's operator set.
  [[nodiscard]] std::int64_t opset() const { return opset_; }

  [[nodiscard]] const onnx_pb::NodeProto& proto() const { return proto_; }

  /// Whether the operator is ONNX's own.
  [[nodiscard]] bool is_standard() const;

  [[nodiscard]] std::size_t num_inputs() const;
  [[nodiscard]] std::size_t num_outputs() const;
  [[nodiscard]] bool has_input(std::size_t i) const;
  /// @throws Error kFormat if the input is absent
  [[nodiscard]] const std::string& input_name(std::size_t i) const;
  /// The name of output 0, or of the node if it has none.
  [[nodiscard]] std::string output_name() const;
  /// Whether output i has a name in the file.
  [[nodiscard]] bool has_output(std::size_t i) const;
  /// @throws Error kFormat if the input is absent
  [[nodiscard]] ir::ValueId input(std::size_t i);
  [[nodiscard]] std::vector<ir::ValueId> inputs();
  /// The binding of an input that has this form; null for others.
  template <typename Form>
  [[nodiscard]] const Form* input_as(std::size_t i) const;
  [[nodiscard]] const ir::ValueType& type(ir::ValueId id) const;
  [[nodiscard]] const ir::ValueType& input_type(std::size_t i) { return type(input(i)); }
  /// The ONNX type of an input; FLOAT for all floats of 16 bits or more.
  /// @throws Error as input()
  [[nodiscard]] std::int32_t data_type(std::size_t i);
  /// The dense constant of a value, or null.
  [[nodiscard]] const ir::Tensor* constant(ir::ValueId id) const;
  /// @throws Error kUnsupported unless the input is a dense constant
  [[nodiscard]] const ir::Tensor& constant_input(std::size_t i);
  /// A constant input as float32. @throws Error as constant_input()
  [[nodiscard]] std::vector<float> float_input(std::size_t i);
  /// A constant input with one element. @throws Error as constant_input(); kShape for another count
  [[nodiscard]] float scalar_input(std::size_t i);
  /// The known integers of an input, if any.
  [[nodiscard]] std::optional<Integers> integers(std::size_t i);
  /// The same for an input that the network computes: its numbers become extents.
  [[nodiscard]] std::optional<Integers> extents(std::size_t i);
  /// The same for a small value; nullopt unless it has integers and at most one axis.
  [[nodiscard]] std::optional<Integers> extents_of(ir::ValueId id);
  /// An integer of one element that the network computes, as an extent.
  [[nodiscard]] Extent computed_extent(ir::ValueId id);
  /// @throws Error kUnsupported unless the input's integers are known and none is the batch
  [[nodiscard]] std::vector<std::int64_t> numbers_input(std::size_t i);

  // Attributes. @throws Error kFormat if the attribute has another type, or a float is not finite
  [[nodiscard]] bool has_attribute(const std::string& name) const;
  [[nodiscard]] float float_attribute(const std::string& name, float otherwise) const;
  [[nodiscard]] std::int64_t int_attribute(const std::string& name, std::int64_t otherwise) const;
  [[nodiscard]] std::string string_attribute(const std::string& name,
                                             const std::string& otherwise) const;
  /// A string attribute with one of some values.
  /// @throws Error kFormat "NAME: expected A, B or C, found 'D'"
  [[nodiscard]] std::string choice_attribute(const std::string& name, const std::string& otherwise,
                                             std::initializer_list<std::string_view> choices) const;
  [[nodiscard]] std::optional<std::vector<std::int64_t>> ints_attribute(
      const std::string& name) const;
  [[nodiscard]] std::optional<std::vector<float>> floats_attribute(const std::string& name) const;
  [[nodiscard]] std::optional<std::vector<std::string>> strings_attribute(
      const std::string& name) const;
  [[nodiscard]] std::optional<ir::Tensor> tensor_attribute(const std::string& name) const;
  [[nodiscard]] const onnx_pb::TensorProto* proto_attribute(const std::string& name) const;
  [[nodiscard]] const onnx_pb::GraphProto* graph_attribute(const std::string& name) const;

  /// Adds an operator. If all inputs are constants, cheap operators are evaluated instead.
  /// @throws Error kShape if the inputs do not fit; kUnsupported for arithmetic on types other than
  ///         float32
  /// @param role  purpose of an auxiliary operator, which is named "NODE/ROLE"
  ir::ValueId emit(ir::Operator op, std::vector<ir::ValueId> inputs, const std::string& role = "");
  /// A zero tensor for a constant that is not stored in the file.
  /// @throws Error as check_extents() and ImportState::charge()
  [[nodiscard]] ir::Tensor allocate(ir::ElementType element, const ir::Shape& shape);
  ir::ValueId add_constant(ir::Tensor tensor);
  ir::ValueId add_scalar(float value);
  /// Adds a scalar constant of an element type.
  ir::ValueId add_scalar(double value, ir::ElementType element);
  /// Reshapes the value; returns it unchanged if it has that shape.
  ir::ValueId reshape(ir::ValueId id, const ir::Shape& shape);
  /// Converts the value to float32; returns it unchanged if it is float32.
  ir::ValueId as_float(ir::ValueId id);

  void set_output(std::size_t i, ir::ValueId id);
  /// The same for a value of an ONNX type that may have fewer bits than its elements.
  void set_output(std::size_t i, ir::ValueId id, std::int32_t data_type);
  void set_output(Integers integers);
  void bind_output(std::size_t i, Binding binding);

  /// @throws Error kUnsupported, always
  [[noreturn]] static void unsupported(const std::string& what);
  /// The same for an input: "input 1: expected ..., found 'axes', which the network computes".
  [[noreturn]] void refuse_input(std::size_t i, const std::string& expected);

  ImportState& state() { return state_; }

 private:
  [[nodiscard]] const onnx_pb::AttributeProto* find(
      const std::string& name, onnx_pb::AttributeProto::AttributeType type) const;
  [[nodiscard]] std::optional<ir::Tensor> fold(const ir::Operator& op,
                                               const std::vector<ir::ValueId>& inputs,
                                               const ir::ValueType& result);
  /// A transpose of what the file stores, for a value that reads it with a Cast; nothing for
  /// others.
  [[nodiscard]] std::optional<ir::ValueId> transposed_storage(const ir::Operator& op,
                                                              ir::ValueId id);
  [[nodiscard]] std::string next_name(const std::string& role);

  ImportState& state_;
  const onnx_pb::NodeProto& proto_;
  std::int64_t opset_ = 1;
  std::size_t first_value_ = 0;  ///< this and later values belong to this node
  std::size_t num_emitted_ = 0;
};

template <typename Form>
const Form* NodeBuilder::input_as(std::size_t i) const {
  if (!has_input(i)) return nullptr;
  const auto found = state_.bindings.find(proto_.input(static_cast<int>(i)));
  return found == state_.bindings.end() ? nullptr : std::get_if<Form>(&found->second);
}

/// "node 'dense1' (Gemm)"; a node without a name is described by its first output.
std::string describe(const onnx_pb::NodeProto& proto);
std::string name_of(const onnx_pb::NodeProto& proto);

}  // namespace halftone::formats::onnx
