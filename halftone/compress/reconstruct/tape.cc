// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/tape.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::compress {
namespace {

/// Stands for an element that was not encoded.
constexpr std::uint16_t kDropped = 0xffff;

}  // namespace

Tape::Tape(const ir::Graph& graph, const std::map<ir::ValueId, std::span<const float>>& shared,
           std::span<const ir::ValueId> wanted,
           const std::map<ir::ValueId, const LearnedLevels*>& levels)
    : graph_(graph) {
  const auto want = [&](ir::ValueId id) {
    gradients_.emplace(id, std::vector<float>(data_.at(id).size(), 0));
  };
  for (const ir::ValueId id : graph.inputs()) add_value(id, shared);
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    TapeContext context{graph, node, {}, {}, {}, {}};
    bool is_wanted = levels.contains(node.output);
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent && !data_.contains(input)) add_value(input, shared);
      if (input != ir::kAbsent && std::ranges::count(wanted, input) > 0) want(input);
      const bool has_gradient = input != ir::kAbsent && gradients_.contains(input);
      is_wanted = is_wanted || has_gradient;
      context.inputs.push_back(input == ir::kAbsent ? std::span<const float>() : data_.at(input));
      context.input_gradients.push_back(has_gradient ? std::span<float>(gradients_.at(input))
                                                     : std::span<float>());
    }
    add_value(node.output, shared);
    context.output = storage_.at(node.output);
    if (is_wanted) {
      want(node.output);
      context.output_gradient = gradients_.at(node.output);
    }
    const auto encode = levels.find(node.output);
    steps_.push_back(encode == levels.end() ? make_tape_step(context)
                                            : encode_step(context, *encode->second));
    if (!is_wanted) steps_.back().backward = nullptr;
  }
}

void Tape::add_value(ir::ValueId id, const std::map<ir::ValueId, std::span<const float>>& shared) {
  if (const auto found = shared.find(id); found != shared.end()) {
    data_[id] = found->second;
    return;
  }
  std::vector<float>& storage = storage_[id];
  storage.resize(graph_.value(id).type.shape.element_count());
  if (const ir::Constant* constant = graph_.constant(id)) {
    const ir::Tensor numbers = ir::to_float(*constant);
    std::ranges::copy(numbers.as<float>(), storage.begin());
  }
  data_[id] = storage;
}

TapeStep Tape::encode_step(const TapeContext& context, const LearnedLevels& levels) {
  const std::span<const float> x = context.inputs[0];
  const std::span<float> dx = context.input_gradients[0];
  const std::span<float> y = context.output;
  const std::span<const float> dy = context.output_gradient;
  std::vector<double>& level_gradient = level_gradients_[context.node.output];
  level_gradient.assign(levels.table().size(), 0);
  const auto indices = std::make_shared<std::vector<std::uint16_t>>(x.size());
  TapeStep step;
  step.forward = [this, x, y, indices, &levels] {
    // An element is kept float where a random number of 16 bits lies below this.
    const auto bound = static_cast<std::uint64_t>(drop_.probability * 65536);
    const numerics::LevelTable& table = levels.table();
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (bound != 0) bits = i % 4 == 0 ? drop_.random.next() : bits >> 16;
      const bool drops = bound != 0 && (bits & 0xffff) < bound;
      const std::size_t index = drops ? kDropped : table.index(x[i]);
      (*indices)[i] = static_cast<std::uint16_t>(index);
      y[i] = drops ? x[i] : table.levels()[index];
    }
  };
  step.backward = [x, dx, dy, indices, &levels, &level_gradient] {
    std::ranges::fill(level_gradient, 0.0);
    const float low = levels.lowest() - levels.half_gap();
    const float high = levels.highest() + levels.half_gap();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool is_dropped = (*indices)[i] == kDropped;
      if (!is_dropped) level_gradient[(*indices)[i]] += static_cast<double>(dy[i]);
      if (!dx.empty() && (is_dropped || (x[i] > low && x[i] < high))) dx[i] += dy[i];
    }
  };
  return step;
}

std::span<float> Tape::data(ir::ValueId id) { return storage_.at(id); }

std::span<float> Tape::gradient(ir::ValueId id) { return gradients_.at(id); }

void Tape::forward(const DropOptions& drop) {
  drop_ = drop;
  for (const TapeStep& step : steps_) step.forward();
}

void Tape::backward(ir::ValueId output) {
  for (auto& [id, gradient] : gradients_) {
    if (id != output) std::ranges::fill(gradient, 0.0F);
  }
  for (std::size_t s = steps_.size(); s-- > 0;) {
    if (steps_[s].backward) steps_[s].backward();
  }
}

}  // namespace halftone::compress
