// SPDX-License-Identifier: Apache-2.0
// Products of 8-bit codes and weights of few bits, as lines of C.
#pragma once

#include <string>

#include "halftone/export_c/scope.h"
#include "halftone/numerics/encoding.h"

namespace halftone::export_c {

/// A kernel that sets sums[o] to sum_k q[k] (2 u[o][k] - steps) of kernels::weight_grid().
struct LevelProducts {
  std::string text;        ///< of the kernel
  std::string kernel;      ///< "ht_levels_2"
  std::string weights;     ///< name of its array
  std::string last;        ///< arguments between the outputs and the sums: ", 3", or empty
  std::size_t groups = 1;  ///< of inputs, each with levels and scales of its own
  std::size_t group = 0;   ///< inputs of a group; the last one may have fewer
  std::size_t stride = 0;  ///< elements of the array of a group
};

/// What the products of groups are added from.
struct GroupOperands {
  std::string q;  ///< where the inputs begin
  std::size_t inputs;
  std::size_t outputs;
  std::string half_steps;  ///< [groups, outputs]
  std::string centers;     ///< the same, or "0"
};
/// Adds a loop over groups within a loop: sum += half_steps P + centers Q for each output and
/// group, where P is its product and Q the sum of its inputs.
/// @param products  memory for P, @param sums  the float32 numbers that are added to
void add_group_sums(Scope& scope, const LevelProducts& how, const GroupOperands& of,
                    const std::string& products, const std::string& sums);

/// Packs weights [outputs, inputs] for the kernel that takes them, and adds them to the layer.
/// @param suffix  of the name of its array
/// @throws Error kUnsupported as Scope::refuse() if no kernel holds the levels of all groups
LevelProducts add_level_products(Scope& scope, const numerics::BitPlanes& codes,
                                 const numerics::MatrixEncoding& encoding,
                                 const std::string& suffix = "");

}  // namespace halftone::export_c
