// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/level_products.h"

#include <vector>

#include "halftone/export_c/pack/pack.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"

namespace halftone::export_c {

LevelProducts add_level_products(Scope& scope, const numerics::BitPlanes& codes,
                                 const numerics::MatrixEncoding& encoding) {
  if (encoding.groups_per_row(codes.cols) > 1) scope.refuse("weights in groups");
  constexpr int kMaxPackedBits = 4;
  if (codes.bits <= kMaxPackedBits) {
    const PackedWeights packed = pack_levels(codes, encoding, scope.what().core);
    const std::string name(name_of(packed.kernel));
    return {name, "ht_" + name, scope.array<std::uint32_t>("weights", packed.words), ""};
  }
  // u less 128 is a byte: 2 u - steps = 2 (u - 128) + (256 - steps).
  constexpr int kMiddle = 128;
  std::vector<std::int8_t> weights;
  for (std::size_t o = 0; o < codes.rows; ++o) {
    const kernels::LevelGrid grid = kernels::weight_grid(encoding.levels(o, 0, codes.cols));
    for (std::size_t k = 0; k < codes.cols; ++k) {
      weights.push_back(static_cast<std::int8_t>(grid.u[codes.code(o, k)] - kMiddle));
    }
  }
  return {"levels_8", "ht_levels_8", scope.array<std::int8_t>("weights", weights),
          ", " + std::to_string(2 * kMiddle - encoding.weight_steps())};
}

}  // namespace halftone::export_c
