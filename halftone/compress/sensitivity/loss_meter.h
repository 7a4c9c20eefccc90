// SPDX-License-Identifier: Apache-2.0
// Measures what quantized layers of a network cost at its output.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/graft.h"
#include "halftone/compress/output_loss.h"
#include "halftone/runtime/execute/stream.h"
#include "halftone/spmd/devices.hpp"
#include "halftone/types/defaults.hpp"

namespace halftone::compress {

/// What a network loses against its reference.
struct LossAndDrop {
  double loss = 0;  ///< of the kind of the meter; LossKind::kError is the noise 10^(-SQNR / 10)
  /// Accuracy lost, in [-1, 1]; without labels the fraction of samples that get another class,
  /// which is at least the accuracy lost.
  double drop = 0;
};

struct MeterSettings {
  spmd::Devices devices{};
  std::size_t batch = v0::kRunBatch;  ///< samples per run
  Resize resize{};                    ///< gives graphs the extents of samples; empty: of one size
};

/// Runs a float network beside itself with some layers quantized. Float layers sum in a fixed
/// order: the same bits on every processor, for any number of devices.
class LossMeter {
 public:
  /// `reference` and `data` must outlive this.
  /// @throws Error as stream_parts(), scores_per_sample() and OutputLoss
  LossMeter(const ir::Graph& reference, const data::Dataset& data, LossKind kind,
            MeterSettings settings = {});

  [[nodiscard]] const ir::Graph& reference() const { return reference_; }
  [[nodiscard]] const OutputLoss& output_loss() const { return loss_; }

  /// The loss of the reference with these layers replaced by those of a quantized network.
  [[nodiscard]] double loss(const ir::Graph& quantized, std::span<const LayerPair> pairs) const;

  /// The loss of another network with the same inputs.
  [[nodiscard]] double loss(const ir::Graph& network) const;

  /// loss(), and the drop of accuracy. @throws Error kFormat if a label is no class
  [[nodiscard]] LossAndDrop loss_and_drop(const ir::Graph& quantized,
                                          std::span<const LayerPair> pairs) const;
  [[nodiscard]] LossAndDrop loss_and_drop(const ir::Graph& network) const;

  /// Whether weighted_errors() can be computed: all operators have a gradient (a QuantizeLinear has
  /// none), and samples of a fixed batch lie along the first axis of layer outputs.
  [[nodiscard]] bool has_gradients(std::span<const LayerPair> pairs) const;
  /// The error of each of these layers as if it were the only quantized one, weighted by gradients.
  /// With e the error of a layer's output at a sample, and g the gradient that
  /// OutputLoss::draw_gradient() starts, in the float network,
  ///
  ///     curvature / (sum of weights) sum over samples of (g . e)^2
  ///
  /// It estimates loss() to second order, from two runs over the samples for all layers.
  /// @param seed    of the random signs
  /// @return        by pair
  /// @throws Error  kUnsupported if an operator has no gradient
  /// Source: Li et al., BRECQ, ICLR 2021 (arXiv:2102.05426), Eq. 8 to 10. Differs: squares the
  /// product of gradient and error, where that squares its terms; gradients are random ones of the
  /// float network's own probabilities, so that no labels are needed.
  [[nodiscard]] std::vector<double> weighted_errors(const ir::Graph& quantized,
                                                    std::span<const LayerPair> pairs,
                                                    std::uint64_t seed,
                                                    const ProgressSink& progress = {}) const;

 private:
  /// A graph, and two of its values to compare.
  struct Outputs {
    ir::Graph graph;
    ir::ValueId reference;
    ir::ValueId other;
  };
  [[nodiscard]] Outputs outputs_of(const ir::Graph& quantized,
                                   std::span<const LayerPair> pairs) const;
  [[nodiscard]] Outputs outputs_of(const ir::Graph& network) const;
  [[nodiscard]] LossAndDrop compare(Outputs both, bool with_drop) const;
  /// @param graph  its inputs are those of the reference, once or twice
  [[nodiscard]] runtime::Stream stream(const ir::Graph& graph, std::size_t batch,
                                       const ProgressSink& progress) const;

  const ir::Graph& reference_;
  const data::Dataset& data_;
  MeterSettings settings_;
  std::vector<runtime::StreamPart> parts_;  ///< with the reference as graph
  OutputLoss loss_;
};

}  // namespace halftone::compress
