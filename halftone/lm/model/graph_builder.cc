// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/graph_builder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace halftone::lm {

ir::Graph GraphBuilder::body() {
  add_ids();
  add_tokens();
  ValueId x = embedding();
  for (std::size_t index = 0; index < d_.blocks; ++index) x = block(index, x);
  graph_.add_output(ended_streams(x));
  finish();
  return std::move(graph_);
}

ir::Graph GraphBuilder::embedding_part() {
  add_ids();
  add_tokens();
  give_rows(embedding(), 0);
  return std::move(graph_);
}

SamplePart GraphBuilder::start_part() {
  is_part_ = true;
  give_rows(started(graph_.add_input("rows", float_type(d_.width)), false), 0);
  return part_with_products();
}

SamplePart GraphBuilder::block_part(std::size_t index) {
  is_part_ = true;
  add_tokens();
  const ValueId x = block(index, take_rows(index));
  give_rows(index + 1 == whole_.blocks ? ended_streams(x) : x, index + 1);
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
  d_ = whole_.of_block(index);
  prefix_ = "blk." + std::to_string(index) + "/";
  if (d_.streams != 1) return block_of_streams(x);
  ValueId y = d_.has_single_branches ? single_branch(x) : both_branches(x);
  if (d_.block_input_width != 0) {
    y = add_branch("block_input", y, WeightRole::kBlockInputPostNorm, block_input(y));
  }
  if (!d_.has_block_factor) return y;
  return binary("scaled", ir::BinaryKind::kMul, y, add_weight(here(WeightRole::kBlockFactor)));
}

ValueId GraphBuilder::single_branch(ValueId x) {
  if (d_.has_network(block_)) return add_network(x, pre_norm(x, WeightRole::kFeedForwardNorm));
  return add_mixer(x, pre_norm(x, WeightRole::kAttentionNorm));
}

ValueId GraphBuilder::both_branches(ValueId x) {
  const ValueId rows = pre_norm(x, WeightRole::kAttentionNorm);
  ValueId sum = add_mixer(x, rows);
  if (d_.bypass_rank != 0) sum = add_bypass(sum, rows);
  if (d_.shares_pre_norm) return add_network(sum, rows);
  return add_network(sum, pre_norm(d_.is_parallel ? x : sum, WeightRole::kFeedForwardNorm));
}

ValueId GraphBuilder::add_mixer(ValueId x, ValueId rows) {
  return add_branch("attention", x, WeightRole::kAttentionPostNorm, mixer(rows));
}

ValueId GraphBuilder::add_network(ValueId x, ValueId rows) {
  const auto branch = [&] {
    if (!d_.has_experts(block_)) return feed_forward(rows);
    return d_.has_network_beside ? network_and_experts(x, rows) : experts(rows, rows);
  };
  return add_branch("feed_forward", x, WeightRole::kFeedForwardPostNorm, branch());
}

ValueId GraphBuilder::block_input(ValueId x) {
  const std::size_t width = d_.block_input_width;
  const ValueId input =
      part_of("block_input/own", block_inputs_, (block_ - block_inputs_begin_) * width, width);
  const ValueId gate = product("block_input/gate", x, here(WeightRole::kBlockInputGate), false,
                               activation_of(d_.function));
  return product("block_input/output",
                 binary("block_input/gated", ir::BinaryKind::kMul, gate, input),
                 here(WeightRole::kBlockInputOutput));
}

std::vector<std::size_t> GraphBuilder::sources_before(std::size_t block) const {
  std::vector<std::size_t> sources;
  for (std::size_t reader = block; reader < whole_.blocks; ++reader) {
    const std::size_t source = whole_.key_block(reader);
    if (source < block && std::ranges::find(sources, source) == sources.end()) {
      sources.push_back(source);
    }
  }
  return sources;
}

std::size_t GraphBuilder::rows_width(std::size_t block) const {
  const std::size_t streams = block == whole_.blocks ? 1 : whole_.streams;
  std::size_t width = streams * whole_.width + (whole_.blocks - block) * whole_.block_input_width;
  for (const std::size_t source : sources_before(block)) {
    const Description d = whole_.of_block(source);
    width += d.kv_heads * (d.head_width + d.value_width);
  }
  return width;
}

ValueId GraphBuilder::take_rows(std::size_t block) {
  const ValueId rows = graph_.add_input("rows", float_type(rows_width(block)));
  if (rows_width(block) == whole_.streams * whole_.width) return rows;
  std::size_t begin = 0;
  const auto take = [&](const std::string& name, std::size_t width) {
    begin += width;
    return part_of("rows/" + name, rows, begin - width, width);
  };
  const ValueId x = take("hidden", whole_.streams * whole_.width);
  block_inputs_begin_ = block;
  const std::size_t inputs = (whole_.blocks - block) * whole_.block_input_width;
  if (inputs != 0) block_inputs_ = take("block_inputs", inputs);
  for (const std::size_t source : sources_before(block)) {
    const Description d = whole_.of_block(source);
    const std::string name = std::to_string(source);
    const ValueId keys = take("keys/" + name, d.kv_heads * d.head_width);
    seen_[source] = {keys, take("values/" + name, d.kv_heads * d.value_width)};
  }
  return x;
}

void GraphBuilder::give_rows(ValueId x, std::size_t block) {
  prefix_ = "rows/";
  std::vector<ValueId> parts = {x};
  const std::size_t width = whole_.block_input_width;
  if (width != 0 && block < whole_.blocks) {
    parts.push_back(part_of("left", block_inputs_, (block - block_inputs_begin_) * width,
                            (whole_.blocks - block) * width));
  }
  for (const std::size_t source : sources_before(block)) {
    parts.push_back(seen_.at(source).keys);
    parts.push_back(seen_.at(source).values);
  }
  graph_.add_output(parts.size() == 1 ? x : node("given", ir::Concat{lead_.size()}, parts));
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
  return started(x, true);
}

ValueId GraphBuilder::started(ValueId x, bool has_tables) {
  if (d_.block_input_width != 0) block_inputs_ = block_inputs(x, has_tables);
  return started_streams(x);
}

ValueId GraphBuilder::block_input_ids() {
  if (d_.block_input_rows == 0) return ids_;
  const auto number = [&](const std::string& name, std::size_t value) {
    return shared_constant(name, [&] {
      const auto integer = static_cast<std::int32_t>(value);
      return ir::Tensor::from<std::int32_t>({}, {&integer, 1});
    });
  };
  const ValueId is_row = binary("block_inputs/is_row", ir::BinaryKind::kLess, ids_,
                                number("block_inputs/num_rows", d_.block_input_rows));
  return node("block_inputs/ids", ir::Where{}, {is_row, ids_, number("block_inputs/first", 0)});
}

ValueId GraphBuilder::block_inputs(ValueId x, bool has_tables) {
  const auto scaled_by = [&](const std::string& name, ValueId y, double factor) {
    return binary(name + "/scaled", ir::BinaryKind::kMul, y, scalar(name + "_factor", factor));
  };
  const std::size_t width = d_.block_input_width;
  ValueId y = product("block_inputs/projection", x, {.role = WeightRole::kBlockInputProjection});
  y = scaled_by("block_inputs/projection", y, 1 / std::sqrt(static_cast<double>(d_.width)));
  y = normalized("block_inputs", heads_of("block_inputs/blocks", y, d_.blocks, width), false);
  y = binary("block_inputs/norm", ir::BinaryKind::kMul, y,
             add_weight({.role = WeightRole::kBlockInputNorm}));
  y = rows_of("block_inputs/all", y, d_.blocks * width);
  if (has_tables) {
    const ValueId rows =
        node("block_inputs/rows", ir::Gather{.axis = 0},
             {add_weight({.role = WeightRole::kBlockInputTable}), block_input_ids()});
    y = binary("block_inputs/sum", ir::BinaryKind::kAdd, y,
               scaled_by("block_inputs/table", rows, std::sqrt(static_cast<double>(width))));
  }
  return scaled_by("block_inputs/sum", y, 1 / std::sqrt(2.0));
}

}  // namespace halftone::lm
