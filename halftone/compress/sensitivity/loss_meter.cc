// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/loss_meter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/gradient/tape.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::compress {
namespace {

using ir::ValueId;

/// Samples per run: few, because a tape keeps all values of a run.
constexpr std::size_t kGradientBatch = 16;

/// A tree of arrays, so that batches can be added.
struct LossSums {
  spmd::Array sums;  ///< float64: weight, then losses or what else is counted

  static auto members(auto& self) { return std::tie(self.sums); }
};

std::span<const float> sample_of(const runtime::Batch& batch, std::size_t output, std::size_t i) {
  const std::span<const float> all = batch.outputs[output].as<float>();
  const std::size_t size = all.size() / batch.count;
  return all.subspan(i * size, size);
}

/// Writes the samples of a batch into the front of a tape's value; the rest becomes zero.
void copy_to(std::span<float> to, const ir::Tensor& from) {
  const ir::Tensor numbers = from.cast(ir::ElementType::kFloat32);
  const auto end = std::ranges::copy(numbers.as<float>(), to.begin()).out;
  std::fill(end, to.end(), 0.0F);
}

/// Tapes of graphs of several sizes. Lanes take one, and put it back; idle ones are kept for one
/// graph at a time, so that many sizes take no more memory than one.
class TapePool {
 public:
  using Make = std::function<std::unique_ptr<gradient::Tape>()>;

  [[nodiscard]] std::unique_ptr<gradient::Tape> take(std::size_t part, const Make& make) {
    {
      const std::scoped_lock lock(mutex_);
      keep_only(part);
      if (!idle_.empty()) {
        auto tape = std::move(idle_.back());
        idle_.pop_back();
        return tape;
      }
    }
    return make();
  }
  void put(std::size_t part, std::unique_ptr<gradient::Tape> tape) {
    const std::scoped_lock lock(mutex_);
    if (part == part_) idle_.push_back(std::move(tape));
  }

 private:
  void keep_only(std::size_t part) {
    if (part != part_) idle_.clear();
    part_ = part;
  }

  std::mutex mutex_;
  std::size_t part_ = 0;  ///< of the idle ones
  std::vector<std::unique_ptr<gradient::Tape>> idle_;
};

/// Gradients with respect to layer outputs, of one batch at a time, in a graph of one size.
class LayerGradients {
 public:
  LayerGradients(ir::Graph reference, std::span<const LayerPair> pairs, std::size_t batch)
      : graph_(std::move(reference)) {
    for (const LayerPair& pair : pairs) layers_.push_back(graph_.node(pair.original).output);
    if (!ir::fixed_batch(graph_)) ir::fill_in_batch(graph_, batch);
  }

  /// @throws Error kUnsupported if an operator has no gradient
  [[nodiscard]] std::unique_ptr<gradient::Tape> make_tape() const {
    std::vector<ValueId> wanted = layers_;
    wanted.insert(wanted.end(), graph_.inputs().begin(), graph_.inputs().end());
    return std::make_unique<gradient::Tape>(graph_, std::map<ValueId, std::span<const float>>(),
                                            wanted,
                                            std::map<ValueId, const numerics::LevelTable*>());
  }

  /// Runs a tape forward on a batch, and backward from drawn gradients of its scores.
  /// @param batch  its last outputs are the inputs of the graph
  void differentiate(gradient::Tape& tape, const OutputLoss& loss, const runtime::Batch& batch,
                     std::uint64_t seed) const {
    const std::span<const ValueId> inputs = graph_.inputs();
    const std::size_t first = batch.outputs.size() - inputs.size();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      copy_to(tape.data(inputs[i]), batch.outputs[first + i]);
    }
    tape.forward({});
    const ValueId output = graph_.outputs()[0];
    const std::span<float> gradient = tape.gradient(output);
    std::ranges::fill(gradient, 0.0F);
    for (std::size_t i = 0; i < batch.count; ++i) {
      Random random(seed + batch.first + i);
      const std::span<const float> scores = sample_of(batch, 0, i);
      loss.draw_gradient(scores, random, gradient.subspan(i * scores.size(), scores.size()));
    }
    tape.backward(output);
  }

  [[nodiscard]] const std::vector<ValueId>& layers() const { return layers_; }

 private:
  ir::Graph graph_;
  std::vector<ValueId> layers_;
};

/// The weight of the samples of a batch, then for each layer the sum of (g . e)^2.
/// @param batch  scores, then for each layer its output and that of its counterpart
std::vector<double> squared_products(gradient::Tape& tape, std::span<const ValueId> layers,
                                     const runtime::Batch& batch, const OutputLoss& loss) {
  std::vector<double> sums(1 + layers.size(), 0);
  for (std::size_t i = 0; i < batch.count; ++i) {
    const std::span<const float> scores = sample_of(batch, 0, i);
    sums[0] += loss.of(batch.first + i, scores, scores).weight;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
      const auto x = sample_of(batch, 1 + 2 * layer, i);
      const auto y = sample_of(batch, 2 + 2 * layer, i);
      const auto g = tape.gradient(layers[layer]).subspan(i * x.size(), x.size());
      double product = 0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        const double each = static_cast<double>(g[j]) * (static_cast<double>(y[j]) - x[j]);
        if (std::isfinite(each)) product += each;  // masked rows may hold anything
      }
      sums[1 + layer] += product * product;
    }
  }
  return sums;
}

}  // namespace

LossMeter::LossMeter(const ir::Graph& reference, const data::Dataset& data, LossKind kind,
                     MeterSettings settings)
    : reference_(reference),
      data_(data),
      settings_(std::move(settings)),
      parts_(stream_parts(data, reference, settings_.resize)),
      loss_(parts_.front().graph, data, kind,
            scores_per_sample(parts_.front().graph, parts_.front().fixed_batch.value_or(1),
                              "network")) {}

runtime::Stream LossMeter::stream(const ir::Graph& graph, std::size_t batch,
                                  const ProgressSink& progress) const {
  runtime::StreamOptions options;
  options.batch = batch;
  options.progress = progress;
  options.devices = settings_.devices;
  options.execution.float_order = runtime::FloatOrder::kFixed;
  const std::size_t count = reference_.inputs().size();
  std::vector<runtime::StreamPart> parts = parts_;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    runtime::StreamPart& part = parts[p];
    part.graph = settings_.resize ? settings_.resize(graph, data_.parts()[p]) : graph;
    for (std::size_t i = count; i < graph.inputs().size(); ++i) {
      part.batch_axes.push_back(part.batch_axes[i % count]);
    }
    part.fill = [this, p, count](std::size_t first, std::size_t samples, std::size_t input,
                                 std::span<float> values) {
      parts_[p].fill(first, samples, input % count, values);
    };
  }
  return {std::move(parts), std::move(options)};
}

LossAndDrop LossMeter::compare(Outputs both, bool with_drop) const {
  both.graph.set_outputs({both.reference, both.other});
  both.graph.remove_unused_nodes();
  const auto sum_batch = [&](const runtime::Batch& batch) {
    LossSum total;
    double lost = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
      const std::size_t sample = batch.first + i;
      const std::span<const float> reference = sample_of(batch, 0, i);
      const std::span<const float> scores = sample_of(batch, 1, i);
      const LossSum each = loss_.of(sample, reference, scores);
      total.loss += each.loss;
      total.weight += each.weight;
      if (with_drop) lost += loss_.answers_lost(sample, reference, scores);
    }
    return LossSums{spmd::Array::of({total.weight, total.loss, lost})};
  };
  const LossSums total = stream(both.graph, settings_.batch, {}).sum(sum_batch);
  const auto sums = total.sums.as<double>();
  return {sums[0] == 0 ? 0 : sums[1] / sums[0], sums[2] / static_cast<double>(data_.size())};
}

LossMeter::Outputs LossMeter::outputs_of(const ir::Graph& quantized,
                                         std::span<const LayerPair> pairs) const {
  TwoNetworks both = beside(reference_, quantized, pairs);
  const ValueId output = reference_.outputs()[0];
  const ValueId counterpart = both.counterpart(output);
  return {std::move(both.graph), output, counterpart};
}

LossMeter::Outputs LossMeter::outputs_of(const ir::Graph& network) const {
  ir::Graph both = reference_;
  both.append(network);
  const ValueId other = both.outputs()[reference_.outputs().size()];
  return {std::move(both), reference_.outputs()[0], other};
}

double LossMeter::loss(const ir::Graph& quantized, std::span<const LayerPair> pairs) const {
  return compare(outputs_of(quantized, pairs), false).loss;
}

double LossMeter::loss(const ir::Graph& network) const {
  return compare(outputs_of(network), false).loss;
}

LossAndDrop LossMeter::loss_and_drop(const ir::Graph& quantized,
                                     std::span<const LayerPair> pairs) const {
  return compare(outputs_of(quantized, pairs), true);
}

LossAndDrop LossMeter::loss_and_drop(const ir::Graph& network) const {
  return compare(outputs_of(network), true);
}

bool LossMeter::has_gradients(std::span<const LayerPair> pairs) const {
  const bool rounds = std::ranges::any_of(reference_.topological_order(), [&](ir::NodeId id) {
    return std::holds_alternative<ir::QuantizeLinear>(reference_.node(id).op);
  });
  if (rounds) return false;
  if (parts_.front().fixed_batch.value_or(1) > 1) {
    const auto batch = static_cast<ir::Dim>(*parts_.front().fixed_batch);
    const bool all_lead = std::ranges::all_of(pairs, [&](const LayerPair& pair) {
      const ir::Shape& shape = reference_.value(reference_.node(pair.original).output).type.shape;
      return shape.rank() > 0 && (shape[0] == batch || shape[0] == ir::kBatch);
    });
    if (!all_lead) return false;
  }
  try {
    (void)LayerGradients(reference_, pairs, 1).make_tape();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUnsupported) throw;
    return false;
  }
}

std::vector<double> LossMeter::weighted_errors(const ir::Graph& quantized,
                                               std::span<const LayerPair> pairs, std::uint64_t seed,
                                               const ProgressSink& progress) const {
  ir::Graph both = reference_;
  std::vector<ValueId> outputs = {reference_.outputs()[0]};
  for (const LayerPair& pair : pairs) {
    outputs.push_back(reference_.node(pair.original).output);
    outputs.push_back(add_beside(both, quantized, pair));
  }
  outputs.insert(outputs.end(), reference_.inputs().begin(), reference_.inputs().end());
  both.set_outputs(outputs);
  const runtime::Stream runs = stream(both, kGradientBatch, progress);
  std::vector<LayerGradients> by_part;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    by_part.emplace_back(parts_[p].graph, pairs, runs.batch_size(p));
  }
  TapePool pool;
  pool.put(0, by_part.front().make_tape());  // which throws before any run
  const auto sum_batch = [&](const runtime::Batch& batch) {
    const LayerGradients& gradients = by_part[batch.part];
    auto tape = pool.take(batch.part, [&] { return gradients.make_tape(); });
    gradients.differentiate(*tape, loss_, batch, seed);
    const std::vector<double> sums = squared_products(*tape, gradients.layers(), batch, loss_);
    pool.put(batch.part, std::move(tape));
    return LossSums{spmd::Array::from<double>({static_cast<std::int64_t>(sums.size())}, sums)};
  };
  const LossSums total = runs.sum(sum_batch);
  const auto sums = total.sums.as<double>();
  std::vector<double> result;
  for (std::size_t i = 1; i < sums.size(); ++i) {
    result.push_back(sums[0] == 0 ? 0 : loss_.curvature() * sums[i] / sums[0]);
  }
  return result;
}

}  // namespace halftone::compress
