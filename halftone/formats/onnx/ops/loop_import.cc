// SPDX-License-Identifier: Apache-2.0
// Loop and Scan: an ir::Loop over a body, or the body once for each iteration.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/body.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/subgraph.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::GraphProto;

/// Writers give this number of iterations to loops that only their condition ends.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 40;

/// A loop of the file.
struct FileLoop {
  const GraphProto* body = nullptr;
  ir::Loop op{};
  ir::ValueId condition{};            ///< of the first iteration
  ir::ValueId limit = ir::kAbsent;    ///< iterations, if only a run tells
  std::vector<ir::ValueId> states{};  ///< the first ones
  std::vector<ir::ValueId> sliced{};  ///< read slice by slice
  bool counts = false;                ///< the body has the number and a condition as inputs
  /// Of a Scan: axes of the stacks, which may count from the end, and which are in reverse.
  std::vector<std::pair<std::int64_t, bool>> stack_axes{};
};

const GraphProto& body_of(const NodeBuilder& node) {
  const GraphProto* body = node.graph_attribute("body");
  if (body == nullptr) fail(ErrorKind::kFormat, "expected a body");
  return *body;
}

void check_count(const std::string& what, std::size_t expected, int found) {
  if (static_cast<std::size_t>(found) == expected) return;
  fail(ErrorKind::kFormat, what + " of the body: expected " + std::to_string(expected) +
                               ", found " + std::to_string(found));
}

ir::Tensor flag(bool value) {
  ir::Tensor result(ir::ElementType::kBool, ir::Shape{});
  result.bytes()[0] = std::byte{value};
  return result;
}

ir::ValueType slice_type(const ir::ValueType& x, std::size_t axis) {
  std::vector<ir::Dim> dims(x.shape.dims().begin(), x.shape.dims().end());
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return {ir::Shape(std::move(dims)), x.encoding};
}

/// Adds the inputs that a body has by itself; `name(i)` is that of its input i in the file.
void add_inputs(NodeBuilder& node, const FileLoop& loop, BodyImport& body) {
  int next = 0;
  const auto name = [&] { return loop.body->input(next++).name(); };
  body.add_input(loop.counts ? name() : "iteration",
                 ir::dense_type(ir::ElementType::kInt64, ir::Shape{}));
  // Iterations only begin where the condition holds.
  if (loop.counts) {
    const std::string condition = name();
    body.bind(condition, body.graph().add_constant(condition, flag(true)));
  }
  for (const ir::ValueId state : loop.states) body.add_input(name(), node.type(state), state);
  for (std::size_t i = 0; i < loop.sliced.size(); ++i) {
    const ir::ValueId x = loop.sliced[i];
    body.add_input(name(), slice_type(node.type(x), loop.op.reads[i].axis), x);
  }
}

/// Imports the body of a loop. Sets what the loop is; returns the captured values.
std::vector<ir::ValueId> import_body(NodeBuilder& node, FileLoop& loop,
                                     std::vector<std::int32_t>& data_types) {
  BodyImport body(node.state(), name_of(node.proto()));
  add_inputs(node, loop, body);
  std::vector<ir::ValueId> outputs = body.import(*loop.body);
  if (loop.counts) {
    loop.op.is_while = !holds_true(body.graph(), outputs[0]);
    if (!loop.op.is_while) outputs.erase(outputs.begin());
  }
  for (const ir::ValueId id : outputs) {
    const auto narrow = body.widened().find(id);
    data_types.push_back(narrow == body.widened().end() ? 0 : narrow->second);
    body.graph().add_output(id);
  }
  for (std::size_t i = 0; i < loop.stack_axes.size(); ++i) {
    const auto& [axis, reversed] = loop.stack_axes[i];
    const ir::ValueId slice = outputs[loop.states.size() + i];
    const std::size_t rank = body.graph().value(slice).type.shape.rank() + 1;
    loop.op.stacks.push_back({ir::normalized_axis(axis, rank), reversed});
  }
  body.graph().remove_unused_nodes();
  loop.op.body = std::make_shared<const ir::Graph>(std::move(body.graph()));
  return body.captured();
}

/// Before operator set 9, the first axis of what a Scan reads and writes is the batch, and each
/// sample is a scan of its own.
bool has_batch_axis(const NodeBuilder& node) {
  constexpr std::int64_t kWithoutBatch = 9;
  return node.op_type() == "Scan" && node.opset() < kWithoutBatch;
}

/// Binds the outputs of a node to the results of a loop.
void bind_results(NodeBuilder& node, const ir::Loop& op, ir::ValueId record,
                  std::span<const std::int32_t> data_types) {
  const std::vector<ir::LoopResult> results = ir::results_of(op);
  std::size_t result = 0;
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    if (i < op.num_states() && !op.keeps[i]) continue;
    const ir::LoopResult& part = results[result++];
    if (!node.has_output(i)) continue;
    const std::string& name = node.proto().output(static_cast<int>(i));
    ir::ValueId y = node.state().graph.add_node(name, part, {record});
    if (has_batch_axis(node)) y = unsqueezed(node, y, 0);
    const std::int32_t narrow = data_types[ir::first_state_output(op) + i];
    if (narrow == 0) {
      node.set_output(i, y);
    } else {
      node.set_output(i, y, narrow);
    }
  }
}

/// Adds a loop with its body as a graph.
void add_loop(NodeBuilder& node, FileLoop loop) {
  std::vector<std::int32_t> data_types;
  const std::vector<ir::ValueId> captured = import_body(node, loop, data_types);
  const bool ends = loop.op.trips || loop.limit != ir::kAbsent || loop.op.is_while;
  if (!ends) NodeBuilder::unsupported("a loop without an end: neither a limit nor a condition");
  if (!loop.op.stacks.empty() && (!loop.op.trips || loop.op.is_while)) {
    NodeBuilder::unsupported("output '" + node.proto().output(node.proto().output_size() - 1) +
                             "' has a row for each iteration, and only a run tells how many: "
                             "expected a number of iterations that shapes or constants say");
  }
  std::vector<ir::ValueId> inputs{loop.condition, loop.limit};
  inputs.insert(inputs.end(), loop.states.begin(), loop.states.end());
  inputs.insert(inputs.end(), loop.sliced.begin(), loop.sliced.end());
  inputs.insert(inputs.end(), captured.begin(), captured.end());
  loop.op.max_iterations = node.state().max_iterations;
  const ir::ValueId record =
      node.state().graph.add_node(name_of(node.proto()), loop.op, std::move(inputs));
  bind_results(node, loop.op, record, data_types);
}

ir::ValueId scalar(NodeBuilder& node, ir::ValueId id, ir::ElementType element,
                   const std::string& what) {
  const ir::ValueType& type = node.type(id);
  if (!type.is_dense(element) || !type.shape.is_static() || type.shape.element_count() != 1) {
    fail(ErrorKind::kShape, what + ": expected one " + std::string(to_string(element)) +
                                ", found " + type.to_string());
  }
  return node.reshape(id, {});
}

/// The number of iterations of a Loop, as far as the import knows it. A number that the network
/// computes is an extent of results that have a row for each iteration.
void read_limit(NodeBuilder& node, FileLoop& loop) {
  if (!node.has_input(0)) return;
  const auto known = node.integers(0);
  if (!known || known->values.size() != 1) {
    loop.limit = scalar(node, node.input(0), ir::ElementType::kInt64, "iterations");
    if (loop.op.stacks.empty()) return;
    const ir::ValueId zero = node.add_scalar(0.0, ir::ElementType::kInt64);
    loop.op.trips = checked_dim(node.computed_extent(
        emit_binary(node, ir::BinaryKind::kMax, std::exchange(loop.limit, ir::kAbsent), zero)));
    return;
  }
  const Extent& count = known->values[0];
  if (!count.is_number()) {
    loop.op.trips = checked_dim(count);
  } else if (*count.number() < kNoLimit) {
    loop.op.trips = std::max<std::int64_t>(*count.number(), 0);
  }
}

FileLoop read_loop(NodeBuilder& node) {
  constexpr std::size_t kFirstLoopState = 2;
  FileLoop loop{.body = &body_of(node), .counts = true};
  const std::size_t states = node.num_inputs() - std::min(kFirstLoopState, node.num_inputs());
  loop.op.stacks.resize(node.num_outputs() - std::min(states, node.num_outputs()));
  read_limit(node, loop);
  loop.condition = node.has_input(1)
                       ? scalar(node, node.input(1), ir::ElementType::kBool, "condition")
                       : node.add_constant(flag(true));
  const bool never =
      node.constant(loop.condition) != nullptr && !holds_true(node.state().graph, loop.condition);
  if (never) loop.op.trips = 0;
  for (std::size_t i = kFirstLoopState; i < node.num_inputs(); ++i) {
    loop.states.push_back(node.input(i));
  }
  check_count("inputs", kFirstLoopState + states, loop.body->input_size());
  check_count("outputs", 1 + std::max(states, node.num_outputs()), loop.body->output_size());
  for (std::size_t i = 0; i < states; ++i) loop.op.keeps.push_back(node.has_output(i));
  return loop;
}

/// More iterations than these are no part of the graph.
constexpr std::size_t kMaxUnrolled = 1024;

/// A Loop whose body becomes part of the graph, once for each iteration: what depends on the number
/// of the iteration is known then, and states may change their shapes.
class Unrolled {
 public:
  explicit Unrolled(NodeBuilder& node) : node_(node), body_(body_of(node)) {
    const auto limit = node.has_input(0) ? node.integers(0) : std::nullopt;
    const auto numbers = limit ? limit->numbers() : std::nullopt;
    if (numbers && numbers->size() == 1) limit_ = (*numbers)[0];
    is_possible_ = !node.has_input(0) || limit_.has_value();
    for (int i = 2; i < node.proto().input_size(); ++i) {
      const auto state = node.state().bindings.find(node.proto().input(i));
      is_possible_ = is_possible_ && state != node.state().bindings.end();
      if (is_possible_) states_.push_back(state->second);
    }
    rows_.resize(node.num_outputs() - std::min(states_.size(), node.num_outputs()));
  }

  /// Whether all conditions and the number of iterations are known.
  [[nodiscard]] bool run() {
    if (!is_possible_) return false;
    std::optional<bool> goes_on = true;
    if (node_.has_input(1)) {
      const ir::ValueId condition = node_.input(1);
      if (node_.constant(condition) == nullptr) return false;
      goes_on = holds_true(node_.state().graph, condition);
    }
    for (std::int64_t t = 0; goes_on == true && (!limit_ || t < *limit_); ++t) {
      if (static_cast<std::size_t>(t) == kMaxUnrolled) return false;
      goes_on = iterate(t);
    }
    const auto is_empty = [](const auto& rows) { return rows.empty(); };
    if (!goes_on || std::ranges::any_of(rows_, is_empty)) return false;
    for (std::size_t i = 0; i < node_.num_outputs(); ++i) {
      if (i < states_.size()) node_.bind_output(i, states_[i]);
      if (i >= states_.size()) node_.set_output(i, stacked(i - states_.size()));
    }
    return true;
  }

 private:
  std::optional<bool> known_flag(Binding binding) {
    const ir::ValueId id = node_.state().value("condition", binding);
    if (node_.constant(id) == nullptr) return std::nullopt;
    return holds_true(node_.state().graph, id);
  }

  std::optional<bool> iterate(std::int64_t t) {
    GraphProto named = body_;
    for (auto& inner : *named.mutable_node()) {
      inner.set_name(name_of(inner) + "/" + std::to_string(t));
    }
    Integers number;
    number.is_scalar = true;
    number.values.emplace_back(t);
    std::vector<std::pair<std::string, Binding>> arguments;
    arguments.emplace_back(body_.input(0).name(), number);
    arguments.emplace_back(body_.input(1).name(),
                           node_.state().graph.add_constant("condition", flag(true)));
    for (std::size_t i = 0; i < states_.size(); ++i) {
      arguments.emplace_back(body_.input(static_cast<int>(2 + i)).name(), states_[i]);
    }
    std::vector<Binding> outputs = inline_graph(node_.state(), named, arguments);
    for (std::size_t i = 0; i < states_.size(); ++i) states_[i] = outputs[1 + i];
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      rows_[i].push_back(row(node_.state().value("row", outputs[1 + states_.size() + i])));
    }
    return known_flag(outputs[0]);
  }

  ir::ValueId row(ir::ValueId id) { return unsqueezed(node_, id, 0); }
  ir::ValueId stacked(std::size_t i) {
    return rows_[i].size() == 1 ? rows_[i][0] : node_.emit(ir::Concat{0}, rows_[i]);
  }

  NodeBuilder& node_;
  const GraphProto& body_;
  bool is_possible_ = true;
  std::optional<std::int64_t> limit_;
  std::vector<Binding> states_;
  std::vector<std::vector<ir::ValueId>> rows_;
};

void build_loop(NodeBuilder& node) {
  Unrolled unrolled(node);
  try {
    add_loop(node, read_loop(node));
  } catch (const Error& error) {
    const bool may_vary =
        error.kind() == ErrorKind::kShape || error.kind() == ErrorKind::kUnsupported;
    if (!may_vary) throw;
    const auto runs = [&] {
      try {
        return unrolled.run();
      } catch (const Error& /*another*/) {
        return false;
      }
    };
    if (!runs()) throw;
  }
}

/// One number of a list of integers; 0 without the list.
std::int64_t number_of(const NodeBuilder& node, const std::string& name, std::size_t i) {
  const auto list = node.ints_attribute(name);
  if (!list) return 0;
  if (i >= list->size()) fail(ErrorKind::kFormat, "attribute '" + name + "': too few numbers");
  return (*list)[i];
}

bool is_reversed(const NodeBuilder& node, const std::string& name, std::size_t i) {
  const std::int64_t direction = number_of(node, name, i);
  if (direction == 0 || direction == 1) return direction == 1;
  fail(ErrorKind::kFormat,
       "direction of a scan: expected 0 or 1, found " + std::to_string(direction));
}

ir::ValueId without_batch(NodeBuilder& node, ir::ValueId id) {
  const ir::ValueType& type = node.type(id);
  if (type.shape.rank() == 0 || type.shape[0] != 1) {
    NodeBuilder::unsupported("operator set 8 with a batch: expected one sample, found " +
                             type.to_string());
  }
  return node.reshape(id, slice_type(type, 0).shape);
}

FileLoop read_scan(NodeBuilder& node) {
  const bool has_batch = has_batch_axis(node);
  if (has_batch && node.has_input(0)) NodeBuilder::unsupported("lengths of samples");
  std::vector<ir::ValueId> inputs;
  for (std::size_t i = has_batch ? 1 : 0; i < node.num_inputs(); ++i) {
    inputs.push_back(has_batch ? without_batch(node, node.input(i)) : node.input(i));
  }
  const std::int64_t reads = node.int_attribute("num_scan_inputs", 0);
  if (reads < 1 || static_cast<std::size_t>(reads) > inputs.size()) {
    fail(ErrorKind::kFormat, "num_scan_inputs: expected 1 to " + std::to_string(inputs.size()) +
                                 ", found " + std::to_string(reads));
  }
  const auto middle = inputs.end() - reads;
  FileLoop loop{.body = &body_of(node)};
  loop.condition = node.add_constant(flag(true));
  loop.states.assign(inputs.begin(), middle);
  loop.sliced.assign(middle, inputs.end());
  check_count("inputs", inputs.size(), loop.body->input_size());
  check_count("outputs", std::max(node.num_outputs(), loop.states.size()),
              loop.body->output_size());
  for (std::size_t i = 0; i < loop.sliced.size(); ++i) {
    const ir::Shape& shape = node.type(loop.sliced[i]).shape;
    const std::int64_t axis = has_batch ? 0 : number_of(node, "scan_input_axes", i);
    const char* directions = has_batch ? "directions" : "scan_input_directions";
    loop.op.reads.push_back(
        {ir::normalized_axis(axis, shape.rank()), is_reversed(node, directions, i)});
    const ir::Dim extent = shape[loop.op.reads.back().axis];
    loop.op.trips = loop.op.trips ? ir::better_known(*loop.op.trips, extent) : extent;
  }
  for (std::size_t i = 0; i < loop.states.size(); ++i) {
    loop.op.keeps.push_back(node.has_output(i));
  }
  for (std::size_t i = 0; loop.states.size() + i < node.num_outputs(); ++i) {
    loop.stack_axes.emplace_back(number_of(node, "scan_output_axes", i),
                                 is_reversed(node, "scan_output_directions", i));
  }
  return loop;
}

void build_scan(NodeBuilder& node) { add_loop(node, read_scan(node)); }

constexpr ReaderEntry kLoopReaders[] = {
    {"", "Loop", build_loop},
    {"", "Scan", build_scan},
};

}  // namespace

std::span<const ReaderEntry> loop_readers() { return kLoopReaders; }

}  // namespace halftone::formats::onnx
