// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using ir::NodeId;
using ir::ValueId;

using Wanted = std::function<bool(const ir::Node&)>;

/// Whether f(s x) = s f(x) for every s > 0.
bool is_homogeneous(const ir::Activation& activation) {
  if (activation.kind == ir::ActivationKind::kLeakyRelu) return true;
  const auto limits = ir::limits_of(activation);
  const auto has_no_scale = [](float limit) { return limit == 0 || std::isinf(limit); };
  return limits && has_no_scale(limits->low) && has_no_scale(limits->high);
}

bool is_homogeneous(ir::ReduceKind kind) {
  using enum ir::ReduceKind;
  return kind == kSum || kind == kMean || kind == kMax || kind == kMin || kind == kL1 ||
         kind == kL2;
}

/// Whether a Pad adds only zeros or copies, and no channels.
bool keeps_channels(const ir::Graph& graph, const ir::Node& node) {
  const auto& pad = std::get<ir::Pad>(node.op);
  if (pad.before.back() != 0 || pad.after.back() != 0) return false;
  if (pad.mode != ir::PadMode::kConstant || node.inputs.size() < 2) return true;
  if (node.inputs[1] == ir::kAbsent) return true;
  const ir::Tensor* value = float_constant(graph, node.inputs[1]);
  return value != nullptr && value->as<float>()[0] == 0;
}

/// Whether the last axis of a value holds the channels, perhaps several times.
///
/// The walk from a layer with C outputs keeps this: an element belongs to the channel
/// (row-major index) mod C. A Reshape keeps indices. An operator that keeps the last axis, whose
/// extent is a multiple of C, keeps the remainder.
bool ends_with_channels(const ir::Graph& graph, ValueId id, std::size_t channels) {
  const ir::Shape& shape = graph.value(id).type.shape;
  if (shape.rank() == 0 || ir::is_open(shape.back())) return false;
  return static_cast<std::size_t>(shape.back()) % channels == 0;
}

/// Whether an operator treats each channel alone and multiplies with its scale: see
/// ends_with_channels().
bool passes_scales(const ir::Graph& graph, const ir::Node& node, std::size_t channels) {
  if (const auto* unary = std::get_if<ir::Unary>(&node.op)) {
    return is_homogeneous(unary->activation);
  }
  if (const auto* binary = std::get_if<ir::Binary>(&node.op)) {
    return binary->kind == ir::BinaryKind::kPRelu && is_homogeneous(binary->activation) &&
           float_constant(graph, node.inputs[1]) != nullptr &&
           graph.value(node.output).type == graph.value(node.inputs[0]).type;
  }
  if (std::holds_alternative<ir::Reshape>(node.op)) return true;
  if (!ends_with_channels(graph, node.inputs[0], channels)) return false;
  if (const auto* reduce = std::get_if<ir::Reduce>(&node.op)) {
    const std::size_t last = graph.value(node.inputs[0]).type.shape.rank() - 1;
    return is_homogeneous(reduce->kind) && std::ranges::count(reduce->axes, last) == 0;
  }
  if (std::holds_alternative<ir::Pad>(node.op)) return keeps_channels(graph, node);
  return std::holds_alternative<ir::Pool>(node.op);
}

/// Whether a layer has weights of its own.
bool has_own_weights(const ir::Graph& graph, const ir::Node& node) {
  if (!ir::is_layer(node.op) || graph.num_uses(node.inputs[1]) != 1) return false;
  const ir::Tensor* weights = float_constant(graph, node.inputs[1]);
  return weights != nullptr && weights->size() > 0;
}

/// Whether the outputs of a layer can be divided by factors.
bool can_divide_outputs(const ir::Graph& graph, const ir::Node& node) {
  if (!has_own_weights(graph, node) || !is_homogeneous(*ir::fused_activation(node.op))) {
    return false;
  }
  if (node.inputs.size() > 3 && node.inputs[3] != ir::kAbsent) return false;  // a residual
  if (node.inputs.size() < 3 || node.inputs[2] == ir::kAbsent) return true;
  return float_constant(graph, node.inputs[2]) != nullptr && graph.num_uses(node.inputs[2]) == 1;
}

/// The layer that reads the outputs of another, through operators that pass scales.
std::optional<NodeId> next_layer(const ir::Graph& graph, const ir::Node& first,
                                 std::size_t channels) {
  ValueId value = first.output;
  while (graph.value(value).type.is_dense(ir::ElementType::kFloat32)) {
    const auto reader = only_reader(graph, value);
    if (!reader || graph.num_uses(value) != 1) return std::nullopt;
    const ir::Node& node = graph.node(*reader);
    if (node.inputs[0] != value) return std::nullopt;
    if (ir::is_layer(node.op)) {
      const bool fits = ends_with_channels(graph, value, channels) && has_own_weights(graph, node);
      return fits ? reader : std::nullopt;
    }
    if (!passes_scales(graph, node, channels)) return std::nullopt;
    value = node.output;
  }
  return std::nullopt;
}

/// Magnitudes of the weights of a layer, and the factors of its channels so far.
class Layer {
 public:
  Layer(const ir::Graph& graph, NodeId id) : id_(id) {
    const ir::Node& node = graph.node(id);
    const ir::Tensor& weights = *float_constant(graph, node.inputs[1]);
    outputs_ = static_cast<std::size_t>(weights.shape()[0]);
    group_inputs_ = static_cast<std::size_t>(weights.shape().back());
    group_outputs_ = outputs_ / static_cast<std::size_t>(ir::num_groups(node.op));
    row_ = weights.size() / outputs_;
    largest_.assign(outputs_ * group_inputs_, 0);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      double& largest = largest_[i / row_ * group_inputs_ + i % group_inputs_];
      const auto size = static_cast<double>(std::abs(weights.as<float>()[i]));
      largest = std::isfinite(size) ? std::max(largest, size) : kInfinite;
    }
    bias_.assign(outputs_, 0);
    if (const ir::Tensor* bias = bias_of(graph)) {
      std::ranges::copy(bias->as<float>(), bias_.begin());
    }
    divisors_.assign(outputs_, 1);
    multipliers_.assign(outputs_ / group_outputs_ * group_inputs_, 1);
  }

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] double bias(std::size_t output) const { return bias_[output]; }
  /// The factors that its outputs were divided by, [outputs].
  [[nodiscard]] const std::vector<double>& divisors() const { return divisors_; }

  /// max |W[i, :]| for every output i.
  [[nodiscard]] std::vector<double> ranges_of_outputs() const {
    std::vector<double> ranges(outputs_, 0);
    for (std::size_t i = 0; i < largest_.size(); ++i) {
      double& range = ranges[i / group_inputs_];
      range = std::max(range, largest_[i]);
    }
    return ranges;
  }

  /// max |W[:, i]| for every channel i, where input k belongs to channel k mod channels.
  [[nodiscard]] std::vector<double> ranges_of_inputs(std::size_t channels) const {
    std::vector<double> ranges(channels, 0);
    for (std::size_t i = 0; i < largest_.size(); ++i) {
      double& range = ranges[input_of(i) % channels];
      range = std::max(range, largest_[i]);
    }
    return ranges;
  }

  void divide_outputs(std::span<const double> factors) {
    for (std::size_t i = 0; i < largest_.size(); ++i) largest_[i] /= factors[i / group_inputs_];
    for (std::size_t o = 0; o < outputs_; ++o) {
      bias_[o] /= factors[o];
      divisors_[o] *= factors[o];
    }
  }

  void multiply_inputs(std::span<const double> factors) {
    const std::size_t channels = factors.size();
    for (std::size_t i = 0; i < largest_.size(); ++i) {
      largest_[i] *= factors[input_of(i) % channels];
    }
    for (std::size_t k = 0; k < multipliers_.size(); ++k) multipliers_[k] *= factors[k % channels];
  }

  /// Ignores the factors of its outputs, or inputs.
  void reset_divisors() { std::ranges::fill(divisors_, 1); }
  void reset_multipliers() { std::ranges::fill(multipliers_, 1); }

  /// Gives the layer its new weights and bias.
  void apply(ir::Graph& graph) const {
    const ir::Node node = graph.node(id_);
    ir::Tensor weights = float_constant(graph, node.inputs[1])->clone();
    const auto numbers = weights.as<float>();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::size_t o = i / row_;
      const double factor =
          multipliers_[input_of(o * group_inputs_ + i % group_inputs_)] / divisors_[o];
      numbers[i] = static_cast<float>(static_cast<double>(numbers[i]) * factor);
    }
    std::vector<ValueId> inputs = node.inputs;
    inputs[1] = graph.add_constant(graph.value(inputs[1]).name, std::move(weights));
    const bool scales_bias = std::ranges::any_of(divisors_, [](double d) { return d != 1; });
    if (const ir::Tensor* old = scales_bias ? bias_of(graph) : nullptr) {
      ir::Tensor bias = old->clone();
      const auto shifts = bias.as<float>();
      for (std::size_t o = 0; o < outputs_; ++o) {
        shifts[o] = static_cast<float>(static_cast<double>(shifts[o]) / divisors_[o]);
      }
      inputs[2] = graph.add_constant(graph.value(inputs[2]).name, std::move(bias));
    }
    graph.replace_node(id_, node.op, std::move(inputs));
  }

 private:
  static constexpr double kInfinite = std::numeric_limits<double>::infinity();

  [[nodiscard]] const ir::Tensor* bias_of(const ir::Graph& graph) const {
    const std::vector<ValueId>& inputs = graph.node(id_).inputs;
    return inputs.size() > 2 ? float_constant(graph, inputs[2]) : nullptr;
  }

  /// The input that element i of [outputs, inputs of a group] multiplies.
  [[nodiscard]] std::size_t input_of(std::size_t i) const {
    return i / group_inputs_ / group_outputs_ * group_inputs_ + i % group_inputs_;
  }

  NodeId id_;
  std::size_t outputs_ = 0;
  std::size_t group_outputs_ = 0;
  std::size_t group_inputs_ = 0;
  std::size_t row_ = 0;              ///< weights of an output: taps times inputs of a group
  std::vector<double> largest_;      ///< [outputs, inputs of a group]: largest |weight| of all taps
  std::vector<double> bias_;         ///< [outputs]
  std::vector<double> divisors_;     ///< [outputs]
  std::vector<double> multipliers_;  ///< [inputs]
};

/// Indices of consecutive layers.
struct Pair {
  std::size_t first = 0;
  std::size_t second = 0;
};

/// Equation 11 of the paper; 1 for channels that keep their scale.
/// @param bias  of the channel in the first layer, which is divided by the factor too
double factor_of(double range1, double range2, double bias) {
  constexpr auto kLow = static_cast<double>(std::numeric_limits<float>::min());
  constexpr auto kHigh = static_cast<double>(std::numeric_limits<float>::max());
  const auto is_usable = [&](double range) { return range >= kLow && range <= kHigh; };
  if (!is_usable(range1) || !is_usable(range2)) return 1;
  if (std::abs(bias) > kMaxEqualizedBias * range1) return 1;
  const double factor = std::sqrt(range1 * range2) / range2;
  return std::abs(bias) / factor <= kHigh ? factor : 1;
}

/// The ratio by which a factor differs from 1, in either direction.
double distance_from_one(double factor) { return std::max(factor, 1 / factor) - 1; }

class Equalizer {
 public:
  Equalizer(const ir::Graph& graph, const Wanted& wanted) {
    std::map<NodeId, std::size_t> indices;
    const auto index_of = [&](NodeId id) {
      const auto [found, is_new] = indices.try_emplace(id, layers_.size());
      if (is_new) layers_.emplace_back(graph, id);
      return found->second;
    };
    for (const NodeId id : graph.topological_order()) {
      const ir::Node& node = graph.node(id);
      if (!can_divide_outputs(graph, node) || !wanted(node)) continue;
      const auto channels = static_cast<std::size_t>(graph.value(node.inputs[1]).type.shape[0]);
      const auto next = next_layer(graph, node, channels);
      if (next && wanted(graph.node(*next))) pairs_.push_back({index_of(id), index_of(*next)});
    }
  }

  /// @return the largest distance_from_one() of a factor
  double sweep() {
    double largest = 0;
    for (const Pair& pair : pairs_) {
      Layer& first = layers_[pair.first];
      Layer& second = layers_[pair.second];
      std::vector<double> factors = first.ranges_of_outputs();
      const std::vector<double> ranges = second.ranges_of_inputs(factors.size());
      for (std::size_t i = 0; i < factors.size(); ++i) {
        factors[i] = factor_of(factors[i], ranges[i], first.bias(i));
        largest = std::max(largest, distance_from_one(factors[i]));
      }
      first.divide_outputs(factors);
      second.multiply_inputs(factors);
    }
    return largest;
  }

  /// @return the number of pairs that changed
  std::size_t apply(ir::Graph& graph) {
    std::vector<bool> changed(layers_.size(), false);
    std::size_t count = 0;
    for (const Pair& pair : pairs_) {
      // A sweep that only repeats the rounding of the previous run changes nothing.
      if (std::ranges::none_of(layers_[pair.first].divisors(), [](double factor) {
            return distance_from_one(factor) > 4 * kEqualizeTolerance;
          })) {
        layers_[pair.first].reset_divisors();
        layers_[pair.second].reset_multipliers();
        continue;
      }
      ++count;
      changed[pair.first] = changed[pair.second] = true;
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (changed[i]) layers_[i].apply(graph);
    }
    return count;
  }

 private:
  std::vector<Layer> layers_;
  std::vector<Pair> pairs_;
};

}  // namespace

std::size_t equalize(ir::Graph& graph, const Wanted& wanted) {
  Equalizer equalizer(graph, wanted);
  for (int i = 0; i < kMaxEqualizeSweeps && equalizer.sweep() > kEqualizeTolerance; ++i) {
  }
  const std::size_t count = equalizer.apply(graph);
  if (count > 0) graph.remove_unused_nodes();
  return count;
}

}  // namespace halftone::passes
