// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/tune/open_graph.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/train/graph/torch_tensor.h"
#include "halftone/train/graph/trainable.h"
#include "halftone/train/tune/factored_matrix.h"

namespace halftone::train {
namespace {

/// Whether a node multiplies rows with a constant or looks rows of it up.
bool is_matrix(const ir::Graph& graph, ir::ValueId id) {
  if (graph.value(id).type.shape.rank() < 2) return false;
  return std::ranges::any_of(graph.consumers(id), [&](ir::NodeId reader) {
    return reads_weights(graph.node(reader).op) ||
           std::holds_alternative<ir::ExpertProduct>(graph.node(reader).op);
  });
}

/// Turns constants into inputs.
ir::Graph opened(ir::Graph graph, const std::function<bool(const std::string&)>& is_tuned,
                 std::vector<OpenWeight>& weights) {
  if (graph.inputs().size() != 1) {
    fail(ErrorKind::kUsage,
         "part of a network: expected one input, found " + std::to_string(graph.inputs().size()));
  }
  graph.set_outputs({graph.outputs()[0]});
  graph.remove_unused_nodes();
  const std::size_t num_values = graph.num_values();
  for (std::size_t i = 0; i < num_values; ++i) {
    const auto id = static_cast<ir::ValueId>(i);
    const std::shared_ptr<const ir::Constant> constant = graph.value(id).constant;
    if (constant == nullptr || graph.num_uses(id) == 0) continue;
    const std::string name = graph.value(id).name;
    const ir::ValueType type = graph.value(id).type;
    const bool is_changed = is_tuned(name);
    if (type.encoding.element != ir::ElementType::kFloat32) continue;
    if (!is_changed && !is_matrix(graph, id)) continue;
    const ir::ValueId input =
        graph.add_input(name, ir::dense_type(ir::ElementType::kFloat32, type.shape));
    graph.replace_uses(id, input);
    graph.release_constant(id);
    weights.push_back({name, constant, is_changed});
  }
  graph.infer_all();
  return graph;
}

/// @throws Error kUnsupported if a node between floats has no gradient
void require_gradients(const TorchGraph& graph) {
  const ir::Graph& source = graph.source();
  const auto is_float = [&](ir::ValueId id) {
    return id != ir::kAbsent &&
           source.value(id).type.encoding.element == ir::ElementType::kFloat32 &&
           source.constant(id) == nullptr;
  };
  for (const ir::NodeId id : source.topological_order()) {
    const ir::Node& node = source.node(id);
    if (graph.is_differentiable(id) || !is_float(node.output)) continue;
    if (std::ranges::none_of(node.inputs, is_float)) continue;
    fail(ErrorKind::kUnsupported, "no gradient for " + ir::describe(node));
  }
}

}  // namespace

OpenGraph::OpenGraph(ir::Graph graph, const std::function<bool(const std::string&)>& is_tuned)
    : graph_(opened(std::move(graph), is_tuned, weights_)) {
  const ir::Graph& source = graph_.source();
  has_float_input_ =
      source.value(source.inputs()[0]).type.encoding.element == ir::ElementType::kFloat32;
  require_gradients(graph_);
}

at::Tensor OpenGraph::forward(const at::Tensor& x, std::span<const at::Tensor> weights) const {
  std::vector<at::Tensor> inputs = {x};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  return graph_.forward(inputs)[0];
}

at::Tensor numbers_of(const ir::Constant& constant) {
  if (const auto* blocks = std::get_if<ir::BlockTensor>(&constant)) return decoded(*blocks);
  const auto* tensor = std::get_if<ir::Tensor>(&constant);
  if (tensor == nullptr || tensor->element() != ir::ElementType::kFloat32) {
    return to_torch(ir::to_float(constant));
  }
  const auto dims = tensor->shape().dims();
  // libtorch reads it only: nothing writes to a weight in place.
  auto* const first = const_cast<float*>(tensor->as<float>().data());
  return at::from_blob(first, at::IntArrayRef(dims.data(), dims.size()));
}

}  // namespace halftone::train
