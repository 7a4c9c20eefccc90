// SPDX-License-Identifier: Apache-2.0
// Loops as Scan where they read slices, and as Loop where they do not.
#include <algorithm>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/formats/loop_record.h"
#include "halftone/formats/onnx/body.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/standard_form.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using ir::ValueId;
using onnx_pb::AttributeProto;
using onnx_pb::NodeProto;

/// The first input of an ir::Loop that becomes an input of its body.
constexpr std::size_t kFirstOperand = 2;

const ir::ValueType kCount = ir::dense_type(ir::ElementType::kInt64, ir::Shape{});
const ir::ValueType kFlag = ir::dense_type(ir::ElementType::kBool, ir::Shape{});

onnx_pb::TensorProto encoded_number(std::int64_t value) {
  return encode_tensor(ir::Tensor::from<std::int64_t>({}, std::span(&value, 1)));
}

/// A loop on its way into a file.
class LoopWriter {
 public:
  LoopWriter(Exporter& exporter, const Node& node, const ir::Loop& op)
      : exporter_(exporter),
        node_(node),
        op_(op),
        is_scan_(!op.reads.empty()),
        counts_(reads_count(*op.body)) {}

  void write() {
    check();
    for (std::size_t i = first_captured(); i < node_.inputs.size(); ++i) {
      captured_.push_back(exporter_.read(node_.inputs[i]));
    }
    std::vector<std::string> inputs = is_scan_ ? scan_inputs() : loop_inputs();
    onnx_pb::GraphProto body = make_body();
    const std::vector<std::string> outputs = output_names();
    NodeProto& proto = exporter_.add_node(is_scan_ ? "Scan" : "Loop", inputs, outputs[0]);
    for (std::size_t i = 1; i < outputs.size(); ++i) proto.add_output(outputs[i]);
    if (is_scan_) set_scan_attributes(proto);
    AttributeProto& attribute = *proto.add_attribute();
    attribute.set_name("body");
    attribute.set_type(AttributeProto::GRAPH);
    *attribute.mutable_g() = std::move(body);
  }

 private:
  static bool reads_count(const ir::Graph& body) { return body.num_uses(body.inputs()[0]) > 0; }
  [[nodiscard]] std::size_t first_captured() const {
    return kFirstOperand + op_.num_states() + op_.reads.size();
  }

  void check() const {
    if (!is_taken_apart(exporter_.graph(), node_)) {
      unsupported("a record of results as a value");
    }
    const bool is_plain = std::ranges::all_of(
        op_.stacks, [](const ir::SliceAxis& stack) { return stack == ir::SliceAxis{}; });
    if (!is_scan_ && !is_plain) {
      unsupported("a loop without slices that stacks along another axis than the first");
    }
    const bool always =
        op_.trips && !op_.is_while && holds_true(exporter_.graph(), node_.inputs[0]);
    if (is_scan_ && !always) unsupported("a loop over slices with a condition");
    if (op_.num_states() + op_.stacks.size() == 0) unsupported("a loop without results");
  }

  /// A Scan does not count its iterations: a state does.
  std::vector<std::string> scan_inputs() {
    std::vector<std::string> inputs;
    for (std::size_t i = kFirstOperand; i < first_captured(); ++i) {
      inputs.push_back(exporter_.read(node_.inputs[i]));
    }
    if (counts_) inputs.insert(inputs.begin(), exporter_.add_parameter("zero", encoded_number(0)));
    return inputs;
  }

  std::vector<std::string> loop_inputs() {
    std::vector<std::string> inputs;
    if (op_.trips) {
      inputs.push_back(add_extent(exporter_, ir::extent_of(*op_.trips)));
    } else {
      inputs.push_back(node_.inputs[1] == ir::kAbsent ? "" : exporter_.read(node_.inputs[1]));
    }
    const bool always = holds_true(exporter_.graph(), node_.inputs[0]);
    inputs.push_back(always ? "" : exporter_.read(node_.inputs[0]));
    for (std::size_t i = kFirstOperand; i < first_captured(); ++i) {
      inputs.push_back(exporter_.read(node_.inputs[i]));
    }
    return inputs;
  }

  onnx_pb::GraphProto make_body() {
    const ir::Graph graph =
        exporter_.is_standard() ? standard_form(*op_.body, exporter_.options()) : *op_.body;
    Exporter body(graph, exporter_, captured_);
    const std::string count = body.name(graph.inputs()[0]);
    const std::string condition = is_scan_ ? "" : body.fresh("condition");
    if (!is_scan_ || counts_) body.add_body_input(count, kCount);
    if (!is_scan_) body.add_body_input(condition, kFlag);
    for (std::size_t i = 1; i < graph.inputs().size() - captured_.size(); ++i) {
      body.add_body_input(body.name(graph.inputs()[i]), graph.value(graph.inputs()[i]).type);
    }
    for (const ir::NodeId id : graph.topological_order()) {
      const Node& node = graph.node(id);
      if (body.is_written(node.output)) continue;
      with_context(ir::describe(node), [&] { export_node(body, node); });
    }
    add_outputs(body, count, condition);
    return body.finish_body(exporter_);
  }

  void add_outputs(Exporter& body, const std::string& count, const std::string& condition) {
    const ir::Graph& graph = body.graph();
    const auto add = [&](const std::string& source, const ir::ValueType& type) {
      const std::string name = body.fresh(source + "/next");
      body.set_node_name(name);
      body.add_node("Identity", {source}, name);
      body.add_body_output(name, type);
    };
    if (is_scan_ && counts_) {
      const std::string next = body.fresh("next");
      body.add_node("Add", {count, body.add_parameter("one", encoded_number(1))}, next);
      body.add_body_output(next, kCount);
    }
    if (!is_scan_ && !op_.is_while) add(condition, kFlag);
    for (const ValueId id : graph.outputs()) add(body.read(id), graph.value(id).type);
  }

  /// The names of all results: of values of the graph, or of nothing that anyone reads.
  std::vector<std::string> output_names() {
    const std::vector<ir::LoopResult> results = ir::results_of(op_);
    std::vector<std::string> names;
    if (is_scan_ && counts_) names.push_back(exporter_.fresh(node_.name + "/count"));
    std::size_t result = 0;
    for (std::size_t s = 0; s < op_.num_states() + op_.stacks.size(); ++s) {
      const bool is_kept = s >= op_.num_states() || op_.keeps[s];
      names.push_back(is_kept ? name_of_result(results[result++])
                              : exporter_.fresh(node_.name + "/unused"));
    }
    return names;
  }

  /// The name of the first value that takes this result out; others are copies of it.
  std::string name_of_result(const ir::LoopResult& result) {
    const ir::Graph& graph = exporter_.graph();
    for (const ir::NodeId id : graph.consumers(node_.output)) {
      const Node& reader = graph.node(id);
      const auto* part = std::get_if<ir::LoopResult>(&reader.op);
      if (part == nullptr || *part != result || exporter_.is_written(reader.output)) continue;
      exporter_.set_written(reader.output);
      return exporter_.name(reader.output);
    }
    return exporter_.fresh(node_.name + "/unused");
  }

  void set_scan_attributes(NodeProto& proto) const {
    set_attribute(proto, "num_scan_inputs", static_cast<std::int64_t>(op_.reads.size()));
    const auto set_axes = [&](const std::string& of, const std::vector<ir::SliceAxis>& all) {
      std::vector<std::int64_t> axes;
      std::vector<std::int64_t> directions;
      for (const ir::SliceAxis& each : all) {
        axes.push_back(static_cast<std::int64_t>(each.axis));
        directions.push_back(each.reversed ? 1 : 0);
      }
      if (all.empty()) return;
      set_attribute(proto, "scan_" + of + "_axes", axes);
      set_attribute(proto, "scan_" + of + "_directions", directions);
    };
    set_axes("input", op_.reads);
    set_axes("output", op_.stacks);
  }

  Exporter& exporter_;
  const Node& node_;
  const ir::Loop& op_;
  bool is_scan_;
  bool counts_;  ///< whether the body reads the number of the iteration
  std::vector<std::string> captured_;
};

void export_operator(Exporter& exporter, const Node& node, const ir::Loop& op) {
  LoopWriter(exporter, node, op).write();
}

/// A second reader of a result.
void export_operator(Exporter& exporter, const Node& node, const ir::LoopResult& op) {
  const ir::Graph& graph = exporter.graph();
  for (const ir::NodeId id : graph.consumers(node.inputs[0])) {
    const Node& reader = graph.node(id);
    const auto* part = std::get_if<ir::LoopResult>(&reader.op);
    if (part == nullptr || *part != op || !exporter.is_written(reader.output)) continue;
    exporter.add_node("Identity", {exporter.name(reader.output)}, exporter.name(node.output));
    return;
  }
  unsupported("a record that no loop computes");
}

constexpr WriterEntry kLoopWriters[] = {
    node_writer_entry<Exporter, ir::Loop, export_operator>(),
    node_writer_entry<Exporter, ir::LoopResult, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> loop_writers() { return kLoopWriters; }

}  // namespace halftone::formats::onnx
