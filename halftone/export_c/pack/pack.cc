// SPDX-License-Identifier: Apache-2.0
#include "halftone/export_c/pack/pack.h"

#include <algorithm>
#include <array>
#include <string>

#include "halftone/base/error.h"

namespace halftone::export_c {
namespace {

constexpr std::size_t kWordBits = 32;
constexpr std::size_t kColumns = 4;
/// HT_BYTES_CHUNK of text/bytes.c.
constexpr std::size_t kChunk = 64;

std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// Whether an input, which may be padding, has the bit in a column, which may be padding.
bool bit_of(const numerics::BitPlanes& codes, std::size_t column, std::size_t input) {
  return column < codes.planes.rows() && input < codes.cols && codes.planes.test(column, input);
}

void check_inputs(Kernel kernel, const numerics::BitPlanes& codes) {
  if (codes.cols <= kMaxCountedInputs) return;
  fail(ErrorKind::kUnsupported, "C kernel " + std::string(name_of(kernel)) + ": expected at most " +
                                    std::to_string(kMaxCountedInputs) + " inputs, found " +
                                    std::to_string(codes.cols));
}

/// inputs - 2 ones of four columns, two to a word.
void add_counts(const numerics::BitPlanes& codes, std::size_t column,
                std::vector<std::uint32_t>& words) {
  std::array<std::uint32_t, kColumns> counts{};
  for (std::size_t c = 0; c < kColumns && column + c < codes.planes.rows(); ++c) {
    const std::size_t ones = codes.planes.count(column + c);
    counts[c] = static_cast<std::uint16_t>(codes.cols - 2 * ones);
  }
  words.push_back(counts[0] | counts[1] << 16);
  words.push_back(counts[2] | counts[3] << 16);
}

/// A word of kSigns: bits `offset` of each four of a word of inputs.
std::uint32_t word_of_signs(const numerics::BitPlanes& codes, std::size_t column,
                            std::size_t input) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t c = 0; c < kColumns; ++c) {
      const bool bit = bit_of(codes, column + c, input + 4 * (7 - i));
      word |= std::uint32_t{bit} << (4 * i + c);
    }
  }
  return word;
}

/// A word of kPlanes: inputs at a distance of 8, and their neighbours.
std::uint32_t word_of_planes(const numerics::BitPlanes& codes, std::size_t column,
                             std::size_t input) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t c = 0; c < 2 * kColumns; ++c) {
      const bool bit = bit_of(codes, column + c % kColumns, input + 8 * (3 - i) + c / kColumns);
      word |= std::uint32_t{bit} << (8 * i + c);
    }
  }
  return word;
}

/// Packs blocks of four columns: counts, then words of each 32 inputs.
/// @param step     inputs between the first ones of two words
/// @param word_of  (codes, column, first input)
template <typename WordOf>
PackedWeights pack_columns(Kernel kernel, const numerics::BitPlanes& codes, std::size_t step,
                           const WordOf& word_of) {
  check_inputs(kernel, codes);
  PackedWeights packed{kernel, {}};
  for (std::size_t column = 0; column < codes.planes.rows(); column += kColumns) {
    add_counts(codes, column, packed.words);
    for (std::size_t first = 0; first < codes.cols; first += kWordBits) {
      for (std::size_t i = 0; i < 4; ++i) {
        packed.words.push_back(word_of(codes, column, first + i * step));
      }
    }
  }
  return packed;
}

}  // namespace

std::size_t padded_columns(const numerics::BitPlanes& codes) {
  return ceil_div(codes.planes.rows(), kColumns) * kColumns;
}

PackedWeights pack_bits(const numerics::BitPlanes& codes) {
  PackedWeights packed{Kernel::kBits, {}};
  for (std::size_t row = 0; row < codes.planes.rows(); ++row) {
    for (std::size_t word = 0; word < ceil_div(codes.cols, kWordBits); ++word) {
      const std::uint64_t both = codes.planes.row(row)[word / 2];
      packed.words.push_back(static_cast<std::uint32_t>(both >> (word % 2 * kWordBits)));
    }
  }
  return packed;
}

PackedWeights pack_signs(const numerics::BitPlanes& codes) {
  return pack_columns(Kernel::kSigns, codes, 1, word_of_signs);
}

PackedWeights pack_planes(const numerics::BitPlanes& codes) {
  return pack_columns(Kernel::kPlanes, codes, 2, word_of_planes);
}

PackedWeights pack_digits_2(const numerics::BitPlanes& codes) {
  const auto code = [&](std::size_t o, std::size_t k) {
    return o < codes.rows && k < codes.cols ? std::uint32_t{codes.code(o, k)} : 0U;
  };
  PackedWeights packed{Kernel::kDigits2, {}};
  for (std::size_t o = 0; o < codes.rows; o += kColumns) {
    for (std::size_t first = 0; first < codes.cols; first += kWordBits) {
      for (std::size_t k = first; k < first + 8; ++k) {
        std::uint32_t word = 0;
        for (std::size_t i = 0; i < 4; ++i) {
          for (std::size_t c = 0; c < kColumns; ++c) {
            word |= code(o + c, k + 8 * (3 - i)) << (8 * i + 2 * c);
          }
        }
        packed.words.push_back(word);
      }
    }
  }
  return packed;
}

PackedWeights pack_digits(const numerics::BitPlanes& codes, std::span<const numerics::Digit> digits,
                          std::size_t x_planes, Core core) {
  static_assert(numerics::kMaxReach <= 7, "the sums of kPlanes fit a byte");
  const bool is_planes = std::ranges::all_of(
      digits, [](const numerics::Digit& digit) { return digit.num_planes() == 1; });
  const Product product{.inputs = codes.cols,
                        .outputs = codes.rows,
                        .x_planes = x_planes,
                        .x_digits = digits.size(),
                        .w_planes = static_cast<std::size_t>(codes.bits)};
  const Kernel other = is_planes ? Kernel::kSigns : Kernel::kPlanes;
  if (codes.cols > kMaxCountedInputs ||
      instructions(Kernel::kBits, core, product) < instructions(other, core, product)) {
    return pack_bits(codes);
  }
  return is_planes ? pack_signs(codes) : pack_planes(codes);
}

PackedWeights pack_bytes(MatrixView<const std::int8_t> weights) {
  constexpr std::array<std::size_t, 4> kOrder = {0, 2, 1, 3};
  PackedWeights packed{Kernel::kBytes, {}};
  const auto byte = [&](std::size_t o, std::size_t k) {
    const bool exists = o < weights.rows() && k < weights.cols();
    return std::uint32_t{exists ? static_cast<std::uint8_t>(weights(o, k)) : std::uint8_t{0}};
  };
  for (std::size_t first = 0; first < weights.cols(); first += kChunk) {
    const std::size_t end = std::min(first + kChunk, weights.cols());
    for (std::size_t o = 0; o < weights.rows(); o += kColumns) {
      for (std::size_t k = first; k < end; k += 4) {
        for (std::size_t c = 0; c < kColumns; ++c) {
          std::uint32_t word = 0;
          for (std::size_t i = 0; i < 4; ++i) word |= byte(o + c, k + kOrder[i]) << (8 * i);
          packed.words.push_back(word);
        }
      }
    }
  }
  return packed;
}

}  // namespace halftone::export_c
