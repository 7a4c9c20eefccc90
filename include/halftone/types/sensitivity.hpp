// SPDX-License-Identifier: Apache-2.0
// What sensitivity(), language_sensitivity() and quantize_within() find.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A layer with weights: of a language model a matrix, of experts all.
  struct SensitiveLayer {
    std::string name;             ///< of a matrix as in GGUF files
    std::string op;               ///< of a network; empty for a matrix
    std::size_t float_bytes = 0;  ///< of the float weights
    std::string type{};           ///< of the weights before: "F32"
    std::size_t rows = 0;         ///< of the weights as a matrix
    std::size_t cols = 0;
    std::size_t bytes = 0;  ///< of the weights in this type
  };

  /// Layers that get one choice together, because they share weights or an input. Each matrix of a
  /// language model is a unit.
  struct SensitiveUnit {
    std::vector<std::size_t> layers;  ///< indices in Sensitivity::layers, ascending
    bool may_change = true;  ///< false: the recipe gives its layers the same in each choice
  };

  /// A layer in a choice.
  struct LayerSensitivity {
    double weight_bits = 32;  ///< as LayerReport; of a type with its share of the scales
    int activation_bits = 32;
    std::size_t bytes = 0;  ///< of its weights and their levels
    /// Of its output, if it is the only quantized layer; may be infinite. Nothing: not measured.
    std::optional<double> sqnr_db{};
    std::optional<double> accumulated_sqnr_db{};  ///< the same if all layers have this choice
    /// Estimate of the loss if it is the only quantized layer: to second order, from its error and
    /// Sensitivity::weighted_by. Of a matrix with n inputs
    ///
    ///     1/2 sum_o s_o e_o' M e_o   nats per token
    ///
    /// over its outputs o: s_o is the expected squared gradient of the model's own predictions,
    /// e_o [n] the error of a row, M [n, n] the second moments of the inputs.
    double weighted_error = 0;
    std::optional<double> us{};  ///< microseconds for a sample, with the encoding of its input
    std::optional<double> pj{};  ///< picojoules likewise, of described hardware
    std::optional<double> instructions{};  ///< likewise, of the C program
  };

  /// A unit in a choice.
  struct UnitSensitivity {
    std::size_t bytes = 0;  ///< of weights and levels; shared weights count once
    /// If its layers are the only quantized ones: measured, of a language model the sum of the
    /// estimates.
    double loss = 0;
    /// If its layers and all layers before them are quantized. Nothing: not measured.
    std::optional<double> accumulated_loss{};
    /// Of accuracy, with `loss`; only if layers are measured for `halftone explore`.
    std::optional<double> drop{};
    /// False: rows are no whole blocks of the type, or the type is no choice for the matrix. All
    /// numbers of the unit and its layers say nothing then.
    bool is_possible = true;
  };

  /// All layers in one choice.
  struct ChoiceSensitivity {
    std::string name;                      ///< as in the options
    std::vector<LayerSensitivity> layers;  ///< as Sensitivity::layers
    std::vector<UnitSensitivity> units;    ///< as Sensitivity::units
    std::optional<double> us{};            ///< microseconds of the whole network for a sample
    std::optional<double> pj{};            ///< picojoules likewise, of described hardware
    std::optional<double> instructions{};  ///< likewise, of the C program
  };

  /// What sensitivity() and language_sensitivity() return.
  struct Sensitivity {
    std::string loss;         ///< "kl", "error" or "labels"
    std::string weighted_by;  ///< how errors are weighted: by "gradients" or "noise"
    std::size_t samples = 0;  ///< on which losses were measured or predicted
    /// Whether these are known to be the samples of the fit, on which losses are lower than on
    /// others.
    bool on_fit_samples = true;
    std::vector<SensitiveLayer> layers;  ///< in order of execution
    std::vector<SensitiveUnit> units;
    std::vector<ChoiceSensitivity> choices;  ///< as given; types by rising bits
    std::vector<std::string> warnings{};     ///< a line each, such as samples that were left out
    std::optional<std::size_t> tokens{};     ///< of each sample, of a language model
    /// Of a language model itself on the samples: mean of -log p in nats per token.
    std::optional<double> model_loss{};
  };

  /// What networks are compared by.
  struct NetworkCosts {
    double loss = 0;
    double bytes = 0;
    std::optional<double> us{};            ///< if the budget limits the time, or wants the least
    std::optional<double> pj{};            ///< likewise the energy, of described hardware
    std::optional<double> instructions{};  ///< likewise, of the C program
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
