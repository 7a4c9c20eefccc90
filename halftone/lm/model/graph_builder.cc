// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/graph_builder.h"

namespace halftone::lm {

ir::Graph GraphBuilder::body() {
  add_ids();
  add_tokens();
  ValueId x = embedding();
  for (std::size_t index = 0; index < d_.blocks; ++index) x = block(index, x);
  graph_.add_output(x);
  finish();
  return std::move(graph_);
}

ir::Graph GraphBuilder::embedding_part() {
  add_ids();
  add_tokens();
  graph_.add_output(embedding());
  return std::move(graph_);
}

SamplePart GraphBuilder::block_part(std::size_t index) {
  is_part_ = true;
  add_tokens();
  graph_.add_output(block(index, graph_.add_input("rows", float_type(d_.width))));
  return part_with_products();
}

SamplePart GraphBuilder::head_part() {
  is_part_ = true;
  products_.push_back({head_input(), WeightId{.role = WeightRole::kHead}, ir::kAbsent});
  return part_with_products();
}

SamplePart GraphBuilder::logits_part() {
  is_part_ = true;
  graph_.add_output(logits());
  return part_with_products();
}

ir::ValueType GraphBuilder::float_type(std::size_t width) const {
  std::vector<ir::Dim> dims = lead_;
  dims.push_back(dim(width));
  return ir::dense_type(ir::ElementType::kFloat32, Shape(std::move(dims)));
}

ValueId GraphBuilder::scalar(const std::string& name, double value) {
  return shared_constant(name, [&] {
    const auto number = static_cast<float>(value);
    return ir::Tensor::from<float>({}, {&number, 1});
  });
}

ValueId GraphBuilder::add_weight(const Weight& weight, double offset) {
  return shared_constant(weight.name, [&]() -> ir::Constant {
    if (auto stored = weight.stored()) return std::move(*stored);
    std::vector<ir::Dim> dims;
    for (const std::size_t extent : weight.shape) dims.push_back(dim(extent));
    ir::Tensor tensor(ir::ElementType::kFloat32, Shape(std::move(dims)));
    weight.decode(0, tensor.as<float>());
    if (offset != 0) {
      for (float& element : tensor.as<float>()) element += static_cast<float>(offset);
    }
    return tensor;
  });
}

SamplePart GraphBuilder::part_with_products() {
  SamplePart part;
  std::map<ValueId, std::size_t> known;
  for (const Product& product : products_) {
    const auto [at, is_new] = known.emplace(product.input, part.inputs.size());
    if (is_new) {
      part.inputs.push_back({.output = graph_.outputs().size()});
      graph_.add_output(product.input);
    }
    part.inputs[at->second].matrices.push_back(product.matrix);
    part.inputs[at->second].products.push_back(product.output);
  }
  part.graph = std::move(graph_);
  return part;
}

ValueId GraphBuilder::head_input() {
  prefix_ = "";
  const ValueId x = norm(graph_.add_input("rows", float_type(d_.width)), WeightRole::kFinalNorm);
  if (!d_.has_final_transform) return x;
  return product("final_transform", x, {.role = WeightRole::kFinalTransform});
}

ValueId GraphBuilder::logits() {
  ValueId x = product("head", head_input(), {.role = WeightRole::kHead}, d_.has_head_bias);
  if (d_.logit_factor != 1) {
    x = binary("logits/scaled", ir::BinaryKind::kMul, x, scalar("logit_factor", d_.logit_factor));
  }
  if (d_.logit_cap == 0) return x;
  const ValueId cap = scalar("logit_cap", d_.logit_cap);
  x = binary("logits/divided", ir::BinaryKind::kDiv, x, cap, {ir::ActivationKind::kTanh});
  return binary("logits", ir::BinaryKind::kMul, x, cap);
}

ValueId GraphBuilder::block(std::size_t index, ValueId x) {
  block_ = index;
  prefix_ = "blk." + std::to_string(index) + "/";
  const ValueId rows = pre_norm(x, WeightRole::kAttentionNorm);
  const ValueId sum = add_branch("attention", x, WeightRole::kAttentionPostNorm, attention(rows));
  const ValueId read =
      d_.shares_pre_norm ? rows : pre_norm(d_.is_parallel ? x : sum, WeightRole::kFeedForwardNorm);
  return add_branch("feed_forward", sum, WeightRole::kFeedForwardPostNorm,
                    d_.has_experts(block_) ? experts(read) : feed_forward(read));
}

ValueId GraphBuilder::product(const std::string& name, ValueId x, const WeightId& id, bool has_bias,
                              ir::Activation activation) {
  std::vector<ValueId> inputs = {x, add_weight(id)};
  if (has_bias) inputs.push_back(add_weight({id.role, id.block, Part::kBias, 0}));
  return multiply(name, ir::FullyConnected{.activation = activation}, std::move(inputs), id);
}

ValueId GraphBuilder::low_rank(const std::string& name, ValueId x, const LowRankChange& change) {
  const auto factor = [&](const char* which, const std::vector<float>& values, std::size_t rows) {
    return shared_constant(prefix_ + name + which, [&] {
      const std::size_t columns = values.size() / rows;
      return ir::Tensor::from<float>({dim(rows), dim(columns)}, values);
    });
  };
  const ValueId low =
      node(name + "/low", ir::FullyConnected{}, {x, factor("/lora_a", change.a, change.rank)});
  return node(name + "/change", ir::FullyConnected{},
              {low, factor("/lora_b", change.b, change.b.size() / change.rank)});
}

ValueId GraphBuilder::norm(ValueId x, WeightRole role) {
  const WeightId id = role == WeightRole::kFinalNorm ? WeightId{.role = role} : here(role);
  const std::string name(to_string(role));
  ValueId y = normalized(name, x, d_.norm == Norm::kLayer);
  if (!d_.has_norm_gain) return y;
  y = binary(name, ir::BinaryKind::kMul, y, add_weight(id));
  if (!d_.biases_norms()) return y;
  return binary(name + "/biased", ir::BinaryKind::kAdd, y,
                add_weight({id.role, id.block, Part::kBias, 0}));
}

ValueId GraphBuilder::normalized(const std::string& name, ValueId x, bool subtracts_mean) {
  const std::size_t axis = graph_.value(x).type.shape.rank() - 1;
  return node(name + "/normalized",
              ir::Normalize{.axes = {axis},
                            .epsilon = static_cast<float>(d_.norm_epsilon),
                            .subtract_mean = subtracts_mean},
              {x});
}

ValueId GraphBuilder::add_branch(const std::string& name, ValueId x, WeightRole post_norm,
                                 ValueId branch) {
  if (d_.has_post_norms) branch = norm(branch, post_norm);
  if (d_.residual_factor != 1) {
    branch = binary(name + "/scaled", ir::BinaryKind::kMul, branch,
                    scalar("residual_factor", d_.residual_factor));
  }
  return binary(name + "/sum", ir::BinaryKind::kAdd, x, branch);
}

ValueId GraphBuilder::embedding() {
  const ValueId table = add_weight({.role = WeightRole::kTokenEmbedding});
  ValueId x = graph_.add_node("embedding", ir::Gather{.axis = 0}, {table, ids_});
  if (d_.embedding_factor != 1) {
    x = binary("embedding/scaled", ir::BinaryKind::kMul, x,
               scalar("embedding_factor", d_.embedding_factor));
  }
  if (d_.positions == Positions::kLearned) {
    const ValueId rows =
        graph_.add_node("positions/embedding", ir::Gather{.axis = 0},
                        {add_weight({.role = WeightRole::kPositionEmbedding}), positions_});
    x = binary("embedding/placed", ir::BinaryKind::kAdd, x, rows);
  }
  return x;
}

}  // namespace halftone::lm
