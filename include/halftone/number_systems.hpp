// SPDX-License-Identifier: Apache-2.0
// The number systems, on arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/export.hpp"
#include "halftone/tensor.hpp"
#include "halftone/types/number_systems.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// All of them, by family.
  HALFTONE_CPP_API std::vector<NumberSystem> number_systems();

  /// The numbers that codes of a system represent, before scale and offset.
  /// @param bits  0: the most that the system has, up to 8
  /// @return      [2^bits] by code; empty if levels are learned
  /// @throws Error kUsage if there is no such system or it does not have so many bits
  HALFTONE_CPP_API std::vector<float> levels_of(std::string_view system, int bits = 0);

  class Encoding;

  /// Fits an encoding to an array, all of whose elements have equal weight.
  /// @param values  float32, finite; the first extent counts the rows, the others together the
  /// columns
  /// @throws Error kUsage if the format is none, or the type another; kFormat if an element is NaN
  /// or
  ///         infinite
  HALFTONE_CPP_API Encoding fit(const Tensor& values, const ArrayFormat& format = {});

  /// An encoding whose scales the rule of the system gives, such as the largest magnitude, without
  /// a fit.
  /// @throws Error as fit(); kUsage also if levels are learned
  HALFTONE_CPP_API Encoding rule_encoding(const Tensor& values, const ArrayFormat& format = {});

  /// Unsigned integers with scales and zero points, as those of ONNX and TFLite:
  ///
  ///     value = scale (q - zero_point),   q = clip(round(x / scale + zero_point), 0, 2^bits - 1)
  ///
  /// @param scales       one for arrays of any shape, or one for each row; finite, above 0
  /// @param zero_points  one for each scale, 0 to 2^bits - 1
  /// @param bits         1 to 16
  /// @throws Error kUsage if an argument is out of range, or levels are beyond float32
  HALFTONE_CPP_API Encoding uniform_encoding(
      const std::vector<float>& scales, const std::vector<std::int64_t>& zero_points, int bits = 8);
  /// Fixed point, for arrays of any shape:
  ///
  ///     value = 2^exponent q,   q = -2^(bits-1) ... 2^(bits-1) - 1, of code q + 2^(bits-1)
  ///
  /// @param exponent  -126 or more
  /// @param bits      1 to 16
  /// @throws Error as uniform_encoding()
  HALFTONE_CPP_API Encoding fixed_point_encoding(int exponent, int bits);
  /// Floating point of a sign, an exponent and a mantissa times a scale, for arrays of any shape.
  /// Codes are those of "eXmY" in docs/number_systems.md; numbers beyond the largest become the
  /// largest.
  /// @param exponent_bits  2 to 8
  /// @param mantissa_bits  at least 1; 4 to 16 bits in all, with the sign
  /// @throws Error as uniform_encoding()
  HALFTONE_CPP_API Encoding minifloat_encoding(int exponent_bits, int mantissa_bits,
                                               float scale = 1);

  /// Levels, scales and offsets of an array. Copies share it.
  class HALFTONE_CPP_API Encoding {
   public:
    [[nodiscard]] int bits() const;                ///< of a code
    [[nodiscard]] std::string text() const;        ///< "basis(2 bits, channel, offset)"
    [[nodiscard]] std::size_t num_blocks() const;  ///< groups of values that share scales
    /// The value of every code of a block, [2^bits].
    /// @throws Error kUsage if there is no such block
    [[nodiscard]] std::vector<float> levels(std::size_t block = 0) const;

    /// The code of the nearest level for each element.
    /// @param values  float32 of the shape that the encoding was fitted to, if it was
    /// @return        uint16 of the same shape
    /// @throws Error kShape if the shape differs; kUsage if the type does
    [[nodiscard]] Tensor encode(const Tensor& values) const;
    /// The levels of codes: the inverse of encode() up to rounding.
    /// @param codes  uint16, as encode() returns
    /// @throws Error as encode(); kUsage if a code has more bits
    [[nodiscard]] Tensor decode(const Tensor& codes) const;

   private:
    friend struct Internals;
    struct State;
    explicit Encoding(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;  // shared by the copies
  };

}  // namespace v0
}  // namespace halftone
