// SPDX-License-Identifier: Apache-2.0
// What sensitivity() and quantize_within() find.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A layer with weights.
  struct SensitiveLayer {
    std::string name;
    std::string op;
    std::size_t float_bytes = 0;  ///< of the float weights
  };

  /// Layers that get one choice together, because they share weights or an input.
  struct SensitiveUnit {
    std::vector<std::size_t> layers;  ///< indices in Sensitivity::layers, ascending
    bool may_change = true;  ///< false: the recipe gives its layers the same in each choice
  };

  /// A layer in a choice.
  struct LayerSensitivity {
    double weight_bits = 32;  ///< as LayerReport
    int activation_bits = 32;
    std::size_t bytes = 0;  ///< of its weights and their levels
    double sqnr_db = 0;     ///< of its output, if it is the only quantized layer; may be infinite
    double accumulated_sqnr_db = 0;  ///< the same if all layers have this choice
    double weighted_error = 0;       ///< estimate of the loss if it is the only quantized layer
    std::optional<double> us{};      ///< microseconds for a sample, with the encoding of its input
    std::optional<double> pj{};      ///< picojoules likewise, of described hardware
  };

  /// A unit in a choice.
  struct UnitSensitivity {
    std::size_t bytes = 0;        ///< of weights and levels; shared weights count once
    double loss = 0;              ///< if its layers are the only quantized ones
    double accumulated_loss = 0;  ///< if its layers and all layers before them are quantized
    /// Of accuracy, with `loss`; only if layers are measured for `halftone explore`.
    std::optional<double> drop{};
  };

  /// All layers in one choice.
  struct ChoiceSensitivity {
    std::string name;                      ///< as in the options
    std::vector<LayerSensitivity> layers;  ///< as Sensitivity::layers
    std::vector<UnitSensitivity> units;    ///< as Sensitivity::units
    std::optional<double> us{};            ///< microseconds of the whole network for a sample
    std::optional<double> pj{};            ///< picojoules likewise, of described hardware
  };

  /// What sensitivity() returns.
  struct Sensitivity {
    std::string loss;         ///< "kl", "error" or "labels"
    std::string weighted_by;  ///< how errors are weighted: by "gradients" or "noise"
    std::size_t samples = 0;  ///< on which losses were measured
    /// Whether these are known to be the samples of the fit, on which losses are lower than on
    /// others.
    bool on_fit_samples = true;
    std::vector<SensitiveLayer> layers;  ///< in order of execution
    std::vector<SensitiveUnit> units;
    std::vector<ChoiceSensitivity> choices;
    std::vector<std::string> warnings{};  ///< a line each, such as samples that were left out
  };

  /// Networks that a search within a budget quantizes at most, unless it is told otherwise.
  inline constexpr std::size_t kBudgetTries = 4;

  /// What networks are compared by.
  struct NetworkCosts {
    double loss = 0;
    double bytes = 0;
    std::optional<double> us{};  ///< if the budget limits the time, or wants the least
    std::optional<double> pj{};  ///< likewise the energy, of described hardware
  };

  /// A network that was quantized.
  struct BudgetTry {
    NetworkCosts predicted;  ///< from the sensitivity
    NetworkCosts measured;
    bool within = false;  ///< whether what was measured is within the budget
    bool optimal = true;  ///< whether no choice is predicted to be better: false if too many exist
  };

  /// What a layer has got.
  struct ChosenLayer {
    std::string name;
    std::string choice;
    bool may_change = true;  ///< false: the recipe says what it has
  };

}  // namespace v0
}  // namespace halftone
