// SPDX-License-Identifier: Apache-2.0
// Matrices that are not fitted, in Halftone's own file.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "halftone/lm/model/model_file.h"
#include "halftone/lm/quantize/fit_model.h"
#include "halftone/lm/quantize/folding.h"

namespace halftone::lm {

/// What a file holds of a matrix that is not fitted. The codes that the model's file has, if the
/// folding leaves the matrix as it is; if not, codes anew in Q8_0, the nearest numbers, where its
/// rows fill blocks. Float32 of matrices that have no codes, of others and of experts.
std::variant<std::vector<float>, EncodedMatrix> kept_matrix(const Folding& folding,
                                                            const WeightId& id);
/// Its bytes.
std::size_t kept_bytes(const Folding& folding, const WeightId& id);

/// Lines about matrices that take other bytes than in the model's file: how many are encoded anew,
/// and how many become float32 of codes.
std::vector<std::string> kept_warnings(const Folding& folding, const FittedMatrices& fitted);

}  // namespace halftone::lm
