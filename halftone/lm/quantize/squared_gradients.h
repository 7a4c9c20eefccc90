// SPDX-License-Identifier: Apache-2.0
// How much the predictions of a language model depend on the outputs of its matrices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/lm/model/description.h"
#include "halftone/lm/model/weights.h"

namespace halftone::lm {

struct SquaredGradientOptions {
  std::uint64_t seed = 0;   ///< of the tokens that are sampled
  ProgressSink progress{};  ///< may be empty
};

/// Expected squared gradients, the diagonal of the Fisher information: what an error of an output
/// does to predictions.
struct SquaredGradients {
  /// s [outputs] of each matrix of the blocks and of the head, see measure_squared_gradients().
  /// Experts appear as expert 0, with the mean over all rows that experts of the block multiply.
  std::map<WeightId, std::vector<double>> outputs;
  std::vector<double> embedding;  ///< [width] the same of the rows that the table gives
  std::size_t tokens = 0;         ///< over which means were taken
  double loss = 0;                ///< mean of -log p of the sampled tokens, in nats
  /// The same of the rows that the table of blocks' inputs gives; empty without one.
  std::vector<double> block_inputs{};
};

/// For each output o of a matrix, s_o = E[g_o^2]: the mean over the rows of all samples of the
/// squared gradient, with respect to this output, of
///
///     L = sum over the tokens t of a sample of log p(y_t | tokens up to t),
///
/// where y_t is drawn from the model's own prediction p. If rows w_o of the matrix have errors e_o,
/// and M = E[x x'] are the second moments of its inputs, then to second order the predictions with
/// errors, q, diverge from p by
///
///     KL(p || q) = 1/2 sum_o s_o e_o' M e_o   nats per row, on average,
///
/// if the errors of several outputs and tokens do not move predictions in one direction, and
/// gradients do not depend on inputs. There is a row per token; experts have as many rows per token
/// as a token has experts.
/// A table of an embedding with errors e has 1/2 sum_c s_c E[e_c^2], over the tokens of a text.
///
/// The model runs forward part by part; its hidden rows at the borders of blocks stay in memory:
/// 4 samples tokens width (blocks + 2) bytes. Then each block runs again, forward and backward, one
/// sample per thread of parallel_for(). Beside that there are the matrices of one block, or the
/// head, as float32; for each thread the values and gradients of one block and one sample; for each
/// sample 8 bytes per token of the vocabulary. The result has the same bits for any number of
/// threads.
///
/// Source: Amari, Natural gradient works efficiently in learning, Neural Computation 10(2), 1998,
/// for the metric; Theis et al., 2018, arXiv:1801.05787, for its diagonal as the cost of a
/// change. Differs: outputs instead of parameters, whose errors M describes in full.
/// @param samples  tokens of each, equally many
/// @throws Error kUsage without tokens, or for samples of different lengths; kShape for a token
///         that the vocabulary lacks; kFormat if a logit is not finite; kUnsupported if an operator
///         has no gradient, see gradient::Tape; kMemory; as build_sample_block()
SquaredGradients measure_squared_gradients(const Description& description, const Weights& weights,
                                           std::span<const std::vector<std::int32_t>> samples,
                                           const SquaredGradientOptions& options = {});

}  // namespace halftone::lm
