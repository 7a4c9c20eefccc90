// SPDX-License-Identifier: Apache-2.0
// Feed-forward networks and experts of the graphs of a model.
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/lm/model/graph_builder.h"

namespace halftone::lm {

ir::Activation activation_of(FeedForward function) {
  switch (function) {
    case FeedForward::kSilu:
      return {ir::ActivationKind::kSilu};
    case FeedForward::kGelu:
      return {ir::ActivationKind::kGelu};
    case FeedForward::kGeluTanh:
      return {ir::ActivationKind::kGeluTanh};
    case FeedForward::kRelu:
    case FeedForward::kReluSquared:
      return {ir::ActivationKind::kRelu};
    case FeedForward::kClampedSwish:
      break;
  }
  fail(ErrorKind::kInternal, "a function of feed-forward networks without an activation");
}

ValueId GraphBuilder::network(const std::string& name, ValueId x, const NetworkRoles& roles) {
  return network(name, x, roles,
                 [&](const std::string& part, ValueId rows, WeightRole role,
                     const ir::Activation& activation) {
                   return product(part, rows, here(role), d_.has_ffn_bias, activation);
                 });
}

ValueId GraphBuilder::above_cutoff(const std::string& name, ValueId gate) {
  const ir::Shape& shape = graph_.value(gate).type.shape;
  const std::size_t axis = shape.rank() - 1;
  const auto count = static_cast<double>(shape.back());
  const ValueId mean =
      node(name + "/mean", ir::Reduce{.kind = ir::ReduceKind::kMean, .axes = {axis}}, {gate});
  const ValueId centered = binary(name + "/centered", ir::BinaryKind::kSub, gate, mean);
  // The length of centered numbers is the standard deviation times the root of their count.
  const ValueId bound =
      binary(name + "/bound", ir::BinaryKind::kMul, length_of(name + "/length", centered),
             scalar(prefix_ + name + "_cutoff", d_.gate_cutoffs.at(block_) / std::sqrt(count)));
  return binary(name + "/above", ir::BinaryKind::kSub, centered, bound,
                {ir::ActivationKind::kRelu});
}

ValueId GraphBuilder::clamped_gate(const std::string& name, ValueId gate, ValueId up) {
  const auto at_most = [&](const std::string& part, ValueId x) {
    return binary(name + part + "/at_most", ir::BinaryKind::kMin, x,
                  scalar("gate_limit", d_.gate_limit));
  };
  const ValueId bounded = at_most("gate", gate);
  const ValueId open = binary(name + "gate/steep", ir::BinaryKind::kMul, bounded,
                              scalar("gate_slope", d_.gate_slope), {ir::ActivationKind::kSigmoid});
  const ValueId swish = binary(name + "gate/swish", ir::BinaryKind::kMul, bounded, open);
  const ValueId within = binary(name + "up/at_least", ir::BinaryKind::kMax, at_most("up", up),
                                scalar("gate_least", -d_.gate_limit));
  const ValueId shifted =
      binary(name + "up/shifted", ir::BinaryKind::kAdd, within, scalar("one", 1));
  return binary(name + "gated", ir::BinaryKind::kMul, swish, shifted);
}

ValueId GraphBuilder::of_best_groups(ValueId scores) {
  const std::size_t axis = lead_.size();
  const ValueId grouped =
      heads_of("router/groups", scores, d_.expert_groups, d_.experts / d_.expert_groups);
  ValueId of_groups = ir::kAbsent;  // [..., groups, 1]
  if (d_.sums_group_scores) {
    const ValueId two = node("router/two", ir::TopK{.axis = axis + 1, .k = 2}, {grouped});
    of_groups =
        node("router/group_scores", ir::Reduce{.kind = ir::ReduceKind::kSum, .axes = {axis + 1}},
             {node("router/best_two", ir::GatherElements{.axis = axis + 1}, {grouped, two})});
  } else {
    of_groups = node("router/group_scores",
                     ir::Reduce{.kind = ir::ReduceKind::kMax, .axes = {axis + 1}}, {grouped});
  }
  const ValueId best =
      node("router/best_groups", ir::TopK{.axis = axis, .k = d_.active_groups}, {of_groups});
  const ValueId least =
      node("router/least", ir::Reduce{.kind = ir::ReduceKind::kMin, .axes = {axis}},
           {node("router/best_group_scores", ir::GatherElements{.axis = axis}, {of_groups, best})});
  // 0 for groups at least as good as the last of the best, else -1: times a number above all.
  const ValueId is_behind =
      node("router/is_behind", ir::Cast{ir::ElementType::kFloat32},
           {binary("router/behind", ir::BinaryKind::kLess, of_groups, least)});
  const ValueId fall =
      binary("router/fall", ir::BinaryKind::kMul, is_behind, scalar("group_fall", 1e6));
  const ValueId left = binary("router/left", ir::BinaryKind::kSub, grouped, fall);
  return rows_of("router/in_groups", left, d_.experts);
}

GraphBuilder::Choice GraphBuilder::choose(ValueId x) {
  const std::size_t axis = lead_.size();
  const ir::Softmax softmax{.axis = axis};
  ValueId scores = product("router", x, here(WeightRole::kRouter), d_.has_expert_bias);
  if (d_.has_sigmoid_scores) {
    scores = node("router/sigmoid", ir::Unary{{ir::ActivationKind::kSigmoid}}, {scores});
  } else if (!d_.softmax_after_choice) {
    scores = node("router/softmax", softmax, {scores});
  }
  ValueId judged = scores;
  if (d_.has_choice_bias) {
    judged = binary("router/judged", ir::BinaryKind::kAdd, scores,
                    add_weight(here(WeightRole::kChoiceBias)));
  }
  if (d_.expert_groups > 1) judged = of_best_groups(judged);
  const ValueId chosen =
      node("router/chosen", ir::TopK{.axis = axis, .k = d_.active_experts}, {judged});
  ValueId shares = node("router/best", ir::GatherElements{.axis = axis}, {scores, chosen});
  if (d_.softmax_after_choice) shares = node("router/softmax", softmax, {shares});
  if (d_.renormalizes) {
    const ValueId sum =
        node("router/sum", ir::Reduce{.kind = ir::ReduceKind::kSum, .axes = {axis}}, {shares});
    shares = binary("router/shares", ir::BinaryKind::kDiv, shares, sum);
  }
  if (d_.has_network_beside) {
    const ValueId factors = node("router/factors", ir::Gather{.axis = 0},
                                 {add_weight(here(WeightRole::kExpertFactors)), chosen});
    shares = binary("router/factored", ir::BinaryKind::kMul, shares, factors);
  }
  if (d_.share_factor != 1) {
    shares = binary("router/scaled", ir::BinaryKind::kMul, shares,
                    scalar("share_factor", d_.share_factor));
  }
  return {chosen, shares};
}

ValueId GraphBuilder::expert_product(const std::string& name, ValueId x, ValueId chosen,
                                     WeightRole role, const ir::Activation& activation) {
  const bool has_bias = d_.has_expert_bias;
  const ValueId y =
      multiply(name, ir::ExpertProduct{.activation = has_bias ? ir::Activation{} : activation},
               {x, add_weight(weights_.experts(role, block_), 0), chosen}, here(role));
  if (!has_bias) return y;
  const ValueId bias = node(name + "/bias", ir::Gather{.axis = 0},
                            {add_weight(weights_.experts(role, block_, Part::kBias), 0), chosen});
  return binary(name + "/biased", ir::BinaryKind::kAdd, y, bias, activation);
}

ValueId GraphBuilder::router_rows(ValueId x) {
  const ValueId rows = binary("router/gained", ir::BinaryKind::kMul, normalized("router", x, false),
                              add_weight(here(WeightRole::kRouterGain)));
  return binary("router/rows", ir::BinaryKind::kMul, rows,
                scalar("router_factor", 1 / std::sqrt(static_cast<double>(d_.width))));
}

ValueId GraphBuilder::network_and_experts(ValueId x, ValueId read) {
  const ValueId beside = norm(feed_forward(read), WeightRole::kNetworkPostNorm);
  const ValueId chosen = experts(norm(x, WeightRole::kExpertsNorm), router_rows(x));
  return binary("experts/beside", ir::BinaryKind::kAdd, beside,
                norm(chosen, WeightRole::kExpertsPostNorm));
}

ValueId GraphBuilder::experts(ValueId x, ValueId scored) {
  const Choice choice = choose(scored);
  const ValueId y = network(
      "experts/", x, {WeightRole::kExpertGate, WeightRole::kExpertUp, WeightRole::kExpertDown},
      [&](const std::string& name, ValueId rows, WeightRole role,
          const ir::Activation& activation) {
        return expert_product(name, rows, choice.experts, role, activation);
      });
  const std::size_t axis = lead_.size();
  std::vector<ir::Dim> column = lead_;
  column.push_back(dim(d_.active_experts));
  column.push_back(1);
  const ValueId shares =
      node("router/column", ir::Reshape{Shape(std::move(column))}, {choice.shares});
  const ValueId parts = binary("experts/shares", ir::BinaryKind::kMul, y, shares);
  const ValueId sum =
      node("experts/sum",
           ir::Reduce{.kind = ir::ReduceKind::kSum, .axes = {axis}, .keep_dims = false}, {parts});
  return d_.shared_inner == 0 ? sum : add_shared_expert(sum, x);
}

ValueId GraphBuilder::add_shared_expert(ValueId sum, ValueId x) {
  const std::string name = "shared_expert/";
  ValueId y =
      network(name, x, {WeightRole::kSharedGate, WeightRole::kSharedUp, WeightRole::kSharedDown});
  if (d_.has_shared_gate) {
    const ValueId share = product(name + "router", x, here(WeightRole::kSharedRouter), false,
                                  {ir::ActivationKind::kSigmoid});
    y = binary(name + "share", ir::BinaryKind::kMul, y, share);
  }
  return binary(name + "sum", ir::BinaryKind::kAdd, sum, y);
}

}  // namespace halftone::lm
