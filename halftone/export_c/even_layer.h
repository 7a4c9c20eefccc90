// SPDX-License-Identifier: Apache-2.0
// Layers of bits whose weights are evenly spaced: outputs follow from one integer sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/export_c/pack/pack.h"
#include "halftone/export_c/scope.h"
#include "halftone/ir/tensor.h"
#include "halftone/numerics/basis.h"

namespace halftone::export_c {

/// With digits X_d of the inputs, whose units are multiples f_d of the first, u, and weights
/// a (2 v + shift), a of each output and the same shift for all:
///
///     sum_k (x_k - offset) w_k = u a Q,  Q = sum_k (sum_d f_d X_dk) (2 v_k + shift)
///
/// Kernels compute the sum S, with Q = scale S - rest.
struct EvenLayer {
  std::vector<numerics::Digit> digits;
  std::vector<int> factors;  ///< f, of the digits
  int shift = 0;
  std::vector<double> steps;        ///< [outputs] u a
  std::vector<std::int32_t> rests;  ///< [outputs]
  int scale = 1;
  std::int64_t largest = 0;  ///< of |S|
  std::size_t inputs = 0;
  int w_bits = 1;
  std::vector<std::uint32_t> words;  ///< weights for ht_digits_2(), ht_signs() or ht_planes()
};

/// @param weights  of 1 or 2 bits
/// @return nothing if weights or inputs are not so
std::optional<EvenLayer> even_layer(const ir::EncodedTensor& weights, const numerics::Basis& x);

/// Names of what the functions of an EvenLayer read.
struct EvenNames {
  std::string weights;
  std::string multiples;
};

/// Adds arrays and scratch for the sums.
EvenNames add_even_layer(Scope& scope, const EvenLayer& layer);
/// Adds lines within a loop that compute `sums` of a window of bit planes.
void add_even_sums(Scope& scope, const EvenLayer& layer, const EvenNames& names,
                   const std::string& window);

}  // namespace halftone::export_c
