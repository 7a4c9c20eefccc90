// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/recipe.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/base/near_names.h"
#include "halftone/base/shell_pattern.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/recipe_fields.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::compress {
namespace {

/// The bits of a number system: those wanted, or where none are, the default or the only ones.
/// @return 0 for float32
int bits_of(const numerics::NumberSystem& system, std::optional<int> wanted, const char* what) {
  if (wanted == 0) return 0;
  const int bits = wanted.value_or(std::clamp(kUsualBits, system.min_bits, system.max_bits));
  with_context(what, [&] { return numerics::codebook_of(system, bits); });
  return bits;
}

/// Only learned levels have an optional offset.
void check_offset(const numerics::NumberSystem& system, std::optional<bool> wanted,
                  const char* what) {
  if (system.is_learned() || !wanted || *wanted == system.has_offset) return;
  fail(ErrorKind::kUsage, std::string(what) + ": the scheme " + std::string(system.name) +
                              (system.has_offset ? " always has one" : " never has one"));
}

/// The system in place of learned levels of seven and eight bits: evenly spaced ones. Layers
/// compute with levels on a grid of at most 255 steps, which has room for hardly any others of so
/// many bits: learned ones would be rounded to it after the fit, and those that are close become
/// one. Fits keep levels of fewer bits on the grid, see numerics::on_integer_grid().
/// @param system  any; returned where its levels are not learned or the layer computes in float32
const numerics::NumberSystem& on_grid(const numerics::NumberSystem& system, int bits,
                                      std::optional<bool> offset, ir::Arithmetic arithmetic) {
  const bool is_rounded = bits > numerics::kMaxSummedBits && arithmetic != ir::Arithmetic::kFloat;
  if (!system.is_learned() || !is_rounded) return system;
  return numerics::find_system(offset.value_or(true) ? "affine" : "symmetric");
}

/// Whether codes and one scale fitted to data can represent activations: codes of up to 8 bits.
bool can_be_fitted(const numerics::NumberSystem& system, int bits) {
  return bits <= numerics::kMaxBits && system.rule != numerics::ScaleRule::kUnit;
}

WeightFormat weight_format(const numerics::NumberSystem& system, int bits,
                           const LayerSettings& settings) {
  WeightFormat format;
  format.system = &system;
  format.bits = bits;
  format.offset = settings.weight_offset.value_or(true);
  // A group size alone selects groups.
  const auto implied =
      settings.group_size ? numerics::Granularity::kGroup : system.blocks.granularity;
  format.granularity = settings.granularity.value_or(implied);
  const std::size_t own = system.blocks.group_size;
  format.group_size = settings.group_size.value_or(own != 0 ? own : kUsualWeightGroup);
  if (format.group_size == 0) {
    fail(ErrorKind::kUsage, "group size: expected at least 1, found 0");
  }
  if (system.vectors != nullptr) vector_groups(format);
  return format;
}

/// How the levels of activations follow from calibration data.
RangeOptions range_options(const ActivationFormat& format, const LayerSettings& settings) {
  RangeOptions options;
  options.calibrator = settings.calibrator.value_or(Calibrator::kFit);
  options.percentile = settings.percentile.value_or(options.percentile);
  options.momentum = settings.momentum.value_or(options.momentum);
  if (options.calibrator == Calibrator::kFit) return options;
  const std::string name = "calibrator " + std::string(to_string(options.calibrator)) + ": ";
  if (format.scales != ActivationScales::kFitted) {
    fail(ErrorKind::kUsage, name +
                                "it has no effect on activations whose scales are computed at run "
                                "time; use the calibrator fit, or activation_scales = \"fitted\"");
  }
  const bool overflows = codebook_of(*format.system, format.bits) != nullptr &&
                         codebook_of(*format.system, format.bits)->beyond().has_value();
  if (overflows && options.calibrator != Calibrator::kMinMax) {
    const std::string system(format.system->name);
    fail(ErrorKind::kUsage, name + "numbers beyond its range would overflow in the scheme " +
                                system + "; use fit, min-max or a scheme that saturates");
  }
  return options;
}

ActivationFormat activation_format(const numerics::NumberSystem& system, int bits,
                                   const LayerSettings& settings) {
  ActivationFormat format{&system, bits, settings.activation_offset.value_or(true)};
  const bool has_groups = system.blocks.granularity == numerics::Granularity::kGroup;
  const ActivationScales own = has_groups || settings.activation_group_size
                                   ? ActivationScales::kGroup
                               : can_be_fitted(system, bits) ? ActivationScales::kFitted
                                                             : ActivationScales::kSample;
  format.scales = settings.activation_scales.value_or(own);
  if (format.scales == ActivationScales::kFitted && !can_be_fitted(system, bits)) {
    fail(ErrorKind::kUsage, "activation scales: expected sample, row or group for " +
                                std::to_string(bits) + " bits of the scheme " +
                                std::string(system.name) + ", found fitted");
  }
  if (format.scales != ActivationScales::kFitted && system.is_learned()) {
    fail(ErrorKind::kUsage, "activation scales: expected fitted for the scheme " +
                                std::string(system.name) + ", whose levels are learned");
  }
  if (format.scales == ActivationScales::kGroup) {
    const std::size_t preset = has_groups ? system.blocks.group_size : kUsualActivationGroup;
    format.group_size = settings.activation_group_size.value_or(preset);
  }
  format.range = range_options(format, settings);
  return format;
}

/// @param chosen  the calibrator that a setting is for
void check_calibrator_of(std::string_view setting, bool is_set, Calibrator chosen,
                         const LayerSettings& settings) {
  if (!is_set || settings.calibrator == chosen) return;
  fail(ErrorKind::kUsage, std::string(setting) + ": it is for the calibrator " +
                              std::string(to_string(chosen)) + " only: set that, or leave it out");
}

/// Sets a system and the bits that its name implies. @param what  the bits, for messages
void set_system(const numerics::NamedSystem& named, const char* what,
                const numerics::NumberSystem*& system, std::optional<int>& bits) {
  system = named.system;
  if (system->vectors != nullptr && bits.value_or(0) != 0) {
    fail(ErrorKind::kUsage, std::string(what) + ": expected none beside the scheme " + named.text +
                                ", whose vectors say them, found " + std::to_string(*bits) +
                                "; leave them out");
  }
  if (!named.bits || bits == 0 || bits == named.bits) return;
  if (bits) {
    fail(ErrorKind::kUsage, std::string(what) + ": expected " + std::to_string(*named.bits) +
                                ", as the scheme " + named.text + " says, found " +
                                std::to_string(*bits) + "; leave one of them out");
  }
  bits = named.bits;
}

/// Sets the size of groups that the name of a system implies.
void set_group(const numerics::NamedSystem& named, std::optional<std::size_t>& size) {
  if (!named.group_size) return;
  if (size && size != named.group_size) {
    fail(ErrorKind::kUsage, "group size: expected " + std::to_string(*named.group_size) +
                                ", as the scheme " + named.text + " says, found " +
                                std::to_string(*size) + "; leave one of them out");
  }
  size = named.group_size;
}

/// Makes weights share scales in groups if the name of their system has a size of these.
void require_groups(const numerics::NamedSystem& named,
                    std::optional<numerics::Granularity>& granularity) {
  if (!named.group_size) return;
  if (granularity.value_or(numerics::Granularity::kGroup) != numerics::Granularity::kGroup) {
    fail(ErrorKind::kUsage,
         "granularity: expected group, as the scheme " + named.text + " says; leave it out");
  }
  granularity = numerics::Granularity::kGroup;
}

}  // namespace

std::string literal_pattern(std::string_view name) { return pattern_of(name); }

void set_systems(LayerSettings& settings, const SchemeNames& names) {
  const auto& weights = names.weights ? names.weights : names.both;
  const auto& activations = names.activations ? names.activations : names.both;
  if (weights) {
    set_system(*weights, "weight bits", settings.weight_system, settings.weight_bits);
    set_group(*weights, settings.group_size);
    require_groups(*weights, settings.granularity);
  }
  if (!activations) return;
  if (activations->system->vectors != nullptr) {
    fail(ErrorKind::kUsage,
         "activation scheme: expected a scheme of single numbers, found " + activations->text +
             ", whose vectors are for weights alone; name it as the scheme of weights");
  }
  set_system(*activations, "activation bits", settings.activation_system, settings.activation_bits);
  set_group(*activations, settings.activation_group_size);
}

LayerSettings LayerSettings::over(const LayerSettings& others) const {
  LayerSettings result = *this;
  const auto fill = [](auto& mine, const auto& theirs) {
    if (!mine) mine = theirs;
  };
  const bool has_type = !weight_type.empty();
  if (!has_type && weight_system == nullptr) result.weight_type = others.weight_type;
  // Bits alone choose another system than vectors, which have none.
  const bool leaves_vectors = weight_system == nullptr && weight_bits.value_or(0) != 0 &&
                              others.weight_system != nullptr &&
                              others.weight_system->vectors != nullptr;
  // And vectors replace bits.
  const bool has_vectors = weight_system != nullptr && weight_system->vectors != nullptr;
  if (!has_type && (!has_vectors || others.weight_bits == 0)) {
    fill(result.weight_bits, others.weight_bits);
  }
  fill(result.activation_bits, others.activation_bits);
  const auto fill_system = [](auto*& mine, auto* theirs) {
    if (mine == nullptr) mine = theirs;
  };
  if (!has_type && !leaves_vectors) fill_system(result.weight_system, others.weight_system);
  fill_system(result.activation_system, others.activation_system);
  fill(result.granularity, others.granularity);
  if (!has_type) fill(result.group_size, others.group_size);
  fill(result.weight_offset, others.weight_offset);
  fill(result.activation_offset, others.activation_offset);
  fill(result.activation_scales, others.activation_scales);
  fill(result.activation_group_size, others.activation_group_size);
  if (!calibrator || *calibrator == Calibrator::kPercentile) {
    fill(result.percentile, others.percentile);
  }
  if (!calibrator || *calibrator == Calibrator::kMovingAverage) {
    fill(result.momentum, others.momentum);
  }
  fill(result.calibrator, others.calibrator);
  fill(result.skip, others.skip);
  fill(result.arithmetic, others.arithmetic);
  return result;
}

LayerSettings Recipe::overrides_of(std::string_view name) const {
  LayerSettings settings;
  for (const LayerOverride& each : overrides) {
    if (matches_pattern(each.pattern, name)) settings = each.settings.over(settings);
  }
  return settings;
}

LayerRecipe Recipe::for_layer(std::string_view name) const {
  const LayerSettings settings = overrides_of(name).over(defaults);
  LayerRecipe recipe;
  if (settings.skip.value_or(false)) return recipe;
  const auto given = [](const numerics::NumberSystem* system) -> const numerics::NumberSystem& {
    return system != nullptr ? *system : numerics::find_system("basis");
  };
  // Weights are known, so that none is beyond the levels that are fitted to them.
  const numerics::NumberSystem& named = given(settings.weight_system);
  const numerics::NumberSystem& weights = named.saturating != nullptr ? *named.saturating : named;
  const numerics::NumberSystem& activations = given(settings.activation_system);
  const int weight_bits = bits_of(weights, settings.weight_bits, "weight bits");
  const int activation_bits = bits_of(activations, settings.activation_bits, "activation bits");
  check_offset(weights, settings.weight_offset, "weight offset");
  check_offset(activations, settings.activation_offset, "activation offset");
  check_calibrator_of("percentile", settings.percentile.has_value(), Calibrator::kPercentile,
                      settings);
  check_calibrator_of("momentum", settings.momentum.has_value(), Calibrator::kMovingAverage,
                      settings);
  recipe.arithmetic = settings.arithmetic.value_or(ir::Arithmetic::kAuto);
  if (weight_bits > 0) {
    recipe.weights =
        weight_format(on_grid(weights, weight_bits, settings.weight_offset, recipe.arithmetic),
                      weight_bits, settings);
  }
  if (activation_bits > 0) {
    recipe.activations = activation_format(
        on_grid(activations, activation_bits, settings.activation_offset, recipe.arithmetic),
        activation_bits, settings);
  }
  return recipe;
}

void Recipe::check_patterns(std::span<const std::string> layer_names) const {
  for (const LayerOverride& each : overrides) {
    const bool used = std::ranges::any_of(
        layer_names, [&](const std::string& name) { return matches_pattern(each.pattern, name); });
    if (used) continue;
    fail(ErrorKind::kUsage,
         each.where + ": pattern '" + each.pattern +
             "' matches no layer; the layers are: " + near_names(each.pattern, layer_names));
  }
}

}  // namespace halftone::compress
