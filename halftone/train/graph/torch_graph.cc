// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_graph.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/train/graph/torch_gradient.h"
#include "halftone/train/graph/torch_memory.h"
#include "halftone/train/graph/torch_operators.h"
#include "halftone/train/graph/torch_tensor.h"
#include "halftone/train/graph/trainable.h"

namespace halftone::train {
namespace {

std::size_t index(ir::ValueId id) { return static_cast<std::size_t>(id); }

ir::ElementType element_of(const ir::Graph& graph, ir::ValueId id) {
  return id == ir::kAbsent ? ir::ElementType::kFloat32 : graph.value(id).type.encoding.element;
}

/// A constant as a tensor; codes become levels.
at::Tensor to_numbers(const ir::Constant& constant, at::ScalarType numbers) {
  const auto* dense = std::get_if<ir::Tensor>(&constant);
  const at::Tensor tensor = dense != nullptr ? to_torch(*dense) : to_torch(ir::to_float(constant));
  return tensor.is_floating_point() ? tensor.to(numbers) : tensor;
}

/// Whether libtorch computes a node: it is differentiable, with a float operand and output.
bool runs_in_torch(const ir::Graph& graph, const ir::Node& node) {
  const std::size_t operand = ir::input_role(node.op, 0) == ir::InputRole::kCondition ? 1 : 0;
  const auto is_real = [&](ir::ValueId id) {
    return element_of(graph, id) == ir::ElementType::kFloat32;
  };
  return is_differentiable(node.op) && is_real(node.output) && is_real(node.inputs[operand]);
}

/// The first line of libtorch's message; the next lines tell the source location.
std::string first_line(const c10::Error& error) {
  const std::string_view text = error.what_without_backtrace();
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace

TorchGraph::TorchGraph(ir::Graph graph, at::ScalarType numbers, at::Device device)
    : graph_(std::move(graph)),
      numbers_(numbers),
      device_(device),
      constants_(graph_.num_values()) {
  add_parameters();
  add_steps();
}

void TorchGraph::add_parameters() {
  for (const ir::ValueId id : trainable_constants(graph_)) {
    at::Tensor& tensor = constants_[index(id)];
    tensor = to_numbers(*graph_.constant(id), numbers_).to(device_).requires_grad_();
    parameters_.push_back({id, graph_.value(id).name, tensor});
  }
}

void TorchGraph::add_steps() {
  num_uses_.assign(graph_.num_values(), 0);
  for (std::size_t i = 0; i < graph_.num_values(); ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    num_uses_[i] = graph_.num_uses(id);
    const ir::Constant* constant = graph_.constant(id);
    if (constant == nullptr || num_uses_[i] == 0 || constants_[i].defined()) continue;
    constants_[i] = to_numbers(*constant, numbers_).to(device_);
  }
  std::vector<ir::ValueId> ids;
  for (const TorchParameter& parameter : parameters_) ids.push_back(parameter.id);
  const std::vector<ir::NodeId> needed = nodes_with_gradient(graph_, ids);
  std::string missing;
  for (const ir::NodeId id : graph_.topological_order()) {
    const ir::Node& node = graph_.node(id);
    TorchStep step{id, runs_in_torch(graph_, node), {}};
    for (const ir::ValueId input : node.inputs) step.types.push_back(element_of(graph_, input));
    step.types.push_back(element_of(graph_, node.output));
    if (!step.is_differentiable && std::ranges::count(needed, id) != 0) {
      missing.append(missing.empty() ? "" : ", ").append(ir::describe(node));
    }
    steps_.push_back(std::move(step));
  }
  if (!missing.empty()) fail(ErrorKind::kUnsupported, "no gradient for " + missing);
}

at::Tensor TorchGraph::numbers_of(ir::ValueId constant) const {
  return constants_[index(constant)].detach();
}

bool TorchGraph::is_differentiable(ir::NodeId id) const {
  const auto found = std::ranges::find(steps_, id, &TorchStep::node);
  return found != steps_.end() && found->is_differentiable;
}

std::size_t TorchGraph::batch_of(std::span<const at::Tensor> inputs) const {
  if (inputs.size() != graph_.inputs().size()) {
    fail(ErrorKind::kShape, "expected " + std::to_string(graph_.inputs().size()) +
                                " inputs, found " + std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto dims = graph_.value(graph_.inputs()[i]).type.shape.dims();
    const auto axis = std::ranges::find(dims, ir::kBatch) - dims.begin();
    if (axis < std::ssize(dims) && axis < inputs[i].dim()) {
      return static_cast<std::size_t>(inputs[i].size(axis));
    }
  }
  return 1;
}

at::Tensor TorchGraph::checked_input(std::size_t i, const at::Tensor& given,
                                     std::size_t batch) const {
  const ir::Value& value = graph_.value(graph_.inputs()[i]);
  const at::ScalarType wanted = scalar_type(value.type.encoding.element);
  const bool both_real = wanted == at::kFloat && given.is_floating_point();
  const ir::Shape found(std::vector<ir::Dim>(given.sizes().begin(), given.sizes().end()));
  const bool fits =
      found == value.type.shape.with_batch(batch) && (both_real || given.scalar_type() == wanted);
  if (!fits) {
    fail(ErrorKind::kShape, "input '" + value.name + "': expected " + value.type.to_string() +
                                ", found " + at::toString(given.scalar_type()) + found.to_string());
  }
  return given.to(device_, both_real ? numbers_ : given.scalar_type());
}

at::Tensor TorchGraph::run(const TorchStep& step, std::vector<at::Tensor> inputs, std::size_t batch,
                           const ForwardHooks& hooks) const {
  const ir::Node& node = graph_.node(step.node);
  const ir::Operator op = ir::with_batch(node.op, batch);
  if (!step.is_differentiable) {
    const at::Tensor result = compute_by_reference(op, TorchInputs(std::move(inputs)), step.types);
    return result.to(device_, result.is_floating_point() ? numbers_ : result.scalar_type());
  }
  if (hooks.input && reads_weights(op)) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].defined()) inputs[i] = hooks.input(step.node, i, inputs[i]);
    }
  }
  NodeHooks here;
  if (hooks.encode) {
    here.encode = [&](const at::Tensor& x) { return hooks.encode(step.node, x); };
  }
  if (hooks.product) {
    here.product = [&](const at::Tensor& x) { return hooks.product(step.node, x); };
  }
  const at::Tensor result = compute_operator(op, TorchInputs(std::move(inputs), std::move(here)));
  if (!hooks.gradient || !reads_weights(op)) return result;
  return change_gradient(result, [gradient = hooks.gradient, id = step.node](const at::Tensor& g) {
    return gradient(id, g);
  });
}

std::vector<at::Tensor> TorchGraph::forward(std::span<const at::Tensor> inputs,
                                            const ForwardHooks& hooks) const {
  const std::size_t batch = batch_of(inputs);
  std::vector<at::Tensor> values = constants_;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[index(graph_.inputs()[i])] = checked_input(i, inputs[i], batch);
  }
  std::vector<std::size_t> left = num_uses_;
  for (const TorchStep& step : steps_) {
    const ir::Node& node = graph_.node(step.node);
    std::vector<at::Tensor> operands;
    for (const ir::ValueId input : node.inputs) {
      if (input == ir::kAbsent) {
        operands.emplace_back();
        continue;
      }
      operands.push_back(values[index(input)]);
      // A value without further readers is released, unless autograd holds it.
      if (--left[index(input)] == 0) values[index(input)].reset();
    }
    try {
      values[index(node.output)] = with_context(ir::describe(node), [&] {
        return with_torch_memory([&] { return run(step, std::move(operands), batch, hooks); });
      });
    } catch (const c10::Error& error) {
      fail(ErrorKind::kInternal, ir::describe(node) + ": " + first_line(error));
    }
  }
  std::vector<at::Tensor> outputs;
  for (const ir::ValueId id : graph_.outputs()) outputs.push_back(values[index(id)]);
  return outputs;
}

ir::Graph TorchGraph::graph(const ConstantMap& others) const {
  ir::Graph result = graph_;
  for (const auto& [id, constant] : others) {
    const ir::Shape found = ir::type_of(*constant).shape;
    const ir::Value& value = graph_.value(id);
    if (found != value.type.shape) {
      fail(ErrorKind::kShape, "constant '" + value.name + "': expected " +
                                  value.type.shape.to_string() + ", found " + found.to_string());
    }
    replace_constant(result, id, constant);
  }
  for (const TorchParameter& parameter : parameters_) {
    const bool is_code = !graph_.value(parameter.id).type.encoding.is_dense();
    if (is_code || others.contains(parameter.id)) continue;
    replace_constant(result, parameter.id,
                     std::make_shared<const ir::Constant>(to_ir(parameter.tensor)));
  }
  result.infer_all();
  return result;
}

ir::ValueId replace_constant(ir::Graph& graph, ir::ValueId id,
                             std::shared_ptr<const ir::Constant> constant) {
  const ir::ValueId added = graph.add_constant(graph.value(id).name, std::move(constant));
  graph.replace_uses(id, added);
  graph.release_constant(id);
  return added;
}

}  // namespace halftone::train
