// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/basis_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "halftone/base/error.h"

namespace halftone::formats::circle {

std::vector<float> to_rows(const numerics::BasisEncoding& encoding) {
  std::vector<float> rows;
  for (const numerics::Basis& basis : encoding.bases) {
    rows.insert(rows.end(), basis.a().begin(), basis.a().end());
    if (encoding.has_offset) rows.push_back(basis.offset);
  }
  return rows;
}

void fill_bases(numerics::BasisEncoding& encoding, std::span<const float> rows) {
  const auto bits = static_cast<std::size_t>(encoding.bits);
  const std::size_t width = bits + (encoding.has_offset ? 1 : 0);
  if (rows.size() % width != 0) {
    fail(ErrorKind::kFormat, "bases: expected rows of " + std::to_string(width) +
                                 " numbers, found " + std::to_string(rows.size()) + " in all");
  }
  if (!std::ranges::all_of(rows, [](float x) { return std::isfinite(x); })) {
    fail(ErrorKind::kFormat, "bases: expected finite numbers");
  }
  encoding.bases.clear();
  for (std::size_t first = 0; first < rows.size(); first += width) {
    numerics::Basis basis;
    basis.bits = encoding.bits;
    std::ranges::copy(rows.subspan(first, bits), basis.coefficients.begin());
    basis.offset = encoding.has_offset ? rows[first + bits] : 0;
    encoding.bases.push_back(basis);
  }
}

}  // namespace halftone::formats::circle
