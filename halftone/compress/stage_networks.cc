// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/stage_networks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "halftone/data/function_source.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/extents_of.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {
namespace {

using ir::ValueId;

constexpr std::size_t kMaxStageRuns = 1024;
constexpr std::size_t kMaxStageBytes = std::size_t{512} << 20;

/// The part of the data that a run is of, as a number that no network computes.
const std::string kPart = ir::kComputedMark + std::string("part");

/// What a run of the network hands its later stages.
struct Run {
  std::vector<ir::Tensor> values;  ///< float32; as many as what was asked for
  ir::Sizes numbers;               ///< of all computed extents; of kPart, from 1 on

  [[nodiscard]] std::size_t num_bytes() const {
    std::size_t bytes = 0;
    for (const ir::Tensor& value : values) bytes += value.bytes().size();
    return bytes;
  }
};

/// Runs a network on samples, one by one.
class Recorder {
 public:
  /// @param values  of the network
  Recorder(const ir::Graph& graph, const std::vector<ValueId>& values, const data::Dataset& data,
           const Resize& resize)
      : data_(data.with_gaps()),
        definitions_(graph.definitions().begin(), graph.definitions().end()),
        num_values_(values.size()) {
    std::vector<ValueId> outputs = values;
    for (const ir::Definition& each : definitions_) outputs.push_back(each.value);
    ir::Graph whole = graph;
    whole.set_outputs(std::move(outputs));
    whole.remove_unused_nodes();
    std::vector<runtime::StreamPart> parts = stream_parts(data_, whole, resize);
    for (runtime::StreamPart& part : parts) {
      if (!part.fixed_batch) ir::fill_in_batch(part.graph, 1);
      part.fixed_batch = part.fixed_batch.value_or(1);
    }
    stream_.emplace(std::move(parts), runtime::StreamOptions{
                                          .batch = 1,
                                          .devices = spmd::Devices::for_threads(),
                                          .execution = {.float_order = runtime::FloatOrder::kFixed},
                                          .whole_runs = true});
  }

  [[nodiscard]] std::shared_ptr<const std::vector<Run>> runs() const {
    std::vector<Run> found(1);
    visit(found, 0);
    const std::size_t most = kMaxStageBytes / std::max<std::size_t>(found.front().num_bytes(), 1);
    found.resize(std::min({stream_->num_batches(), kMaxStageRuns, std::max<std::size_t>(most, 1)}));
    visit(found, 1);
    return std::make_shared<const std::vector<Run>>(std::move(found));
  }

 private:
  /// Fills in the runs from one on.
  void visit(std::vector<Run>& runs, std::size_t first) const {
    stream_->visit(
        [&](std::size_t batch) { return first <= batch && batch < runs.size(); },
        [&](std::size_t batch, runtime::Batch found) { runs[batch] = run_of(std::move(found)); });
  }

  [[nodiscard]] Run run_of(runtime::Batch batch) const {
    Run run;
    for (std::size_t i = 0; i < num_values_; ++i) {
      run.values.push_back(batch.outputs[i].cast(ir::ElementType::kFloat32));
    }
    for (std::size_t d = 0; d < definitions_.size(); ++d) {
      run.numbers[definitions_[d].symbol] = batch.outputs[num_values_ + d].as<std::int64_t>()[0];
    }
    run.numbers[kPart] = static_cast<ir::Dim>(batch.part + 1);
    return run;
  }

  data::Dataset data_;
  std::vector<ir::Definition> definitions_;
  std::size_t num_values_;
  std::optional<runtime::Stream> stream_;
};

/// Shared by the samples, which are views of the values.
using Runs = std::shared_ptr<const std::vector<Run>>;

/// Zeros: a number of a sample is the extent of an input that has nothing else to say.
class Zeros : public data::SampleSource {
 public:
  void read_floats(std::size_t /*first*/, std::size_t /*count*/,
                   std::span<float> dst) const override {
    std::ranges::fill(dst, 0.0F);
  }
  void read_integers(std::size_t /*first*/, std::size_t /*count*/,
                     std::span<std::int64_t> dst) const override {
    std::ranges::fill(dst, 0);
  }
};

data::DatasetInput named_input(std::string name, const ir::Shape& shape) {
  data::DatasetInput input;
  input.name = std::move(name);
  input.is_named = true;
  for (const ir::Dim extent : shape.dims()) {
    input.shape.extents.push_back(static_cast<std::size_t>(extent));
  }
  return input;
}

/// The numbers of samples of one size.
ir::Sizes numbers_of(const data::Dataset& samples) {
  ir::Sizes numbers;
  for (const data::DatasetInput& input : samples.inputs()) {
    if (!ir::is_computed(input.name)) continue;
    numbers[input.name] = static_cast<ir::Dim>(input.shape.extents[0]);
  }
  return numbers;
}

/// Gives the inputs of a graph names of their own, which are no symbols.
void name_inputs_apart(ir::Graph& graph) {
  std::set<std::string> taken;
  for (const ValueId id : graph.inputs()) {
    std::string name = graph.value(id).name;
    while (ir::is_computed(name) || !taken.insert(name).second) name = "input " + name;
    graph.rename(id, std::move(name));
  }
}

/// A later stage, and what it receives in the runs of a network.
class Receiver {
 public:
  /// @param opens   the stage for each part of the data, with a batch of 1
  /// @param values  what the runs have
  Receiver(std::vector<ir::Graph> opens, const std::vector<ValueId>& values)
      : opens_(std::move(opens)), symbols_(ir::computed_symbols(opens_.front())) {
    symbols_.insert(kPart);
    for (const ValueId id : opens_.front().inputs()) {
      const auto at = std::ranges::find(values, id) - values.begin();
      inputs_.push_back(static_cast<std::size_t>(at));
    }
    for (ir::Graph& graph : opens_) name_inputs_apart(graph);
  }

  [[nodiscard]] std::optional<data::Dataset> samples(const Runs& runs,
                                                     const std::string& name) const {
    std::vector<data::Dataset> samples;
    for (const Run& run : *runs) {
      if (receives(run)) samples.push_back(sample_of(run, runs, name));
    }
    if (samples.empty()) return std::nullopt;
    return data::Dataset::joined(name, samples, std::nullopt);
  }

  /// The stage with the numbers of samples.
  [[nodiscard]] ir::Graph sized(const data::Dataset& samples) const {
    ir::Sizes numbers = numbers_of(samples);
    ir::Graph graph = opens_.at(static_cast<std::size_t>(numbers.at(kPart) - 1));
    numbers.erase(kPart);
    ir::fill_in_extents(graph, numbers);
    return graph;
  }

 private:
  [[nodiscard]] bool receives(const Run& run) const {
    return std::ranges::all_of(symbols_,
                               [&](const auto& name) { return run.numbers.at(name) > 0; }) &&
           std::ranges::all_of(inputs_, [&](std::size_t at) { return run.values[at].size() > 0; });
  }

  [[nodiscard]] data::Dataset sample_of(const Run& run, const Runs& runs,
                                        const std::string& name) const {
    std::vector<data::DatasetInput> inputs;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ir::Graph& stage = opens_.front();
      const ir::Tensor& value = run.values[inputs_[i]];
      inputs.push_back(named_input(stage.value(stage.inputs()[i]).name, value.shape()));
      inputs.back().source = data::make_dense_source({.data = {runs, value.bytes()},
                                                      .type = data::Scalar::kFloat32,
                                                      .sample_elements = value.size(),
                                                      .stride_bytes = value.bytes().size()});
    }
    for (const std::string& symbol : symbols_) {
      inputs.push_back(named_input(symbol, {run.numbers.at(symbol)}));
      inputs.back().source = std::make_shared<const Zeros>();
    }
    return {name, 1, std::move(inputs), {}, std::nullopt};
  }

  std::vector<ir::Graph> opens_;
  std::set<std::string> symbols_;    ///< that the stage uses, and kPart
  std::vector<std::size_t> inputs_;  ///< by input: the index of the value
};

void receive(StageNetwork& stage, std::vector<ir::Graph> opens, const std::vector<ValueId>& values,
             const Runs& runs) {
  const auto receiver = std::make_shared<const Receiver>(std::move(opens), values);
  stage.data = receiver->samples(runs, "the values behind " + stage.name);
  if (!stage.data) return;
  stage.graph = receiver->sized(stage.data->parts()[0]);
  if (stage.data->parts().size() == 1) return;
  stage.resize = [receiver, from = stage.graph](const ir::Graph& graph,
                                                const data::Dataset& samples) {
    return ir::with_extents_of(graph, receiver->sized(samples), from);
  };
}

/// The stages of a network with the extents of each part of the data, and a batch of 1.
/// @return  by part, by stage
std::vector<std::vector<ir::FittedStage>> stages_by_part(const ir::Graph& graph,
                                                         const data::Dataset& data,
                                                         const Resize& resize) {
  std::vector<std::vector<ir::FittedStage>> found;
  for (const data::Dataset& part : data.parts()) {
    ir::Graph single = resize ? resize(graph, part) : graph;
    if (!ir::fixed_batch(single)) ir::fill_in_batch(single, 1);
    found.push_back(ir::fitted_stages(std::move(single)));
  }
  return found;
}

}  // namespace

std::vector<StageNetwork> stage_networks(const ir::Graph& graph, const data::Dataset& data,
                                         const Resize& resize) {
  std::vector<StageNetwork> stages;
  for (ir::FittedStage& open : ir::fitted_stages(graph)) stages.push_back({std::move(open), {}});
  stages.front().graph = stages.front().open.graph;
  stages.front().data = data;
  stages.front().resize = resize;
  if (stages.size() == 1) return stages;
  const auto by_part = stages_by_part(graph, data, resize);
  std::set<ValueId> entering;
  for (std::size_t s = 1; s < stages.size(); ++s) {
    const auto inputs = by_part.front()[s].graph.inputs();
    entering.insert(inputs.begin(), inputs.end());
  }
  const std::vector<ValueId> values(entering.begin(), entering.end());
  ir::Graph used = graph;
  used.remove_unused_nodes();
  const Runs runs = Recorder(used, values, data, resize).runs();
  for (std::size_t s = 1; s < stages.size(); ++s) {
    stages[s].name = ir::describe_definition(stages[s].open);
    std::vector<ir::Graph> opens;
    for (const auto& part : by_part) opens.push_back(part[s].graph);
    receive(stages[s], std::move(opens), values, runs);
  }
  return stages;
}

}  // namespace halftone::compress
