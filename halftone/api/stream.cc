// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/stream.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/passes/prepare_fit.h"

namespace halftone {
namespace {

using ir::Dim;
using ir::ValueId;

ValueId named(const ir::Graph& graph, std::span<const ValueId> ids, const std::string& name,
              const char* what) {
  const auto has_name = [&](ValueId id) { return graph.value(id).name == name; };
  const auto found = std::ranges::find_if(ids, has_name);
  if (found == ids.end()) {
    fail(ErrorKind::kUsage, std::string("no ") + what + " is named '" + name + "'");
  }
  return *found;
}

/// Ties an input to the one output of its type that no state has.
void tie_by_type(ir::Graph& graph, ValueId input) {
  const ir::Value& value = graph.value(input);
  std::vector<ValueId> fitting;
  for (const ValueId id : graph.outputs()) {
    if (!graph.is_tied(id) && graph.value(id).type == value.type) fitting.push_back(id);
  }
  if (fitting.size() != 1) {
    fail(ErrorKind::kUsage,
         "input '" + value.name + "' is not given, and " + std::to_string(fitting.size()) +
             " outputs have its type " + value.type.to_string() + "; say which is its state",
         Hint::kInputs);
  }
  graph.tie(input, fitting[0]);
}

/// @param given  number of inputs that the caller has
void tie_inputs(ir::Graph& graph, std::span<const TiedNames> states, std::size_t given) {
  for (const TiedNames& names : states) {
    graph.tie(named(graph, graph.inputs(), names.input, "input"),
              named(graph, graph.outputs(), names.output, "output"));
  }
  const std::vector<ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  std::size_t left = given;
  for (const ValueId id : inputs) {
    if (graph.is_tied(id)) continue;
    if (left > 0) {
      --left;
    } else {
      tie_by_type(graph, id);
    }
  }
  if (left > 0) {
    fail(ErrorKind::kUsage,
         "expected " + std::to_string(given - left) + " inputs, found " + std::to_string(given));
  }
}

/// How a tensor is divided.
struct Parts {
  std::size_t axis = 0;
  Dim extent = 1;  ///< of a part
  std::size_t count = 1;
  std::size_t batch = 1;
};

/// The parts of a shape along an axis, if it has whole ones there.
std::optional<Parts> parts_along(const ir::Shape& wanted, const ir::Shape& found,
                                 std::size_t axis) {
  Parts parts{.axis = axis};
  if (wanted.rank() != found.rank()) return std::nullopt;
  for (std::size_t i = 0; i < wanted.rank(); ++i) {
    if (i != axis && wanted[i] == ir::kBatch) parts.batch = static_cast<std::size_t>(found[i]);
  }
  if (parts.batch < 1) return std::nullopt;
  const ir::Shape part = wanted.with_batch(parts.batch);
  for (std::size_t i = 0; i < part.rank(); ++i) {
    if (i != axis && part[i] != found[i]) return std::nullopt;
  }
  parts.extent = part[axis];
  if (parts.extent < 1 || found[axis] % parts.extent != 0) return std::nullopt;
  parts.count = static_cast<std::size_t>(found[axis] / parts.extent);
  return parts;
}

Parts parts_of(const ir::Value& input, const ir::Shape& found) {
  std::optional<Parts> best;
  for (std::size_t axis = 0; axis < input.type.shape.rank(); ++axis) {
    const auto parts = parts_along(input.type.shape, found, axis);
    if (parts && (!best || parts->count > best->count)) best = parts;
  }
  if (!best || best->count == 0) {
    fail(ErrorKind::kShape, "input '" + input.name + "': expected one or more parts of " +
                                input.type.shape.to_string() + ", found " + found.to_string());
  }
  return *best;
}

/// Bytes of a tensor before, along and behind an axis.
struct Lines {
  std::size_t outer = 1;
  std::size_t bytes = 1;  ///< of a line: all elements from the axis on
};
Lines lines_of(const ir::Tensor& tensor, std::size_t axis) {
  const ir::AxisView view = ir::axis_view(tensor.shape(), axis);
  return {view.outer, view.extent * view.inner * size_bytes(tensor.element())};
}

/// Part `index` of a tensor, into memory.
void copy_part(const ir::Tensor& whole, const Parts& parts, std::size_t index,
               std::span<std::byte> to) {
  const Lines lines = lines_of(whole, parts.axis);
  const std::size_t bytes = lines.bytes / parts.count;
  for (std::size_t o = 0; o < lines.outer; ++o) {
    const auto from = whole.bytes().subspan(o * lines.bytes + index * bytes, bytes);
    std::ranges::copy(from, to.subspan(o * bytes).begin());
  }
}

/// The parts of an output, joined.
class Joined {
 public:
  /// @param type  of a part
  Joined(const ir::ValueType& type, const Parts& parts) : parts_(parts) {
    const ir::Shape& part = type.shape;
    const bool is_along = parts.axis < part.rank() && part[parts.axis] == parts.extent;
    parts_.axis = is_along ? parts.axis : 0;
    ir::Shape shape = part.rank() == 0 ? ir::Shape{1} : part;
    shape[parts_.axis] *= static_cast<Dim>(parts.count);
    whole_ = ir::Tensor(type.encoding.element, shape);
  }

  void put(std::size_t index, std::span<const std::byte> part) {
    const Lines lines = lines_of(whole_, parts_.axis);
    const std::size_t bytes = lines.bytes / parts_.count;
    for (std::size_t o = 0; o < lines.outer; ++o) {
      std::ranges::copy(part.subspan(o * bytes, bytes),
                        whole_.bytes().subspan(o * lines.bytes + index * bytes).begin());
    }
  }
  ir::Tensor take() { return std::move(whole_); }

 private:
  Parts parts_;
  ir::Tensor whole_;
};

std::vector<ir::Tensor> run_parts(runtime::Session& session, std::span<const ir::Tensor> inputs,
                                  const Parts& parts) {
  std::vector<Joined> outputs;
  for (std::size_t i = 0; i < session.plan().outputs().size(); ++i) {
    outputs.emplace_back(session.output_tensor(i).type(), parts);
  }
  for (std::size_t part = 0; part < parts.count; ++part) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      copy_part(inputs[i], parts, part, session.input(i));
    }
    session.run();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      outputs[o].put(part, session.output_tensor(o).bytes());
    }
  }
  std::vector<ir::Tensor> result;
  for (Joined& output : outputs) result.push_back(output.take());
  return result;
}

/// Checks that all inputs have the same parts.
void check_parts(const runtime::Plan& plan, std::span<const ir::Tensor> inputs,
                 const Parts& parts) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& value = plan.graph().value(plan.inputs()[i]);
    if (inputs[i].element() != value.type.encoding.element) {
      fail(ErrorKind::kShape, "input '" + value.name + "': expected " + value.type.to_string() +
                                  ", found " + inputs[i].type().to_string());
    }
    const auto found = parts_along(value.type.shape, inputs[i].shape(), parts.axis);
    if (found && found->count == parts.count) continue;
    fail(ErrorKind::kShape, "input '" + value.name + "': expected " + std::to_string(parts.count) +
                                " parts of " + value.type.shape.to_string() + " along axis " +
                                std::to_string(parts.axis) + ", found " +
                                inputs[i].shape().to_string());
  }
}

}  // namespace

std::vector<ir::Tensor> run_stream(Network network, std::span<const ir::Tensor> inputs,
                                   const StreamOptions& options) {
  const std::string name = network.name;
  return with_context(name, [&] {
    if (inputs.empty()) fail(ErrorKind::kUsage, "expected at least one input", Hint::kInputs);
    tie_inputs(network.graph, options.states, inputs.size());
    passes::keep_recurrent_states(network.graph);
    const std::vector<ValueId> given = network.graph.untied(network.graph.inputs());
    if (given.empty()) fail(ErrorKind::kUsage, "all inputs are states");
    const Parts parts = parts_of(network.graph.value(given[0]), inputs[0].shape());
    runtime::Session session = make_session(std::move(network), parts.batch, options.run);
    check_parts(session.plan(), inputs, parts);
    return run_parts(session, inputs, parts);
  });
}

}  // namespace halftone
