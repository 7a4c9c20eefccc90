// SPDX-License-Identifier: Apache-2.0
// For tests and benchmarks: random bases, codes and numbers from fixed seeds.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/numerics/encoding.h"

namespace halftone::numerics {

inline std::vector<float> random_floats(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// Coefficients of both signs, so that codes are not monotone in the level.
inline Basis random_basis(Random& random, int bits, bool offset) {
  std::vector<float> a = random_floats(random, static_cast<std::size_t>(bits));
  return make_basis(a, offset ? static_cast<float>(random.normal()) : 0.0F);
}

inline BitPlanes random_planes(Random& random, std::size_t rows, std::size_t cols, int bits) {
  BitPlanes codes(rows, cols, bits);
  for (auto& word : codes.planes.words()) word = random.next();
  codes.planes.clear_tails();
  return codes;
}

/// Learned levels of random coefficients.
inline MatrixEncoding random_encoding(Random& random, std::size_t rows, std::size_t cols, int bits,
                                      bool offset, Granularity granularity,
                                      std::size_t group_size = 0) {
  MatrixEncoding encoding;
  encoding.bits = bits;
  encoding.has_offset = offset;
  encoding.granularity = granularity;
  encoding.group_size = group_size;
  encoding.allocate(rows, cols);
  for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
    encoding.set_levels(i, random_basis(random, bits, offset));
  }
  return encoding;
}

}  // namespace halftone::numerics
