// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/remembered_states.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/base/memory.h"
#include "halftone/compress/feed.h"
#include "halftone/data/function_source.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::compress {
namespace {

using ir::ValueId;
using Numbers = std::vector<float>;

/// A part of a graph whose inputs are all given, and whose outputs are the next states.
ir::Graph steps_of(const ir::Graph& graph) {
  ir::Graph steps = graph;
  std::vector<ValueId> after;
  for (const ir::State& state : graph.states()) after.push_back(state.after);
  steps.untie();
  steps.set_outputs(std::move(after));
  steps.remove_unused_nodes();
  return steps;
}

/// Fills an input of a session with numbers, as integers where it has these.
void write_input(runtime::Session& session, std::size_t input, std::span<const float> numbers) {
  const ir::ValueType& type = session.input_view(input).type;
  ir::Tensor floats(ir::ElementType::kFloat32, type.shape);
  std::ranges::copy(numbers, floats.as<float>().begin());
  const ir::Tensor typed = floats.cast(type.encoding.element);
  std::ranges::copy(typed.bytes(), session.input(input).begin());
}

/// Runs a network on one sample after the other.
class Walk {
 public:
  Walk(const ir::Graph& graph, const data::Dataset& data)
      : graph_(graph),
        feed_(make_feed(data, graph)),
        session_(runtime::make_plan(steps_of(graph),
                                    {.batch = 1,
                                     .execution = {.int8_activations = false,
                                                   .float_order = runtime::FloatOrder::kFixed}})) {
    for (const ir::State& state : graph.states()) {
      inputs_.push_back(static_cast<std::size_t>(std::ranges::find(graph.inputs(), state.before) -
                                                 graph.inputs().begin()));
      now_.emplace_back(graph.value(state.before).type.shape.with_batch(1).element_count());
    }
  }

  /// By state.
  [[nodiscard]] const std::vector<Numbers>& now() const { return now_; }

  void take(std::size_t sample) {
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      const auto state = static_cast<std::size_t>(std::ranges::find(inputs_, i) - inputs_.begin());
      if (state < inputs_.size()) {
        write_input(session_, i, now_[state]);
        continue;
      }
      Numbers given(session_.input_view(i).type.shape.element_count());
      feed_.fill(sample, 1, i, given);
      write_input(session_, i, given);
    }
    session_.run();
    bool is_finite = true;
    for (std::size_t s = 0; s < now_.size(); ++s) {
      const ir::Tensor after = session_.output_tensor(s).cast(ir::ElementType::kFloat32);
      std::ranges::copy(after.as<float>(), now_[s].begin());
      is_finite =
          is_finite && std::ranges::all_of(now_[s], [](float x) { return std::isfinite(x); });
    }
    if (is_finite) return;
    for (Numbers& numbers : now_) std::ranges::fill(numbers, 0.0F);
  }

 private:
  const ir::Graph& graph_;
  Feed feed_;
  runtime::Session session_;
  std::vector<std::size_t> inputs_;  ///< by state
  std::vector<Numbers> now_;
};

/// Samples of a state in memory.
data::DatasetInput input_of(const ir::Value& value, Numbers numbers, std::size_t samples) {
  data::DatasetInput input;
  const ir::Shape shape = value.type.shape.with_batch(1);
  for (const ir::Dim dim : shape.dims()) {
    input.shape.extents.push_back(static_cast<std::size_t>(dim));
  }
  const std::size_t elements = numbers.size() / samples;
  const auto memory = std::make_shared<const Numbers>(std::move(numbers));
  const std::span<const float> all = *memory;
  input.source = data::make_dense_source({.data = {memory, std::as_bytes(all)},
                                          .sample_elements = elements,
                                          .stride_bytes = elements * sizeof(float)});
  return input;
}

using Pairs = std::vector<std::optional<std::size_t>>;

/// Whether nothing was left out of the data, a run takes one sample, and no state is given.
bool may_add_states(const ir::Graph& graph, const data::Dataset& data, const Pairs& pairs) {
  const auto is_given = [&](const ir::State& state) {
    const auto at = std::ranges::find(graph.inputs(), state.before) - graph.inputs().begin();
    return pairs[static_cast<std::size_t>(at)].has_value();
  };
  return !graph.states().empty() && std::ranges::none_of(graph.states(), is_given) &&
         data.origin(data.size() - 1) == data.size() - 1 &&
         make_feed(data, graph).fixed_batch.value_or(1) == 1;
}

/// What each state is before the samples, one after another.
std::vector<Numbers> states_before(const ir::Graph& graph, const data::Dataset& data) {
  Walk walk(graph, data);
  std::vector<Numbers> kept(graph.states().size());
  for (std::size_t s = 0; s < kept.size(); ++s) {
    const std::size_t count = walk.now()[s].size() * data.size();
    require_memory(count * sizeof(float), "the states of all samples");
    kept[s].reserve(count);
  }
  for (std::size_t sample = 0; sample < data.size(); ++sample) {
    for (std::size_t s = 0; s < kept.size(); ++s) {
      kept[s].insert(kept[s].end(), walk.now()[s].begin(), walk.now()[s].end());
    }
    walk.take(sample);
  }
  return kept;
}

}  // namespace

data::Dataset with_states(const ir::Graph& graph, const data::Dataset& data) {
  const Pairs pairs = paired_inputs(data, graph);
  if (!graph.states().empty() && data.parts().size() > 1) {
    fail(ErrorKind::kUnsupported,
         data.name() + ": expected samples of one size for a network with states, found " +
             std::to_string(data.parts().size()) + " sizes");
  }
  if (!may_add_states(graph, data, pairs)) return data;
  std::vector<Numbers> kept = states_before(graph, data);
  std::vector<data::DatasetInput> inputs;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const ValueId id = graph.inputs()[i];
    const auto state = std::ranges::find(graph.states(), id, &ir::State::before);
    if (pairs[i]) {
      inputs.push_back(data.inputs()[*pairs[i]]);
    } else if (state != graph.states().end()) {
      const auto s = static_cast<std::size_t>(state - graph.states().begin());
      inputs.push_back(input_of(graph.value(id), std::move(kept[s]), data.size()));
    } else {
      continue;  // an initial state of a recurrent layer
    }
    inputs.back().name = graph.value(id).name;
    inputs.back().is_named = true;
  }
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; data.has_labels() && i < data.size(); ++i) {
    labels.push_back(data.label(i));
  }
  const data::Dataset result(data.name(), data.size(), std::move(inputs), std::move(labels), {});
  return data.has_gaps() ? result.with_gaps() : result;
}

}  // namespace halftone::compress
