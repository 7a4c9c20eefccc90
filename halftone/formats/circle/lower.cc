// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/lower.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "halftone/formats/circle/activations.h"
#include "halftone/formats/circle/code_nodes.h"

namespace halftone::formats::circle {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::BinaryKind;
using ir::ValueId;

/// Replaces one node by several that compute the same output.
class Rewrite {
 public:
  Rewrite(ir::Graph& graph, ir::NodeId id) : graph_(graph), node_(graph.node(id)) {}

  void run() {
    const ValueId result = std::visit([this](const auto& op) { return replacement(op); }, node_.op);
    if (result == node_.output) return;
    graph_.rename(result, graph_.value(node_.output).name);
    graph_.replace_uses(node_.output, result);
  }

 private:
  template <typename Op>
  ValueId replacement(const Op& /*op*/) {
    return node_.output;
  }
  ValueId replacement(const ir::Unary& op);
  ValueId replacement(const ir::Binary& op);
  ValueId replacement(const ir::FullyConnected& op);
  ValueId replacement(const ir::Conv& op);
  ValueId replacement(const ir::Softmax& op);
  ValueId replacement(const ir::MatMul& op);
  ValueId replacement(const ir::DequantizeLinear& op);
  ValueId replacement(const ir::Normalize& op);
  ValueId replacement(const ir::Pad& op);
  ValueId replacement(const ir::Gather& op);

  /// The activation of x, composed of operators of the format; nullopt if impossible.
  std::optional<ValueId> composed(const Activation& activation, ValueId x);
  /// The same, or a node that the exporter reports if impossible.
  ValueId activated(const Activation& activation, ValueId x) {
    const auto value = composed(activation, x);
    return value ? *value : add(ir::Unary{activation}, {x});
  }
  ValueId identity(const Activation& /*f*/, ValueId x) {
    return add(ir::Reshape{graph_.value(x).type.shape}, {x});
  }
  ValueId clip(const Activation& f, ValueId x);
  ValueId elu(const Activation& f, ValueId x);
  ValueId selu(const Activation& f, ValueId x) { return times(f.beta, elu(f, x)); }
  ValueId celu(const Activation& f, ValueId x);
  ValueId hard_sigmoid(const Activation& f, ValueId x) {
    return clipped(binary(BinaryKind::kAdd, times(f.alpha, x), scalar(f.beta)), 0, 1);
  }
  ValueId silu(const Activation& /*f*/, ValueId x) {
    return binary(BinaryKind::kMul, x, unary(ActivationKind::kSigmoid, x));
  }
  ValueId softplus(const Activation& f, ValueId x);
  ValueId softsign(const Activation& f, ValueId x);
  ValueId reciprocal(const Activation& /*f*/, ValueId x) {
    return binary(BinaryKind::kDiv, scalar(1), x);
  }

  ValueId relu(ValueId x) { return unary(ActivationKind::kRelu, x); }
  ValueId times(float factor, ValueId value) {
    return factor == 1 ? value : binary(BinaryKind::kMul, value, scalar(factor));
  }
  ValueId clipped(ValueId value, float low, float high);
  ValueId expm1_below_zero(ValueId x) {
    return unary(ActivationKind::kElu, binary(BinaryKind::kMin, x, scalar(0)), 1);
  }

  ValueId add(ir::Operator op, std::vector<ValueId> inputs) {
    const std::string& name = graph_.value(node_.output).name;
    return graph_.add_node(name + "/" + std::to_string(++steps_), std::move(op), std::move(inputs));
  }
  ValueId unary(ActivationKind kind, ValueId x, float alpha = 0) {
    return add(ir::Unary{{kind, alpha, 0}}, {x});
  }
  ValueId binary(BinaryKind kind, ValueId a, ValueId b) {
    return add(ir::Binary{kind, {}}, {a, b});
  }
  ValueId scalar(float number) {
    const auto [found, is_new] =
        scalars_.try_emplace(std::bit_cast<std::uint32_t>(number), ir::kAbsent);
    if (is_new) {
      const std::array<float, 1> numbers = {number};
      found->second = graph_.add_constant(std::to_string(number),
                                          ir::Tensor::from<float>({}, std::span(numbers)));
    }
    return found->second;
  }
  ValueId indices(const std::vector<std::int32_t>& numbers) {
    return graph_.add_constant(
        node_.name + "/indices",
        ir::Tensor::from<std::int32_t>({static_cast<ir::Dim>(numbers.size())}, std::span(numbers)));
  }
  /// The node without its activation, named after the layer.
  ValueId without_activation(ir::Operator op) {
    const std::string& output = graph_.value(node_.output).name;
    const std::string name = node_.name == output ? output + "/linear" : node_.name;
    return graph_.add_node(name, std::move(op), node_.inputs);
  }

  ir::Graph& graph_;
  const ir::Node node_;                       // a copy, because added nodes invalidate references
  std::map<std::uint32_t, ValueId> scalars_;  ///< indexed by the bits of the value
  int steps_ = 0;
};

ValueId Rewrite::clipped(ValueId value, float low, float high) {
  // An open end needs no operator, and files hold no infinities.
  if (std::isfinite(low)) value = binary(BinaryKind::kMax, value, scalar(low));
  return std::isfinite(high) ? binary(BinaryKind::kMin, value, scalar(high)) : value;
}

ValueId Rewrite::clip(const Activation& f, ValueId x) {
  const bool is_open = !std::isfinite(f.alpha) && !std::isfinite(f.beta);
  return is_open ? identity(f, x) : clipped(x, f.alpha, f.beta);
}

ValueId Rewrite::elu(const Activation& f, ValueId x) {
  return binary(BinaryKind::kAdd, relu(x), times(f.alpha, expm1_below_zero(x)));
}

ValueId Rewrite::celu(const Activation& f, ValueId x) {
  return binary(BinaryKind::kAdd, relu(x), times(f.alpha, expm1_below_zero(times(1 / f.alpha, x))));
}

ValueId Rewrite::softplus(const Activation& /*f*/, ValueId x) {
  const ValueId size = unary(ActivationKind::kAbs, x);
  const ValueId power = unary(ActivationKind::kExp, unary(ActivationKind::kNeg, size));
  const ValueId rest = unary(ActivationKind::kLog, binary(BinaryKind::kAdd, power, scalar(1)));
  return binary(BinaryKind::kAdd, relu(x), rest);
}

ValueId Rewrite::softsign(const Activation& /*f*/, ValueId x) {
  const ValueId size = unary(ActivationKind::kAbs, x);
  return binary(BinaryKind::kDiv, x, binary(BinaryKind::kAdd, size, scalar(1)));
}

std::optional<ValueId> Rewrite::composed(const Activation& activation, ValueId x) {
  using Function = ActivationKind;
  using Composition = ValueId (Rewrite::*)(const Activation&, ValueId);
  static constexpr std::pair<Function, Composition> kCompositions[] = {
      {Function::kIdentity, &Rewrite::identity}, {Function::kClip, &Rewrite::clip},
      {Function::kElu, &Rewrite::elu},           {Function::kSelu, &Rewrite::selu},
      {Function::kCelu, &Rewrite::celu},         {Function::kHardSigmoid, &Rewrite::hard_sigmoid},
      {Function::kSilu, &Rewrite::silu},         {Function::kSoftplus, &Rewrite::softplus},
      {Function::kSoftsign, &Rewrite::softsign}, {Function::kReciprocal, &Rewrite::reciprocal},
  };
  if (builtin_unary(activation)) return add(ir::Unary{activation}, {x});
  if (activation.kind == Function::kCelu && !(activation.alpha > 0)) return std::nullopt;
  for (const auto& [kind, compose] : kCompositions) {
    if (kind == activation.kind) return (this->*compose)(activation, x);
  }
  return std::nullopt;
}

ValueId Rewrite::replacement(const ir::Unary& op) {
  if (builtin_unary(op.activation)) return node_.output;
  return composed(op.activation, node_.inputs[0]).value_or(node_.output);
}

bool is_one_of(ActivationKind kind, std::span<const ActivationKind> kinds) {
  for (const ActivationKind each : kinds) {
    if (kind == each) return true;
  }
  return false;
}

ValueId Rewrite::replacement(const ir::Binary& op) {
  constexpr std::array kFused = {ActivationKind::kIdentity, ActivationKind::kRelu,
                                 ActivationKind::kReluN1To1, ActivationKind::kRelu6};
  const bool can_fuse = op.kind == BinaryKind::kAdd || op.kind == BinaryKind::kSub ||
                        op.kind == BinaryKind::kMul || op.kind == BinaryKind::kDiv;
  const ir::Shape result = graph_.value(node_.output).type.shape;
  const ir::ValueType& input = graph_.value(node_.inputs[0]).type;
  if (op.kind == BinaryKind::kPRelu && input.shape != result &&
      input.is_dense(ir::ElementType::kFloat32) && op.activation == Activation{}) {
    // The file repeats slopes only: y = max(x, 0) + slope min(x, 0).
    const ValueId below = binary(BinaryKind::kMin, node_.inputs[0], scalar(0));
    const ValueId sloped = binary(BinaryKind::kMul, below, node_.inputs[1]);
    return binary(BinaryKind::kAdd, relu(node_.inputs[0]), sloped);
  }
  const ActivationKind kind = op.activation.kind;
  if (kind == ActivationKind::kIdentity || (can_fuse && is_one_of(kind, kFused))) {
    return node_.output;
  }
  return activated(op.activation, without_activation(ir::Binary{op.kind, {}}));
}

ValueId Rewrite::replacement(const ir::FullyConnected& op) {
  // Plain TFLite runtimes fuse only the RELU family. Operators in a basis accept every activation
  // that has a code, and SIGN_BIT has no builtin operator.
  constexpr std::array kFused = {ActivationKind::kIdentity,  ActivationKind::kRelu,
                                 ActivationKind::kReluN1To1, ActivationKind::kRelu6,
                                 ActivationKind::kSignBit,   ActivationKind::kTanh};
  const bool in_basis = !graph_.value(node_.inputs[0]).type.encoding.is_dense() ||
                        !graph_.value(node_.inputs[1]).type.encoding.is_dense();
  if (is_one_of(op.activation.kind, std::span(kFused).first(in_basis ? 6 : 5))) {
    return node_.output;
  }
  ir::FullyConnected plain = op;
  plain.activation = {};
  return activated(op.activation, without_activation(plain));
}

ValueId Rewrite::replacement(const ir::Conv& op) {
  constexpr std::array kFused = {ActivationKind::kIdentity, ActivationKind::kRelu,
                                 ActivationKind::kReluN1To1, ActivationKind::kRelu6};
  if (is_one_of(op.activation.kind, kFused)) return node_.output;
  ir::Conv plain = op;
  plain.activation = {};
  return activated(op.activation, without_activation(std::move(plain)));
}

ValueId Rewrite::replacement(const ir::Softmax& op) {
  const std::size_t rank = graph_.value(node_.output).type.shape.rank();
  const bool scales = op.log && op.beta != 1;
  if (op.axis + 1 == rank && !scales) return node_.output;
  ValueId x = node_.inputs[0];
  if (scales) x = binary(BinaryKind::kMul, x, scalar(op.beta));
  const float beta = scales ? 1 : op.beta;
  if (op.axis + 1 == rank) return add(ir::Softmax{op.axis, beta, op.log}, {x});
  std::vector<std::size_t> exchange(rank);
  std::iota(exchange.begin(), exchange.end(), std::size_t{0});
  std::swap(exchange[op.axis], exchange[rank - 1]);
  x = add(ir::Transpose{exchange}, {x});
  x = add(ir::Softmax{rank - 1, beta, op.log}, {x});
  return add(ir::Transpose{exchange}, {x});
}

ValueId Rewrite::replacement(const ir::MatMul& op) {
  const ir::Shape a = graph_.value(node_.inputs[0]).type.shape;
  const ir::Shape b = graph_.value(node_.inputs[1]).type.shape;
  if (a.rank() > 1 && b.rank() > 1) return node_.output;
  const auto matrix = [&](std::size_t input, const ir::Shape& shape, ir::Shape target) {
    const ValueId value = node_.inputs[input];
    return shape.rank() > 1 ? value : add(ir::Reshape{std::move(target)}, {value});
  };
  const ValueId lhs = matrix(0, a, {1, a[0]});
  const ValueId rhs = matrix(1, b, {b[0], 1});
  const ir::MatMul product{a.rank() > 1 && op.transpose_a, b.rank() > 1 && op.transpose_b};
  return add(ir::Reshape{graph_.value(node_.output).type.shape}, {add(product, {lhs, rhs})});
}

ValueId Rewrite::replacement(const ir::DequantizeLinear& op) {
  const ir::Constant* constant = graph_.constant(node_.inputs[0]);
  const auto* codes = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  if (codes == nullptr || ir::size_bytes(codes->element()) < 4) return node_.output;
  const std::array inputs = {codes};
  return graph_.add_constant(node_.name, ir::evaluate_operator(op, inputs));
}

/// The element that padding copies to a position; the file has reflections within the extent.
ir::Dim padded_from(ir::PadMode mode, ir::Dim at, ir::Dim extent) {
  const auto around = [](ir::Dim x, ir::Dim period) { return (x % period + period) % period; };
  if (mode == ir::PadMode::kEdge) return std::clamp<ir::Dim>(at, 0, extent - 1);
  if (mode == ir::PadMode::kWrap) return around(at, extent);
  const ir::Dim place = extent == 1 ? 0 : around(at, 2 * (extent - 1));
  return std::min(place, 2 * (extent - 1) - place);
}

ValueId Rewrite::replacement(const ir::Pad& op) {
  if (op.mode == ir::PadMode::kConstant) return node_.output;
  const ir::Shape shape = graph_.value(node_.inputs[0]).type.shape;
  bool is_written = op.mode == ir::PadMode::kReflect;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const auto most = static_cast<ir::Dim>(std::max(op.before[axis], op.after[axis]));
    if (most > 0 && shape[axis] <= 0) return node_.output;  // the exporter reports it
    is_written = is_written && (most == 0 || most < shape[axis]);
  }
  if (is_written) return node_.output;
  ValueId x = node_.inputs[0];
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    const auto before = static_cast<ir::Dim>(op.before[axis]);
    const auto after = static_cast<ir::Dim>(op.after[axis]);
    if (before + after == 0) continue;
    std::vector<std::int32_t> from;
    for (ir::Dim i = -before; i < shape[axis] + after; ++i) {
      from.push_back(static_cast<std::int32_t>(padded_from(op.mode, i, shape[axis])));
    }
    x = add(ir::Gather{axis}, {x, indices(from)});
  }
  return x == node_.inputs[0] ? identity({}, x) : x;
}

/// Files count from the front alone.
ValueId Rewrite::replacement(const ir::Gather& op) {
  const ir::Constant* constant = graph_.constant(node_.inputs[1]);
  const auto* given = constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
  const ir::Dim extent = graph_.value(node_.inputs[0]).type.shape[op.axis];
  if (given == nullptr || extent < 0) return node_.output;
  ir::Tensor wide = given->cast(ir::ElementType::kInt64);
  const auto numbers = wide.as<std::int64_t>();
  if (std::ranges::none_of(numbers, [](std::int64_t i) { return i < 0; })) return node_.output;
  for (std::int64_t& i : numbers) i += i < 0 ? extent : 0;
  const ValueId at =
      graph_.add_constant(graph_.value(node_.inputs[1]).name, wide.cast(given->element()));
  return add(op, {node_.inputs[0], at});
}

ValueId Rewrite::replacement(const ir::Normalize& op) {
  const auto mean = [&](ValueId value) {
    return add(ir::Reduce{ir::ReduceKind::kMean, op.axes, true}, {value});
  };
  ValueId x = node_.inputs[0];
  if (op.subtract_mean) x = binary(BinaryKind::kSub, x, mean(x));
  const ValueId variance = mean(binary(BinaryKind::kMul, x, x));
  const ValueId shifted = binary(BinaryKind::kAdd, variance, scalar(op.epsilon));
  return binary(BinaryKind::kDiv, x, unary(ActivationKind::kSqrt, shifted));
}

}  // namespace

ir::Graph lowered(ir::Graph graph) {
  lower_loops(graph);
  lower_searches(graph);
  lower_windows(graph);
  lower_resizing(graph);
  lower_recurrent_steps(graph);
  const CodeNodes with_codes = find_code_nodes(graph);
  for (const ir::NodeId id : graph.topological_order()) {
    if (!with_codes.conversions.contains(id)) Rewrite(graph, id).run();
  }
  graph.remove_unused_nodes();
  return graph;
}

}  // namespace halftone::formats::circle
