// SPDX-License-Identifier: Apache-2.0
// Values of a tape as matrices.
#pragma once

#include "halftone/base/view.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::gradient {

using ConstRows = MatrixView<const float>;
using MutableRows = MatrixView<float>;
using kernels::matmul;
using kernels::transposed;
using kernels::Update;

}  // namespace halftone::gradient
