// SPDX-License-Identifier: Apache-2.0
// Refining the layers of a block together.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/fit/parameters.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.h"

namespace halftone::compress {

struct ReconstructOptions {
  int steps = 0;               ///< of gradient descent for each block; 0: the fit is left as it is
  std::size_t batch = 32;      ///< samples per step, a multiple of 4
  double drop = 0.5;           ///< share of activations that a step leaves float
  double weight_rate = 0.004;  ///< of Adam, in distances of neighbouring levels
  double level_rate = 0.001;   ///< the same for the levels of weights and activations
  double bias_rate = 0.001;    ///< the same for biases, in root mean squares of the block's output
  std::size_t samples = 1024;  ///< of the calibration data, the first ones: they are kept in memory
};

/// A layer of a block: which number systems its weights and its input's codes follow.
struct ReconstructLayer {
  ir::NodeId node{};                      ///< in the quantized network
  ir::ValueId original = ir::kAbsent;     ///< the float weights
  Scheme weight_scheme = Scheme::kBasis;  ///< where they are encoded
  Scheme activation_scheme = Scheme::kBasis;
};

/// What a block learns from: [samples, ...] each.
struct ReconstructData {
  std::vector<float> input;   ///< what the quantized network gives the block
  std::vector<float> target;  ///< what the float network's block gives
  std::size_t samples = 0;
};

/// How far a block's output is from its target on the samples it learns from: sum of squares over
/// that of the target.
struct ReconstructResult {
  double error_before = 0;
  double error_after = 0;  ///< equal if no step made it better: the block is as it was then
};

/// Refines codes, bases, offsets and biases of the layers of a block by gradient descent on
///
///     L = |block(x) - y|^2 / |y|^2
///
/// x what the quantized network gives the block, y the float block's output. Weights are float
/// numbers that stand for the nearest level (the gradient passes straight through), levels move by
/// their own gradient; a random part of the activations is left float in every step. Adam, the
/// rates fall to zero along a cosine. Where that gains nothing, it is tried again with weights that
/// stay where they are: only levels and biases learn. Each step sums the gradients of four parts of
/// a batch, spread over devices; the result does not depend on how many there are.
/// @param graph  the whole network; the block's constants and encodings are replaced
/// @param from   the block's input, `to` its output
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @return nothing, and nothing changed, if the block has an operator without a gradient or more
///         than one input
/// Source: Li et al., BRECQ, ICLR 2021 (arXiv:2102.05426): blocks and their loss; Wei et al.,
/// QDrop, ICLR 2022 (arXiv:2203.05740): dropping the quantization of activations. Differs:
/// straight-through weights instead of learned rounding, levels of any basis instead of a step
/// size, and biases learn too.
std::optional<ReconstructResult> reconstruct(ir::Graph& graph, ir::ValueId from, ir::ValueId to,
                                             const std::vector<ReconstructLayer>& layers,
                                             const ReconstructData& data,
                                             const ReconstructOptions& options, std::uint64_t seed,
                                             const ProgressSink& progress,
                                             const spmd::Devices& devices = {});

}  // namespace halftone::compress
