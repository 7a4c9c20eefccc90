// SPDX-License-Identifier: Apache-2.0
// The codewords of a vector basis as sums of entries of small tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "halftone/numerics/vector_basis.h"

namespace halftone::kernels {

/// Bits of a code of D signs. The planes of a unit hold its fields: of codes of 6 or 7 bits those
/// of the low four and of the next two bits, of others the low eight. The bits above are signs,
/// each with a plane of its own.
struct CodePlanes {
  int signs = 0;  ///< D
  [[nodiscard]] constexpr int field_bits() const { return signs < 8 ? 6 : 8; }
  [[nodiscard]] constexpr int sign_planes() const { return signs - field_bits(); }
};

/// Number j of the codeword of a code is, modulo 256,
///
///     low[j][code mod 16] + high[j][code / 16 mod 16] + sum over its signs m that are set of
///     signs[j][m]
///
/// where, for fields of 6 bits, the index of `high` is below 4, and low[j][i] of i < 64 is the sum
/// of both fields. Unused entries repeat, so that look-ups may ignore bits.
struct VectorTables {
  std::array<std::array<std::int8_t, 64>, 4> low{};
  std::array<std::array<std::int8_t, 16>, 4> high{};
  std::array<std::array<std::int8_t, 2>, 4> signs{};

  VectorTables() = default;
  explicit VectorTables(const numerics::VectorBasis& basis) {
    const CodePlanes bits{basis.signs()};
    const bool is_six = bits.field_bits() == 6;
    const auto zero = basis.codeword(0);
    for (std::size_t j = 0; j < zero.size(); ++j) {
      const auto beside_zero = [&](std::size_t code) {
        return static_cast<std::int8_t>(basis.codeword(code)[j] - zero[j]);
      };
      for (std::size_t i = 0; i < 64; ++i) low[j][i] = basis.codeword(is_six ? i : i % 16)[j];
      for (std::size_t i = 0; i < 16; ++i) high[j][i] = beside_zero((is_six ? i % 4 : i) * 16);
      for (int m = 0; m < bits.sign_planes(); ++m) {
        signs[j][static_cast<std::size_t>(m)] =
            beside_zero(std::size_t{1} << (bits.field_bits() + m));
      }
    }
  }
};

}  // namespace halftone::kernels
