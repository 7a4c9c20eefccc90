// SPDX-License-Identifier: Apache-2.0
// What a fit of weights in groups needs of a metric, group by group. Used by group_rows.cc.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/compress/fit/metric.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::compress {

/// A group of g columns. Columns beyond the last one of the matrix have no weight: their metric and
/// factor are zero.
struct GroupTables {
  std::vector<float> factor;       ///< [g, g] U of the group
  std::vector<float> inverse;      ///< [g / d, d, d] M = U_bb^-1 of blocks of d columns
  std::vector<float> hessian;      ///< [g, g] H of the group
  std::vector<float> reciprocals;  ///< [g] 1 / H[i, i], or 0
  std::vector<float> importance;   ///< [g] 1 / U[i, i]^2, or 0: H given the later columns
  float total = 0;                 ///< 1' H 1
  kernels::CodeMetric encoding;    ///< of M M'
  kernels::CodeMetric sweeping;    ///< of the blocks of H
};

/// The columns of a metric that are a group. With several streams, each of its numbers x becomes
/// x I [streams, streams]: columns are those of all streams, one after another.
struct GroupColumns {
  std::size_t first = 0;
  std::size_t count = 0;
  std::size_t streams = 1;
};

/// The tables of g = count * streams columns.
/// @param feedback  whether errors are spread; if not, U is that of the diagonal of H
GroupTables tables_of_group(const Metric<float>& metric, const kernels::Codewords& codewords,
                            const GroupColumns& columns, bool feedback);

}  // namespace halftone::compress
