// SPDX-License-Identifier: Apache-2.0
// Refines the layers of a block together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/fit/parameters.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::compress {

/// How the level of a weight is learned.
enum class ReconstructRounding {
  kStraightThrough,  ///< any level: that nearest to a float value, see LearnedWeights
  kAdaptive,         ///< one of the two around the float weight, see AdaptiveRounding
};

/// What is refined at once.
enum class ReconstructUnit {
  kBlock,  ///< the layers between two values on which all later values depend
  kLayer,  ///< each layer alone
};

struct ReconstructOptions {
  int steps = 0;  ///< of gradient descent for each block; 0: keep the fit
  ReconstructRounding rounding = ReconstructRounding::kStraightThrough;
  ReconstructUnit unit = ReconstructUnit::kBlock;
  std::size_t batch = 32;  ///< samples per step, a multiple of 4
  double drop = 0.5;       ///< fraction of activations that a step leaves float
  /// Learning rate of Adam, in distances of neighbouring levels; 0: codes stay.
  /// Default: 0.004, or 0.03 with kAdaptive.
  std::optional<double> weight_rate{};
  double level_rate = 0.001;  ///< the same for the levels of activations, and of weights if they
                              ///< are rounded straight through
  double bias_rate = 0.001;   ///< the same for biases, in root mean squares of the block's output
  double rounding_penalty = 0.01;  ///< lambda of kAdaptive, for an output of mean square 1
  std::size_t samples =
      1024;  ///< number of first calibration samples to use; they are kept in memory
};

/// A layer of a block with the number systems of its weights and its input.
struct ReconstructLayer {
  ir::NodeId node{};                   ///< in the quantized network
  ir::ValueId original = ir::kAbsent;  ///< the float weights
};

/// The samples that a block is trained on, [samples, ...] each.
struct ReconstructData {
  std::vector<float> input;   ///< the block's input in the quantized network
  std::vector<float> target;  ///< the block's output in the float network
  std::size_t samples = 0;
};

/// A block of the quantized network.
struct ReconstructBlock {
  ir::ValueId from = ir::kAbsent;  ///< its input
  ir::ValueId to = ir::kAbsent;    ///< its output
  std::vector<ReconstructLayer> layers;
  ReconstructData data;
};

/// Run options of a reconstruction.
struct ReconstructRun {
  std::uint64_t seed = 0;
  ProgressSink progress{};
  spmd::Devices devices{};  ///< none: as many emulated ones as parallel_for() may use threads
};

/// Errors of a block's output on its samples: sum of squares, relative to that of the target.
struct ReconstructResult {
  double error_before = 0;
  double error_after =
      0;  ///< equals error_before if no step improved the block, which is then kept
};

/// Either a result, or the reason why the block was not changed.
struct ReconstructOutcome {
  std::optional<ReconstructResult> result;
  std::string skipped_because;  ///< empty if there is a result
};

/// Refines codes, bases, offsets and biases of the layers of a block by gradient descent on
///
///     L = |block(x) - y|^2 / |y|^2
///
/// where x is the block's input in the quantized network and y its output in the float network. The
/// optimizer is Adam; the learning rates decay to zero along a cosine. In every step a random part
/// of the activations stays float. Each step sums the gradients of four parts of a batch, spread
/// over devices; the result does not depend on their number.
///
/// With ReconstructRounding::kStraightThrough, weights are float numbers that represent the nearest
/// level, and levels follow their own gradient. With kAdaptive the levels of weights stay as
/// fitted, codes are chosen anew around the float weights, and the descent is on
///
///     C L + rounding_penalty * sum over weights of (1 - |2 h - 1|^exponent)
///
/// with C the last extent of the output. So L is in the unit of the paper, the squared error of C
/// channels, if the mean square of y is 1.
///
/// The block changes only if L of the rounded weights is less than that of the fit on all samples.
/// Otherwise the descent runs again with fixed codes, so that only levels and biases are learned,
/// if their learning rates are not 0.
/// @param graph  the whole network; the block's constants and encodings are replaced
/// @throws Error kMemory if there is too little memory
/// Source: Li et al., BRECQ, ICLR 2021 (arXiv:2102.05426): blocks and their loss; Wei et al.,
/// QDrop, ICLR 2022 (arXiv:2203.05740): dropping the quantization of activations; Nagel et al.,
/// AdaRound, ICML 2020 (arXiv:2004.10568), Eq. 25: kAdaptive, with ReconstructUnit::kLayer.
/// Differs: straight-through weights by default, levels of any basis instead of a step size, biases
/// are learned too, and the error is relative to the output.
[[nodiscard]] ReconstructOutcome reconstruct(ir::Graph& graph, const ReconstructBlock& block,
                                             const ReconstructOptions& options,
                                             const ReconstructRun& run);

}  // namespace halftone::compress
