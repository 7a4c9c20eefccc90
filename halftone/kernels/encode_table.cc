// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode_table.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/error.h"

namespace halftone::kernels {
namespace {

/// Comparisons per number up to which they beat a search; all bases of 4 bits stay below.
constexpr std::size_t kMaxComparisons = 64;

}  // namespace

EncodeTable::EncodeTable(const numerics::Basis& basis) : basis_(basis) {
  const numerics::LevelTable table(basis);
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(table.levels().begin(), table.levels().end(), finite) ||
      !std::all_of(table.thresholds().begin(), table.thresholds().end(), finite)) {
    fail(ErrorKind::kUsage, "encode: expected levels within float32, found a basis that overflows");
  }
  thresholds_.assign(table.thresholds().begin(), table.thresholds().end());
  codes_.assign(table.codes().begin(), table.codes().end());
  for (std::size_t j = 0; j < bits(); ++j) {
    first_flip_[j] = flips_.size();
    lowest_[j] = (codes_[0] >> j & 1) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t l = 0; l < thresholds_.size(); ++l) {
      if (((codes_[l] ^ codes_[l + 1]) >> j & 1) != 0) flips_.push_back(thresholds_[l]);
    }
    first_flip_[j + 1] = flips_.size();
  }
  by_comparison_ = flips_.size() <= kMaxComparisons;
}

}  // namespace halftone::kernels
