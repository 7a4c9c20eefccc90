// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/build.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/lm/model/graph_builder.h"

namespace halftone::lm {
namespace {

using ir::kBatch;

/// Rows of any sequences, which see what states hold of theirs.
class RowsBuilder : public GraphBuilder {
 public:
  RowsBuilder(const Description& description, const Weights& weights, SharedConstants& constants,
              const BuildOptions& options)
      : GraphBuilder(description, weights, constants, {kBatch}), options_(options) {
    context_ = options.context;
    adapter_ = options.adapter;
  }

 protected:
  void add_ids() override { ids_ = graph_.add_input("ids", integers()); }
  void add_tokens() override {
    slots_ = graph_.add_input("slots", integers());
    positions_ = graph_.add_input("positions", integers());
  }
  KeysValues kept(const KeysValues& own) override {
    const ValueId keys = appended("keys", own.keys, d_.kv_heads * d_.head_width);
    return {keys, appended("values", own.values, d_.kv_heads * d_.value_width)};
  }
  ValueId mix(ValueId q, const KeysValues& seen) override {
    return attend({q, seen.keys, seen.values, slots_, positions_});
  }
  ValueId recur(const std::string& name, ir::Operator op, std::vector<ir::Dim> state,
                std::vector<ValueId> inputs) override {
    state.insert(state.begin(), dim(options_.sequences));
    const ValueId before =
        graph_.add_input(prefix_ + name + "/state",
                         ir::dense_type(ir::ElementType::kFloat32, Shape(std::move(state))));
    inputs.insert(inputs.begin(), {before, slots_, positions_});
    *ir::recurrence_form(op) = ir::RecurrenceForm::kRows;
    const ValueId rows = node(name, op, inputs);
    *ir::recurrence_form(op) = ir::RecurrenceForm::kState;
    states_.push_back({before, node(name + "/kept", std::move(op), std::move(inputs))});
    return rows;
  }
  void finish() override {
    for (const ir::State& state : states_) graph_.tie(state.before, state.after);
  }

 private:
  static ir::ValueType integers() { return ir::dense_type(ir::ElementType::kInt32, {kBatch}); }
  ValueId appended(const std::string& name, ValueId rows, std::size_t width) {
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
  KeysValues kept(const KeysValues& own) override { return own; }
  ValueId mix(ValueId q, const KeysValues& seen) override {
    return attend({q, seen.keys, seen.values});
  }
  ValueId recur(const std::string& name, ir::Operator op, std::vector<ir::Dim> /*state*/,
                std::vector<ValueId> inputs) override {
    return node(name, std::move(op), std::move(inputs));
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
  SharedConstants own;
  SharedConstants& constants = used.constants != nullptr ? *used.constants : own;
  RowsBuilder head(description, weights, constants, used);
  return {RowsBuilder(description, weights, constants, used).body(),
          used.gives_rows ? head.padded_rows() : head.head()};
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

SamplePart build_sample_start(const Description& description, const Weights& weights,
                              std::size_t tokens) {
  check_context(description, tokens);
  SharedConstants constants;
  return SamplesBuilder(description, weights, constants, tokens).start_part();
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
