// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/group_codes.h"

#include <algorithm>
#include <bit>

#include "halftone/numerics/vector_basis.h"

namespace halftone::numerics {

std::size_t GroupCodes::vector() const {
  return basis == nullptr ? 1 : static_cast<std::size_t>(basis->numbers());
}

int GroupCodes::code_bits() const {
  if (!numbers.empty()) return static_cast<int>(std::bit_width(numbers.size() - 1));
  return basis == nullptr ? levels.bits : basis->signs();
}

std::vector<float> GroupCodes::codewords() const {
  if (!numbers.empty()) return {numbers.begin(), numbers.end()};
  if (basis != nullptr) return {basis->codewords().begin(), basis->codewords().end()};
  std::vector<float> all(std::size_t{1} << levels.bits);
  for (std::size_t code = 0; code < all.size(); ++code) {
    all[code] = static_cast<float>(levels.level(code));
  }
  return all;
}

bool GroupCodes::operator==(const GroupCodes& other) const {
  const bool same_basis = basis == nullptr || other.basis == nullptr
                              ? basis == other.basis
                              : basis == other.basis || *basis == *other.basis;
  return same_basis && levels == other.levels && group == other.group &&
         has_offsets == other.has_offsets && scales == other.scales && share == other.share &&
         min_scale == other.min_scale && max_scale == other.max_scale &&
         max_offset == other.max_offset && factor == other.factor &&
         std::ranges::equal(numbers, other.numbers);
}

}  // namespace halftone::numerics
