// SPDX-License-Identifier: Apache-2.0
// Puts the changes of an adapter into the matrices of its model.
#pragma once

#include <functional>
#include <string>

#include "halftone/lm/model/adapter.h"
#include "halftone/lm/model/open_model.h"
#include "halftone/lm/quantize/fit_model.h"

namespace halftone::lm {

/// W + b a of each matrix that an adapter changes, and matrices in one tensor with these: sums of
/// float64 in the order of the ranks, rounded once to the type of the matrix if it has plain
/// numbers, F32, F16 or BF16, and otherwise to F16; routers to F32. Writers take them as codes.
/// @param tensor_of  the tensor of the output that holds a matrix
/// @throws Error kUnsupported for a change of a head that is also the table of the embedding, or a
///         number beyond the range of its type: names the matrix; as Weight::decode()
FittedMatrices merge(const ModelParts& model, const Adapter& adapter,
                     const std::function<std::string(const WeightId&)>& tensor_of);

}  // namespace halftone::lm
