// SPDX-License-Identifier: Apache-2.0
// The fits that quantize() makes for each layer.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/compress/calibration.h"
#include "halftone/compress/fit/weight_fit.h"
#include "halftone/compress/recipe.h"
#include "halftone/compress/stages.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

/// Fits levels and codes to calibration data and adds them to the graph, which holds both the float
/// network and its quantized counterpart.
class LayerFitter {
 public:
  /// All arguments except `layers` and `seed` must outlive this.
  /// @param layers  the quantizable layers of the float network
  LayerFitter(ir::Graph& graph, std::vector<ir::NodeId> layers, const Calibration& calibration,
              const Recipe& recipe, std::uint64_t seed, Stages& stages)
      : graph_(graph),
        layers_(std::move(layers)),
        calibration_(calibration),
        recipe_(recipe),
        seed_(seed),
        stages_(stages) {}

  /// The best levels for a sample.
  /// @throws Error kUsage if they are out of range
  numerics::Levels activation_levels(const ParameterSpace& space, const ValueSample& sample,
                                     const ir::Node& layer) const;
  /// Fits levels to the values of an activation, or covers the range of a calibrator. Calibrators
  /// see all actual values, and no targets.
  /// @throws Error kUnsupported if all values are equal or have one nearest level; kFormat if they
  ///         are too large for any basis, or a calibrator finds no range
  numerics::MatrixEncoding fit_activation(ValuePair pair, const ActivationFormat& format,
                                          const ir::Node& layer, const ProgressSink& progress);
  /// The encoded counterpart of an activation; layers that share the activation share the codes.
  ir::ValueId encoded(ir::ValueId original, ir::ValueId actual, const ActivationFormat& format,
                      const ir::Node& layer);

  /// Replaces weights and bias among the inputs of the counterpart of a layer that multiplies its
  /// input.
  void quantize_weights(ir::NodeId id, std::vector<ir::ValueId>& inputs,
                        const WeightFormat& format);
  /// Replaces the weights among the inputs of a recurrent layer's counterpart.
  /// @param states    the states that the weights multiply
  /// @param encoding  of the states; null: float
  void quantize_recurrence(const ir::Node& node, std::vector<ir::ValueId>& inputs,
                           const WeightFormat& format, ValuePair states,
                           const numerics::MatrixEncoding* encoding);
  /// The codes of a table, for all layers that read it in this number system. If one of these
  /// layers multiplies with the table, as the last layer of a language model with tied embeddings
  /// does, its output error on float inputs and the error of the rows have equal weight: H becomes
  /// H + mean(diag H) I.
  ir::ValueId table_codes(const ir::Node& node, const WeightFormat& format);
  /// Whether the weights that a layer multiplies with are also a lookup table.
  [[nodiscard]] bool is_looked_up(const ir::Node& node, const WeightFormat& format) const;

 private:
  template <typename IsKind>
  [[nodiscard]] std::optional<ir::NodeId> reader(ir::ValueId weights, const WeightFormat& format,
                                                 const IsKind& is_kind) const;
  [[nodiscard]] Vector output_error(ir::ValueId codes, const ir::Node& node,
                                    std::span<const LayerStatistics> statistics) const;
  [[nodiscard]] MatrixView<const float> float_weights(const ir::Node& node) const;
  std::vector<LayerStatistics> input_statistics(const LayerInput& input, const std::string& stage);
  template <typename Fit>
  MatrixFit fit_layer(const ir::Node& node, Fit&& fit);
  ir::ValueId add_codes(ir::ValueId original, MatrixFit fit);
  Vector fit_layer_weights(const ir::Node& node, std::vector<ir::ValueId>& inputs,
                           const WeightFormat& format, std::span<const LayerStatistics> statistics,
                           const MatrixFitOptions& options);
  void correct_bias(const ir::Node& node, std::vector<ir::ValueId>& inputs,
                    const Vector& correction);

  ir::Graph& graph_;
  std::vector<ir::NodeId> layers_;
  const Calibration& calibration_;
  const Recipe& recipe_;
  std::uint64_t seed_;
  Stages& stages_;
  std::vector<std::pair<std::pair<ir::ValueId, ActivationFormat>, ir::ValueId>> encoded_;
  std::vector<std::pair<std::pair<ir::ValueId, WeightFormat>, ir::ValueId>> tables_;
};

}  // namespace halftone::compress
