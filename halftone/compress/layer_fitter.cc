// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layer_fitter.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "halftone/base/error.h"
#include "halftone/compress/fit/table_fit.h"
#include "halftone/compress/layers.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

using ir::NodeId;
using ir::ValueId;

void check_weights(MatrixView<const float> weights, const ir::Node& node) {
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    if (!std::ranges::all_of(weights.row(r), [](float w) { return std::isfinite(w); })) {
      fail(ErrorKind::kFormat, describe(node) + ": output " + std::to_string(r) +
                                   " has a weight that is NaN or infinite");
    }
  }
}

constexpr const char* kKeepFloat =
    "keep the layer's activations float (activation_bits = \"none\" in a recipe)";

/// A value on the calibration data, as messages show it.
struct CalibratedValue {
  std::string name;
  numerics::ValueRange range;  ///< of the elements that a calibrator takes into account
  std::int64_t count = 0;      ///< of these elements
};

/// No levels can be fitted to a single value, and later fits would not hold for other data.
void check_varies(const CalibratedValue& value, const ir::Node& layer) {
  if (value.range.low != value.range.high) return;
  std::ostringstream number;
  number << value.range.low;
  fail(ErrorKind::kUnsupported,
       describe(layer) + ": value '" + value.name + "' cannot be encoded: it is " + number.str() +
           " at all " + std::to_string(value.count) +
           " positions sampled from the calibration data; use other data, or " + kKeepFloat);
}

/// "-3 to 7.5".
std::string text_of(const numerics::ValueRange& range) {
  std::ostringstream text;
  text << range.low << " to " << range.high;
  return text.str();
}

/// One level for all values would make the rest of the network constant.
void check_levels(const numerics::MatrixEncoding& encoding, const CalibratedValue& value,
                  const ir::Node& layer) {
  const numerics::LevelTable levels(encoding.levels(0));
  const auto is_finite = [](float x) { return std::isfinite(x); };
  if (!std::ranges::all_of(levels.levels(), is_finite) ||
      !std::ranges::all_of(levels.thresholds(), is_finite)) {
    fail(ErrorKind::kUsage, "levels beyond float32");
  }
  const float level = levels.nearest(value.range.high);
  if (levels.nearest(value.range.low) != level) return;
  std::ostringstream text;
  text << level;
  fail(ErrorKind::kUnsupported, describe(layer) + ": value '" + value.name +
                                    "' cannot be encoded in " + std::to_string(encoding.bits) +
                                    (encoding.bits == 1 ? " bit" : " bits") + " of the scheme " +
                                    std::string(system_name(encoding)) + ": its values, " +
                                    text_of(value.range) + ", all have the same nearest level, " +
                                    text.str() + "; use more bits or another scheme");
}

/// The encoding of an activation.
/// @param levels_in  levels_in(space) chooses the levels
/// @throws Error as LayerFitter::fit_activation()
template <typename LevelsIn>
numerics::MatrixEncoding activation_encoding(const ActivationFormat& format,
                                             const CalibratedValue& value, const ir::Node& layer,
                                             const LevelsIn& levels_in) {
  check_varies(value, layer);
  numerics::MatrixEncoding encoding = empty_encoding(
      {format.system, format.bits, format.offset, numerics::Granularity::kTensor}, 1, 1);
  try {
    encoding.set_levels(0, levels_in(ParameterSpace::of(encoding)));
    check_levels(encoding, value, layer);
    return encoding;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage) throw;
    fail(ErrorKind::kFormat, describe(layer) + ": value '" + value.name +
                                 "' cannot be encoded: it is " + text_of(value.range) +
                                 " in the calibration data (" + error.what() +
                                 "); look for outliers there, or " + kKeepFloat);
  }
}

/// Runs a fit. Values that no basis can represent are an error of the network.
template <typename Fit>
auto fitted(const ir::Node& node, Fit&& fit) {
  try {
    return fit();
  } catch (const Error& error) {
    const bool is_of_values = error.kind() == ErrorKind::kUsage;
    fail(is_of_values ? ErrorKind::kFormat : error.kind(),
         describe(node) + ": cannot be fitted: " + error.what());
  }
}

}  // namespace

numerics::Levels LayerFitter::activation_levels(const ParameterSpace& space,
                                                const ValueSample& sample,
                                                const ir::Node& layer) const {
  const LevelFitOptions& options = recipe_.fit.weights.levels;
  const LevelFit fit = fit_levels(space, sample.actual(), sample.original(), {}, options);
  const bool is_counted = std::holds_alternative<ir::Conv>(layer.op) && space.bits() == 2;
  if (!recipe_.fit.small_ratios || !is_counted || !space.is_free_basis()) return fit.levels;
  return fit_small_ratio(fit, space.has_offset(), sample.actual(), sample.original(), options)
      .levels;
}

numerics::MatrixEncoding LayerFitter::fit_activation(ValuePair pair, const ActivationFormat& format,
                                                     const ir::Node& layer,
                                                     const ProgressSink& progress) {
  const std::string& value = graph_.value(pair.actual).name;
  if (format.range.calibrator != Calibrator::kFit) {
    const ValueStatistics statistics =
        calibration_.ranges(graph_, {&pair.actual, 1}, format.range.momentum, progress).front();
    const CalibratedValue seen{value, statistics.values.range(), statistics.values.count()};
    return activation_encoding(format, seen, layer, [&](const ParameterSpace& space) {
      return levels_over(space, range_of(statistics, format.range, space));
    });
  }
  const ValueSample sample =
      calibration_.sample(graph_, pair, recipe_.fit.activation_samples, seed_, progress);
  CalibratedValue seen{value, {}, static_cast<std::int64_t>(sample.actual().size())};
  seen.range.add(sample.actual());
  return activation_encoding(format, seen, layer, [&](const ParameterSpace& space) {
    return activation_levels(space, sample, layer);
  });
}

ValueId LayerFitter::encoded(ValueId original, ValueId actual, const ActivationFormat& format,
                             const ir::Node& layer) {
  for (const auto& [key, value] : encoded_) {
    if (key.first == actual && key.second == format) return value;
  }
  if (format.scales != ActivationScales::kFitted) {
    const ValueId value =
        graph_.add_node(layer.name + "/quantize", fake_quantize(format), {actual});
    encoded_.push_back({{actual, format}, value});
    return value;
  }
  const bool own_target = recipe_.fit.schedule == Schedule::kPhases;
  const ValuePair pair = own_target                      ? ValuePair{actual, actual}
                         : recipe_.fit.refit_activations ? ValuePair{original, actual}
                                                         : ValuePair{original, original};
  numerics::MatrixEncoding encoding =
      fit_activation(pair, format, layer, stages_.next("activations of " + layer.name));
  const ValueId value = graph_.add_node(
      layer.name + "/encode",
      ir::Encode{std::make_shared<const numerics::MatrixEncoding>(encoding.compact())}, {actual});
  encoded_.push_back({{actual, format}, value});
  return value;
}

/// The layer of a kind that reads the same weights in the same number system, if there is one.
template <typename IsKind>
std::optional<NodeId> LayerFitter::reader(ValueId weights, const WeightFormat& format,
                                          const IsKind& is_kind) const {
  for (const NodeId id : layers_) {
    const ir::Node& node = graph_.node(id);
    if (is_kind(node.op) && node.inputs[weights_input(node.op)] == weights &&
        recipe_.for_layer(node.name).weights == format) {
      return id;
    }
  }
  return std::nullopt;
}

bool LayerFitter::is_looked_up(const ir::Node& node, const WeightFormat& format) const {
  return ir::is_layer(node.op) && reader(node.inputs[1], format, ir::is_table).has_value();
}

/// The weights of a layer as a matrix. @throws Error kFormat if one is not finite
MatrixView<const float> LayerFitter::float_weights(const ir::Node& node) const {
  const auto& dense = std::get<ir::Tensor>(*graph_.constant(node.inputs[weights_input(node.op)]));
  const auto [rows, cols] = matrix_extent(dense.shape());
  const MatrixView<const float> weights(dense.as<float>(), rows, cols);
  check_weights(weights, node);
  return weights;
}

template <typename Fit>
MatrixFit LayerFitter::fit_layer(const ir::Node& node, Fit&& fit) {
  const ProgressSink progress = stages_.next("fitting " + node.name);
  if (progress) progress(0, "");
  return fitted(node, fit);
}

/// Adds a constant with the codes of another constant, whose pages in memory are needed less now.
ValueId LayerFitter::add_codes(ValueId original, MatrixFit fit) {
  ir::release_pages(*graph_.constant(original));
  return graph_.add_constant(
      graph_.value(original).name,
      ir::EncodedTensor{graph_.value(original).type.shape,
                        std::make_shared<const numerics::MatrixEncoding>(fit.encoding.compact()),
                        std::move(fit.codes)});
}

std::vector<LayerStatistics> LayerFitter::input_statistics(const LayerInput& input,
                                                           const std::string& stage) {
  constexpr std::size_t kRowsPerColumn = 64;
  const std::size_t most =
      std::max(recipe_.fit.input_rows, kRowsPerColumn * input.unfolding.num_cols());
  return calibration_.statistics(graph_, input, most, seed_, stages_.next(stage));
}

ValueId LayerFitter::table_codes(const ir::Node& node, const WeightFormat& format) {
  const ValueId table = node.inputs[weights_input(node.op)];
  for (const auto& [key, codes] : tables_) {
    if (key.first == table && key.second == format) return codes;
  }
  const MatrixView<const float> rows = float_weights(node);
  const auto layer = reader(table, format, ir::is_layer);
  MatrixFit fit;
  if (layer) {
    const ValueId x = graph_.node(*layer).inputs[0];
    const std::vector<LayerStatistics> statistics =
        input_statistics({{x, x}, ir::Unfolding(graph_, graph_.node(*layer)), nullptr, *layer},
                         "inputs of " + graph_.node(*layer).name);
    MatrixFitOptions options = recipe_.fit.weights;
    options.damping.uniform = 1;
    fit = fit_layer(node, [&] {
      return fit_to_statistics(rows, format, std::span(statistics).first(1), options,
                               calibration_.devices());
    });
  } else {
    std::vector<std::size_t> uses;
    if (format.granularity == numerics::Granularity::kTensor) {
      uses = calibration_.uses(graph_, node.inputs[1], rows.rows(),
                               stages_.next("rows of " + node.name));
    }
    fit = fit_layer(node, [&] {
      return fit_table(rows, format, {uses, seed_}, recipe_.fit.weights.levels,
                       calibration_.devices());
    });
  }
  tables_.push_back({{table, format}, add_codes(table, std::move(fit))});
  return tables_.back().second;
}

/// Replaces the weights among the inputs of a layer's counterpart.
/// @return the correction of the bias
Vector LayerFitter::fit_layer_weights(const ir::Node& node, std::vector<ValueId>& inputs,
                                      const WeightFormat& format,
                                      std::span<const LayerStatistics> statistics,
                                      const MatrixFitOptions& options) {
  const MatrixView<const float> weights = float_weights(node);
  MatrixFit fit = fit_layer(node, [&] {
    return fit_to_statistics(weights, format, statistics, options, calibration_.devices());
  });
  Vector correction = std::move(fit.bias_correction);
  inputs[1] = add_codes(node.inputs[1], std::move(fit));
  return correction;
}

/// The mean output error of codes that were not fitted to these inputs; the bias takes it.
Vector LayerFitter::output_error(ValueId codes, const ir::Node& node,
                                 std::span<const LayerStatistics> statistics) const {
  const MatrixView<const float> weights = float_weights(node);
  const ir::Tensor levels = to_float(*graph_.constant(codes));
  return mean_output_error(weights, {levels.as<float>(), weights.rows(), weights.cols()},
                           statistics.front());
}

void LayerFitter::correct_bias(const ir::Node& node, std::vector<ValueId>& inputs,
                               const Vector& correction) {
  if (correction.isZero(0)) return;
  const ir::Constant* bias = inputs.size() > 2 ? graph_.constant(inputs[2]) : nullptr;
  ir::Tensor corrected(ir::ElementType::kFloat32, ir::Shape{correction.size()});
  const auto values = corrected.as<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double old = bias == nullptr ? 0 : std::get<ir::Tensor>(*bias).as<float>()[i];
    values[i] = static_cast<float>(old + correction[static_cast<Eigen::Index>(i)]);
  }
  inputs.resize(3, ir::kAbsent);
  inputs[2] =
      graph_.add_constant(bias == nullptr ? node.name + "/bias" : graph_.value(node.inputs[2]).name,
                          std::move(corrected));
}

void LayerFitter::quantize_weights(NodeId id, std::vector<ValueId>& inputs,
                                   const WeightFormat& format) {
  const ir::Node& node = graph_.node(id);
  const ir::Encoding& encoding = graph_.value(inputs[0]).type.encoding;
  const ValueId actual =
      encoding.is_dense() ? inputs[0] : graph_.node(*graph_.producer(inputs[0])).inputs[0];
  const std::vector<LayerStatistics> statistics = input_statistics(
      {{node.inputs[0], actual}, ir::Unfolding(graph_, node), encoding.codes.get(), id},
      "inputs of " + node.name);
  MatrixFitOptions options = recipe_.fit.weights;
  const bool has_bias = inputs.size() > 2 && inputs[2] != ir::kAbsent;
  // A computed bias cannot be corrected.
  if (has_bias && graph_.constant(inputs[2]) == nullptr) options.bias_correction = false;
  if (is_looked_up(node, format)) {
    inputs[1] = table_codes(node, format);
    if (options.bias_correction)
      correct_bias(node, inputs, output_error(inputs[1], node, statistics));
    return;
  }
  const Vector correction = fit_layer_weights(node, inputs, format, statistics, options);
  correct_bias(node, inputs, correction);
}

void LayerFitter::quantize_recurrence(const ir::Node& node, std::vector<ValueId>& inputs,
                                      const WeightFormat& format, ValuePair states,
                                      const numerics::MatrixEncoding* encoding) {
  const auto cols = static_cast<std::size_t>(graph_.value(node.inputs[1]).type.shape[1]);
  const std::vector<LayerStatistics> statistics =
      input_statistics({states, ir::Unfolding(cols), encoding}, "states of " + node.name);
  MatrixFitOptions options = recipe_.fit.weights;
  options.bias_correction = false;  // the bias does not belong to the recurrence
  fit_layer_weights(node, inputs, format, statistics, options);
}

}  // namespace halftone::compress
