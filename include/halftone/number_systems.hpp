// SPDX-License-Identifier: Apache-2.0
// The number systems, on arrays.
#pragma once

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

  /// Levels, scales and offsets that were fitted to an array. Copies share it.
  class HALFTONE_CPP_API Encoding {
   public:
    [[nodiscard]] int bits() const;          ///< of a code
    [[nodiscard]] std::string text() const;  ///< "basis(2 bits, channel, offset)"

    /// The code of the nearest level for each element.
    /// @param values  float32 of the rows and columns that the encoding was fitted to
    /// @return        uint16 of the same shape
    /// @throws Error kShape if the shape differs; kUsage if the type does
    [[nodiscard]] Tensor encode(const Tensor& values) const;
    /// The levels of codes: the inverse of encode() up to rounding.
    /// @param codes  uint16, as encode() returns
    /// @throws Error as encode(); kUsage if a code has more bits
    [[nodiscard]] Tensor decode(const Tensor& codes) const;

   private:
    friend Encoding fit(const Tensor& values, const ArrayFormat& format);
    struct State;
    explicit Encoding(std::shared_ptr<const State> state);
    std::shared_ptr<const State> state_;  // shared by the copies
  };

}  // namespace v0
}  // namespace halftone
