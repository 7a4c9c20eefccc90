// SPDX-License-Identifier: Apache-2.0
// Makes the graphs of a model node by node. Private to this folder.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/tensor.h"
#include "halftone/lm/model/build.h"

namespace halftone::lm {

using ir::Shape;
using ir::ValueId;

inline ir::Dim dim(std::size_t extent) { return static_cast<ir::Dim>(extent); }

/// The function of a feed-forward network but for a square.
ir::Activation activation_of(FeedForward function);

/// What both forms of a model have in common: rows [..., width], whose leading axes are `lead`.
class GraphBuilder {
 public:
  /// @param lead  the leading extents of rows: the batch, or the batch and the tokens of a sample
  GraphBuilder(const Description& description, const Weights& weights, SharedConstants& constants,
               std::vector<ir::Dim> lead)
      : whole_(description),
        d_(description),
        weights_(weights),
        constants_(constants),
        lead_(std::move(lead)) {}
  virtual ~GraphBuilder() = default;
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  ir::Graph body();

  ir::Graph head() {
    graph_.add_output(logits());
    return std::move(graph_);
  }

  /// The rows behind the final norm in place of logits, and zeros behind these up to as many.
  ir::Graph padded_rows() {
    const ValueId rows = head_input();
    const std::size_t zeros = d_.vocabulary > d_.width ? d_.vocabulary - d_.width : 0;
    graph_.add_output(
        node("rows/padded", ir::Pad{ir::PadMode::kConstant, {0, 0}, {0, zeros}}, {rows}));
    return std::move(graph_);
  }

  ir::Graph embedding_part();

  SamplePart start_part();

  SamplePart block_part(std::size_t index);

  SamplePart head_part();

  SamplePart logits_part();

 protected:
  /// Adds "ids".
  virtual void add_ids() = 0;
  /// Adds what else tells tokens apart.
  virtual void add_tokens() = 0;
  struct KeysValues {
    ValueId keys = ir::kAbsent;
    ValueId values = ir::kAbsent;
  };
  /// Keys and values of the tokens that these see. @param own  those of these tokens
  virtual KeysValues kept(const KeysValues& own) = 0;
  /// @return [..., heads value_width]
  virtual ValueId mix(ValueId q, const KeysValues& seen) = 0;
  /// Rows through a recurrence.
  /// @param op      of ir/ops/recurrence.h, in any form
  /// @param state   the extents of a sequence's state
  /// @param inputs  those of samples
  virtual ValueId recur(const std::string& name, ir::Operator op, std::vector<ir::Dim> state,
                        std::vector<ValueId> inputs) = 0;
  /// After the outputs are set.
  virtual void finish() {}

  [[nodiscard]] ir::ValueType float_type(std::size_t width) const;
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
  ValueId scalar(const std::string& name, double value);
  /// A weight of the file as a constant: here alone weights enter graphs.
  ValueId add_weight(const WeightId& id) {
    return add_weight(weights_.at(id), has_norm_offset(id) ? d_.norm_offset : 0);
  }
  ValueId add_weight(const Weight& weight, double offset);
  [[nodiscard]] WeightId here(WeightRole role) const { return {.role = role, .block = block_}; }
  /// The graph, with the inputs of products as further outputs.
  SamplePart part_with_products();
  ValueId head_input();
  ValueId logits();
  ValueId block(std::size_t index, ValueId x);
  /// A block's mixer or its feed-forward network, and both, added to x.
  ValueId single_branch(ValueId x);
  ValueId both_branches(ValueId x);
  /// x plus what the mixer, or the feed-forward network, gives for rows with a norm.
  ValueId add_mixer(ValueId x, ValueId rows);
  ValueId add_network(ValueId x, ValueId rows);
  ValueId pre_norm(ValueId x, WeightRole role) { return d_.has_pre_norms ? norm(x, role) : x; }
  ValueId product(const std::string& name, ValueId x, const WeightId& id, bool has_bias = false,
                  ir::Activation activation = {});
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
    const LowRankChange* change = adapter_ == nullptr ? nullptr : adapter_->find(id);
    if (change != nullptr) {
      op.activation = {};
      const ValueId y = node(name + "/unchanged", std::move(op), std::move(inputs));
      return binary(name, ir::BinaryKind::kAdd, y, low_rank(name, rows, *change), activation);
    }
    const ValueId y = node(is_split ? name + "/sums" : name, std::move(op), std::move(inputs));
    products_.push_back({rows, id, y});
    return is_split ? node(name, ir::Unary{activation}, {y}) : y;
  }
  /// b (a x).
  ValueId low_rank(const std::string& name, ValueId x, const LowRankChange& change);
  /// A norm of rows.
  ValueId norm(ValueId x, WeightRole role);
  /// Over the last axis.
  ValueId normalized(const std::string& name, ValueId x, bool subtracts_mean);
  /// x plus what a branch gives, which may have a norm of its own.
  ValueId add_branch(const std::string& name, ValueId x, WeightRole post_norm, ValueId branch);

  ValueId embedding();
  /// What the first block reads beside rows of the embedding: starts their streams.
  /// @param has_tables  false: inputs of blocks are without the rows of their table
  ValueId started(ValueId x, bool has_tables);
  /// The inputs of all blocks: [..., blocks block_input_width]. @param x  embeddings
  ValueId block_inputs(ValueId x, bool has_tables);
  /// Tokens as rows of the table of blocks' inputs, which may have fewer.
  ValueId block_input_ids();
  /// What the input of the block adds to x.
  ValueId block_input(ValueId x);

  /// All streams of embeddings: [..., streams width].
  ValueId started_streams(ValueId x);
  /// Hidden rows of all streams.
  ValueId ended_streams(ValueId streams);
  /// One block on all streams.
  ValueId block_of_streams(ValueId streams);
  ValueId predicted_streams(ValueId streams);
  /// @param predicted  all streams
  /// @param worked     what the layers of the block made of the first
  /// @return [..., streams, width]
  ValueId corrected_streams(ValueId predicted, ValueId worked);
  /// Adds the input of the block to all streams but the first. @param corrected  as above
  ValueId add_to_others(ValueId corrected);
  /// How much of each stream a row has: numbers from -1 to 1, [..., streams].
  ValueId shares_of_streams(const std::string& name, ValueId x);
  /// y in the length of other rows.
  /// @param length  of these
  ValueId in_length(const std::string& name, ValueId y, ValueId length);
  ValueId length_of(const std::string& name, ValueId x) {
    const std::size_t axis = graph_.value(x).type.shape.rank() - 1;
    return node(name, ir::Reduce{.kind = ir::ReduceKind::kL2, .axes = {axis}}, {x});
  }
  /// Stream `index` of [..., streams width].
  ValueId stream(const std::string& name, ValueId streams, std::size_t index) {
    return part_of(name, streams, index * d_.width, d_.width);
  }
  /// Adds what the matrices past attention give. @param rows  that they and attention read
  ValueId add_bypass(ValueId sum, ValueId rows);

  /// Adds the input "rows" in front of a block and takes it apart: hidden rows, inputs of the
  /// remaining blocks, keys and values that they share.
  ValueId take_rows(std::size_t block);
  /// The output in front of a block, likewise.
  void give_rows(ValueId x, std::size_t block);
  /// Earlier blocks whose keys are read from a block on.
  [[nodiscard]] std::vector<std::size_t> sources_before(std::size_t block) const;
  [[nodiscard]] std::size_t rows_width(std::size_t block) const;

  /// What mixes the tokens of this block.
  ValueId mixer(ValueId x);
  ValueId convolution(ValueId x);
  ValueId scan(ValueId x);
  ValueId channel_scan(ValueId x);
  ValueId delta(ValueId x);
  /// What the input matrices of a delta rule give.
  struct DeltaInputs {
    ValueId channels;  ///< q, k and v
    ValueId gate;
    ValueId steps;
    ValueId beta;
  };
  DeltaInputs delta_inputs(ValueId x);
  /// Elements [begin, begin + count) of each group, one after the other.
  ValueId part_of_groups(const std::string& name, ValueId grouped, std::size_t begin,
                         std::size_t count);
  /// Keys of length one times a factor.
  ValueId unit_keys(const std::string& name, ValueId x, double factor);
  /// What the input matrix of a scan gives: z, x, b, c and dt.
  ValueId scan_inputs(ValueId x);
  /// What a scan gives, with its gate and its norm.
  ValueId gated_scan(ValueId y, ValueId gate);
  /// The decays of a scan: below zero.
  ValueId decays();
  /// Those of each state and channel: [states, channels].
  ValueId channel_decays();
  /// An RMS norm of each group of channels, with a gain.
  ValueId normalized_groups(ValueId x, std::size_t groups, WeightRole role);
  /// The short convolution of a block. @param x  [..., channels]
  ValueId short_convolution(ValueId x, ir::Activation activation = {});
  ValueId attention(ValueId x);
  ValueId plain_attention(ValueId x);
  /// Rows [..., heads * width] as [..., heads, width].
  ValueId heads_of(const std::string& name, ValueId x, std::size_t heads, std::size_t width);
  ValueId rows_of(const std::string& name, ValueId x, std::size_t width);
  /// Elements of the last axis.
  ValueId part_of(const std::string& name, ValueId x, std::size_t begin, std::size_t count) {
    const std::size_t axis = graph_.value(x).type.shape.rank() - 1;
    return node(name, ir::Slice{.axis = axis, .begin = begin, .count = count}, {x});
  }
  /// Queries whose last elements are rotated: [..., heads * head_width].
  ValueId latent_queries(ValueId x);
  /// RMS norms whatever those of rows are.
  ValueId latent_norm(ValueId x, WeightRole role) {
    const std::string name(to_string(role));
    return binary(name, ir::BinaryKind::kMul, normalized(name, x, false), add_weight(here(role)));
  }
  /// Keys and values as products with one row, of whose end all heads have the rotation.
  ValueId latent_attention(ValueId x);
  [[nodiscard]] ir::Attention attention_operator() const;
  /// Its node.
  /// @param inputs  queries, keys, values, and of states slots and positions
  ValueId attend(std::vector<ValueId> inputs);
  /// With an RMS norm of each head or of all heads, if the model has one.
  ValueId normalized_heads(const std::string& name, ValueId x, std::size_t heads, WeightRole role);
  ValueId rotated(const std::string& name, ValueId x, std::size_t heads);

  /// The matrices of a feed-forward network.
  struct NetworkRoles {
    WeightRole gate = WeightRole::kGate;
    WeightRole up = WeightRole::kUp;
    WeightRole down = WeightRole::kDown;
  };
  ValueId feed_forward(ValueId x) { return network("", x, {}); }
  /// A value times a number, unless it is 1.
  ValueId scaled(const std::string& name, ValueId x, double factor) {
    return factor == 1 ? x
                       : binary(name + "/scaled", ir::BinaryKind::kMul, x,
                                scalar(name + "_factor", factor));
  }
  /// What a gate's matrix gives, less the cutoff of the block, where that is above 0.
  ValueId above_cutoff(const std::string& name, ValueId gate);
  /// The function of what the gate's matrix gives.
  template <typename Multiply>
  ValueId open_gate(const std::string& name, const Multiply& multiply, ValueId x, WeightRole role) {
    const ir::Activation activation = activation_of(d_.function);
    const bool has_cutoff = d_.has_cutoff(block_);
    if (d_.gate_factor == 1 && !has_cutoff) return multiply(name + "gate", x, role, activation);
    const ValueId y =
        scaled(name + "gate", multiply(name + "gate", x, role, ir::Activation{}), d_.gate_factor);
    return node(name + "gate/open", ir::Unary{activation},
                {has_cutoff ? above_cutoff(name + "gate", y) : y});
  }
  /// A network that all rows pass through.
  ValueId network(const std::string& name, ValueId x, const NetworkRoles& roles);
  /// down(function(gate x) * (up x)), or down(function(up x)).
  /// @param multiply  gives the product of rows and the matrix of a role, of (name, rows, role,
  ///                  activation)
  template <typename Multiply>
  ValueId network(const std::string& name, ValueId x, const NetworkRoles& roles,
                  const Multiply& multiply) {
    if (d_.function == FeedForward::kClampedSwish) {
      const ValueId gate = multiply(name + "gate", x, roles.gate, ir::Activation{});
      const ValueId up = multiply(name + "up", x, roles.up, ir::Activation{});
      return multiply(name + "down", clamped_gate(name, gate, up), roles.down, ir::Activation{});
    }
    const ir::Activation activation = activation_of(d_.function);
    const auto squared = [&](ValueId y) {
      if (d_.function != FeedForward::kReluSquared) return y;
      return binary(name + "squared", ir::BinaryKind::kMul, y, y);
    };
    ValueId y = ir::kAbsent;
    if (d_.is_gated) {
      const ValueId open = squared(open_gate(name, multiply, x, roles.gate));
      y = binary(name + "gated", ir::BinaryKind::kMul, open,
                 multiply(name + "up", x, roles.up, ir::Activation{}));
    } else {
      y = squared(multiply(name + "up", x, roles.up, activation));
    }
    if (d_.has_sub_norms) y = norm(y, WeightRole::kFeedForwardSubNorm);
    return scaled(name + "down", multiply(name + "down", y, roles.down, ir::Activation{}),
                  d_.down_factor);
  }

  /// The function kClampedSwish.
  ValueId clamped_gate(const std::string& name, ValueId gate, ValueId up);

  /// Scores of experts, with others than those of the best groups far below all.
  ValueId of_best_groups(ValueId scores);
  /// The experts that rows pass through, by falling score, and their shares: both [..., k].
  struct Choice {
    ValueId experts;
    ValueId shares;
  };
  Choice choose(ValueId x);
  /// The product of rows with the matrices of the chosen experts.
  ValueId expert_product(const std::string& name, ValueId x, ValueId chosen, WeightRole role,
                         const ir::Activation& activation);
  /// The outputs of the chosen experts times their shares, added in the order of the choice; and of
  /// the expert for all rows, if there is one.
  /// @param scored  rows that scores come from
  ValueId experts(ValueId x, ValueId scored);
  /// The network and the experts of rows, each with its norms, added.
  /// @param x     without a norm
  /// @param read  with that of the network
  ValueId network_and_experts(ValueId x, ValueId read);
  /// Rows for scores: with a norm and a gain of their own.
  ValueId router_rows(ValueId x);
  /// Adds the expert for all rows.
  ValueId add_shared_expert(ValueId sum, ValueId x);

  /// A matrix, the rows that it multiplies and what it gives.
  struct Product {
    ValueId input;
    WeightId matrix;
    ValueId output;
  };

  const Description& whole_;
  Description d_;  ///< with the sizes of the block
  const Weights& weights_;
  SharedConstants& constants_;
  std::vector<ir::Dim> lead_;
  ir::Graph graph_;
  std::map<std::string, ValueId> values_;  ///< constants of this graph
  std::vector<Product> products_;
  bool is_part_ = false;
  const Adapter* adapter_ = nullptr;
  std::size_t context_ = 0;  ///< rows of the tables of angles
  ValueId ids_ = ir::kAbsent;
  ValueId positions_ = ir::kAbsent;
  std::size_t block_ = 0;
  ValueId block_inputs_ = ir::kAbsent;  ///< from block `block_inputs_begin_` on
  std::size_t block_inputs_begin_ = 0;
  std::map<std::size_t, KeysValues> seen_;  ///< of blocks that have keys
  std::string prefix_;                      ///< of the names of nodes
};

}  // namespace halftone::lm
