// SPDX-License-Identifier: Apache-2.0
// The programmed arrays of one weight matrix: planes of inputs in, sums of converter codes out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "halftone/accel/crossbar/device.h"
#include "halftone/accel/crossbar/mapping.h"
#include "halftone/accel/crossbar/quantizer.h"
#include "halftone/accel/crossbar/units.h"
#include "halftone/base/bits.h"
#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::crossbar {

/// A weight matrix as its arrays represent it, for training with noise: without converters and
/// noise of reads, the arrays give weights x + shifts for the signs x of a plane of inputs.
struct SeenWeights {
  std::vector<float> weights;  ///< [outputs, inputs], without the offset of the levels
  std::vector<float> shifts;   ///< [outputs] 0 for ideal cells
};

/// The arrays of a weight matrix [outputs, inputs]. Immutable; read() may run on several threads.
class Arrays {
 public:
  /// Programs the arrays.
  /// @param codes     [outputs, inputs], K planes
  /// @param encoding  of `codes`, its bits are signs of coefficients; granularity tensor or channel
  /// @param seed      of this matrix
  /// @throws Error kUnsupported as Mapping and with_wires()
  Arrays(const CrossbarDevice& device, const numerics::BitPlanes& codes,
         const numerics::MatrixEncoding& encoding, std::uint64_t seed);

  [[nodiscard]] const Mapping& mapping() const { return mapping_; }
  /// 64-bit words of a plane of pulses.
  [[nodiscard]] std::size_t words() const { return words_for_bits(mapping_.inputs); }
  /// [units]
  [[nodiscard]] std::span<const UnitMeaning> meanings() const { return meanings_; }
  [[nodiscard]] std::size_t size_bytes() const;

  /// Applies planes of pulses, one after the other. Each unit u lies on one array per row block b:
  ///
  ///     counts(r, u) = step sum_b code_bu
  ///
  /// where code_bu is that of its column, or that of its first column minus that of its second. The
  /// current of a column is the sum of the conductances of the rows with a pulse. Read noise has
  /// the variance of all these cells; it follows from the seed and the pulses, so that equal pulses
  /// give equal codes and the order of reads does not matter.
  /// @param pulses  [reads, words()]
  /// @param counts  [reads, units]
  void read(std::span<const std::uint64_t> pulses, MatrixView<float> counts) const;

  /// With the counts C_uk of a pulse of input k, over the units u of an output:
  ///
  ///     weight_k = sum_u (scale_u C_uk + low_u)      shift = sum_u scale_u (sum_k C_uk - total_u)
  ///
  /// so that sum_u (scale_u (2 U_u - total_u) + low_u S) = sum_k weight_k x_k + shift.
  [[nodiscard]] SeenWeights seen_weights() const;

 private:
  /// One array whose cells are not ideal.
  struct CellArray {
    std::size_t first_row = 0;
    std::size_t rows = 0;
    std::size_t first_unit = 0;
    std::size_t units = 0;
    std::uint64_t seed = 0;     ///< of read noise
    std::vector<float> counts;  ///< [rows, columns] of a pulse, per conversion; with pairs the
                                ///< first columns of all units, then the second ones
    [[nodiscard]] std::size_t columns() const { return counts.size() / rows; }
  };
  class Programmer;

  void keep_planes(const numerics::BitPlanes& codes);
  void read_planes(std::size_t block, std::span<const std::uint64_t> pulses,
                   MatrixView<std::int32_t> sums) const;
  void read_cells(const CellArray& array, std::span<const std::uint64_t> pulses,
                  MatrixView<std::int32_t> sums) const;
  void for_each_count(
      const std::function<void(std::size_t unit, std::size_t input, float count)>& visit) const;
  void add_noise(const CellArray& array, std::span<const std::uint64_t> pulses,
                 std::span<float> currents) const;
  void add_codes(const CellArray& array, std::span<const float> currents,
                 std::span<std::int32_t> sums) const;

  Mapping mapping_;
  Quantizer quantizer_;
  bool by_column_;
  float read_deviation_ = 0;  ///< of a conversion, in counts, if one row has a pulse
  std::vector<UnitMeaning> meanings_;
  std::vector<BitMatrix> planes_;  ///< of ideal pairs, by row block: [units, rows of the block]
  std::vector<CellArray> arrays_;  ///< of other cells
};

}  // namespace halftone::crossbar
