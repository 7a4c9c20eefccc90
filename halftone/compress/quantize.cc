// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/quantize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/calibration.h"
#include "halftone/compress/fit/blas.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/reconstruct/block.h"
#include "halftone/compress/reconstruct/reconstruct.h"
#include "halftone/ir/verify.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

/// The job as stages of equal length, so that each reports its share of the whole.
class Stages {
 public:
  Stages(const ProgressSink& sink, std::size_t count) : sink_(sink), count_(count) {}

  /// A sink for the next stage, which maps its own [0, 1] into the stage's share.
  ProgressSink next(std::string activity) {
    const std::size_t stage = std::min(done_++, count_ - 1);
    if (!sink_) return {};
    return [this, stage, activity = std::move(activity)](double fraction, std::string_view) {
      sink_((static_cast<double>(stage) + fraction) / static_cast<double>(count_), activity);
    };
  }

 private:
  const ProgressSink& sink_;
  std::size_t count_;
  std::size_t done_ = 0;
};

void check_weights(MatrixView<const float> weights, const ir::Node& node) {
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    if (!std::ranges::all_of(weights.row(r), [](float w) { return std::isfinite(w); })) {
      fail(ErrorKind::kFormat, describe(node) + ": output " + std::to_string(r) +
                                   " has a weight that is NaN or infinite");
    }
  }
}

/// No levels can be fitted to one number, and nothing that is learned behind it would hold for
/// other data.
void check_varies(const ValueSample& sample, const ir::Node& layer, const std::string& value) {
  const std::span<const float> numbers = sample.actual();
  if (numbers.empty() ||
      std::ranges::any_of(numbers, [&](float x) { return x != numbers.front(); })) {
    return;
  }
  std::ostringstream number;
  number << numbers.front();
  fail(ErrorKind::kUnsupported,
       describe(layer) + ": value '" + value + "', which is to be encoded, is " + number.str() +
           " in all " + std::to_string(numbers.size()) +
           " places sampled from the calibration data: use other data, or keep the layer's "
           "activations float (activation_bits = \"none\" in a recipe)");
}

/// Runs a fit; numbers that no basis can hold are the network's fault.
template <typename Fit>
auto fitted(const ir::Node& node, Fit&& fit) {
  try {
    return fit();
  } catch (const Error& error) {
    fail(ErrorKind::kFormat, describe(node) + ": cannot be fitted: " + error.what());
  }
}

/// The float network and, growing beside it in the same graph, its quantized twin.
class Quantizer {
 public:
  Quantizer(const ir::Graph& graph, const formats::Dataset& data, const Recipe& recipe,
            const QuantizeOptions& options)
      : graph_(graph),
        layers_(quantizable_layers(graph)),
        outputs_(graph.outputs().begin(), graph.outputs().end()),
        calibration_(data),
        recipe_(recipe),
        options_(options),
        blocks_(reconstructs() ? layer_blocks(graph, layers_) : std::vector<BlockSpan>()),
        stages_(options_.progress, 3 * layers_.size() + blocks_.size() + 1) {}

  QuantizeResult run() {
    check_layers();
    const bool phases = recipe_.fit.schedule == Schedule::kPhases;
    build_twin(/*activations=*/!phases);
    if (phases) encode_afterwards();
    return finish();
  }

 private:
  void check_layers() const {
    if (layers_.empty()) {
      fail(ErrorKind::kUnsupported,
           "no layer to quantize: expected FullyConnected, Conv, ConvTranspose or Recurrent layers "
           "with constant float weights");
    }
    std::vector<std::string> names;
    for (const NodeId id : layers_) names.push_back(graph_.node(id).name);
    recipe_.check_patterns(names);
  }

  [[nodiscard]] ValueId twin(ValueId id) const {
    const auto found = twins_.find(id);
    return found == twins_.end() ? id : found->second;
  }

  /// Gives every node that depends on a quantized layer, and those layers, a twin.
  void build_twin(bool activations) {
    for (const NodeId id : graph_.topological_order()) {
      if (std::ranges::count(layers_, id) > 0) {
        const LayerRecipe recipe = recipe_.for_layer(graph_.node(id).name);
        if (std::holds_alternative<ir::Recurrent>(graph_.node(id).op)) {
          twin_recurrent(id, recipe);
        } else {
          twin_layer(id, recipe, activations);
        }
        block_layers_.push_back(id);
      } else {
        twin_node(id);
      }
      const auto block = std::ranges::find(blocks_, graph_.node(id).output, &BlockSpan::to);
      if (activations && block != blocks_.end()) end_block(*block);
    }
  }

  [[nodiscard]] bool reconstructs() const { return recipe_.fit.reconstruct.steps > 0; }

  /// All layers of a block have their twins: they are refined together.
  void end_block(BlockSpan block) {
    const std::vector<NodeId> layers = std::exchange(block_layers_, {});
    const auto [begin, end] = block;
    if (twin(end) == end) return;
    std::vector<ReconstructLayer> learners;
    for (const NodeId id : layers) {
      const auto found = twin_layers_.find(id);
      if (found == twin_layers_.end()) continue;
      const LayerRecipe recipe = recipe_.for_layer(graph_.node(id).name);
      learners.push_back({found->second, graph_.node(id).inputs[1],
                          recipe.weights ? recipe.weights->scheme : Scheme::kBasis,
                          recipe.activations ? recipe.activations->scheme : Scheme::kBasis});
    }
    const ReconstructOptions& options = recipe_.fit.reconstruct;
    const std::string name = graph_.node(layers.back()).name;
    // The float block's output is the target, the quantized network's value the input.
    const ProgressSink collecting = stages_.next("block of " + name);
    ReconstructData data;
    data.samples = std::min(calibration_.num_samples(), options.samples);
    data.input = std::move(calibration_.collect(graph_, {begin, twin(begin)}, data.samples, {})[1]);
    data.target = std::move(calibration_.collect(graph_, {end, end}, data.samples, {})[0]);
    reconstruct(graph_, twin(begin), twin(end), learners, data, options, options_.seed, collecting);
  }

  void twin_node(NodeId id) {
    const ir::Node node = graph_.node(id);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (input != ir::kAbsent) input = twin(input);
    }
    if (inputs == node.inputs) return;
    twins_[node.output] =
        graph_.add_node(node.name, node.op, inputs, graph_.value(node.output).name);
  }

  /// @param activations  whether its input is encoded now, or later
  void twin_layer(NodeId id, const LayerRecipe& recipe, bool activations) {
    const ir::Node node = graph_.node(id);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = twin(inputs[0]);
    if (activations && recipe.activations) {
      inputs[0] = encoded(node.inputs[0], inputs[0], *recipe.activations, node);
    }
    if (recipe.weights) quantize_weights(id, inputs, *recipe.weights);
    if (inputs == node.inputs && !recipe.activations) return;
    twins_[node.output] =
        graph_.add_node(node.name, node.op, inputs, graph_.value(node.output).name);
    twin_layers_[id] = *graph_.producer(twins_[node.output]);
  }

  /// The state of a recurrent layer at every step, without the cells beside it.
  ValueId states(ValueId output, const ir::Recurrent& op) {
    if (!op.with_cell) return output;
    const ir::Shape& shape = graph_.value(output).type.shape;
    const auto hidden = static_cast<std::size_t>(shape.back()) / 2;
    return graph_.add_node("states", ir::Slice{shape.rank() - 1, 0, 1, hidden}, {output});
  }

  /// What a recurrent layer's weights multiply are its own states of the step before: they are
  /// encoded in a basis fitted to the states, and the weights are fitted to their second moments.
  /// (A GRU that resets before it multiplies sees them scaled down; that is left out of account.)
  void twin_recurrent(NodeId id, const LayerRecipe& recipe) {
    twin_node(id);
    if (!recipe.weights && !recipe.activations) return;
    const ir::Node node = graph_.node(id);
    if (twin(node.output) == node.output) {
      twins_[node.output] = graph_.add_node(node.name, node.op, node.inputs);
    }
    const NodeId twin_id = *graph_.producer(twin(node.output));
    auto op = std::get<ir::Recurrent>(node.op);
    const ValuePair pair{states(node.output, op), states(twin(node.output), op)};
    if (recipe.activations) {
      op.state_encoding = std::make_shared<const numerics::BasisEncoding>(
          fit_activation(pair, *recipe.activations, node, stages_.next("states of " + node.name)));
    }
    std::vector<ValueId> inputs = graph_.node(twin_id).inputs;
    if (recipe.weights) {
      const auto cols = static_cast<std::size_t>(graph_.value(node.inputs[1]).type.shape[1]);
      const std::vector<LayerStatistics> statistics =
          calibration_.statistics(graph_, pair, Unfolding(cols), op.state_encoding.get(),
                                  stages_.next("states of " + node.name));
      WeightFitOptions options = recipe_.fit.weights;
      options.bias_correction = false;  // the bias is not the recurrence's
      fit_layer_weights(node, inputs, *recipe.weights, statistics, options);
    }
    graph_.replace_node(twin_id, std::move(op), std::move(inputs));
    twin_layers_[id] = twin_id;
  }

  numerics::BasisEncoding fit_activation(ValuePair pair, const ActivationFormat& format,
                                         const ir::Node& layer, const ProgressSink& progress) {
    const ValueSample sample =
        calibration_.sample(graph_, pair, recipe_.fit.activation_samples, options_.seed, progress);
    check_varies(sample, layer, graph_.value(pair.actual).name);
    const ParameterSpace space(format.scheme, format.bits, format.offset);
    const BasisFitOptions& options = recipe_.fit.weights.basis;
    BasisFit fit = fit_basis(space, sample.actual(), sample.original(), {}, options);
    const bool is_counted = std::holds_alternative<ir::Conv>(layer.op) && format.bits == 2;
    if (recipe_.fit.small_ratios && is_counted && format.scheme == Scheme::kBasis) {
      fit = fit_small_ratio(fit, format.offset, sample.actual(), sample.original(), options);
    }
    numerics::BasisEncoding encoding = numerics::tensor_encoding(fit.basis);
    encoding.has_offset = space.has_offset();
    return encoding;
  }

  /// The twin of an activation, encoded; layers that share it share the codes.
  ValueId encoded(ValueId original, ValueId actual, const ActivationFormat& format,
                  const ir::Node& layer) {
    for (const auto& [key, value] : encoded_) {
      if (key.first == actual && key.second == format) return value;
    }
    const bool own_target = recipe_.fit.schedule == Schedule::kPhases;
    const ValuePair pair = own_target                      ? ValuePair{actual, actual}
                           : recipe_.fit.refit_activations ? ValuePair{original, actual}
                                                           : ValuePair{original, original};
    numerics::BasisEncoding encoding =
        fit_activation(pair, format, layer, stages_.next("activations of " + layer.name));
    const ValueId value = graph_.add_node(
        layer.name + "/encode",
        ir::Encode{std::make_shared<const numerics::BasisEncoding>(std::move(encoding))}, {actual});
    encoded_.push_back({{actual, format}, value});
    return value;
  }

  /// Replaces weights and bias among the inputs of a layer's twin.
  void quantize_weights(NodeId id, std::vector<ValueId>& inputs, const WeightFormat& format) {
    const ir::Node& node = graph_.node(id);
    const ir::Encoding& encoding = graph_.value(inputs[0]).type.encoding;
    const ValueId actual =
        encoding.is_dense() ? inputs[0] : graph_.node(*graph_.producer(inputs[0])).inputs[0];
    const std::vector<LayerStatistics> statistics =
        calibration_.statistics(graph_, {node.inputs[0], actual}, Unfolding(graph_, node),
                                encoding.basis.get(), stages_.next("inputs of " + node.name));
    WeightFitOptions options = recipe_.fit.weights;
    const bool has_bias = inputs.size() > 2 && inputs[2] != ir::kAbsent;
    // A bias that is computed cannot be corrected.
    if (has_bias && graph_.constant(inputs[2]) == nullptr) options.bias_correction = false;
    const Vector correction = fit_layer_weights(node, inputs, format, statistics, options);
    correct_bias(node, inputs, correction);
  }

  /// Replaces the weights among the inputs of a layer's twin.
  /// @return what the bias should take
  Vector fit_layer_weights(const ir::Node& node, std::vector<ValueId>& inputs,
                           const WeightFormat& format, std::span<const LayerStatistics> statistics,
                           const WeightFitOptions& options) {
    const auto& dense = std::get<ir::Tensor>(*graph_.constant(node.inputs[1]));
    const auto [rows, cols] = matrix_extent(dense.shape());
    const MatrixView<const float> weights(dense.as<float>(), rows, cols);
    check_weights(weights, node);
    const ProgressSink progress = stages_.next("fitting " + node.name);
    if (progress) progress(0, "");
    WeightFit fit =
        fitted(node, [&] { return fit_grouped_weights(weights, format, statistics, options); });
    inputs[1] = graph_.add_constant(
        graph_.value(node.inputs[1]).name,
        ir::EncodedTensor{dense.shape(),
                          std::make_shared<const numerics::BasisEncoding>(std::move(fit.encoding)),
                          std::move(fit.codes)});
    return fit.bias_correction;
  }

  void correct_bias(const ir::Node& node, std::vector<ValueId>& inputs, const Vector& correction) {
    if (correction.isZero(0)) return;
    const ir::Constant* bias = inputs.size() > 2 ? graph_.constant(inputs[2]) : nullptr;
    ir::Tensor corrected(ir::ElementType::kFloat32, ir::Shape{correction.size()});
    const auto values = corrected.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double old = bias == nullptr ? 0 : std::get<ir::Tensor>(*bias).as<float>()[i];
      values[i] = static_cast<float>(old + correction[static_cast<Eigen::Index>(i)]);
    }
    inputs.resize(3, ir::kAbsent);
    inputs[2] = graph_.add_constant(
        bias == nullptr ? node.name + "/bias" : graph_.value(node.inputs[2]).name,
        std::move(corrected));
  }

  /// Phase 2: the twin has quantized weights; now its layers' inputs are encoded, front to back.
  void encode_afterwards() {
    for (const NodeId id : layers_) {
      const LayerRecipe recipe = recipe_.for_layer(graph_.node(id).name);
      const bool is_recurrent = std::holds_alternative<ir::Recurrent>(graph_.node(id).op);
      if (!recipe.activations || is_recurrent) continue;
      const ir::Node node = graph_.node(twin_layers_[id]);
      std::vector<ValueId> inputs = node.inputs;
      inputs[0] = encoded(inputs[0], inputs[0], *recipe.activations, node);
      graph_.replace_node(twin_layers_[id], node.op, inputs);
    }
  }

  QuantizeResult finish() {
    QuantizeResult result;
    result.layers = report();
    for (ValueId& output : outputs_) output = twin(output);
    graph_.set_outputs(outputs_);
    graph_.remove_unused_nodes();
    ir::verify(graph_);
    result.graph = std::move(graph_);
    return result;
  }

  std::vector<LayerReport> report() {
    std::vector<ValuePair> pairs;
    for (const NodeId id : layers_) {
      const ValueId output = graph_.node(id).output;
      pairs.push_back({output, twin(output)});
    }
    const auto distortions = calibration_.distortions(graph_, pairs, stages_.next("measuring"));
    std::vector<LayerReport> reports;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto found = twin_layers_.find(layers_[i]);
      reports.push_back(report_layer(graph_, layers_[i],
                                     found == twin_layers_.end() ? layers_[i] : found->second));
      reports.back().sqnr_db = distortions[i].sqnr_db();
    }
    return reports;
  }

  ir::Graph graph_;
  std::vector<NodeId> layers_;
  std::vector<ValueId> outputs_;
  Calibration calibration_;
  const Recipe& recipe_;
  const QuantizeOptions& options_;
  std::vector<BlockSpan> blocks_;     ///< that are to be refined
  std::vector<NodeId> block_layers_;  ///< the layers since the last of them
  Stages stages_;
  std::map<ValueId, ValueId> twins_;      ///< by value of the float network, where they differ
  std::map<NodeId, NodeId> twin_layers_;  ///< by layer of the float network
  std::vector<std::pair<std::pair<ValueId, ActivationFormat>, ValueId>> encoded_;
};

}  // namespace

std::vector<NodeId> quantizable_layers(const ir::Graph& graph) {
  std::vector<NodeId> layers;
  for (const NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!is_layer(node.op) && !std::holds_alternative<ir::Recurrent>(node.op)) continue;
    const ir::Constant* weights = graph.constant(node.inputs[1]);
    const auto* dense = weights == nullptr ? nullptr : std::get_if<ir::Tensor>(weights);
    const bool float_input = graph.value(node.inputs[0]).type.encoding.is_dense();
    if (dense != nullptr && dense->element() == ir::ElementType::kFloat32 && dense->size() > 0 &&
        float_input) {
      layers.push_back(id);
    }
  }
  return layers;
}

QuantizeResult quantize(const ir::Graph& graph, const formats::Dataset& data, const Recipe& recipe,
                        const QuantizeOptions& options) {
  use_single_threaded_blas();
  return Quantizer(graph, data, recipe, options).run();
}

}  // namespace halftone::compress
