// SPDX-License-Identifier: Apache-2.0
// Steps 1 to 3 of fitting a layer's weights.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/base/view.h"
#include "halftone/compress/fit/layer_statistics.h"
#include "halftone/compress/fit/level_fit.h"
#include "halftone/compress/fit/row_fit.h"

namespace halftone::compress {

/// Which steps run, and how far. Each can be switched off to measure its effect.
struct WeightFitOptions {
  LevelFitOptions levels;
  bool input_weighted = true;   ///< step 1: weigh each input by its second moment
  bool error_feedback = true;   ///< step 2
  bool refine = true;           ///< step 3: match the float layer's output
  bool bias_correction = true;  ///< remove the mean output error through the bias
  int refine_sweeps = 30;       ///< of step 3, maximum; stops earlier at a fixed point
  double damping = 0.01;        ///< ridge towards the float weights, of the mean second moment
};

struct WeightFit : RowFit {
  Vector bias_correction;  ///< [o] to add to the bias; zero if the step is off
};

/// Fits codes and bases for a linear layer.
///
/// With H = E[q q'] over the layer's actual inputs q and W the float weights [o, n]:
///  1. a basis for each block of weights by fit_levels(), input k weighted by H_kk;
///  2. error feedback: columns are encoded in order, and the error of column k is spread over
///     the remaining columns by the Cholesky factor U of H^-1 (H^-1 = U'U):
///     w_j -= (w_k - q_k) U_kj / U_kk;
///  3. refinement for the output: the target becomes w* = (H + dI)^-1 (E[q x'] w + d w) (d the
///     damping), which brings the layer on its actual inputs q closest to the float layer on x.
///     Then alternate the closed-form basis (F' H F)^-1 F' H w* for fixed codes (F the features of
///     the codes) with coordinate descent on the codes for a fixed basis.
/// With bias_correction, H and E[q x'] are centred, and the bias takes the mean error
/// E[W x] - E[V q], V the quantized weights.
/// Vectors (see NumberSystem::vectors) take the place of steps 1 and 2, and of the alternation of
/// step 3: fit_vectors() of w* in the metric H, with feedback if step 2 is on and at most 8 sweeps
/// if step 3 is; on every rank, the same. Without both, the metric is the diagonal of H or,
/// without input weights, the identity.
/// Rows are fitted independently, spread over devices; the result does not depend on the number of
/// devices.
/// @param weights  [o, n] finite
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @throws Error kShape if the statistics have another n
/// Source: step 2, Frantar et al., GPTQ, ICLR 2023 (arXiv:2210.17323), Algorithm 1.
/// Differs: real-valued bases instead of integers, natural column order, a target that accounts for
/// the quantized layers before this one; steps 1 and 3 are ours.
WeightFit fit_weights(MatrixView<const float> weights, const WeightFormat& format,
                      const LayerStatistics& statistics, const WeightFitOptions& options,
                      const spmd::Devices& devices = {});

/// The same for a layer with groups of outputs of equal size, each with its own inputs. A single
/// basis for the whole matrix is fitted to the sum of the groups' statistics.
/// @param statistics  one per group
WeightFit fit_grouped_weights(MatrixView<const float> weights, const WeightFormat& format,
                              std::span<const LayerStatistics> statistics,
                              const WeightFitOptions& options, const spmd::Devices& devices = {});

/// E[W x] - E[V q]: the mean error of a layer's outputs, which can be added to the bias.
/// @param weights  [o, n] W
/// @param encoded  [o, n] V
/// @return         [o]
Vector mean_output_error(MatrixView<const float> weights, MatrixView<const float> encoded,
                         const LayerStatistics& statistics);

}  // namespace halftone::compress
