// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layer_errors.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/calibration.h"
#include "halftone/compress/screened_data.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

/// Samples per run, so that some values fit in some memory.
std::size_t samples_per_run(const ir::Graph& graph, std::span<const NodeId> layers,
                            std::span<const ValueId> values, std::uint64_t run_bytes) {
  std::uint64_t sample_bytes = 1;
  for (const ValueId id : values) {
    sample_bytes += graph.value(id).type.shape.with_batch(1).element_count() * sizeof(float);
  }
  const std::uint64_t fitting = std::max<std::uint64_t>(run_bytes / sample_bytes, 1);
  return std::min<std::uint64_t>(calibration_batch(graph, layers), fitting);
}

/// Whether two types are the same but for a batch that is fixed in one of them.
bool same_but_for_batch(const ir::ValueType& a, const ir::ValueType& b) {
  return a.encoding == b.encoding &&
         std::ranges::equal(a.shape.dims(), b.shape.dims(), [](ir::Dim x, ir::Dim y) {
           return x == y || ir::is_open(x) || ir::is_open(y);
         });
}

/// Adds a copy of a network that reads the same inputs to a graph that contains the reference.
class Joined {
 public:
  Joined(ir::Graph& graph, const ir::Graph& quantized) : graph_(graph) {
    share_inputs(quantized);
    for (const NodeId id : quantized.topological_order()) add(quantized, quantized.node(id));
  }

  /// A value of the added network.
  [[nodiscard]] ValueId at(ValueId id) const { return values_.at(id); }

 private:
  void share_inputs(const ir::Graph& quantized) {
    const auto expected = graph_.inputs();
    const auto found = quantized.inputs();
    if (expected.size() != found.size()) {
      fail(ErrorKind::kShape, "inputs do not match: expected " + std::to_string(expected.size()) +
                                  " as in the reference, found " + std::to_string(found.size()));
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      const ir::Value& theirs = graph_.value(expected[i]);
      const ir::Value& own = quantized.value(found[i]);
      if (!same_but_for_batch(theirs.type, own.type)) {
        fail(ErrorKind::kShape, "inputs do not match: expected '" + theirs.name + "' of " +
                                    theirs.type.to_string() + " as in the reference, found '" +
                                    own.name + "' of " + own.type.to_string());
      }
      values_[found[i]] = expected[i];
    }
  }

  void add(const ir::Graph& quantized, const ir::Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.inputs) {
      inputs.push_back(id == ir::kAbsent ? id : value_of(quantized, id));
    }
    values_[node.output] =
        graph_.add_node(node.name, node.op, std::move(inputs), quantized.value(node.output).name);
  }

  ValueId value_of(const ir::Graph& quantized, ValueId id) {
    const ir::Value& value = quantized.value(id);
    if (value.constant != nullptr && !values_.contains(id)) {
      values_[id] = graph_.add_constant(value.name, value.constant);
    }
    return values_.at(id);
  }

  ir::Graph& graph_;
  std::map<ValueId, ValueId> values_;  ///< by value of the added network
};

void check_outputs(const ir::Graph& graph, const ValuePair& pair) {
  const ir::Value& expected = graph.value(pair.original);
  const ir::Value& found = graph.value(pair.actual);
  if (expected.type == found.type) return;
  fail(ErrorKind::kShape, "layer outputs do not match: expected '" + expected.name + "' of " +
                              expected.type.to_string() + " as in the reference, found '" +
                              found.name + "' of " + found.type.to_string());
}

/// Layer outputs of the reference, each beside one of a quantized layer.
class OutputPairs {
 public:
  explicit OutputPairs(const ir::Graph& reference) : reference_(reference), graph_(reference) {}

  void add_alone(const ir::Graph& quantized, std::span<const LayerPair> pairs) {
    for (const LayerPair& pair : pairs) add(pair, add_beside(graph_, quantized, pair));
  }

  void add_in_order(const ir::Graph& quantized, std::span<const LayerPair> pairs) {
    const Joined joined(graph_, quantized);
    for (const LayerPair& pair : pairs) {
      add(pair, joined.at(quantized.node(pair.quantized).output));
    }
  }

  /// Of all that were added, in this order.
  [[nodiscard]] std::vector<numerics::Distortion> distortions(
      const data::Dataset& data, const LayerErrorOptions& options) const {
    if (outputs_.empty()) return {};
    std::vector<ValueId> values;
    for (const ValuePair& pair : outputs_) {
      values.insert(values.end(), {pair.original, pair.actual});
    }
    const data::Dataset samples =
        with_masked_gaps(reference_, data, options.devices, options.resize);
    const Calibration calibration(samples,
                                  samples_per_run(graph_, layers_, values, options.run_bytes),
                                  options.devices, std::nullopt, options.resize);
    return calibration.distortions(graph_, outputs_, options.progress);
  }

 private:
  void add(const LayerPair& pair, ValueId actual) {
    layers_.push_back(pair.original);
    outputs_.push_back({reference_.node(pair.original).output, actual});
    check_outputs(graph_, outputs_.back());
  }

  const ir::Graph& reference_;
  ir::Graph graph_;  ///< the reference and what was added
  std::vector<NodeId> layers_;
  std::vector<ValuePair> outputs_;
};

}  // namespace

std::vector<numerics::Distortion> distortions_alone(const ir::Graph& reference,
                                                    const ir::Graph& quantized,
                                                    std::span<const LayerPair> pairs,
                                                    const data::Dataset& data,
                                                    const LayerErrorOptions& options) {
  OutputPairs outputs(reference);
  outputs.add_alone(quantized, pairs);
  return outputs.distortions(data, options);
}

std::vector<numerics::Distortion> distortions_in_order(const ir::Graph& reference,
                                                       const ir::Graph& quantized,
                                                       std::span<const LayerPair> pairs,
                                                       const data::Dataset& data,
                                                       const LayerErrorOptions& options) {
  OutputPairs outputs(reference);
  outputs.add_in_order(quantized, pairs);
  return outputs.distortions(data, options);
}

std::vector<LayerError> layer_errors(const ir::Graph& reference, const ir::Graph& quantized,
                                     std::span<const LayerPair> pairs, const data::Dataset& data,
                                     const LayerErrorOptions& options) {
  OutputPairs outputs(reference);
  outputs.add_in_order(quantized, pairs);
  outputs.add_alone(quantized, pairs);
  const std::vector<numerics::Distortion> found = outputs.distortions(data, options);
  std::vector<LayerError> errors;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    errors.push_back({found[i].sqnr_db(), found[pairs.size() + i].sqnr_db()});
  }
  return errors;
}

std::optional<ValueId> layer_input(const ir::Graph& graph, const ir::Node& layer) {
  std::optional<ValueId> found;
  ValueId input = layer.inputs[ir::is_table(layer.op) ? 1 : 0];
  while (graph.constant(input) == nullptr) {
    if (graph.value(input).type.is_dense(ir::ElementType::kFloat32)) found = input;
    const auto producer = graph.producer(input);
    if (!producer) break;
    const ir::Node& node = graph.node(*producer);
    const bool rounds = ir::traits_of(node.op).pattern == ir::Pattern::kConvert ||
                        std::holds_alternative<ir::FakeQuantize>(node.op);
    if (!rounds) break;
    input = node.inputs[0];
  }
  return found;
}

std::vector<Histogram> value_histograms(const ir::Graph& graph, std::span<const ValueId> values,
                                        const data::Dataset& data,
                                        const LayerErrorOptions& options) {
  if (values.empty()) return {};
  // Samples run one by one where the first extent of a value is not the batch.
  const data::Dataset samples = with_masked_gaps(graph, data, options.devices, options.resize);
  const Calibration calibration(samples, samples_per_run(graph, {}, values, options.run_bytes),
                                options.devices, std::nullopt, options.resize);
  constexpr double kMomentum = 0.9;  // of averages that nobody reads here
  std::vector<Histogram> histograms;
  for (ValueStatistics& found : calibration.ranges(graph, values, kMomentum, options.progress)) {
    histograms.push_back(std::move(found.values));
  }
  return histograms;
}

}  // namespace halftone::compress
