// SPDX-License-Identifier: Apache-2.0
// The codewords of a vector basis as sums of entries of small tables, and how the bits of a code
// are divided among planes, see PackedGroups.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "halftone/kernels/groups/group_layout.h"
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
///     low[j][code mod 16] + high[j][code / 16]
///
/// of which a target that looks up 16 entries takes those of code / 16 mod 16, and adds signs[j][m]
/// for every sign m that is set. With fields of 6 bits, low[j][code mod 64] has the sum of both
/// fields. Other entries repeat, so that look-ups may ignore the bits above.
struct VectorTables {
  std::array<std::array<std::int8_t, 64>, 4> low{};
  std::array<std::array<std::int8_t, 64>, 4> high{};
  std::array<std::array<std::int8_t, 2>, 4> signs{};
  /// Of 4 numbers and 8 signs, their sums over the low and over the high four signs, + 128, by
  /// these signs: [2, 16, 4].
  std::array<std::uint8_t, 128> halves{};
  /// Whether products of a half with four inputs of int8 fit 16 bits.
  bool halves_fit = false;

  VectorTables() = default;
  explicit VectorTables(const numerics::VectorBasis& basis) {
    const CodePlanes bits{basis.signs()};
    const bool is_six = bits.field_bits() == 6;
    const auto zero = basis.codeword(0);
    for (std::size_t j = 0; j < zero.size(); ++j) {
      const auto beside_zero = [&](std::size_t code) {
        return static_cast<std::int8_t>(basis.codeword(code)[j] - zero[j]);
      };
      for (std::size_t i = 0; i < 64; ++i) {
        low[j][i] = basis.codeword(is_six ? i : i % 16)[j];
        high[j][i] = beside_zero(i % (basis.num_codes() / 16) * 16);
      }
      for (int m = 0; m < bits.sign_planes(); ++m) {
        signs[j][static_cast<std::size_t>(m)] =
            beside_zero(std::size_t{1} << (bits.field_bits() + m));
      }
    }
    if (basis.numbers() == 4 && basis.signs() == 8) set_halves(basis);
  }

 private:
  void set_halves(const numerics::VectorBasis& basis) {
    halves_fit = true;
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t code = i < 16 ? i : i % 16 * 16;
      const std::size_t others = i < 16 ? 0xF0 : 0x0F;  // whose sums cancel
      int sum = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        const int half = (basis.codeword(code)[j] + basis.codeword(code | others)[j]) / 2;
        halves[4 * i + j] = static_cast<std::uint8_t>(half + 128);
        sum += half < 0 ? -half : half;
      }
      halves_fit = halves_fit && sum * 127 < 1 << 15;
    }
  }
};

/// Planes of a code: the bits of the low one, and of the one above it or 0; then planes of one
/// sign.
struct PlaneBits {
  unsigned low = 0;
  unsigned high = 0;
  unsigned signs = 0;
};

inline PlaneBits plane_bits(const GroupCodes& format) {
  if (format.basis != nullptr) {
    const CodePlanes bits{format.basis->signs()};
    const auto signs = static_cast<unsigned>(bits.sign_planes());
    return bits.field_bits() == 6 ? PlaneBits{4, 2, signs} : PlaneBits{8, 0, signs};
  }
  switch (format.levels.bits) {
    case 3:
      return {2, 1};
    case 5:
      return {4, 1};
    case 6:
      return {4, 2};
    default:
      return {static_cast<unsigned>(format.levels.bits), 0};
  }
}

}  // namespace halftone::kernels
