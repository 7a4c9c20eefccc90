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
#include "halftone/spmd/devices.h"

namespace halftone::compress {

struct ReconstructOptions {
  int steps = 0;               ///< of gradient descent for each block; 0: keep the fit
  std::size_t batch = 32;      ///< samples per step, a multiple of 4
  double drop = 0.5;           ///< fraction of activations that a step leaves float
  double weight_rate = 0.004;  ///< learning rate of Adam, in distances of neighbouring levels
  double level_rate = 0.001;   ///< the same for the levels of weights and activations
  double bias_rate = 0.001;    ///< the same for biases, in root mean squares of the block's output
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
/// where x is the block's input in the quantized network and y its output in the float network.
/// Weights are float numbers that represent the nearest level (straight-through gradient); levels
/// follow their own gradient; in every step a random part of the activations stays float. The
/// optimizer is Adam; the learning rates decay to zero along a cosine. If the error does not
/// decrease, it runs again with fixed codes, so that only levels and biases are learned. Each step
/// sums the gradients of four parts of a batch, spread over devices; the result does not depend on
/// their number.
/// @param graph  the whole network; the block's constants and encodings are replaced
/// @throws Error kMemory if there is too little memory
/// Source: Li et al., BRECQ, ICLR 2021 (arXiv:2102.05426): blocks and their loss; Wei et al.,
/// QDrop, ICLR 2022 (arXiv:2203.05740): dropping the quantization of activations. Differs:
/// straight-through weights instead of learned rounding, levels of any basis instead of a step
/// size, and biases are learned too.
[[nodiscard]] ReconstructOutcome reconstruct(ir::Graph& graph, const ReconstructBlock& block,
                                             const ReconstructOptions& options,
                                             const ReconstructRun& run);

}  // namespace halftone::compress
