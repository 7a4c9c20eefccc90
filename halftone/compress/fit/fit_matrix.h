// SPDX-License-Identifier: Apache-2.0
// Fits a matrix of weights to codes in the metric of a layer's outputs.
#pragma once

#include <span>

#include "halftone/base/view.h"
#include "halftone/compress/fit/fitted_groups.h"
#include "halftone/compress/fit/level_fit.h"
#include "halftone/compress/fit/metric.h"
#include "halftone/compress/fit/row_fit.h"
#include "halftone/spmd/devices.hpp"
#include "halftone/types/defaults.hpp"

namespace halftone::compress {

/// Which steps run, and how far. Each can be switched off to measure its effect.
struct MatrixFitOptions {
  LevelFitOptions levels{};    ///< step 1 of learned levels
  bool input_weighted = true;  ///< step 1 of learned levels: weigh inputs by their second moments
  bool feedback = true;        ///< step 2: spread errors over the columns not yet encoded
  /// Scales that step 2 tries for a group, 1 to 64. Integer scales: the best for the weights alone,
  /// and from 3 on also its neighbours, each with the neighbours of the offset.
  int candidates = v0::kFitCandidates;
  bool refine = true;           ///< step 3
  int refine_sweeps = 30;       ///< of learned levels, maximum; stops earlier at a fixed point
  int sweeps = v0::kFitSweeps;  ///< of groups, 0 to 100; of the vectors of a network refine_sweeps
  float factor = 0;             ///< of groups whose scales share one; 0: scale_factor_of()
  bool bias_correction = true;  ///< fit_to_statistics(): remove the mean output error
  Damping damping{.channel = 0, .uniform = 0.01};  ///< fit_to_statistics()
};

/// Chooses codes and levels of a matrix so that the errors (w - q)' H (w - q) of its outputs are
/// small:
///
///  1. levels of each block of weights by fit_levels(), input k weighted by its second moment;
///  2. error feedback: columns are encoded in order, and the error of column k is spread over the
///     later columns: w_j -= (w_k - q_k) U_kj / U_kk;
///  3. refinement, which alternates the closed-form levels (F' H F)^-1 F' H w for fixed codes (F
///     the features of the codes) with coordinate descent on the codes for fixed levels.
///
/// Here w is the target w* of the metric: see target_of(). A diagonal metric has step 1 only.
/// Vectors (see NumberSystem::vectors) are fitted as groups, with at most 8 sweeps: as codes of
/// numbers, codewords of 8-bit levels with a scale for each group of a row. Where all weights are
/// zero, so that any factor of the scales would do, it is numerics::least_scale().
/// Rows are fitted independently, spread over devices, and vectors on every rank the same; the
/// result does not depend on the number of devices.
/// @param weights  [o, n] finite
/// @param metrics  of n inputs; several: each that of its share of the rows. One for a single block
/// @param devices  none: as many emulated ones as parallel_for() may use threads
/// @return         without bias_correction
/// @throws Error kShape if a metric has another n; of vectors kUsage as vector_groups(), else as
///         below
/// Source: step 2, Frantar et al., GPTQ, ICLR 2023 (arXiv:2210.17323), Algorithm 1.
/// Differs: real-valued bases instead of integers, natural column order, a target that accounts for
/// the quantized layers before this one; steps 1 and 3 are ours.
MatrixFit fit_matrix(MatrixView<const float> weights, std::span<const Metric<double>> metrics,
                     const WeightFormat& format, const MatrixFitOptions& options = {},
                     const spmd::Devices& devices = {});

/// The same for codes in groups as files store them, in float32:
///
///  2. Groups of columns are encoded one after another. Each of several scales (and offsets) is
///     tried for the whole group: code after code is that of the nearest codeword in the metric of
///     its d columns, (x - s c)' G (x - s c) with G^-1 = U_bb' U_bb, and its error
///     e = (x - s c) U_bb^-1 is spread, w_j -= e U_bj. The scale of the least |e|^2 of a group
///     wins. Scales that are integers come from a search over the block that shares a factor when
///     that block begins; its neighbours are tried too.
///  3. Sweeps. With R = (W - Q) H: for each group the scale (and offset) in closed form, kept where
///     it helps after it is rounded; then one code after another for all others fixed.
///
/// Rows are fitted independently on several threads, see parallel_for(); the result does not depend
/// on their number, nor on the SIMD target.
/// @param weights  [o, n] w, or targets w*
/// @throws Error kUsage as check_codes() or if an option is out of range; kShape if the metric has
///         another n; kUnsupported if a weight is not finite
/// Differs: several columns share a code; scales are judged by the error after feedback; sweeps.
GroupFit fit_matrix(MatrixView<const float> weights, const Metric<float>& metric,
                    const GroupCodes& groups, const MatrixFitOptions& options = {});

/// The factor of scales of e3m5 with room for a matrix and the errors that are spread to it; 0 if
/// it is all zero; 1 for other scales.
/// @throws Error kUsage as check_codes()
float scale_factor_of(MatrixView<const float> weights, const GroupCodes& groups,
                      const MatrixFitOptions& options = {});

/// The groups of a format of vectors.
/// @throws Error kUsage if a group is no whole number of codewords or over 256 weights
GroupCodes vector_groups(const WeightFormat& format);

}  // namespace halftone::compress
