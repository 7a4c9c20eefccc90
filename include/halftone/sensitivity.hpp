// SPDX-License-Identifier: Apache-2.0
// Measures which layers lose how much in few bits, and quantizes networks within budgets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/data.hpp"
#include "halftone/export.hpp"
#include "halftone/model.hpp"
#include "halftone/options.hpp"
#include "halftone/quantize.hpp"
#include "halftone/recipe.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// For sensitivity().
  struct SensitivityOptions {
    Recipe recipe{};  ///< how layers are fitted; what its overrides say is no choice
    /// What layers may get: WEIGHTS[/INPUTS], each [SYSTEM:]BITS, such as "2", "4/8", "3/none" or
    /// "symmetric:8"; or "float". Empty: "1", "2", "3", "4", "5", "6" and "8".
    std::vector<std::string> choices{};
    /// "kl": divergence of the predicted probabilities from those of the float network, in nats per
    /// sample; "error": squared error of the outputs, relative to those of the float network;
    /// "labels": cross entropy with the labels above that of the float network, in nats per sample.
    /// Empty: "kl" of classifiers, else "error".
    std::string loss{};
    /// Samples on which losses and errors are measured; nullopt: those of the fit.
    std::optional<Data> test_data{};
    /// The float network that the model was made from: the layers of the model are measured as they
    /// are. Recipe, choices and state are empty then.
    std::optional<Model> reference{};
    bool measure_time = true;  ///< also of each layer, on this machine
    /// A file that keeps what was measured of each choice, from which the same call continues after
    /// an interruption; empty: none.
    std::filesystem::path state{};
    std::uint64_t seed = 0;  ///< as for quantize(), and of the weights of errors
    /// As for quantize().
    std::optional<std::uint64_t> sample_memory_bytes{};
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

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
    int weight_bits = 32;
    int activation_bits = 32;
    std::size_t bytes = 0;  ///< of its weights and their levels
    double sqnr_db = 0;     ///< of its output, if it is the only quantized layer; may be infinite
    double accumulated_sqnr_db = 0;  ///< the same if all layers have this choice
    double weighted_error = 0;       ///< estimate of the loss if it is the only quantized layer
    std::optional<double> us{};      ///< microseconds for a sample, with the encoding of its input
  };

  /// A unit in a choice.
  struct UnitSensitivity {
    std::size_t bytes = 0;        ///< of weights and levels; shared weights count once
    double loss = 0;              ///< if its layers are the only quantized ones
    double accumulated_loss = 0;  ///< if its layers and all layers before them are quantized
  };

  /// All layers in one choice.
  struct ChoiceSensitivity {
    std::string name;                      ///< as in the options
    std::vector<LayerSensitivity> layers;  ///< as Sensitivity::layers
    std::vector<UnitSensitivity> units;    ///< as Sensitivity::units
    std::optional<double> us{};            ///< microseconds of the whole network for a sample
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

  /// Measures each layer of a float network in each choice, alone and after the layers before it.
  /// The result is that of `halftone sensitivity`: but for times, it depends on network, samples
  /// and options alone, not on threads or the processor.
  /// @param samples  to which layers are fitted
  /// @throws Error as quantize(); kUsage also for no choice, an unknown one or one that is there
  ///         twice, an unknown loss, "labels" without labels, or a reference with recipe, choices
  ///         or state; kFormat if the state is of another network, data, recipe or seed; kIo if it
  ///         cannot be written; kShape if outputs are no scores, or the reference has other layers
  HALFTONE_CPP_API Sensitivity sensitivity(const Model& model, const Data& samples,
                                           const SensitivityOptions& options = {});

  /// Limits of a network, inclusive. One or two are set; what is least then is the first of loss,
  /// bytes and time that has no limit.
  struct Budget {
    std::optional<double> loss{};   ///< as SensitivityOptions::loss
    std::optional<double> bytes{};  ///< of the file
    std::optional<double> us{};     ///< microseconds for a sample, on this machine
  };

  /// For quantize_within(). Fields that SensitivityOptions has too mean the same.
  struct BudgetOptions {
    Recipe recipe{};
    std::vector<std::string> choices{};
    std::string loss{};
    std::optional<Data> test_data{};
    std::size_t tries = 4;          ///< networks that are quantized, at most; at least 1
    std::string format = "circle";  ///< of the file whose bytes count: as Model::to_bytes()
    SaveOptions form{};             ///< of this file
    std::filesystem::path state{};
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> sample_memory_bytes{};
    Resources resources{};
    Progress progress{};  ///< may be empty
  };

  /// What networks are compared by.
  struct NetworkCosts {
    double loss = 0;
    double bytes = 0;
    std::optional<double> us{};  ///< if the budget limits the time, or wants the least
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

  /// What quantize_within() returns: the network, and how it was found.
  struct BudgetResult : QuantizeResult {
    std::vector<ChosenLayer> choices;
    std::vector<BudgetTry> tries;
    std::size_t chosen = 0;  ///< index of the network in `tries`
    /// Predicted networks that none beats in both loss and size (the time, if that is limited and
    /// bytes are not), from the smallest to the largest.
    std::vector<NetworkCosts> front;
    std::string recipe;  ///< in TOML: with it, quantize() makes the same network
    Sensitivity sensitivity;
  };

  /// Quantizes a float network with the choices that cost least within a budget: measures the
  /// sensitivity, chooses, quantizes, measures the result, and tries again with what that taught.
  /// Without a time in it the result is the same for any number of threads and any processor, and
  /// that of `halftone quantize --budget`. What was measured never exceeds the budget.
  /// @throws Error as sensitivity(); kUsage unless one or two limits are set, for a limit that is
  ///         not positive, or without a try; kUnsupported if the budget cannot be met, with what
  ///         the least or the nearest is, or the format cannot hold the network
  HALFTONE_CPP_API BudgetResult quantize_within(const Model& model, const Data& samples,
                                                const Budget& budget,
                                                const BudgetOptions& options = {});

}  // namespace v0
}  // namespace halftone
