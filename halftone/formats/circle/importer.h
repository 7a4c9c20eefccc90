// SPDX-License-Identifier: Apache-2.0
// The state of an import, and what the families of operators see of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/circle/file_model.h"
#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// Turns a file into a graph, operator by operator in the file's order.
class Importer {
 public:
  explicit Importer(const FileModel& file);

  /// @param symbolic_batch  makes the leading extent of inputs the batch where their signature has
  /// -1
  /// @throws Error as import_circle()
  ir::Graph run(bool symbolic_batch);

  [[nodiscard]] const FileModel& file() const { return file_; }
  [[nodiscard]] ir::Graph& graph() { return graph_; }
  /// The extent that the file gives the batch; none if no input has a symbolic one.
  [[nodiscard]] std::optional<ir::Dim> file_batch() const { return file_batch_; }

  /// The value of a tensor in the file's element type (float16 as float32).
  /// @throws Error kFormat if nothing has computed it; kUnsupported if its type is unknown;
  ///         Unavailable if it comes from an operator that could not be imported
  ir::ValueId raw(std::size_t tensor);
  /// Its numbers as float32: dequantized if need be, once for all readers.
  ir::ValueId number(std::size_t tensor);
  /// Says what an output tensor is. @throws Error kFormat if it is already known
  void define(std::size_t tensor, ir::ValueId value);

  /// Accounts for memory that the file makes the import take. Tensors may share buffers, so that
  /// a small file could ask for any amount of it.
  /// @throws Error kFormat beyond 64 times the file's size
  void charge(std::size_t bytes);

  /// Thrown when an operator reads what an unsupported one computes.
  struct Unavailable {};

 private:
  enum class State : std::uint8_t { kUnknown, kAwaited, kDefined, kUnavailable };
  using ConstantKey = std::tuple<const std::byte*, schema::TensorType, std::vector<ir::Dim>>;

  void add_inputs(bool symbolic_batch);
  void claim_outputs();
  void import_operator(std::size_t op);
  [[noreturn]] void fail_unsupported() const;
  ir::ValueId add_constant(std::size_t tensor);

  const FileModel& file_;
  ir::Graph graph_;
  std::optional<ir::Dim> file_batch_;
  std::vector<State> states_;  ///< by tensor, as the next two
  std::vector<ir::ValueId> values_;
  std::vector<ir::ValueId> numbers_;  ///< kAbsent until asked for
  std::map<ConstantKey, std::shared_ptr<const ir::Constant>> constants_;
  std::map<std::string, std::size_t> unsupported_;  ///< by name: how many
  std::vector<std::string> refusals_;               ///< operators supported but not like this
  std::size_t charged_bytes_ = 0;
};

/// One operator on its way into the graph.
class OperatorImport {
 public:
  OperatorImport(Importer& importer, std::size_t op);

  [[nodiscard]] ir::Graph& graph() { return importer_.graph(); }
  [[nodiscard]] Importer& importer() { return importer_; }
  [[nodiscard]] const schema::Operator& table() const { return importer_.file().table(op_); }
  [[nodiscard]] OperatorCode code() const { return code_; }

  [[nodiscard]] std::size_t num_inputs() const { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const { return outputs_.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const;
  /// The tensor of an input. @throws Error kFormat if it is absent
  [[nodiscard]] std::size_t input_tensor(std::size_t i) const;
  [[nodiscard]] std::size_t output_tensor(std::size_t i) const;

  /// An input as float32.
  ir::ValueId number(std::size_t i) { return importer_.number(input_tensor(i)); }
  /// An input as arithmetic takes it: integers and booleans as they are, all else as float32.
  ir::ValueId numeric(std::size_t i);
  /// A constant that the file does not have.
  ir::ValueId scalar(float value, const std::string& suffix);
  /// An input as float32 with its axes in another order; integers that the file holds are turned
  /// as they are.
  ir::ValueId transposed_number(std::size_t i, const std::vector<std::size_t>& permutation);
  /// An input as the file holds it.
  ir::ValueId raw(std::size_t i) { return importer_.raw(input_tensor(i)); }
  /// An input as what layout operators move: the file's codes if inputs [first, first + count) and
  /// all outputs share one number system, else float32.
  std::vector<ir::ValueId> elements(std::size_t first, std::size_t count = 1);
  /// A constant input of integers. @throws Error kUnsupported if it is computed
  std::vector<std::int64_t> integers(std::size_t i);
  [[nodiscard]] const ir::Shape& shape(ir::ValueId value) {
    return importer_.graph().value(value).type.shape;
  }

  /// Adds a node on the way to an output; its name is the output's with "/suffix".
  ir::ValueId step(ir::Operator op, std::vector<ir::ValueId> inputs, const std::string& suffix);
  /// Adds the node that computes an output; quantizes it if the output is of integers.
  void emit(ir::Operator op, std::vector<ir::ValueId> inputs, std::size_t output = 0);
  /// Lets an output be a value that is there already.
  void alias(ir::ValueId value, std::size_t output = 0);

  /// @throws Error kFormat if a number among the options is infinite or none
  static float finite(float number, const char* what);
  /// The target of a reshape, where the file's extents stand for one sample batch.
  [[nodiscard]] ir::Shape reshape_target(ir::ValueId input, std::span<const std::int64_t> request);

  /// The operator's options; null if there are none, which means the defaults.
  /// @throws Error kFormat if there are options of another kind
  template <typename Options>
  [[nodiscard]] const Options* options() const {
    if (table().builtin_options_type() == schema::BuiltinOptions::NONE) return nullptr;
    const Options* found = table().template builtin_options_as<Options>();
    if (found == nullptr) fail(ErrorKind::kFormat, "options of another operator");
    return found;
  }

 private:
  [[nodiscard]] std::string output_name(std::size_t i) const;
  /// Lets an output be a value, quantized if the output is of integers and the value is not.
  void finish(ir::ValueId value, std::size_t output);

  Importer& importer_;
  std::size_t op_;
  OperatorCode code_;
  std::vector<std::optional<std::size_t>> inputs_;
  std::vector<std::size_t> outputs_;
};

/// @throws Error kFormat unless the number is one of a fused activation's
ir::Activation fused_activation(schema::ActivationFunctionType type);

/// How one kind of operator is imported.
using ImportFunction = void (*)(OperatorImport&);
struct ImportEntry {
  OperatorCode code;
  ImportFunction import;
};

/// The families; see import_registry.cc.
std::span<const ImportEntry> convolution_imports();
std::span<const ImportEntry> elementwise_imports();
std::span<const ImportEntry> extend_imports();
std::span<const ImportEntry> layout_imports();
std::span<const ImportEntry> linear_imports();
std::span<const ImportEntry> lowbit_imports();
std::span<const ImportEntry> recurrent_imports();
std::span<const ImportEntry> reduce_imports();

/// The custom operator of recurrent_layer.h.
void import_own_recurrent(OperatorImport& op);
/// A convolution in a basis.
void import_own_conv(OperatorImport& op);
/// A Gather from a table of codes.
void import_own_gather(OperatorImport& op);

/// Null if Halftone does not import the operator.
ImportFunction find_import(OperatorCode code);

}  // namespace halftone::formats::circle
