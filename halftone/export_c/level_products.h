// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit codes and weights of few bits, as lines of C.
#pragma once

#include <string>

#include "halftone/export_c/scope.h"
#include "halftone/numerics/encoding.h"

namespace halftone::export_c {

/// A kernel that sets sums[o] to sum_k q[k] (2 u[o][k] - steps) of kernels::weight_grid().
struct LevelProducts {
  std::string text;     ///< of the kernel
  std::string kernel;   ///< "ht_levels_2"
  std::string weights;  ///< name of its array
  std::string last;     ///< arguments between the outputs and the sums: ", 3", or empty
};

/// Packs weights [outputs, inputs] for the kernel that takes them, and adds them to the layer.
/// @throws Error kUnsupported as pack_levels() for weights in groups
LevelProducts add_level_products(Scope& scope, const numerics::BitPlanes& codes,
                                 const numerics::MatrixEncoding& encoding);

}  // namespace halftone::export_c
