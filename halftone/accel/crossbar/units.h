// SPDX-License-Identifier: Apache-2.0
// What the cells of a weight matrix represent.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/accel/crossbar/device.h"
#include "halftone/accel/crossbar/mapping.h"
#include "halftone/numerics/encoding.h"

namespace halftone::crossbar {

/// The digital meaning of a unit. With the planes w_j of the unit, x_k = 2 p_k - 1 the signs of a
/// plane of inputs and p_k the pulses that drive the rows, the unit gives the count U of p, and
///
///     sum_j a_j sum_k x_k w_jk = scale (2 U - total) + low (2 sum_k p_k - n)
///
/// A pair has one plane, scale a and low 0: U = sum_k p_k w_k and total = sum_k w_k are integers.
/// A cell of a unit of M planes has the level q_k in [0, top], which grows linearly with the sum of
/// its planes; top is the largest multiple of 2^M - 1 below the number of levels of the device, so
/// that evenly spaced levels are integers. U = sum_k p_k q_k and total = sum_k q_k.
struct UnitMeaning {
  float scale = 0;
  float total = 0;
  float low = 0;
};

/// The units of a weight matrix, output by output. Refers to the codes.
class Units {
 public:
  /// @param codes     [outputs, inputs], K planes
  /// @param encoding  of `codes`, its bits are signs of coefficients; granularity tensor or channel
  Units(const CrossbarDevice& device, const Mapping& mapping, const numerics::BitPlanes& codes,
        const numerics::MatrixEncoding& encoding);

  /// [units]
  [[nodiscard]] std::span<const UnitMeaning> meanings() const { return meanings_; }
  /// Whether all levels of cells are integers, as those of pairs are.
  [[nodiscard]] bool are_whole() const;
  /// The level of a cell, above off in steps of (on - off) / (levels - 1); of a pair, that of its
  /// first column: 1 or 0. The second column has the other.
  [[nodiscard]] float level(std::size_t unit, std::size_t input) const;

 private:
  /// The planes of a unit: [first, first + count) of an output.
  struct Planes {
    std::size_t output = 0;
    int first = 0;
    int count = 1;
  };
  [[nodiscard]] Planes planes_of(std::size_t unit) const;
  void add_pair(const Planes& planes, const numerics::Basis& basis);
  void add_cells(const Planes& planes, const numerics::Basis& basis);

  const numerics::BitPlanes& codes_;
  std::size_t slices_;
  int cell_bits_;
  int device_levels_;
  std::vector<UnitMeaning> meanings_;
  std::vector<std::vector<float>> levels_;  ///< [units][codes of a unit]
};

}  // namespace halftone::crossbar
