// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/initial_values.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/train/graph/torch_graph.h"
#include "halftone/train/graph/trainable.h"

namespace halftone::train {
namespace {

using Fill = std::function<void(std::span<float> numbers, Random& random)>;

Fill constant(float value) {
  return
      [value](std::span<float> numbers, Random& /*random*/) { std::ranges::fill(numbers, value); };
}

Fill normal(double variance) {
  return [deviation = std::sqrt(variance)](std::span<float> numbers, Random& random) {
    for (float& x : numbers) x = static_cast<float>(deviation * random.normal());
  };
}

Fill uniform(double bound) {
  return [bound](std::span<float> numbers, Random& random) {
    for (float& x : numbers) x = static_cast<float>(bound * (2 * random.uniform() - 1));
  };
}

/// Zeros, but 1 for the forget gate of an LSTM, the third of four gates.
Fill gate_biases(ir::RecurrentKind kind) {
  return [kind](std::span<float> numbers, Random& /*random*/) {
    std::ranges::fill(numbers, 0.0F);
    if (kind != ir::RecurrentKind::kLstm) return;
    const std::size_t states = numbers.size() / 4;
    std::ranges::fill(numbers.subspan(2 * states, states), 1.0F);
  };
}

/// The activation of a node; nothing if the node only moves or scales values.
std::optional<ir::ActivationKind> activation_of(const ir::Operator& op) {
  const auto unless_none = [](const ir::Activation& activation) {
    return activation.kind == ir::ActivationKind::kIdentity ? std::nullopt
                                                            : std::optional(activation.kind);
  };
  if (const auto* unary = std::get_if<ir::Unary>(&op)) return unary->activation.kind;
  const auto* binary = std::get_if<ir::Binary>(&op);
  if (binary != nullptr && binary->kind == ir::BinaryKind::kPRelu) {
    return ir::ActivationKind::kLeakyRelu;
  }
  const ir::Activation* fused = ir::fused_activation(op);
  return fused == nullptr ? std::nullopt : unless_none(*fused);
}

/// Whether the search for the activation continues past a node.
struct Passes {
  bool operator()(const ir::Unary& /*op*/) const { return true; }
  bool operator()(const ir::Binary& /*op*/) const { return true; }
  bool operator()(const ir::Normalize& /*op*/) const { return true; }
  bool operator()(const ir::Pool& /*op*/) const { return true; }
  bool operator()(const ir::Pad& /*op*/) const { return true; }
  template <typename Op>
  bool operator()(const Op& op) const {
    return ir::permutes_elements(op);
  }
};

/// The activation or recurrent layer that a node's output reaches. If the output has several
/// readers, the first counts.
struct Next {
  std::optional<ir::ActivationKind> activation;
  const ir::Node* recurrent = nullptr;
};

Next next_of(const ir::Graph& graph, ir::NodeId id) {
  while (true) {
    const ir::Node& node = graph.node(id);
    if (const auto activation = activation_of(node.op)) return {activation};
    const std::vector<ir::NodeId> readers = graph.consumers(node.output);
    if (readers.empty()) return {};
    const ir::Node& reader = graph.node(readers.front());
    if (ir::is_recurrent(reader.op)) return {{}, &reader};
    if (!std::visit(Passes(), reader.op)) return {};
    id = readers.front();
  }
}

double states_of(const ir::Graph& graph, const ir::Node& recurrent) {
  return static_cast<double>(
      graph.value(recurrent.inputs[ir::kRecurrenceWeights]).type.shape.dims().back());
}

/// @param inputs   per output
/// @param outputs  per input
Fill weights(const ir::Graph& graph, ir::NodeId id, double inputs, double outputs) {
  const Next next = next_of(graph, id);
  if (next.recurrent != nullptr) return uniform(1 / std::sqrt(states_of(graph, *next.recurrent)));
  if (next.activation && ir::traits_of(*next.activation).is_like_relu) return normal(2 / inputs);
  return normal(2 / (inputs + outputs));
}

/// Weights and biases of FullyConnected, Conv and ConvTranspose.
Fill of_layer(const ir::Graph& graph, ir::NodeId id, std::size_t input) {
  const ir::Node& node = graph.node(id);
  if (input != 1) {
    const Next next = next_of(graph, id);
    if (next.recurrent == nullptr) return constant(0);
    return gate_biases(std::get<ir::Recurrent>(next.recurrent->op).kind);
  }
  const ir::Shape& shape = graph.value(node.inputs[1]).type.shape;
  const ir::MatrixExtent extent = ir::matrix_extent(shape);
  const auto cols = static_cast<double>(extent.cols);
  const double outputs =
      static_cast<double>(extent.rows) * cols / static_cast<double>(shape.dims().back());
  return weights(graph, id, cols, outputs / static_cast<double>(ir::num_groups(node.op)));
}

/// A constant operand of a MatMul.
Fill of_matmul(const ir::Graph& graph, ir::NodeId id, std::size_t input) {
  const ir::Node& node = graph.node(id);
  const auto& op = std::get<ir::MatMul>(node.op);
  const std::span<const ir::Dim> dims = graph.value(node.inputs[input]).type.shape.dims();
  if (dims.size() < 2) return normal(1 / static_cast<double>(std::max<ir::Dim>(dims.back(), 1)));
  const bool transposed = input == 0 ? op.transpose_a : op.transpose_b;
  const bool sums_last = (input == 0) != transposed;
  const auto last = static_cast<double>(dims[dims.size() - 1]);
  const auto before = static_cast<double>(dims[dims.size() - 2]);
  return sums_last ? weights(graph, id, last, before) : weights(graph, id, before, last);
}

Fill of_recurrent(const ir::Graph& graph, const ir::Node& node, std::size_t input) {
  if (input == ir::kRecurrenceWeights) return uniform(1 / std::sqrt(states_of(graph, node)));
  return constant(0);
}

/// Scales and shifts after a Normalize.
Fill of_binary(const ir::Binary& op) {
  return constant(ir::traits_of(op.kind).neutral.value_or(0));
}

Fill fill_for(const ir::Graph& graph, ir::ValueId id) {
  const ir::NodeId reader = graph.consumers(id).front();
  const ir::Node& node = graph.node(reader);
  const auto input =
      static_cast<std::size_t>(std::ranges::find(node.inputs, id) - node.inputs.begin());
  if (ir::is_layer(node.op)) return of_layer(graph, reader, input);
  if (ir::input_role(node.op, input) == ir::InputRole::kFactor)
    return of_matmul(graph, reader, input);
  if (ir::is_recurrent(node.op)) return of_recurrent(graph, node, input);
  if (const auto* binary = std::get_if<ir::Binary>(&node.op)) return of_binary(*binary);
  return normal(1 / static_cast<double>(graph.value(id).type.shape.dims().back()));
}

}  // namespace

ir::Graph with_initial_values(ir::Graph graph, std::uint64_t seed) {
  std::vector<std::pair<ir::ValueId, ir::Tensor>> fresh;
  for (const ir::ValueId id : trainable_constants(graph)) {
    const auto* old = std::get_if<ir::Tensor>(graph.constant(id));
    if (old == nullptr) {
      fail(ErrorKind::kUnsupported, "weights '" + graph.value(id).name +
                                        "': expected float32 for initial values, found " +
                                        graph.value(id).type.to_string());
    }
    ir::Tensor numbers(ir::ElementType::kFloat32, old->shape());
    Random random(seed + 0x9e3779b97f4a7c15U * (fresh.size() + 1));
    // Seeds of neighbouring constants are states of one sequence; their first outputs are not.
    Random own(random.next());
    fill_for(graph, id)(numbers.as<float>(), own);
    fresh.emplace_back(id, std::move(numbers));
  }
  for (auto& [id, numbers] : fresh) {
    replace_constant(graph, id, std::make_shared<const ir::Constant>(std::move(numbers)));
  }
  return graph;
}

}  // namespace halftone::train
