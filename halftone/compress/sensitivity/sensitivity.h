// SPDX-License-Identifier: Apache-2.0
// What each layer costs in each number system: error, loss, bytes, time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "halftone/compress/output_loss.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/recipe.h"
#include "halftone/compress/sensitivity/layer_choice.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/types/defaults.hpp"
#include "halftone/types/sensitivity.hpp"

namespace halftone::compress {

using v0::ChoiceSensitivity;
using v0::LayerSensitivity;
using v0::SensitiveLayer;
using v0::SensitiveUnit;
using v0::Sensitivity;
using v0::UnitSensitivity;

/// What a run of a network takes for one sample.
struct RunCosts {
  std::vector<double> layer_us;  ///< microseconds, as Sensitivity::layers; not measured: empty
  double us = 0;                 ///< of the whole network
  std::vector<double> layer_pj;  ///< picojoules, of described hardware; else empty
  double pj = 0;
  std::vector<double> layer_instructions{};  ///< of the C program; not counted: empty
  double instructions = 0;
};

/// Adds what is known of a network to a choice and its layers.
void add_costs(ChoiceSensitivity& choice, const RunCosts& costs);

struct MeasureSettings {
  std::optional<LossKind> loss{};  ///< nullopt: default_loss()
  /// Samples that losses and errors are measured on; null: those of the fit. Fits adapt to few
  /// samples, so that the loss on these is less than on others.
  const data::Dataset* evaluation = nullptr;
  std::size_t batch = v0::kRunBatch;  ///< samples per run that measures losses
  QuantizeSettings fit{};             ///< its seed is also that of the weights of errors
  /// Measures or estimates a network with layers of these names; empty: loss and bytes alone.
  /// Called on all ranks.
  std::function<RunCosts(const ir::Graph& network, const std::vector<std::string>& layers)> costs{};
  std::string costs_name{};  ///< tells kinds of costs apart in the state of a run
  /// What an interrupted run has measured of a choice; empty: nothing.
  std::function<std::optional<ChoiceSensitivity>(const std::string& choice)> known{};
  /// Called after each choice.
  std::function<void(const ChoiceSensitivity&)> measured{};
};

/// Measures each layer of a float network in each choice, alone and after the layers before it.
///
/// For each choice the network is quantized twice: with every layer fitted to float values
/// (Schedule::kIndependent), of which single units are grafted into the float network, and in
/// order, of which all units up to one are. So `loss` is what quantize() leaves if the recipe skips
/// all other layers, and `accumulated_loss` what it leaves if it skips the layers behind. Same
/// results for any number of devices, but for times.
/// @param graph   simplified, as for quantize()
/// @param recipe  of the fit; its overrides hold in each choice
/// @throws Error  as quantize(), with the name of the choice; kUsage if there are no choices
Sensitivity sensitivity(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                        const std::vector<LayerChoice>& choices,
                        const MeasureSettings& options = {});

/// What single layers lose: of sensitivity() only bits, bytes, `loss` and `drop`, in less time.
///
/// Each layer is a unit of its own, and all other ones are float. Where the recipe reconstructs
/// blocks or fits in phases, each layer is quantized so, not with Schedule::kIndependent.
/// @param recipe   the layers that it quantizes get each choice, whatever it says of them
/// @param options  its evaluation is taken as it is; without costs
/// @throws Error as quantize(), with the name of the choice; kUsage if there are no choices
Sensitivity losses_alone(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                         const std::vector<LayerChoice>& choices, const MeasureSettings& options);

/// What is known without data: layers, units, bits, and the bytes of codes by rule
/// (with_rule_codes()). Losses and errors are 0.
/// @throws Error as with_rule_codes(); kUsage if there are no choices
Sensitivity sizes_by_rule(const ir::Graph& graph, const Recipe& recipe,
                          const std::vector<LayerChoice>& choices);

/// How a file stores the weights of a layer.
struct StoredWeights {
  double bits = 32;
  std::size_t bytes = 0;
};

/// sensitivity() for the layers of a network that is quantized already, its only choice.
/// @param quantized  its weights are codes or float32
/// @param stored     by layer of paired_layers(): the weights, where the file has other ones than
///                   `quantized`, such as integers; may be shorter
/// @throws Error as paired_layers()
Sensitivity sensitivity_of(const ir::Graph& quantized, const ir::Graph& reference,
                           const data::Dataset& data, const MeasureSettings& options = {},
                           const std::vector<std::optional<StoredWeights>>& stored = {});

}  // namespace halftone::compress
