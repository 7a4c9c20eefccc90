// SPDX-License-Identifier: Apache-2.0
// What quantized weights do to a layer's outputs, and to the loss of the network.
#pragma once

#include <span>
#include <vector>

#include "halftone/base/view.h"

namespace halftone::compress {

/// The mean squared error of each output: e' M e with e = its row of W - Q. It does not depend on
/// the number of threads.
/// @param weights  [o, n] W
/// @param values   [o, n] Q
/// @param moments  [n, n] M = E[x x'], not damped; best of data that the fit has not seen; empty:
///                 the identity
/// @return         [o]
/// @throws Error kShape if the sizes differ
std::vector<double> output_errors(MatrixView<const float> weights, MatrixView<const float> values,
                                  MatrixView<const float> moments);

/// The errors of all outputs relative to the outputs: tr(E M E') / tr(W M W'); 0 if both are 0.
/// @throws Error kShape if the sizes differ
double relative_output_error(MatrixView<const float> weights, MatrixView<const float> values,
                             MatrixView<const float> moments);

/// The increase of the loss to second order: 1/2 sum_o s_o errors_o.
/// @param errors         [k o] as output_errors() gives them, of k matrices below each other
/// @param sensitivities  [o] E[g^2], g the gradient of the log-likelihood at an output
/// @throws Error kShape if the errors are no multiple of the sensitivities
double predicted_loss(std::span<const double> errors, std::span<const double> sensitivities);

}  // namespace halftone::compress
