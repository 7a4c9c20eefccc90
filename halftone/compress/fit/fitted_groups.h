// SPDX-License-Identifier: Apache-2.0
// Matrices fitted in groups that share a scale, whatever file stores them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/numerics/group_codes.h"

namespace halftone::compress {

using numerics::GroupCodes;
using numerics::GroupScales;

/// Fails unless codes are some that fits write: those of a file, in groups of whole codes of at
/// most 256 weights, with other scales than kFloat. Offsets are float16 with kHalf,
/// and integers times a float16 <= 0 with kHalfTimesByte. Groups, and weights that share a factor,
/// begin anew in each row; the last ones of a row may be shorter.
/// @throws Error kUsage
void check_codes(const GroupCodes& codes);

/// A fitted matrix [rows, cols]: all that a file stores.
struct GroupFit {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<std::uint16_t> codes;  ///< [rows, codes_per_row] indices of codewords
  std::vector<float> scales;   ///< [rows, groups_per_row] float16, integers, powers, e3m5 or e4m3
  std::vector<float> offsets;  ///< likewise; empty without offsets
  std::vector<float>
      scale_factors;  ///< kHalfTimesByte [rows, factors_per_row]; of a tensor [1]; else empty
  std::vector<float> offset_factors;  ///< kHalfTimesByte with offsets [rows, factors_per_row]; <= 0

  bool operator==(const GroupFit&) const = default;
};

/// The weights that a fit represents, as files decode them.
/// @param values  [rows, cols]
/// @throws Error kShape if the sizes differ
void decode(const GroupFit& fit, const GroupCodes& codes, MatrixView<float> values);

}  // namespace halftone::compress
