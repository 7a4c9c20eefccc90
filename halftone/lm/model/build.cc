// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/build.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/tensor.h"
#include "halftone/lm/model/rotary_tables.h"

namespace halftone::lm {
namespace {

using ir::kBatch;
using ir::Shape;
using ir::ValueId;

ir::Dim dim(std::size_t extent) { return static_cast<ir::Dim>(extent); }

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
  }
  fail(ErrorKind::kInternal, "a function of feed-forward networks without an activation");
}

/// Constants by name, which several graphs share.
using SharedConstants = std::map<std::string, std::shared_ptr<const ir::Constant>>;

/// What both forms of a model have in common: rows [..., width], whose leading axes are `lead`.
class GraphBuilder {
 public:
  /// @param lead  the leading extents of rows: the batch, or the batch and the tokens of a sample
  GraphBuilder(const Description& description, const Weights& weights, SharedConstants& constants,
               std::vector<ir::Dim> lead)
      : d_(description), weights_(weights), constants_(constants), lead_(std::move(lead)) {}
  virtual ~GraphBuilder() = default;
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  ir::Graph body() {
    add_ids();
    add_tokens();
    ValueId x = embedding();
    for (std::size_t index = 0; index < d_.blocks; ++index) x = block(index, x);
    graph_.add_output(x);
    finish();
    return std::move(graph_);
  }

  ir::Graph head() {
    graph_.add_output(logits());
    return std::move(graph_);
  }

  ir::Graph embedding_part() {
    add_ids();
    add_tokens();
    graph_.add_output(embedding());
    return std::move(graph_);
  }

  SamplePart block_part(std::size_t index) {
    is_part_ = true;
    add_tokens();
    graph_.add_output(block(index, graph_.add_input("rows", float_type(d_.width))));
    return part_with_products();
  }

  SamplePart head_part() {
    is_part_ = true;
    products_.push_back({head_input(), WeightId{.role = WeightRole::kHead}, ir::kAbsent});
    return part_with_products();
  }

  SamplePart logits_part() {
    is_part_ = true;
    graph_.add_output(logits());
    return part_with_products();
  }

 protected:
  /// Adds "ids".
  virtual void add_ids() = 0;
  /// Adds what else tells tokens apart.
  virtual void add_tokens() = 0;
  /// @return [..., heads value_width]
  virtual ValueId mix(ValueId q, ValueId k, ValueId v) = 0;
  /// After the outputs are set.
  virtual void finish() {}

  [[nodiscard]] ir::ValueType float_type(std::size_t width) const {
    std::vector<ir::Dim> dims = lead_;
    dims.push_back(dim(width));
    return ir::dense_type(ir::ElementType::kFloat32, Shape(std::move(dims)));
  }
  ValueId node(const std::string& name, ir::Operator op, std::vector<ValueId> inputs) {
    return graph_.add_node(prefix_ + name, std::move(op), std::move(inputs));
  }
  ValueId binary(const std::string& name, ir::BinaryKind kind, ValueId a, ValueId b,
                 ir::Activation activation = {}) {
    return node(name, ir::Binary{kind, activation}, {a, b});
  }
  /// A constant that graphs share. @param make  gives its tensor
  template <typename Make>
  ValueId shared_constant(const std::string& name, const Make& make) {
    const auto here = values_.find(name);
    if (here != values_.end()) return here->second;
    auto& constant = constants_[name];
    if (constant == nullptr) constant = std::make_shared<const ir::Constant>(make());
    const ValueId value = graph_.add_constant(name, constant);
    values_.emplace(name, value);
    return value;
  }
  ValueId scalar(const std::string& name, double value) {
    return shared_constant(name, [&] {
      const auto number = static_cast<float>(value);
      return ir::Tensor::from<float>({}, {&number, 1});
    });
  }
  /// A weight of the file as a constant: here alone weights enter graphs.
  ValueId add_weight(const WeightId& id) {
    const bool is_gain = is_norm(id.role) && id.part == Part::kWeight;
    return add_weight(weights_.at(id), is_gain ? d_.norm_offset : 0);
  }
  ValueId add_weight(const Weight& weight, double offset) {
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
  [[nodiscard]] WeightId here(WeightRole role) const { return {.role = role, .block = block_}; }
  /// The graph, with the inputs of products as further outputs.
  SamplePart part_with_products() {
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
  ValueId head_input() {
    prefix_ = "";
    const ValueId x = norm(graph_.add_input("rows", float_type(d_.width)), WeightRole::kFinalNorm);
    if (!d_.has_final_transform) return x;
    return product("final_transform", x, {.role = WeightRole::kFinalTransform});
  }
  ValueId logits() {
    ValueId x = product("head", head_input(), {.role = WeightRole::kHead}, d_.has_head_bias);
    if (d_.logit_factor != 1) {
      x = binary("logits/scaled", ir::BinaryKind::kMul, x, scalar("logit_factor", d_.logit_factor));
    }
    if (d_.logit_cap == 0) return x;
    const ValueId cap = scalar("logit_cap", d_.logit_cap);
    x = binary("logits/divided", ir::BinaryKind::kDiv, x, cap, {ir::ActivationKind::kTanh});
    return binary("logits", ir::BinaryKind::kMul, x, cap);
  }
  ValueId block(std::size_t index, ValueId x) {
    block_ = index;
    prefix_ = "blk." + std::to_string(index) + "/";
    const ValueId rows = pre_norm(x, WeightRole::kAttentionNorm);
    const ValueId sum = add_branch("attention", x, WeightRole::kAttentionPostNorm, attention(rows));
    const ValueId read = d_.shares_pre_norm
                             ? rows
                             : pre_norm(d_.is_parallel ? x : sum, WeightRole::kFeedForwardNorm);
    return add_branch("feed_forward", sum, WeightRole::kFeedForwardPostNorm,
                      d_.experts == 0 ? feed_forward(read) : experts(read));
  }
  ValueId pre_norm(ValueId x, WeightRole role) { return d_.has_pre_norms ? norm(x, role) : x; }
  ValueId product(const std::string& name, ValueId x, const WeightId& id, bool has_bias = false,
                  ir::Activation activation = {}) {
    std::vector<ValueId> inputs = {x, add_weight(id)};
    if (has_bias) inputs.push_back(add_weight({id.role, id.block, Part::kBias, 0}));
    return multiply(name, ir::FullyConnected{.activation = activation}, std::move(inputs), id);
  }
  /// Adds a product with a matrix. In parts its function is a node of its own.
  /// @param op      FullyConnected or ExpertProduct
  /// @param inputs  the rows come first
  template <typename Op>
  ValueId multiply(const std::string& name, Op op, std::vector<ValueId> inputs,
                   const WeightId& id) {
    const ir::Activation activation = op.activation;
    const bool is_split = is_part_ && activation != ir::Activation{};
    if (is_split) op.activation = {};
    const ValueId rows = inputs[0];
    const ValueId y = node(is_split ? name + "/sums" : name, std::move(op), std::move(inputs));
    products_.push_back({rows, id, y});
    return is_split ? node(name, ir::Unary{activation}, {y}) : y;
  }
  /// A norm of rows.
  ValueId norm(ValueId x, WeightRole role) {
    const WeightId id = role == WeightRole::kFinalNorm ? WeightId{.role = role} : here(role);
    const std::string name(to_string(role));
    ValueId y = normalized(name, x, d_.norm == Norm::kLayer);
    if (!d_.has_norm_gain) return y;
    y = binary(name, ir::BinaryKind::kMul, y, add_weight(id));
    if (!d_.biases_norms()) return y;
    return binary(name + "/biased", ir::BinaryKind::kAdd, y,
                  add_weight({id.role, id.block, Part::kBias, 0}));
  }
  /// Over the last axis.
  ValueId normalized(const std::string& name, ValueId x, bool subtracts_mean) {
    const std::size_t axis = graph_.value(x).type.shape.rank() - 1;
    return node(name + "/normalized",
                ir::Normalize{.axes = {axis},
                              .epsilon = static_cast<float>(d_.norm_epsilon),
                              .subtract_mean = subtracts_mean},
                {x});
  }
  /// x plus what a branch gives, which may have a norm of its own.
  ValueId add_branch(const std::string& name, ValueId x, WeightRole post_norm, ValueId branch) {
    if (d_.has_post_norms) branch = norm(branch, post_norm);
    if (d_.residual_factor != 1) {
      branch = binary(name + "/scaled", ir::BinaryKind::kMul, branch,
                      scalar("residual_factor", d_.residual_factor));
    }
    return binary(name + "/sum", ir::BinaryKind::kAdd, x, branch);
  }

  ValueId embedding() {
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

  ValueId attention(ValueId x) {
    const auto part = [&](const char* name, WeightRole role) {
      return product(name, x, here(role), d_.has_qkv_bias);
    };
    ValueId q = part("query", WeightRole::kQuery);
    ValueId k = part("key", WeightRole::kKey);
    const ValueId v = part("value", WeightRole::kValue);
    if (d_.normalizes_rotated) {
      q = normalized_heads("query", rotated("query", q, d_.heads), d_.heads,
                           WeightRole::kQueryNorm);
      k = normalized_heads("key", rotated("key", k, d_.kv_heads), d_.kv_heads,
                           WeightRole::kKeyNorm);
    } else {
      q = rotated("query", normalized_heads("query", q, d_.heads, WeightRole::kQueryNorm),
                  d_.heads);
      k = rotated("key", normalized_heads("key", k, d_.kv_heads, WeightRole::kKeyNorm),
                  d_.kv_heads);
    }
    ValueId mixed = mix(q, k, v);
    if (d_.has_sub_norms) mixed = norm(mixed, WeightRole::kAttentionSubNorm);
    return product("attention/output", mixed, here(WeightRole::kAttentionOutput),
                   d_.has_output_bias);
  }
  [[nodiscard]] ir::Attention attention_operator() const {
    return {.heads = d_.heads,
            .kv_heads = d_.kv_heads,
            .scale = static_cast<float>(d_.score_scale),
            .softcap = static_cast<float>(d_.score_cap),
            .window = d_.is_windowed(block_) ? d_.window : 0};
  }
  /// With an RMS norm of each head or of all heads, if the model has one.
  ValueId normalized_heads(const std::string& name, ValueId x, std::size_t heads, WeightRole role) {
    if (!d_.normalizes_heads) return x;
    const auto norm_of = [&](ValueId values) {
      const std::string norm_name(to_string(role));
      return binary(norm_name, ir::BinaryKind::kMul, normalized(norm_name, values, false),
                    add_weight(here(role)));
    };
    if (d_.normalizes_together) return norm_of(x);
    const Shape rows = graph_.value(x).type.shape;
    std::vector<ir::Dim> dims = lead_;
    dims.push_back(dim(heads));
    dims.push_back(dim(d_.head_width));
    x = node(name + "/heads", ir::Reshape{Shape(std::move(dims))}, {x});
    return node(name + "/rows", ir::Reshape{rows}, {norm_of(x)});
  }
  ValueId rotated(const std::string& name, ValueId x, std::size_t heads) {
    if (!d_.is_rotated(block_)) return x;
    const bool is_windowed = d_.is_windowed(block_);
    const RotaryAngles& angles = is_windowed ? d_.window_rotary : d_.rotary;
    // Blocks with a window have tables of their own only if they differ.
    const std::string table = is_windowed && d_.window_rotary != d_.rotary ? "window_" : "";
    const auto rows = [&](const char* function, ir::Tensor RotaryTables::*member) {
      return shared_constant(table + "rotary/" + function, [&] {
        return std::move(rotary_tables(d_, angles, context_).*member);
      });
    };
    return node(name + "/rotated",
                ir::Rotary{.heads = heads, .dims = d_.rotary_dims, .pairing = d_.pairing},
                {x, positions_, rows("cos", &RotaryTables::cos), rows("sin", &RotaryTables::sin)});
  }

  /// The matrices of a feed-forward network.
  struct NetworkRoles {
    WeightRole gate = WeightRole::kGate;
    WeightRole up = WeightRole::kUp;
    WeightRole down = WeightRole::kDown;
  };
  ValueId feed_forward(ValueId x) { return network("", x, {}); }
  /// A network that all rows pass through.
  ValueId network(const std::string& name, ValueId x, const NetworkRoles& roles) {
    return network(name, x, roles,
                   [&](const std::string& part, ValueId rows, WeightRole role,
                       const ir::Activation& activation) {
                     return product(part, rows, here(role), d_.has_ffn_bias, activation);
                   });
  }
  /// down(function(gate x) * (up x)), or down(function(up x)).
  /// @param multiply  gives the product of rows and the matrix of a role, of (name, rows, role,
  ///                  activation)
  template <typename Multiply>
  ValueId network(const std::string& name, ValueId x, const NetworkRoles& roles,
                  const Multiply& multiply) {
    const ir::Activation activation = activation_of(d_.function);
    const auto squared = [&](ValueId y) {
      if (d_.function != FeedForward::kReluSquared) return y;
      return binary(name + "squared", ir::BinaryKind::kMul, y, y);
    };
    ValueId y = ir::kAbsent;
    if (d_.is_gated) {
      const ValueId open = squared(multiply(name + "gate", x, roles.gate, activation));
      y = binary(name + "gated", ir::BinaryKind::kMul, open,
                 multiply(name + "up", x, roles.up, ir::Activation{}));
    } else {
      y = squared(multiply(name + "up", x, roles.up, activation));
    }
    if (d_.has_sub_norms) y = norm(y, WeightRole::kFeedForwardSubNorm);
    return multiply(name + "down", y, roles.down, ir::Activation{});
  }

  /// The experts that rows pass through, by falling score, and their shares: both [..., k].
  struct Choice {
    ValueId experts;
    ValueId shares;
  };
  Choice choose(ValueId x) {
    const std::size_t axis = lead_.size();
    const ir::Softmax softmax{.axis = axis};
    const ValueId scores = product("router", x, here(WeightRole::kRouter));
    const ValueId all =
        d_.softmax_after_choice ? scores : node("router/softmax", softmax, {scores});
    const ValueId chosen =
        node("router/chosen", ir::TopK{.axis = axis, .k = d_.active_experts}, {all});
    ValueId shares = node("router/best", ir::GatherElements{.axis = axis}, {all, chosen});
    if (d_.softmax_after_choice) shares = node("router/softmax", softmax, {shares});
    if (d_.renormalizes) {
      const ValueId sum =
          node("router/sum", ir::Reduce{.kind = ir::ReduceKind::kSum, .axes = {axis}}, {shares});
      shares = binary("router/shares", ir::BinaryKind::kDiv, shares, sum);
    }
    return {chosen, shares};
  }
  /// The outputs of the chosen experts times their shares, added in the order of the choice; and of
  /// the expert for all rows, if there is one.
  ValueId experts(ValueId x) {
    const Choice choice = choose(x);
    const ValueId y = network(
        "experts/", x, {WeightRole::kExpertGate, WeightRole::kExpertUp, WeightRole::kExpertDown},
        [&](const std::string& name, ValueId rows, WeightRole role,
            const ir::Activation& activation) {
          return multiply(name, ir::ExpertProduct{.activation = activation},
                          {rows, add_weight(weights_.experts(role, block_), 0), choice.experts},
                          here(role));
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
  /// Adds the expert for all rows.
  ValueId add_shared_expert(ValueId sum, ValueId x) {
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

  /// A matrix, the rows that it multiplies and what it gives.
  struct Product {
    ValueId input;
    WeightId matrix;
    ValueId output;
  };

  const Description& d_;
  const Weights& weights_;
  SharedConstants& constants_;
  std::vector<ir::Dim> lead_;
  ir::Graph graph_;
  std::map<std::string, ValueId> values_;  ///< constants of this graph
  std::vector<Product> products_;
  bool is_part_ = false;
  std::size_t context_ = 0;  ///< rows of the tables of angles
  ValueId ids_ = ir::kAbsent;
  ValueId positions_ = ir::kAbsent;
  std::size_t block_ = 0;
  std::string prefix_;  ///< of the names of nodes
};

/// Rows of any sequences, which see what states hold of theirs.
class RowsBuilder : public GraphBuilder {
 public:
  RowsBuilder(const Description& description, const Weights& weights, SharedConstants& constants,
              const BuildOptions& options)
      : GraphBuilder(description, weights, constants, {kBatch}), options_(options) {
    context_ = options.context;
  }

 protected:
  void add_ids() override { ids_ = graph_.add_input("ids", integers()); }
  void add_tokens() override {
    slots_ = graph_.add_input("slots", integers());
    positions_ = graph_.add_input("positions", integers());
  }
  ValueId mix(ValueId q, ValueId k, ValueId v) override {
    const ValueId keys = kept("keys", k, d_.kv_heads * d_.head_width);
    const ValueId values = kept("values", v, d_.kv_heads * d_.value_width);
    return node("attention", attention_operator(), {q, keys, values, slots_, positions_});
  }
  void finish() override {
    for (const ir::State& state : states_) graph_.tie(state.before, state.after);
  }

 private:
  static ir::ValueType integers() { return ir::dense_type(ir::ElementType::kInt32, {kBatch}); }
  ValueId kept(const std::string& name, ValueId rows, std::size_t width) {
    const ir::State state{
        graph_.add_input(prefix_ + name,
                         ir::dense_type(ir::ElementType::kFloat32,
                                        {dim(options_.sequences), dim(context_), dim(width)})),
        ir::kAbsent};
    states_.push_back(state);
    states_.back().after = node(name + "/appended", ir::AppendRows{options_.cache, d_.kv_heads},
                                {state.before, rows, slots_, positions_});
    return states_.back().after;
  }

  BuildOptions options_;
  ValueId slots_ = ir::kAbsent;
  std::vector<ir::State> states_;
};

/// Whole samples.
class SamplesBuilder : public GraphBuilder {
 public:
  SamplesBuilder(const Description& description, const Weights& weights, SharedConstants& constants,
                 std::size_t tokens)
      : GraphBuilder(description, weights, constants, {kBatch, dim(tokens)}) {
    context_ = tokens;
  }

 protected:
  void add_ids() override {
    ids_ =
        graph_.add_input("ids", ir::dense_type(ir::ElementType::kInt32, {kBatch, dim(context_)}));
  }
  void add_tokens() override {
    positions_ = shared_constant("positions", [&] {
      ir::Tensor positions(ir::ElementType::kInt32, {dim(context_)});
      std::int32_t next = 0;
      for (std::int32_t& position : positions.as<std::int32_t>()) position = next++;
      return positions;
    });
  }
  ValueId mix(ValueId q, ValueId k, ValueId v) override {
    return node("attention", attention_operator(), {q, k, v});
  }
};

/// Rotary positions go on for ever; learned ones end with their table.
void check_context(const Description& d, std::size_t context) {
  const std::size_t max = d.positions == Positions::kLearned ? d.context : std::size_t{1} << 31;
  if (context >= 1 && context <= max) return;
  fail(ErrorKind::kUsage, "context: expected 1 to " + std::to_string(max) + " tokens, found " +
                              std::to_string(context));
}

}  // namespace

DecoderGraphs build_decoder(const Description& description, const Weights& weights,
                            const BuildOptions& options) {
  BuildOptions used = options;
  if (used.context == 0) used.context = description.context;
  check_context(description, used.context);
  if (used.sequences == 0) fail(ErrorKind::kUsage, "sequences: expected 1 or more, found 0");
  SharedConstants constants;
  return {RowsBuilder(description, weights, constants, used).body(),
          RowsBuilder(description, weights, constants, used).head()};
}

DecoderGraphs build_samples(const Description& description, const Weights& weights,
                            std::size_t tokens) {
  check_context(description, tokens);
  SharedConstants constants;
  return {SamplesBuilder(description, weights, constants, tokens).body(),
          SamplesBuilder(description, weights, constants, tokens).head()};
}

ir::Graph build_sample_embedding(const Description& description, const Weights& weights,
                                 std::size_t tokens) {
  check_context(description, tokens);
  SharedConstants constants;
  return SamplesBuilder(description, weights, constants, tokens).embedding_part();
}

SamplePart build_sample_block(const Description& description, const Weights& weights,
                              std::size_t tokens, std::size_t block) {
  check_context(description, tokens);
  SharedConstants constants;
  return SamplesBuilder(description, weights, constants, tokens).block_part(block);
}

SamplePart build_sample_head(const Description& description, const Weights& weights,
                             std::size_t tokens) {
  SharedConstants constants;
  return SamplesBuilder(description, weights, constants, tokens).head_part();
}

SamplePart build_sample_logits(const Description& description, const Weights& weights,
                               std::size_t tokens) {
  SharedConstants constants;
  return SamplesBuilder(description, weights, constants, tokens).logits_part();
}

}  // namespace halftone::lm
