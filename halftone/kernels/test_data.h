// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks: random bases, codes and numbers from fixed seeds.
#pragma once

#include "halftone/numerics/test_data.h"

namespace halftone::kernels {

using numerics::random_basis;
using numerics::random_encoding;
using numerics::random_floats;
using numerics::random_planes;

}  // namespace halftone::kernels
