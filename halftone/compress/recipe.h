// SPDX-License-Identifier: Apache-2.0
// A recipe says which layer gets which number system and how it is fitted.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/compress/fit/range.h"
#include "halftone/compress/fit/weight_fit.h"
#include "halftone/compress/reconstruct/reconstruct.h"
#include "halftone/ir/ops/arithmetic.h"
#include "halftone/numerics/named_system.h"

namespace halftone::compress {

/// Where the scales of activations come from.
enum class ActivationScales {
  kFitted,  ///< one for the tensor, fitted to calibration data
  kSample,  ///< computed at run time, one for each sample,
  kRow,     ///< for each row along the last axis,
  kGroup,   ///< or for a group of neighbours in a row
};

/// Settings of a layer; unset ones come from settings of lower priority.
struct LayerSettings {
  /// Of a matrix of a language model: a type of its files, in place of system, bits and group.
  std::string weight_type{};
  std::optional<int> weight_bits;      ///< as the number system allows, or 0: float32
  std::optional<int> activation_bits;  ///< of the layer's input, or 0: float32
  const numerics::NumberSystem* weight_system = nullptr;      ///< null: not set
  const numerics::NumberSystem* activation_system = nullptr;  ///< of the layer's input
  std::optional<numerics::Granularity> granularity;
  std::optional<std::size_t> group_size;
  std::optional<bool> weight_offset;
  std::optional<bool> activation_offset;
  std::optional<ActivationScales> activation_scales;
  std::optional<std::size_t> activation_group_size;
  std::optional<Calibrator> calibrator;  ///< of activations with fitted scales
  std::optional<double> percentile;      ///< see RangeOptions
  std::optional<double> momentum;
  std::optional<bool> skip;                  ///< the layer stays float
  std::optional<ir::Arithmetic> arithmetic;  ///< of a layer with codes; kAuto: by the rule

  bool operator==(const LayerSettings& other) const = default;
  /// These settings where they are set, else the others. The settings of a calibrator do not pass
  /// to another one; bits of weights not to a system of vectors, nor that to bits without a system;
  /// system, bits and groups of weights not to a type.
  [[nodiscard]] LayerSettings over(const LayerSettings& others) const;
};

/// Names of number systems, as people write them, for the settings of a layer.
struct SchemeNames {
  std::optional<numerics::NamedSystem> both{};     ///< of weights and activations
  std::optional<numerics::NamedSystem> weights{};  ///< in place of `both`
  std::optional<numerics::NamedSystem> activations{};
};

/// Sets the number systems, and the bits and groups that their names imply: 8 of "int8", 64 of
/// "int4/64". Float32 ("none") in place of these is no contradiction.
/// @throws Error kUsage if other bits or groups are set, or any bits beside vectors; or if vectors
///         are the system of activations
void set_systems(LayerSettings& settings, const SchemeNames& names);

/// The number system of activations.
struct ActivationFormat {
  const numerics::NumberSystem* system = &numerics::find_system("basis");
  int bits = 2;
  bool offset = true;  ///< of learned levels
  ActivationScales scales = ActivationScales::kFitted;
  std::size_t group_size = 0;  ///< for kGroup
  RangeOptions range{};        ///< for kFitted: how levels follow from calibration data

  bool operator==(const ActivationFormat&) const = default;
};

/// The number systems of a layer; nullopt where its values stay float32.
struct LayerRecipe {
  std::optional<WeightFormat> weights;
  std::optional<ActivationFormat> activations;
  ir::Arithmetic arithmetic = ir::Arithmetic::kAuto;
};

/// The order in which weights and activations are fitted.
enum class Schedule {
  kLayerwise,  ///< layer by layer, each on the outputs of the quantized layers before it
  kPhases,     ///< all weights on float activations, then all activations: the reference experiment
  /// Each layer on the float network's values, as if it were the only quantized one. No layer
  /// makes up for the errors of those before it.
  kIndependent,
};

struct FitOptions {
  MatrixFitOptions weights;
  /// Equalize the ranges of consecutive layers before the fit: passes::equalize().
  bool equalize = false;
  Schedule schedule = Schedule::kLayerwise;
  /// Fit activation bases on the quantized network's values with the float values as targets; else
  /// on the float values only. (Step 4. kPhases always uses the values of the network with
  /// quantized weights, as their own targets.)
  bool refit_activations = true;
  std::size_t activation_samples = std::size_t{1} << 18;  ///< values kept per activation
  /// Rows of a layer's input that count for the second moments its weights are fitted to: a random
  /// sample of so many, or of 64 times the columns of the weights if that is more.
  std::size_t input_rows = std::size_t{1} << 16;
  /// Whether the coefficients of 2-bit activations that convolutions read have a small ratio.
  bool small_ratios = true;
  /// Step 5: the layers of a block are refined together. (With kLayerwise only.)
  ReconstructOptions reconstruct;
};

/// A shell pattern that matches one name only.
std::string literal_pattern(std::string_view name);

/// Settings for the layers whose name matches a shell pattern: * ? [...].
struct LayerOverride {
  std::string pattern;
  LayerSettings settings;
  std::string where = "recipe";  ///< for messages: file and line
};

struct Recipe {
  LayerSettings defaults;
  LayerSettings ends;  ///< of the first and last layers, over the defaults; see with_ends()
  std::vector<LayerOverride> overrides;  ///< over both; a later one wins
  FitOptions fit;

  /// The recipe of one layer, without regard to `ends`. Without any setting: 3 bits for weights and
  /// activations, a basis per channel, with offsets. A number system of one number of bits needs no
  /// setting of bits, and one of blocks implies their size. Weights take the system that saturates
  /// in place of one that overflows. A basis of seven or eight bits becomes "affine", or
  /// "symmetric" without offset, unless the arithmetic is float: learned levels would be rounded to
  /// its grid of 8-bit integers.
  /// @throws Error kUsage if bits or the group size are out of range, or a calibrator does not fit
  ///         the scales or the number system of activations
  [[nodiscard]] LayerRecipe for_layer(std::string_view name) const;
  /// What overrides say of a layer.
  [[nodiscard]] LayerSettings overrides_of(std::string_view name) const;
  /// @throws Error kUsage that lists the layers, if a pattern matches none of them
  void check_patterns(std::span<const std::string> layer_names) const;
};

/// Throws for a text that is no type of weights.
using TypeCheck = std::function<void(const std::string& type)>;

/// Reads a recipe in TOML; docs/recipes.md has every key.
/// @param name        the recipe's name in messages
/// @param check_type  of a recipe for a language model: its types may be others than number systems
///                    (see LayerSettings::weight_type), and it says nothing of activations and of
///                    the fit. Empty: of one for another network
/// @throws Error kUsage with line and key on a syntax error, an unknown key, one for the other kind
///         of network, a value of the wrong type or out of range
Recipe parse_recipe(std::string_view toml, const std::string& name,
                    const TypeCheck& check_type = {});

/// The recipe in TOML, without what has its default. parse_recipe() reads the same recipe.
std::string to_toml(const Recipe& recipe);

}  // namespace halftone::compress
