// SPDX-License-Identifier: Apache-2.0
// The scale that suits codewords when little is known of the weights. Used by group_scales.cc.
#pragma once

#include "halftone/kernels/fit/codewords.h"

namespace halftone::compress {

/// The scale of the least squared error for bell-shaped weights of variance one, found among steps
/// of 6 percent on a sample of 512 codes and then by least squares; 1 if all codewords are zero.
double bell_scale_of(const kernels::Codewords& codewords);

}  // namespace halftone::compress
