// SPDX-License-Identifier: Apache-2.0
// Fits the weights of a layer to statistics of its inputs.
#pragma once

#include <span>

#include "halftone/base/view.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/layer_statistics.h"

namespace halftone::compress {

/// fit_matrix() of a linear layer in the metric H = E[q q'] of its actual inputs q, with the target
/// that brings it closest to the float layer on x. The target of a fit without refinement is the
/// float weights, and the metric of one without feedback too is the diagonal of H or, without input
/// weights, the identity. With bias_correction, H and E[q x'] are centred, and the bias takes the
/// mean error E[W x] - E[V q], V the quantized weights.
/// @param weights     [o, n] finite
/// @param statistics  of all rows; several: of groups of outputs of equal size, each with its own
///                    inputs. A single block for the whole matrix is fitted to their sum.
/// @param devices     as fit_matrix()
/// @throws Error kShape if the statistics have another n; else as fit_matrix()
MatrixFit fit_to_statistics(MatrixView<const float> weights, const WeightFormat& format,
                            std::span<const LayerStatistics> statistics,
                            const MatrixFitOptions& options, const spmd::Devices& devices = {});

/// E[W x] - E[V q]: the mean error of a layer's outputs, which can be added to the bias.
/// @param weights  [o, n] W
/// @param encoded  [o, n] V
/// @return         [o]
Vector mean_output_error(MatrixView<const float> weights, MatrixView<const float> encoded,
                         const LayerStatistics& statistics);

}  // namespace halftone::compress
