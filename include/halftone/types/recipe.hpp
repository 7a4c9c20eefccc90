// SPDX-License-Identifier: Apache-2.0
// Recipes as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// Settings of a layer. Names, values and meaning are those of the keys in
  /// docs/reference/recipes.md; what is not set comes from settings of lower priority, in the end
  /// from the defaults of that page.
  struct LayerSettings {
    std::optional<int> weight_bits{};      ///< 1 to 16 as the number system allows, or 0: float32
    std::optional<int> activation_bits{};  ///< of the layer's input, likewise
    std::optional<std::string> scheme{};   ///< number system of both, or "float"
    std::optional<std::string> weight_scheme{};
    std::optional<std::string> type{};  ///< in place of weight_scheme
    std::optional<std::string> activation_scheme{};
    std::optional<bool> weight_offset{};
    std::optional<bool> activation_offset{};
    std::optional<std::string> granularity{};  ///< "tensor", "channel" or "group"
    std::optional<std::int64_t> group_size{};
    std::optional<std::string> activation_scales{};  ///< "fitted", "sample", "row" or "group"
    std::optional<std::int64_t> activation_group_size{};
    std::optional<std::string> calibrator{};  ///< "fit", "min-max", "percentile", "kl", ...
    std::optional<double> percentile{};
    std::optional<double> momentum{};
    std::optional<bool> skip{};               ///< the layer stays float
    std::optional<std::string> arithmetic{};  ///< "auto", "bits", "integers" or "float"

    bool operator==(const LayerSettings& other) const = default;
  };

  /// Settings of the layers whose names match a shell pattern: * ? [...].
  struct LayerOverride {
    std::string name;
    LayerSettings settings{};

    bool operator==(const LayerOverride& other) const = default;
  };

  /// How layers are fitted: the keys of [fit] in docs/reference/recipes.md.
  struct FitSettings {
    std::optional<std::string> basis_solver{};  ///< "least-squares" or "gradient"
    std::optional<std::int64_t> iterations{};
    std::optional<double> learning_rate{};
    std::optional<double> l2_penalty{};
    std::optional<bool> input_weighted{};
    std::optional<bool> error_feedback{};
    std::optional<bool> refine{};
    std::optional<std::int64_t> refine_sweeps{};
    std::optional<bool> bias_correction{};
    std::optional<double> damping{};
    std::optional<bool> equalize{};
    std::optional<std::string> schedule{};  ///< "layerwise" or "phases"
    std::optional<bool> refit_activations{};
    std::optional<std::int64_t> activation_samples{};
    std::optional<std::int64_t> input_rows{};
    std::optional<bool> small_ratios{};
    std::optional<std::int64_t> reconstruct_steps{};
    std::optional<std::string> reconstruct_rounding{};  ///< "straight-through" or "adaptive"
    std::optional<std::string> reconstruct_unit{};      ///< "block" or "layer"
    std::optional<std::int64_t> reconstruct_batch{};
    std::optional<std::int64_t> reconstruct_samples{};
    std::optional<double> drop{};
    std::optional<double> weight_rate{};
    std::optional<double> level_rate{};
    std::optional<double> bias_rate{};
    std::optional<double> rounding_penalty{};

    bool operator==(const FitSettings& other) const = default;
  };

  /// A recipe. Its values are checked where it is used.
  struct Recipe {
    LayerSettings defaults{};
    LayerSettings ends{};                 ///< of the first and last layers, over the defaults
    std::vector<LayerOverride> layers{};  ///< a later one wins
    FitSettings fit{};

    bool operator==(const Recipe& other) const = default;
  };

}  // namespace v0
}  // namespace halftone
