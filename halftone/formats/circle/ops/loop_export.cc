// SPDX-License-Identifier: Apache-2.0
// Loops as WHILE with two subgraphs. All that an iteration reads are variables: the number of the
// iteration, whether to go on, the states, the stacks of results, the values that are sliced, and
// those that no iteration changes.
#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/circle/constant_tensor.h"
#include "halftone/formats/circle/exporter.h"
#include "halftone/formats/circle/graph_part.h"
#include "halftone/formats/loop_record.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::ValueId;

/// The first input of an ir::Loop that becomes an input of its body.
constexpr std::size_t kFirstOperand = 2;

[[noreturn]] void fail_loop(const std::string& what) { fail(ErrorKind::kUnsupported, what); }

bool is_constant_true(const ir::Graph& graph, ValueId id) {
  const ir::Constant* constant = graph.constant(id);
  const auto* tensor = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  return tensor != nullptr && tensor->bytes()[0] != std::byte{0};
}

ValueId integer_constant(ir::Graph& graph, std::int64_t number) {
  return graph.add_constant("number", ir::Tensor::from<std::int64_t>({}, {&number, 1}));
}

/// A graph that computes variables of the loop, node by node.
class LoopSteps {
 public:
  ir::Graph graph;
  std::vector<ValueId> variables;

  ValueId add(ir::Operator op, std::vector<ValueId> inputs) {
    return graph.add_node("step" + std::to_string(++count_), std::move(op), std::move(inputs));
  }
  /// A value as output; the file has a tensor of its own for it.
  void add_output(ValueId value) {
    const bool is_own =
        graph.producer(value).has_value() ||
        (graph.outputs().size() < variables.size() && value == variables[graph.outputs().size()]);
    graph.add_output(is_own ? value : add(ir::Reshape{graph.value(value).type.shape}, {value}));
  }

 private:
  int count_ = 0;
};

class LoopWriter {
 public:
  LoopWriter(Exporter& exporter, const ir::Node& node, const ir::Loop& op)
      : exporter_(exporter),
        node_(node),
        op_(op),
        results_(ir::results_of(op)),
        asks_(op.is_while || !is_constant_true(exporter.graph(), node.inputs[0])),
        is_open_(op.trips && ir::is_expression(*op.trips)),
        has_limit_(is_open_ || node.inputs[1] != ir::kAbsent) {}

  void write() {
    check();
    add_variables();
    schema::WhileOptionsT options;
    options.cond_subgraph_index =
        exporter_.add_subgraph(condition().graph, node_.name + "/condition");
    options.body_subgraph_index = exporter_.add_subgraph(body().graph, node_.name + "/body");
    exporter_.add(OperatorCode::kWhile, inputs_, outputs_, united(options));
  }

 private:
  [[nodiscard]] const ir::ValueType& type(ValueId id) const {
    return exporter_.graph().value(id).type;
  }
  [[nodiscard]] std::size_t num_kept() const { return results_.size() - op_.stacks.size(); }
  [[nodiscard]] std::size_t first_state() const { return asks_ ? 2 : 1; }
  [[nodiscard]] std::size_t first_stack() const { return first_state() + op_.num_states(); }
  [[nodiscard]] std::size_t first_operand() const { return first_stack() + op_.stacks.size(); }

  void check() const {
    if (!is_taken_apart(exporter_.graph(), node_)) {
      fail_loop("a record of results as a value");
    }
    if (op_.trips && ir::depends_on_batch(*op_.trips)) {
      fail_loop("as many iterations as samples");
    }
    const auto is_reversed = [](const ir::SliceAxis& each) { return each.reversed; };
    const bool reverses =
        std::ranges::any_of(op_.reads, is_reversed) || std::ranges::any_of(op_.stacks, is_reversed);
    if (is_open_ && reverses) fail_loop("slices in reverse along an extent that is computed");
  }

  void add_variable(const ir::ValueType& type, TensorIndex input, TensorIndex output) {
    types_.push_back(type);
    inputs_.push_back(input);
    outputs_.push_back(output);
  }
  TensorIndex unread(const ir::ValueType& type) {
    return exporter_.computed_tensor(node_.name + "/unread", type);
  }

  void add_variables() {
    const ir::ValueType count = ir::dense_type(ElementType::kInt64, ir::Shape{});
    const ir::Tensor zero(ElementType::kInt64, {});
    add_variable(count, exporter_.constant("zero", schema::TensorType::INT64, {}, zero.bytes()),
                 exporter_.computed_tensor(node_.name, count));
    const auto add_given = [&](std::size_t i) {
      const ValueId id = node_.inputs[i];
      add_variable(type(id), exporter_.tensor(id), unread(type(id)));
    };
    if (asks_) add_given(0);
    std::size_t result = 0;
    for (std::size_t s = 0; s < op_.num_states(); ++s) {
      const ir::ValueType& state = op_.body->value(op_.body->inputs()[1 + s]).type;
      add_variable(state, exporter_.tensor(node_.inputs[kFirstOperand + s]),
                   op_.keeps[s] ? result_tensor(result++) : unread(state));
    }
    for (std::size_t s = 0; s < op_.stacks.size(); ++s) {
      const ir::LoopResult& stack = results_[num_kept() + s];
      const ir::ValueType stacked = ir::dense_type(stack.element, stack.shape);
      add_variable(stacked, zeros(stacked), result_tensor(num_kept() + s));
    }
    for (std::size_t i = kFirstOperand + op_.num_states(); i < node_.inputs.size(); ++i) {
      add_given(i);
    }
    if (is_open_) {
      add_variable(count, open_trips(), unread(count));
    } else if (has_limit_) {
      add_given(1);
    }
  }

  /// A number of iterations that the network computes, int64 [].
  TensorIndex open_trips() {
    const TensorIndex list = exporter_.extents(ir::Shape{*op_.trips});
    const TensorIndex wide =
        exporter_.computed_tensor(node_.name + "/trips", ir::dense_type(ElementType::kInt64, {1}));
    schema::CastOptionsT cast;
    cast.in_data_type = schema::TensorType::INT32;
    cast.out_data_type = schema::TensorType::INT64;
    exporter_.add(OperatorCode::kCast, {list}, std::vector<TensorIndex>{wide}, united(cast));
    const TensorIndex trips = exporter_.computed_tensor(
        node_.name + "/limit", ir::dense_type(ElementType::kInt64, ir::Shape{}));
    exporter_.add(OperatorCode::kReshape, {wide, exporter_.extents(ir::Shape{})},
                  std::vector<TensorIndex>{trips});
    return trips;
  }

  /// The tensor of the value that takes a result out.
  TensorIndex result_tensor(std::size_t result) {
    const ir::LoopResult& wanted = results_[result];
    const ir::Graph& graph = exporter_.graph();
    for (const ir::NodeId id : graph.consumers(node_.output)) {
      const ir::Node& reader = graph.node(id);
      if (std::get<ir::LoopResult>(reader.op) == wanted) return exporter_.tensor(reader.output);
    }
    return unread(ir::dense_type(wanted.element, wanted.shape));
  }

  TensorIndex zeros(const ir::ValueType& type) {
    const ir::Tensor zero(type.encoding.element, {});
    const TensorIndex value =
        exporter_.constant("zero", tensor_type(zero.element()), {}, zero.bytes());
    const TensorIndex result = exporter_.computed_tensor(node_.name + "/zeros", type);
    exporter_.add(OperatorCode::kFill, {exporter_.extents(type.shape), value},
                  std::vector<TensorIndex>{result});
    return result;
  }

  [[nodiscard]] LoopSteps begun() const {
    LoopSteps steps;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      steps.variables.push_back(steps.graph.add_input("variable" + std::to_string(i), types_[i]));
    }
    return steps;
  }

  [[nodiscard]] LoopSteps condition() const {
    LoopSteps steps = begun();
    ValueId result = asks_ ? steps.variables[1] : ir::kAbsent;
    if (has_limit_ || op_.trips) {
      const ValueId limit =
          has_limit_ ? steps.variables.back() : integer_constant(steps.graph, *op_.trips);
      const ValueId less =
          steps.add(ir::Binary{BinaryKind::kLess, {}}, {steps.variables[0], limit});
      result = asks_ ? steps.add(ir::Binary{BinaryKind::kAnd, {}}, {result, less}) : less;
    }
    if (result == ir::kAbsent) fail_loop("a loop without an end");
    steps.variables.clear();
    steps.add_output(result);
    return steps;
  }

  /// A slice that the body reads in an iteration.
  static ValueId slice(LoopSteps& steps, ValueId x, const ir::SliceAxis& read) {
    ValueId at = steps.variables[0];
    if (read.reversed) at = backwards(steps, steps.graph.value(x).type.shape[read.axis]);
    return steps.add(ir::Gather{read.axis}, {x, at});
  }
  static ValueId backwards(LoopSteps& steps, ir::Dim extent) {
    return steps.add(ir::Binary{BinaryKind::kSub, {}},
                     {integer_constant(steps.graph, extent - 1), steps.variables[0]});
  }

  /// A stack with the result of an iteration in its row.
  [[nodiscard]] ValueId stacked(LoopSteps& steps, std::size_t s, ValueId result) const {
    const ValueId stack = steps.variables[first_stack() + s];
    const ir::Shape shape = steps.graph.value(stack).type.shape;
    const ValueId at = op_.stacks[s].reversed ? backwards(steps, shape[0]) : steps.variables[0];
    std::vector<ir::Dim> row(shape.dims().begin(), shape.dims().end());
    row[0] = 1;
    return steps.add(ir::ScatterND{}, {stack, steps.add(ir::Reshape{{1, 1}}, {at}),
                                       steps.add(ir::Reshape{ir::Shape(row)}, {result})});
  }

  [[nodiscard]] LoopSteps body() const {
    LoopSteps steps = begun();
    std::vector<ValueId> next = steps.variables;
    std::vector<ValueId> operands = {steps.variables[0]};
    for (std::size_t s = 0; s < op_.num_states(); ++s) {
      operands.push_back(steps.variables[first_state() + s]);
    }
    const std::size_t end = steps.variables.size() - (has_limit_ ? 1 : 0);
    for (std::size_t i = first_operand(); i < end; ++i) {
      const std::size_t read = i - first_operand();
      const bool is_read = read < op_.reads.size();
      operands.push_back(is_read ? slice(steps, steps.variables[i], op_.reads[read])
                                 : steps.variables[i]);
    }
    const std::vector<ValueId> outputs = add_part(steps.graph, *op_.body, operands, "");
    next[0] = steps.add(ir::Binary{BinaryKind::kAdd, {}},
                        {steps.variables[0], integer_constant(steps.graph, 1)});
    if (op_.is_while) next[1] = steps.add(ir::Reshape{{}}, {outputs[0]});
    const std::size_t first = ir::first_state_output(op_);
    for (std::size_t s = 0; s < op_.num_states(); ++s) next[first_state() + s] = outputs[first + s];
    for (std::size_t s = 0; s < op_.stacks.size(); ++s) {
      next[first_stack() + s] = stacked(steps, s, outputs[first + op_.num_states() + s]);
    }
    for (const ValueId value : next) steps.add_output(value);
    return steps;
  }

  Exporter& exporter_;
  const ir::Node& node_;
  const ir::Loop& op_;
  std::vector<ir::LoopResult> results_;
  bool asks_;       ///< whether a variable says to go on
  bool is_open_;    ///< whether the network computes the number of iterations
  bool has_limit_;  ///< whether the last variable is a limit of iterations
  std::vector<ir::ValueType> types_;
  std::vector<TensorIndex> inputs_;
  std::vector<TensorIndex> outputs_;
};

void write_loop(Exporter& exporter, const ir::Node& node, const ir::Loop& op) {
  LoopWriter(exporter, node, op).write();
}

/// The first reader of a result is an output of the loop; others copy it.
void write_loop_result(Exporter& exporter, const ir::Node& node, const ir::LoopResult& op) {
  const ir::Graph& graph = exporter.graph();
  const auto loop = graph.producer(node.inputs[0]);
  if (!loop || !std::holds_alternative<ir::Loop>(graph.node(*loop).op)) {
    fail_loop("a record that no loop computes");
  }
  for (const ir::NodeId id : graph.consumers(node.inputs[0])) {
    const ir::Node& reader = graph.node(id);
    if (reader.output == node.output) return;
    if (std::get<ir::LoopResult>(reader.op) != op) continue;
    return exporter.add(OperatorCode::kReshape,
                        {exporter.tensor(reader.output), exporter.extents(op.shape)}, node.output);
  }
}

/// Rows of a tensor replaced: one row, at an index that is computed.
void write_scatter(Exporter& exporter, const ir::Node& node, const ir::ScatterND& op) {
  const ir::Shape& shape = exporter.graph().value(node.output).type.shape;
  const ir::Shape& indices = exporter.graph().value(node.inputs[1]).type.shape;
  const ir::Shape& updates = exporter.graph().value(node.inputs[2]).type.shape;
  const bool is_row = op.reduction == ir::Scatter::kReplace && indices == ir::Shape{1, 1} &&
                      updates.rank() == shape.rank() && updates[0] == 1;
  if (!is_row) fail_loop("updates other than one row");
  const TensorIndex one = exporter.integers(std::array<std::int64_t, 1>{1});
  const TensorIndex wide =
      exporter.computed_tensor(node.name + "/index", ir::dense_type(ElementType::kInt64, {1}));
  exporter.add(OperatorCode::kReshape, {exporter.tensor(node.inputs[1]), one},
               std::vector<TensorIndex>{wide});
  schema::CastOptionsT cast;
  cast.in_data_type = schema::TensorType::INT64;
  cast.out_data_type = schema::TensorType::INT32;
  std::vector<TensorIndex> parts = {
      exporter.computed(OperatorCode::kCast, {wide}, 1, united(cast))};
  if (shape.rank() > 1) {
    parts.push_back(exporter.integers(std::vector<std::int64_t>(shape.rank() - 1, 0)));
  }
  const TensorIndex first = exporter.computed(OperatorCode::kConcatenation, std::move(parts),
                                              static_cast<ir::Dim>(shape.rank()),
                                              united(schema::ConcatenationOptionsT()));
  exporter.add(OperatorCode::kDynamicUpdateSlice,
               {exporter.tensor(node.inputs[0]), exporter.tensor(node.inputs[2]), first},
               node.output);
}

constexpr WriterEntry kLoopWriters[] = {
    node_writer_entry<Exporter, ir::Loop, write_loop>(),
    node_writer_entry<Exporter, ir::LoopResult, write_loop_result>(),
    node_writer_entry<Exporter, ir::ScatterND, write_scatter>(),
};

}  // namespace

std::span<const WriterEntry> loop_writers() { return kLoopWriters; }

}  // namespace halftone::formats::circle
