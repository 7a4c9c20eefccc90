// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/quantize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/calibration.h"
#include "halftone/compress/layer_fitter.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/loop_bodies.h"
#include "halftone/compress/quantize_stages.h"
#include "halftone/compress/reconstruct/block.h"
#include "halftone/compress/reconstruct/reconstruct.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/stages.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/verify.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

bool is_rounding(const ir::Operator& op) {
  return std::holds_alternative<ir::Encode>(op) || std::holds_alternative<ir::FakeQuantize>(op);
}

/// The float network and, growing beside it in the same graph, its quantized counterpart.
class Quantizer {
 public:
  Quantizer(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
            const QuantizeSettings& options, const LoopBodies& bodies)
      : graph_(graph),
        bodies_(bodies),
        layers_(quantizable_layers(graph)),
        outputs_(graph.outputs().begin(), graph.outputs().end()),
        live_(graph_),
        calibration_(data, calibration_batch(graph, layers_), options.devices, options.memory_bytes,
                     options.resize),
        recipe_(recipe),
        options_(options),
        blocks_(blocks_to_refine()),
        stages_(options_.progress, 3 * layers_.size() + blocks_.size() + 1),
        fitter_(graph_, layers_, calibration_, recipe_, options_.seed, stages_) {}

  QuantizedGraph run() {
    const bool phases = recipe_.fit.schedule == Schedule::kPhases;
    build_counterpart(/*activations=*/!phases);
    if (phases) encode_afterwards();
    std::vector<LayerReport> layers = report();
    if (is_independent()) connect_counterparts();
    return finish(std::move(layers));
  }

 private:
  /// Blocks are refined by gradients; no gradient reaches a table.
  [[nodiscard]] std::vector<NodeId> layers_that_multiply() const {
    std::vector<NodeId> layers;
    for (const NodeId id : layers_) {
      if (!ir::is_table(graph_.node(id).op)) layers.push_back(id);
    }
    return layers;
  }

  [[nodiscard]] std::vector<BlockSpan> blocks_to_refine() const {
    if (!reconstructs()) return {};
    const bool alone = recipe_.fit.reconstruct.unit == ReconstructUnit::kLayer;
    return alone ? single_layer_blocks(graph_, layers_that_multiply())
                 : layer_blocks(graph_, layers_that_multiply());
  }

  [[nodiscard]] ValueId counterpart(ValueId id) const {
    const auto found = counterparts_.find(id);
    return found == counterparts_.end() ? id : found->second;
  }

  [[nodiscard]] bool is_independent() const {
    return recipe_.fit.schedule == Schedule::kIndependent;
  }

  /// What a counterpart reads in place of a value of the float network. Independent ones read that
  /// value until they are connected.
  [[nodiscard]] ValueId counterpart_input(ValueId id) const {
    return is_independent() && !is_connected_ ? id : counterpart(id);
  }

  /// Adds a counterpart of every quantized layer and of every node that depends on one.
  void build_counterpart(bool activations) {
    // Refining a block changes values inside it, so cuts must lie between blocks.
    const bool refines = activations && reconstructs() && !is_independent();
    std::size_t num_open = 0;  // layers with counterparts whose block has not ended
    for (const NodeId id : float_order_) {
      if (std::ranges::count(layers_, id) > 0) {
        if (!refines) keep_cut(live_.before(id));
        counterpart_quantizable(id, activations);
        num_open += static_cast<std::size_t>(has_block(id));
      } else {
        counterpart_node(id);
      }
      const auto block = std::ranges::find(blocks_, graph_.node(id).output, &BlockSpan::to);
      if (!refines || block == blocks_.end()) continue;
      end_block(*block);
      num_open -= block->layers.size();
      if (num_open == 0) keep_cut(live_.after(id));
    }
  }

  /// Keeps values of the float network, and their counterparts, for all samples.
  void keep_cut(std::vector<ValueId> values) {
    const std::size_t count = values.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId other = counterpart(values[i]);
      if (other != values[i]) values.push_back(other);
    }
    calibration_.keep_cut(graph_, std::move(values));
  }

  void counterpart_quantizable(NodeId id, bool activations) {
    const LayerRecipe recipe = recipe_.for_layer(graph_.node(id).name);
    const ir::LayerKind kind = ir::traits_of(graph_.node(id).op).layer;
    if (kind == ir::LayerKind::kTable) return counterpart_table(id, recipe);
    if (kind == ir::LayerKind::kRecurrent) return counterpart_recurrent(id, recipe);
    counterpart_layer(id, recipe, activations);
  }

  [[nodiscard]] bool has_block(NodeId layer) const {
    return std::ranges::any_of(blocks_, [&](const BlockSpan& block) {
      return std::ranges::count(block.layers, layer) > 0;
    });
  }

  [[nodiscard]] bool reconstructs() const { return recipe_.fit.reconstruct.steps > 0; }

  /// Called when all layers of a block have counterparts: refines them together.
  void end_block(const BlockSpan& block) {
    const ValueId begin = block.from;
    const ValueId end = block.to;
    if (counterpart(end) == end) return;
    ReconstructBlock refined{counterpart(begin), counterpart(end), {}, {}};
    bool is_encoded = false;
    for (const NodeId id : block.layers) {
      const auto found = counterpart_layers_.find(id);
      const LayerRecipe recipe = recipe_.for_layer(graph_.node(id).name);
      // Layers that look up this table were fitted to its current rows, so these must not change.
      const bool is_fixed =
          recipe.weights && fitter_.is_looked_up(graph_.node(id), *recipe.weights);
      if (found == counterpart_layers_.end() || is_fixed) continue;
      is_encoded = is_encoded || recipe.weights || recipe.activations;
      refined.layers.push_back({found->second, graph_.node(id).inputs[1]});
    }
    const ReconstructOptions& options = recipe_.fit.reconstruct;
    const std::string name = graph_.node(block.layers.back()).name;
    const ProgressSink progress = stages_.next("block of " + name);
    if (!is_encoded) return;
    CollectedValues found = calibration_.collect(
        graph_, {counterpart(begin), end}, std::min(calibration_.num_samples(), options.samples));
    if (found.samples == 0) {
      skipped_blocks_.push_back({name, "its values are NaN or infinite in all samples"});
      return;
    }
    refined.data = {std::move(found.elements[0]), std::move(found.elements[1]), found.samples};
    const ReconstructOutcome outcome =
        reconstruct(graph_, refined, options, {options_.seed, progress, calibration_.devices()});
    if (!outcome.result) skipped_blocks_.push_back({name, outcome.skipped_because});
  }

  void counterpart_node(NodeId id) {
    const ir::Node node = graph_.node(id);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (input != ir::kAbsent) input = counterpart_input(input);
    }
    ir::Operator op = node.op;
    const auto body = bodies_.graphs.find(id);
    if (body != bodies_.graphs.end()) std::get<ir::Loop>(op).body = body->second;
    if (inputs == node.inputs && body == bodies_.graphs.end()) return;
    counterparts_[node.output] =
        graph_.add_node(node.name, std::move(op), inputs, graph_.value(node.output).name);
  }

  /// @param activations  whether its input is encoded now, or later
  void counterpart_layer(NodeId id, const LayerRecipe& recipe, bool activations) {
    const ir::Node node = graph_.node(id);
    std::vector<ValueId> inputs = node.inputs;
    inputs[0] = counterpart_input(inputs[0]);
    if (activations && recipe.activations) {
      inputs[0] = fitter_.encoded(node.inputs[0], inputs[0], *recipe.activations, node);
    }
    if (recipe.weights) fitter_.quantize_weights(id, inputs, *recipe.weights);
    if (inputs == node.inputs && !recipe.activations) return;
    counterparts_[node.output] =
        graph_.add_node(node.name, node.op, inputs, graph_.value(node.output).name);
    counterpart_layers_[id] = *graph_.producer(counterparts_[node.output]);
  }

  /// The rows of a table are looked up, not multiplied: they are fitted as they are, and there is
  /// no input to encode.
  void counterpart_table(NodeId id, const LayerRecipe& recipe) {
    if (!recipe.weights) return counterpart_node(id);
    const ir::Node node = graph_.node(id);
    const ValueId table = fitter_.table_codes(node, *recipe.weights);
    counterparts_[node.output] =
        graph_.add_node(node.name, node.op, {table, counterpart_input(node.inputs[1])},
                        graph_.value(node.output).name);
    counterpart_layers_[id] = *graph_.producer(counterparts_[node.output]);
  }

  /// The state of a recurrent layer at every step, without the cells beside it.
  ValueId states(ValueId output, const ir::Recurrent& op) {
    if (!op.with_cell) return output;
    const ir::Shape& shape = graph_.value(output).type.shape;
    const auto hidden = static_cast<std::size_t>(shape.back()) / 2;
    return graph_.add_node("states", ir::Slice{shape.rank() - 1, 0, 1, hidden}, {output});
  }

  /// The weights of a recurrent layer multiply its states of the previous step. The states are
  /// encoded in a basis fitted to them, and the weights are fitted to their second moments.
  /// (A GRU that resets before it multiplies scales the states down; this is ignored.)
  void counterpart_recurrent(NodeId id, const LayerRecipe& recipe) {
    counterpart_node(id);
    if (!recipe.weights && !recipe.activations) return;
    const ir::Node node = graph_.node(id);
    if (counterpart(node.output) == node.output) {
      counterparts_[node.output] =
          graph_.add_node(node.name, node.op, node.inputs, graph_.value(node.output).name);
    }
    const NodeId counterpart_id = *graph_.producer(counterpart(node.output));
    auto op = std::get<ir::Recurrent>(node.op);
    const ValuePair pair{states(node.output, op), states(counterpart(node.output), op)};
    if (recipe.activations && recipe.activations->scales != ActivationScales::kFitted) {
      fail(ErrorKind::kUnsupported, describe(node) +
                                        ": states cannot have scales computed at run time; use "
                                        "activation_scales = \"fitted\" and up to 8 bits");
    }
    if (recipe.activations) {
      const numerics::MatrixEncoding encoding = fitter_.fit_activation(
          pair, *recipe.activations, node, stages_.next("states of " + node.name));
      op.state_encoding = std::make_shared<const numerics::MatrixEncoding>(encoding.compact());
    }
    std::vector<ValueId> inputs = graph_.node(counterpart_id).inputs;
    if (recipe.weights) {
      fitter_.quantize_recurrence(node, inputs, *recipe.weights, pair, op.state_encoding.get());
    }
    graph_.replace_node(counterpart_id, std::move(op), std::move(inputs));
    counterpart_layers_[id] = counterpart_id;
  }

  /// Phase 2: the counterpart has quantized weights; encodes the inputs of its layers, front to
  /// back.
  void encode_afterwards() {
    calibration_.forget_cut();
    const LiveValues live(graph_);
    for (const NodeId id : layers_) {
      const LayerRecipe recipe = recipe_.for_layer(graph_.node(id).name);
      if (!recipe.activations || !ir::is_layer(graph_.node(id).op)) continue;
      const ir::Node node = graph_.node(counterpart_layers_[id]);
      calibration_.keep_cut(graph_, live.before(counterpart_layers_[id]));
      std::vector<ValueId> inputs = node.inputs;
      inputs[0] = fitter_.encoded(inputs[0], inputs[0], *recipe.activations, node);
      graph_.replace_node(counterpart_layers_[id], node.op, inputs);
    }
  }

  /// Makes each counterpart read the counterparts before it, in place of the float values it was
  /// fitted to.
  void connect_counterparts() {
    is_connected_ = true;
    for (const NodeId id : float_order_) {
      const auto found = counterpart_layers_.find(id);
      if (found == counterpart_layers_.end()) {
        counterpart_node(id);
      } else {
        read_counterparts(found->second);
      }
    }
  }

  /// Also through the node that encodes the input.
  void read_counterparts(NodeId layer) {
    const ir::Node node = graph_.node(layer);
    std::vector<ValueId> inputs = node.inputs;
    for (ValueId& input : inputs) {
      if (input == ir::kAbsent) continue;
      const auto encode = graph_.producer(input);
      const bool is_new = encode && is_rounding(graph_.node(*encode).op) &&
                          std::ranges::count(float_order_, *encode) == 0;
      if (is_new) {
        const ir::Node rounding = graph_.node(*encode);
        graph_.replace_node(*encode, rounding.op, {counterpart_input(rounding.inputs[0])});
      } else {
        input = counterpart_input(input);
      }
    }
    graph_.replace_node(layer, node.op, inputs);
  }

  QuantizedGraph finish(std::vector<LayerReport> layers) {
    QuantizedGraph result;
    result.layers = std::move(layers);
    result.skipped_blocks = std::move(skipped_blocks_);
    for (ValueId& output : outputs_) output = counterpart(output);
    graph_.replace_outputs(outputs_);
    graph_.remove_unused_nodes();
    ir::verify(graph_);
    result.graph = std::move(graph_);
    return result;
  }

  /// The arithmetics that the file will have, with which the report measures.
  void fix_arithmetics() {
    for (const auto& [layer, counterpart_layer] : counterpart_layers_) {
      const std::string& name = graph_.node(layer).name;
      fix_arithmetic(graph_, counterpart_layer, recipe_.for_layer(name).arithmetic);
    }
  }

  std::vector<LayerReport> report() {
    if (layers_.empty()) return {};
    fix_arithmetics();
    std::vector<ValuePair> pairs;
    for (const NodeId id : layers_) {
      const ValueId output = graph_.node(id).output;
      pairs.push_back({output, counterpart(output)});
    }
    const auto distortions = calibration_.distortions(graph_, pairs, stages_.next("measuring"));
    std::vector<LayerReport> reports;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const auto found = counterpart_layers_.find(layers_[i]);
      reports.push_back(
          report_layer(graph_, layers_[i], graph_,
                       found == counterpart_layers_.end() ? layers_[i] : found->second));
      reports.back().sqnr_db = distortions[i].sqnr_db();
    }
    return reports;
  }

  ir::Graph graph_;
  const LoopBodies& bodies_;
  std::vector<NodeId> float_order_{graph_.topological_order()};  ///< of the float network
  std::vector<NodeId> layers_;
  std::vector<ValueId> outputs_;
  LiveValues live_;  ///< of the float network
  Calibration calibration_;
  const Recipe& recipe_;
  const QuantizeSettings& options_;
  std::vector<BlockSpan> blocks_;  ///< the blocks to be refined
  std::vector<SkippedBlock> skipped_blocks_;
  Stages stages_;
  LayerFitter fitter_;
  bool is_connected_ = false;
  std::map<ValueId, ValueId> counterparts_;  ///< by value of the float network, where they differ
  std::map<NodeId, NodeId> counterpart_layers_;  ///< by layer of the float network
};

}  // namespace

void add_rows(QuantizedGraph& to, const QuantizedGraph& part) {
  const auto append = [](auto& all, const auto& more) {
    all.insert(all.end(), more.begin(), more.end());
  };
  append(to.layers, part.layers);
  append(to.skipped_blocks, part.skipped_blocks);
  append(to.warnings, part.warnings);
  to.equalized_pairs += part.equalized_pairs;
}

QuantizedGraph quantize(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                        const QuantizeSettings& options) {
  if (!graph.definitions().empty()) return quantize_stages(graph, data, recipe, options);
  const Recipe own = with_ends(graph, recipe);
  ir::Graph network = with_layers(graph, own);
  ScreenedData samples = screened(network, data, options.devices, options.resize);
  const std::size_t pairs = equalize_layers(network, own);
  LoopBodies bodies = quantize_bodies(network, samples.data, own, options);
  QuantizedGraph result = Quantizer(network, samples.data, own, options, bodies).run();
  result.equalized_pairs = pairs;
  result.warnings = std::move(samples.warnings);
  add_rows(result, bodies.rows);
  return result;
}

}  // namespace halftone::compress
