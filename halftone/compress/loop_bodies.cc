// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/loop_bodies.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/layers.h"
#include "halftone/data/function_source.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/execute/stream.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

/// Iterations that a fit looks at, runs of the network that they come from, and the memory of
/// either.
constexpr std::size_t kMaxIterations = 4096;
constexpr std::size_t kMaxBytes = std::size_t{512} << 20;
constexpr std::size_t kMaxRuns = 1024;

/// How many tensors of each of these values fit the memory; at least one.
/// @param values  of known extents
std::size_t max_kept(const ir::Graph& graph, std::span<const ValueId> values, std::size_t most) {
  std::size_t bytes = 1;
  for (const ValueId id : values) {
    const ir::ValueType& type = graph.value(id).type;
    bytes +=
        type.shape.element_count() * std::max(sizeof(float), ir::size_bytes(type.encoding.element));
  }
  return std::clamp<std::size_t>(kMaxBytes / bytes, 1, most);
}

/// A random subset of all iterations: each is as likely to be in it.
class Iterations {
 public:
  /// @param body  without the batch
  Iterations(const ir::Graph& body, std::uint64_t seed)
      : random_(seed), max_kept_(max_kept(body, body.inputs(), kMaxIterations)) {}

  void add(const std::vector<ir::Tensor>& operands) {
    const std::size_t index = seen_++;
    if (index < max_kept_) {
      kept_.emplace_back();
      keep(operands, kept_.back());
    } else if (const std::size_t at = random_.below(seen_); at < max_kept_) {
      keep(operands, kept_[at]);
    }
  }

  /// One sample for each iteration; one input for each of the body.
  [[nodiscard]] data::Dataset data(const ir::Graph& body, const std::string& name) const {
    std::vector<data::DatasetInput> inputs;
    for (std::size_t i = 0; i < body.inputs().size(); ++i) {
      const ir::Value& value = body.value(body.inputs()[i]);
      data::DatasetInput input;
      input.name = value.name;
      for (const ir::Dim extent : value.type.shape.dims()) {
        input.shape.extents.push_back(static_cast<std::size_t>(extent));
      }
      const std::size_t elements = input.shape.num_elements();
      input.source = data::make_dense_source({.data = joined(i),
                                              .type = data::Scalar::kFloat32,
                                              .sample_elements = elements,
                                              .stride_bytes = elements * sizeof(float)});
      inputs.push_back(std::move(input));
    }
    return {"iterations of " + name, kept_.size(), std::move(inputs), {}, std::nullopt};
  }

  [[nodiscard]] bool empty() const { return kept_.empty(); }

 private:
  static void keep(const std::vector<ir::Tensor>& operands, std::vector<ir::Tensor>& kept) {
    kept.clear();
    for (const ir::Tensor& operand : operands) {
      kept.push_back(operand.cast(ir::ElementType::kFloat32));
    }
  }
  [[nodiscard]] SharedBytes joined(std::size_t input) const {
    std::vector<std::byte> bytes;
    for (const std::vector<ir::Tensor>& operands : kept_) {
      bytes.insert(bytes.end(), operands[input].bytes().begin(), operands[input].bytes().end());
    }
    return own_bytes(std::move(bytes));
  }

  Random random_;
  std::size_t max_kept_;
  std::size_t seen_ = 0;
  std::vector<std::vector<ir::Tensor>> kept_;  ///< float32
};

/// The inputs of a loop in some runs of the network, without those that are absent.
std::vector<std::vector<ir::Tensor>> loop_inputs(const ir::Graph& graph, NodeId loop,
                                                 const data::Dataset& data) {
  ir::Graph before = graph;
  std::vector<ValueId> wanted;
  std::ranges::copy_if(graph.node(loop).inputs, std::back_inserter(wanted),
                       [](ValueId id) { return id != ir::kAbsent; });
  before.set_outputs(std::move(wanted));
  before.remove_unused_nodes();
  const Feed feed = make_feed(data, before);
  const runtime::Stream stream(before,
                               {.num_samples = data.size(),
                                .batch = 1,
                                .devices = spmd::Devices::emulate(1),
                                .execution = {.float_order = runtime::FloatOrder::kFixed},
                                .fixed_batch = feed.fixed_batch,
                                .batch_axes = feed.batch_axes,
                                .whole_runs = true},
                               feed.fill);
  const std::size_t most = max_kept(before, before.outputs(), kMaxRuns);
  std::vector<std::vector<ir::Tensor>> runs(std::min(stream.num_batches(), most));
  stream.visit(
      [&](std::size_t batch) { return batch < runs.size(); },
      [&](std::size_t batch, runtime::Batch values) { runs[batch] = std::move(values.outputs); });
  return runs;
}

/// Runs a loop on the inputs of each run, and keeps what its iterations read.
Iterations iterations_of(const ir::Graph& graph, NodeId id, const data::Dataset& data,
                         std::uint64_t seed) {
  const ir::Node& node = graph.node(id);
  const auto& loop = std::get<ir::Loop>(node.op);
  Iterations iterations(*loop.body, seed);
  runtime::Session session(
      runtime::make_plan(*loop.body, {.execution = {.float_order = runtime::FloatOrder::kFixed}}));
  for (const std::vector<ir::Tensor>& run : loop_inputs(graph, id, data)) {
    std::vector<const ir::Tensor*> inputs;
    auto next = run.begin();
    for (const ValueId input : node.inputs) {
      inputs.push_back(input == ir::kAbsent ? nullptr : &*next++);
    }
    ir::run_loop(loop, inputs, [&](const std::vector<ir::Tensor>& operands) {
      iterations.add(operands);
      return session.run(operands);
    });
  }
  return iterations;
}

bool is_static(const ir::Graph& graph) {
  return std::ranges::all_of(graph.topological_order(), [&](NodeId id) {
    return graph.value(graph.node(id).output).type.shape.is_static();
  });
}

/// Puts the layers of a quantized body without the batch into the body that has it.
std::shared_ptr<const ir::Graph> with_batch_again(const ir::Graph& body, QuantizedGraph& quantized,
                                                  const Recipe& recipe) {
  if (is_static(body)) return std::make_shared<const ir::Graph>(std::move(quantized.graph));
  return std::make_shared<const ir::Graph>(graft_all(with_layers(body, recipe), quantized.graph));
}

}  // namespace

LoopBodies quantize_bodies(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                           const QuantizeSettings& options) {
  LoopBodies result;
  const data::Dataset& samples = data.parts()[0];  // which have the extents of the graph
  ir::Graph single = graph;
  ir::fill_in_batch(single, 1);
  for (const NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const auto* loop = std::get_if<ir::Loop>(&node.op);
    const auto names = loop == nullptr ? std::vector<std::string>() : layer_names(*loop->body);
    if (names.empty()) continue;
    const Iterations iterations = iterations_of(single, id, samples, options.seed);
    if (iterations.empty()) {
      result.rows.warnings.push_back(ir::describe(node) + ": no sample reaches an iteration: its " +
                                     "layers stay float");
      continue;
    }
    const ir::Graph& body = *std::get<ir::Loop>(single.node(id).op).body;
    const Recipe own = recipe_for_layers(recipe, names);
    QuantizeSettings settings = options;
    settings.progress = {};
    QuantizedGraph quantized = with_context(ir::describe(node), [&] {
      return quantize(body, iterations.data(body, node.name), own, settings);
    });
    result.graphs[id] = with_batch_again(*loop->body, quantized, own);
    add_rows(result.rows, quantized);
  }
  return result;
}

}  // namespace halftone::compress
