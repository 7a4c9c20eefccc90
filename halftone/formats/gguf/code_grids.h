// SPDX-License-Identifier: Apache-2.0
// The published grids of GGUF's types IQ1, IQ2 and IQ3: what their codes are indices of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace halftone::formats {

/// Words of `length` levels each. In IQ2 and IQ3 levels are magnitudes, whose signs are beside the
/// codes; in IQ1 they are -1, 0 and 1.
struct CodeGrid {
  std::size_t length = 0;
  std::vector<std::int8_t> levels;  ///< [words, length]

  [[nodiscard]] std::span<const std::int8_t> word(std::size_t index) const {
    return std::span(levels).subspan(index * length, length);
  }
};

enum class GridName : std::uint8_t {
  kIq2Xxs,  ///< 256 words of 8
  kIq2Xs,   ///< 512 words of 8
  kIq2S,    ///< 1024 words of 8
  kIq3Xxs,  ///< 256 words of 4
  kIq3S,    ///< 512 words of 4
  kIq1,     ///< 2048 words of 8
};

const CodeGrid& code_grid(GridName name);

}  // namespace halftone::formats
