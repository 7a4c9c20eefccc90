// SPDX-License-Identifier: Apache-2.0
// Measures a network in choices, one after another. Private to this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/compress/graft.h"
#include "halftone/compress/layer_errors.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/compress/sensitivity/sensitivity.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {

/// A network in one choice, fitted in two ways.
struct FittedChoice {
  ir::Graph alone;     ///< each layer on float values
  ir::Graph in_order;  ///< each layer on those of the layers before it
  /// As for sensitivity_of().
  std::vector<std::optional<StoredWeights>> stored{};
};

/// The layers and units of a network.
Sensitivity described(const ir::Graph& network, const std::vector<ir::NodeId>& layers);

/// The bytes of a unit: layers that share weights have one code of them.
std::size_t bytes_of(const ir::Graph& network, const std::vector<ir::NodeId>& layers,
                     const SensitiveUnit& unit, const ChoiceSensitivity& choice);

/// The pairs of these layers, of all layers with weights.
std::vector<LayerPair> pairs_of_layers(const ir::Graph& reference, const ir::Graph& quantized,
                                       const std::vector<ir::NodeId>& layers);

/// Compares layers of a float network with those of quantized ones.
class SensitivityRun {
 public:
  /// @param reference  outlives this, as the other references do
  /// @param options    its `resize` gives the reference the extents of samples
  SensitivityRun(const ir::Graph& reference, const data::Dataset& data,
                 std::vector<ir::NodeId> layers, const MeasureSettings& options);

  /// @param name  of the choice
  ChoiceSensitivity measure(const std::string& name, const FittedChoice& fitted,
                            const ProgressSink& progress);

  Sensitivity result;  ///< without choices

 private:
  [[nodiscard]] std::vector<LayerPair> pairs_of(const ir::Graph& quantized) const;
  void add_layers(ChoiceSensitivity& choice, const FittedChoice& fitted,
                  const std::vector<LayerPair>& alone, const std::vector<LayerPair>& in_order);
  [[nodiscard]] LayerErrorOptions run_options() const;
  [[nodiscard]] std::vector<numerics::Distortion> errors_alone(
      const ir::Graph& quantized, const std::vector<LayerPair>& pairs) const;
  /// @param errors  of the layer outputs
  [[nodiscard]] std::vector<double> weighted_errors(
      const ir::Graph& alone, const std::vector<LayerPair>& pairs,
      const std::vector<numerics::Distortion>& errors);
  /// The loss that noise on a layer's output causes, by its power: measured with noisy weights.
  void measure_noise();
  void add_costs(ChoiceSensitivity& choice, const ir::Graph& network,
                 const std::vector<LayerPair>& pairs) const;

  const ir::Graph& reference_;
  const data::Dataset& data_;
  std::vector<ir::NodeId> layers_;
  const MeasureSettings& options_;
  LossMeter meter_;
  bool by_gradients_ = true;            ///< how errors are weighted; else by noise
  std::vector<double> loss_per_noise_;  ///< by layer; empty until needed
};

}  // namespace halftone::compress
