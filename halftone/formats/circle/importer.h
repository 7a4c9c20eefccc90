// SPDX-License-Identifier: Apache-2.0
// The state of an import, and its interface for the operator families.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/circle/dilated.h"
#include "halftone/formats/circle/file_model.h"
#include "halftone/formats/circle/list_writes.h"
#include "halftone/formats/options.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// What extents are that the signatures of inputs leave open.
enum class OpenExtents : std::uint8_t {
  kBatch,    ///< the batch N
  kSymbols,  ///< a symbol of each input (ir/extent.h)
  kNumbers   ///< those of the file
};

/// Integers that extents are made of.
using Extents = std::vector<ir::Extent>;
/// Nothing if one depends on a symbol.
std::optional<std::vector<std::int64_t>> numbers_of(const Extents& extents);

/// The symbol of an open extent of an input: "x_0", also for one of the name
/// "serving_default_x:0".
std::string symbol_of(const std::string& input, std::size_t axis);

/// Turns a file into a graph, operator by operator in the file's order.
class Importer {
 public:
  /// @param used  as in check_names()
  Importer(const FileModel& file, const ImportOptions& options, std::set<std::string>* used);

  /// @param open  what the extent FileModel::batch_axis() of each input is
  /// @throws Error as import_circle()
  ir::Graph run(OpenExtents open);

  /// Whether run() has failed because the network computes with the number of samples.
  [[nodiscard]] bool counts_samples() const { return counts_samples_; }

  /// The same with the extents of the file and some inputs as constants, by their tensors.
  /// @param shapes  of inputs, in place of those in the file
  ir::Graph run_with(const std::map<std::size_t, ir::Tensor>& constants,
                     std::map<std::size_t, ir::Shape> shapes = {});
  /// The graph of a subgraph that an operator names, with some of its inputs as constants.
  /// @param constants  by the position of the input
  /// @param shapes     of all its inputs
  /// @throws Error kUnsupported if subgraphs are nested too deeply; as run_with()
  ir::Graph run_subgraph(std::size_t index, const std::map<std::size_t, ir::Tensor>& constants,
                         const std::vector<ir::Shape>& shapes);
  [[nodiscard]] const ImportOptions& options() const { return options_; }

  [[nodiscard]] const FileModel& file() const { return file_; }
  [[nodiscard]] ir::Graph& graph() { return graph_; }
  /// The extents in the file of open extents of inputs, by symbol: one example of their numbers.
  [[nodiscard]] const ir::Sizes& example() const { return example_; }
  /// A shape with these numbers. Other symbols stay.
  [[nodiscard]] ir::Shape with_example(const ir::Shape& shape) const;

  /// The value of a tensor with the file's element type (float16 as float32).
  /// @throws Error kFormat if it has not been computed yet; kUnsupported if its type is unknown;
  ///         Unavailable if it comes from an operator that could not be imported
  ir::ValueId raw(std::size_t tensor);
  /// A constant of float16 or bfloat16 as float32, by a Cast of what the file stores; absent for
  /// any other tensor.
  ir::ValueId widened(std::size_t tensor);
  /// The tensor as float32: dequantized if necessary, once for all readers.
  ir::ValueId number(std::size_t tensor);
  /// Complex numbers that the network computes, as float32 [..., 2]; raw() refuses them.
  /// @throws Error kFormat if the tensor has others
  ir::ValueId complex(std::size_t tensor);
  /// Sets the value of an output tensor. @throws Error kFormat if it already has one
  void define(std::size_t tensor, ir::ValueId value);

  /// Integers that are constants or follow from shapes; nothing for others. Of data, only counts
  /// that set_extents() names are known.
  [[nodiscard]] std::optional<Extents> known_extents(ir::ValueId value) const;
  /// An element of a list of integers: as known_extents(), else a symbol that the network computes
  /// (Graph::define()).
  ir::Extent extent(ir::ValueId list, std::size_t index);
  void set_extents(ir::ValueId value, Extents extents) { extents_[value] = std::move(extents); }
  /// Adds a list of extents. The number of samples is one by name only: see refuse_count().
  ir::ValueId add_extents(const std::string& name, ir::ElementType element, const Extents& extents);
  /// What a node computes of integers that follow from shapes; nothing if it reads others, or is no
  /// arithmetic that extents have. @throws Error as refuse_count()
  std::optional<Extents> extents_of(const ir::Node& node);
  /// Whether integers depend on the number of samples.
  [[nodiscard]] bool counts_samples(ir::ValueId value) const;
  /// Fails for the use of the number of samples as data. @throws Error kShape, always
  [[noreturn]] void refuse_count(const std::string& name);

  /// A variable of the file, which handles name.
  struct Variable {
    std::string name;
    std::optional<ir::Tensor> first;   ///< before the first run; without one, zeros
    ir::ValueId before = ir::kAbsent;  ///< what the last run left; absent until it is read
    ir::ValueId now = ir::kAbsent;     ///< what an operator would read; absent until then
  };
  /// Makes a tensor a handle of a variable.
  void define_handle(std::size_t tensor, const std::string& name);
  /// @throws Error kFormat if the tensor is no handle
  Variable& variable(std::size_t handle);
  /// Adds what a run begins with. @param tensor  that reads it, which has its type
  void begin_variable(Variable& variable, std::size_t tensor);
  /// A variable of one operator, which a tensor of the file names, zeros at first.
  Variable& own_variable(std::size_t tensor, const ir::Shape& shape);
  /// Notes what a subgraph assigns before the first run.
  void call_once(std::size_t subgraph);

  /// Accounts for memory that the import allocates for the file. Tensors may share buffers, so that
  /// a small file could request any amount.
  /// @throws Error kFormat beyond 64 MiB and 64 times the file's size
  void charge(std::size_t bytes);

  /// Thrown when an operator reads an output of an unsupported operator.
  struct Unavailable {};

 private:
  enum class State : std::uint8_t { kUnknown, kAwaited, kDefined, kUnavailable };
  using ConstantKey = std::tuple<const std::byte*, schema::TensorType,
                                 const schema::SparsityParameters*, std::vector<ir::Dim>>;

  void add_inputs(OpenExtents open);
  ir::Shape input_shape(std::size_t tensor, OpenExtents open);
  ir::ValueId add_input(std::size_t tensor, ir::ElementType element, const ir::Shape& shape);
  /// A value in place of the number of samples, int64 [].
  ir::ValueId add_count_of_samples(const std::string& name);
  ir::Graph run_nested(Importer& nested, const std::map<std::size_t, ir::Tensor>& constants,
                       std::map<std::size_t, ir::Shape> shapes);
  void import_all();
  /// @throws Error kShape if a value is computed with the number of samples
  void check_counts();
  ir::Graph take_graph();
  void claim_outputs();
  void import_operator(std::size_t op);
  [[noreturn]] void fail_unsupported() const;
  /// What the subgraph, which has no inputs, assigns to variables.
  std::map<std::string, ir::Tensor> assigned();
  /// Whether this is not the first run, as a condition: a state that is 0 at first and then 1.
  ir::ValueId has_run();
  void tie_variable(const Variable& variable);
  /// What outputs depend on, also over runs.
  [[nodiscard]] std::set<ir::ValueId> values_behind_outputs() const;
  /// Makes states of the variables that outputs depend on.
  void tie_variables();
  ir::ValueId add_constant(std::size_t tensor);

  const FileModel& file_;
  const ImportOptions& options_;
  std::set<std::string>* used_;  ///< names of inputs that the options name, or null
  DilatedLayers dilated_;
  ListWrites lists_;
  ir::Graph graph_;
  ir::Sizes example_;
  std::map<std::size_t, ir::Shape> shapes_;  ///< of inputs of a subgraph, by tensor
  std::vector<State> states_;                ///< indexed by tensor, as are the next two members
  std::vector<ir::ValueId> values_;
  std::vector<ir::ValueId> numbers_;  ///< kAbsent until number() is called
  std::map<ConstantKey, std::shared_ptr<const ir::Constant>> constants_;
  std::map<ir::ValueId, Extents> extents_;  ///< of integers that are no constants
  std::vector<ir::ValueId> sample_counts_;  ///< that nothing may read
  bool counts_samples_ = false;
  std::map<std::pair<ir::ValueId, std::size_t>, ir::Extent> computed_;  ///< by list and index
  std::map<std::size_t, std::string> handles_;  ///< names of variables, by tensor
  std::map<std::string, Variable> variables_;
  Variable runs_;                                   ///< of has_run()
  std::vector<Variable*> begun_;                    ///< those that are read, in this order
  ir::ValueId has_run_ = ir::kAbsent;               ///< until it is asked for
  std::map<std::string, std::size_t> unsupported_;  ///< count of each operator name
  std::vector<std::string> refusals_;               ///< supported operators with unsupported
                                                    ///< options or inputs
  std::size_t charged_bytes_ = 0;
  int depth_ = 0;                     ///< of the subgraph
  std::size_t nested_operators_ = 0;  ///< of all subgraphs so far
};

/// The import of one operator.
class OperatorImport {
 public:
  OperatorImport(Importer& importer, std::size_t op);

  [[nodiscard]] ir::Graph& graph() { return importer_.graph(); }
  [[nodiscard]] Importer& importer() { return importer_; }
  [[nodiscard]] const schema::Operator& table() const { return importer_.file().table(op_); }
  [[nodiscard]] OperatorCode code() const { return code_; }
  [[nodiscard]] std::int32_t version() const { return importer_.file().version(op_); }

  [[nodiscard]] std::size_t num_inputs() const { return inputs_.size(); }
  [[nodiscard]] std::size_t num_outputs() const { return outputs_.size(); }
  [[nodiscard]] bool has_input(std::size_t i) const;
  /// The tensor of an input. @throws Error kFormat if it is absent
  [[nodiscard]] std::size_t input_tensor(std::size_t i) const;
  [[nodiscard]] std::size_t output_tensor(std::size_t i) const;
  /// Whether an operator or an output of the graph reads an output.
  [[nodiscard]] bool is_read(std::size_t output) const;

  /// An input as float32.
  ir::ValueId number(std::size_t i) { return importer_.number(input_tensor(i)); }
  /// An input for arithmetic: integers without a scale and booleans unchanged, all others as
  /// float32.
  ir::ValueId numeric(std::size_t i);
  /// Adds a constant that is not in the file.
  ir::ValueId scalar(float value, const std::string& suffix);
  /// An input as float32 with its axes in another order; integer constants are transposed without
  /// conversion.
  ir::ValueId transposed_number(std::size_t i, const std::vector<std::size_t>& permutation);
  /// An input with the file's element type.
  ir::ValueId raw(std::size_t i) { return importer_.raw(input_tensor(i)); }
  /// Inputs for layout operators: the file's codes if inputs [first, first + count) and all outputs
  /// have the same type and quantization, otherwise float32.
  std::vector<ir::ValueId> elements(std::size_t first, std::size_t count = 1);
  /// A constant input of integers.
  /// @throws Error kUnsupported if it is computed; kShape as refuse_count()
  std::vector<std::int64_t> integers(std::size_t i);
  /// @throws Error kUnsupported "input 1: EXPECTED, found 'axis', which the network computes"
  [[noreturn]] void refuse_input(std::size_t i, const std::string& expected);
  /// The same as extents, with symbols where the file computes them, which may not be negative
  /// where it does so from data.
  Extents extents(std::size_t i);
  /// Whether an input is no constant.
  [[nodiscard]] bool is_computed(std::size_t i) { return graph().constant(raw(i)) == nullptr; }
  [[nodiscard]] const ir::Shape& shape(ir::ValueId value) {
    return importer_.graph().value(value).type.shape;
  }

  /// Adds an intermediate node, named after the output with "/suffix" appended.
  ir::ValueId step(ir::Operator op, std::vector<ir::ValueId> inputs, const std::string& suffix);
  /// Adds the node that computes an output; quantizes its result if the output has integers.
  void emit(ir::Operator op, std::vector<ir::ValueId> inputs, std::size_t output = 0);
  /// Makes extents an output.
  void emit_extents(const Extents& extents);
  /// Makes an existing value an output.
  void alias(ir::ValueId value, std::size_t output = 0);

  /// @throws Error kFormat if an option is infinite or NaN
  static float finite(float number, const char* what);
  /// The target shape of a reshape. The file's extents are those of one example batch.
  [[nodiscard]] ir::Shape reshape_target(ir::ValueId input, std::span<const std::int64_t> request);

  /// The operator's options; null if absent, which means the defaults.
  /// @throws Error kFormat if the options are those of another operator
  template <typename Options>
  [[nodiscard]] const Options* options() const {
    if (table().builtin_options_type() == schema::BuiltinOptions::NONE) return nullptr;
    const Options* found = table().template builtin_options_as<Options>();
    if (found == nullptr) fail(ErrorKind::kFormat, "options of another operator");
    return found;
  }

 private:
  [[nodiscard]] std::string output_name(std::size_t i) const;
  /// The value itself, or a constant instead of the result of a node that computes few numbers
  /// from constants or shapes: positions, sizes, thresholds.
  ir::ValueId folded(ir::ValueId value);
  /// A constant in place of a node. @param value  that it computes
  ir::ValueId constant_instead(ir::ValueId value, ir::Tensor tensor);
  /// Makes a value an output, quantized if the output has integers and the value does not.
  void finish(ir::ValueId value, std::size_t output);

  Importer& importer_;
  std::size_t op_;
  OperatorCode code_;
  std::vector<std::optional<std::size_t>> inputs_;
  std::vector<std::size_t> outputs_;
};

/// @throws Error kFormat unless this is a known fused activation
ir::Activation fused_activation(schema::ActivationFunctionType type);

/// Imports one kind of operator.
using ImportFunction = void (*)(OperatorImport&);
struct ImportEntry {
  OperatorCode code;
  ImportFunction import;
};

/// The families; see operator_import.cc.
std::span<const ImportEntry> batch_space_imports();
std::span<const ImportEntry> function_imports();
std::span<const ImportEntry> control_imports();
std::span<const ImportEntry> convolution_imports();
std::span<const ImportEntry> elementwise_imports();
std::span<const ImportEntry> extend_imports();
std::span<const ImportEntry> fill_imports();
std::span<const ImportEntry> layout_imports();
std::span<const ImportEntry> linear_imports();
std::span<const ImportEntry> lowbit_imports();
std::span<const ImportEntry> recurrent_imports();
std::span<const ImportEntry> reduce_imports();
std::span<const ImportEntry> scatter_imports();
std::span<const ImportEntry> selection_imports();
std::span<const ImportEntry> signal_imports();
std::span<const ImportEntry> slice_imports();
std::span<const ImportEntry> svdf_imports();
std::span<const ImportEntry> update_imports();
std::span<const ImportEntry> variable_imports();
std::span<const ImportEntry> while_imports();

/// The attributes of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND, inputs 1 and 2.
struct SpaceBlocks {
  std::vector<ir::Dim> sizes;    ///< > 0, of the axes after the first
  std::vector<ir::Dim> margins;  ///< paddings or crops: before and after, for each of these axes
};
/// @throws Error kFormat if they are out of range or do not fit together
SpaceBlocks space_blocks(OperatorImport& op);

/// Imports a convolution between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND.
/// @param op  the last of the three
void import_dilated(OperatorImport& op, const DilatedLayer& layer);

/// Imports a row that a list gets. @param op  the CONCATENATION
void import_list_write(OperatorImport& op, const ListWrite& write);

/// Whether a type is that of one boolean.
bool is_flag(const ir::ValueType& type);

/// A WHILE as a loop over its body.
void import_loop(OperatorImport& op);

/// The custom operator of recurrent_layer.h.
void import_own_recurrent(OperatorImport& op);
/// A convolution in a basis.
void import_own_conv(OperatorImport& op);
/// A Gather from an encoded table.
void import_own_gather(OperatorImport& op);
void import_own_fake_quantize(OperatorImport& op);

/// The custom operator behind detectors: kDetectionName.
void import_detections(OperatorImport& op);

/// MediaPipe's custom operator: a transposed convolution with a bias.
void import_media_pipe_transpose_conv(OperatorImport& op);
/// Its operators on landmarks; see landmarks_import.cc.
void import_landmark_transform(OperatorImport& op);
void import_landmark_matrix(OperatorImport& op);
void import_tensor_transform(OperatorImport& op);
/// A custom operator of MediaPipe; null for another name.
ImportFunction find_media_pipe_import(std::string_view name);

/// The angles of points (x, y) in [-pi, pi], as std::atan2(y, x), also of zeros with signs.
/// Infinities count as the largest number.
ir::ValueId angle_of(OperatorImport& op, ir::ValueId y, ir::ValueId x);

/// Whether an operator gives complex numbers another shape.
bool moves_complex(OperatorImport& op);

/// The names of all operators that can be read.
std::vector<std::string> readable_operators();
/// Null if Halftone does not import the operator.
ImportFunction find_import(OperatorCode code);

}  // namespace halftone::formats::circle
