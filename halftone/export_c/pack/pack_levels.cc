// SPDX-License-Identifier: Apache-2.0
// Weights for inputs of 8 bits.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/export_c/pack/pack.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::export_c {
namespace {

constexpr int kMaxLevelBits = 4;
constexpr std::size_t kCodes = std::size_t{1} << kMaxLevelBits;
/// HT_CHUNK of text/levels.c.
constexpr std::size_t kLevelChunk = 64;
/// Inputs that a chunk is rounded up to.
constexpr std::size_t kWhole = 8;

/// The integers 2 u - steps of the codes of a row.
struct RowLevels {
  std::array<int, kCodes> values{};
  std::size_t count = 0;
};

std::vector<RowLevels> levels_of_rows(const numerics::BitPlanes& codes,
                                      const numerics::MatrixEncoding& encoding) {
  std::vector<RowLevels> rows(codes.rows);
  for (std::size_t o = 0; o < codes.rows; ++o) {
    const kernels::LevelGrid grid = kernels::weight_grid(encoding.levels(o, 0, codes.cols));
    rows[o].count = std::size_t{1} << codes.bits;
    for (std::size_t c = 0; c < rows[o].count; ++c) {
      rows[o].values[c] = 2 * int{grid.u[c]} - encoding.weight_steps();
    }
  }
  return rows;
}

/// Levels base + step v.
struct EvenRow {
  int base = 0;
  int step = 0;
  std::array<std::uint32_t, kCodes> v{};  ///< of each code
};

/// @return nothing if v would need more bits
std::optional<EvenRow> even_row(const RowLevels& row, int bits) {
  const auto values = std::span(row.values).first(row.count);
  EvenRow even;
  even.base = *std::ranges::min_element(values);
  for (const int value : values) even.step = std::gcd(even.step, value - even.base);
  for (std::size_t c = 0; c < values.size() && even.step != 0; ++c) {
    even.v[c] = static_cast<std::uint32_t>((values[c] - even.base) / even.step);
  }
  if (*std::ranges::max_element(even.v) >= std::uint32_t{1} << bits) return std::nullopt;
  return even;
}

std::optional<std::vector<EvenRow>> even_rows(const std::vector<RowLevels>& rows, int bits) {
  std::vector<EvenRow> even;
  for (const RowLevels& row : rows) {
    const auto next = even_row(row, bits);
    if (!next) return std::nullopt;
    even.push_back(*next);
  }
  return even;
}

/// low and high as halves of a word.
std::uint32_t halves(int low, int high) {
  return std::uint32_t{static_cast<std::uint16_t>(low)} |
         std::uint32_t{static_cast<std::uint16_t>(high)} << 16;
}

/// How the words of a chunk lie: each has `pairs` pairs of inputs of `columns` columns of `bits`
/// bits; `together` columns have one word after the other.
struct WordLayout {
  std::size_t bits;
  std::size_t columns;
  std::size_t pairs;
  std::size_t together = 1;
  std::size_t whole = kWhole;  ///< inputs that a chunk is rounded up to
};

/// Adds the words of all columns, chunk by chunk.
/// @param value_of  (column, input), 0 for padding
template <typename ValueOf>
void add_words(const WordLayout& layout, std::size_t inputs, std::size_t columns,
               const ValueOf& value_of, std::vector<std::uint32_t>& words) {
  const auto word_of = [&](std::size_t column, std::size_t input) {
    std::uint32_t word = 0;
    for (std::size_t q = 0; q < layout.pairs; ++q) {
      for (std::size_t c = 0; c < layout.columns; ++c) {
        const std::size_t shift = (q * layout.columns + c) * layout.bits;
        word |= value_of(column + c, input + 2 * q + 1) << shift;
        word |= value_of(column + c, input + 2 * q) << (shift + 16);
      }
    }
    return word;
  };
  const std::size_t block = layout.columns * layout.together;
  for (std::size_t first = 0; first < inputs; first += kLevelChunk) {
    const std::size_t some = std::min(kLevelChunk, inputs - first);
    const std::size_t end = first + (some + layout.whole - 1) / layout.whole * layout.whole;
    for (std::size_t column = 0; column < columns; column += block) {
      for (std::size_t k = first; k < end; k += 2 * layout.pairs) {
        for (std::size_t i = 0; i < layout.together; ++i) {
          words.push_back(word_of(column + i * layout.columns, k));
        }
      }
    }
  }
}

PackedWeights pack_even(Kernel kernel, const WordLayout& layout, const numerics::BitPlanes& codes,
                        const std::vector<EvenRow>& rows) {
  PackedWeights packed{kernel, {}};
  for (const EvenRow& row : rows) packed.words.push_back(halves(row.step, row.base));
  const auto value_of = [&](std::size_t o, std::size_t k) {
    return o < codes.rows && k < codes.cols ? rows[o].v[codes.code(o, k)] : 0;
  };
  add_words(layout, codes.cols, codes.rows, value_of, packed.words);
  return packed;
}

PackedWeights pack_sums(const numerics::BitPlanes& codes,
                        const numerics::MatrixEncoding& encoding) {
  PackedWeights packed{Kernel::kLevels11, {}};
  for (std::size_t o = 0; o < codes.rows; ++o) {
    const auto k =
        numerics::integer_coefficients(encoding.basis(o, 0, codes.cols), encoding.weight_steps());
    packed.words.push_back(halves(2 * k[0], 2 * k[1]));
  }
  const auto bit_of = [&](std::size_t column, std::size_t k) {
    const bool exists = column < codes.planes.rows() && k < codes.cols;
    return std::uint32_t{exists && codes.planes.test(column, k)};
  };
  add_words({.bits = 1, .columns = 4, .pairs = 4}, codes.cols, codes.planes.rows(), bit_of,
            packed.words);
  return packed;
}

PackedWeights pack_table(const numerics::BitPlanes& codes, const std::vector<RowLevels>& rows) {
  PackedWeights packed{Kernel::kLevelTable, {}};
  const std::size_t outputs = (codes.rows + 1) / 2 * 2;
  const auto value_of = [&](std::size_t o, std::size_t code) {
    return o < rows.size() ? rows[o].values[code] : 0;
  };
  for (std::size_t o = 0; o < outputs; ++o) {
    for (std::size_t first = 0; first < kCodes; first += 4) {
      std::uint32_t word = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        word |= std::uint32_t{static_cast<std::uint8_t>(value_of(o, first + i))} << (8 * i);
      }
      packed.words.push_back(word);
    }
  }
  const auto word_of = [&](std::size_t o, std::size_t first) {
    std::uint32_t word = 0;
    for (std::size_t k = first; o < codes.rows && k < std::min(first + 8, codes.cols); ++k) {
      word |= std::uint32_t{codes.code(o, k)} << (4 * (k - first));
    }
    return word;
  };
  for (std::size_t o = 0; o < outputs; o += 2) {
    for (std::size_t first = 0; first < codes.cols; first += 8) {
      packed.words.push_back(word_of(o, first));
      packed.words.push_back(word_of(o + 1, first));
    }
  }
  return packed;
}

void check(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding) {
  if (codes.bits <= kMaxLevelBits && encoding.granularity != numerics::Granularity::kGroup) return;
  fail(ErrorKind::kUnsupported,
       "C kernels of 8-bit inputs: expected weights of at most 4 bits with levels per tensor or "
       "channel, found " +
           std::to_string(codes.bits) + " bits, levels per " +
           std::string(numerics::to_string(encoding.granularity)));
}

/// Bits of evenly spaced levels, and how their words lie; nothing for the other kernels.
std::optional<WordLayout> even_layout(Kernel kernel) {
  if (kernel == Kernel::kLevels1) return WordLayout{.bits = 1, .columns = 4, .pairs = 4};
  if (kernel == Kernel::kLevels2) return WordLayout{.bits = 2, .columns = 4, .pairs = 2};
  if (kernel == Kernel::kLevels4) {
    return WordLayout{.bits = 4, .columns = 1, .pairs = 4, .together = 2, .whole = 16};
  }
  return std::nullopt;
}

}  // namespace

std::optional<PackedWeights> pack_levels_for(Kernel kernel, const numerics::BitPlanes& codes,
                                             const numerics::MatrixEncoding& encoding) {
  check(codes, encoding);
  if (kernel == Kernel::kLevels11) {
    if (codes.bits != 2 || !encoding.is_summed()) return std::nullopt;
    return pack_sums(codes, encoding);
  }
  const std::vector<RowLevels> rows = levels_of_rows(codes, encoding);
  if (kernel == Kernel::kLevelTable) return pack_table(codes, rows);
  const auto layout = even_layout(kernel);
  if (!layout) return std::nullopt;
  const auto even = even_rows(rows, static_cast<int>(layout->bits));
  if (!even) return std::nullopt;
  return pack_even(kernel, *layout, codes, *even);
}

PackedWeights pack_levels(const numerics::BitPlanes& codes,
                          const numerics::MatrixEncoding& encoding, Core core) {
  const Product product{.inputs = codes.cols, .outputs = codes.rows};
  std::array kernels = {Kernel::kLevels1, Kernel::kLevels2, Kernel::kLevels11, Kernel::kLevels4,
                        Kernel::kLevelTable};
  std::ranges::stable_sort(kernels, {}, [&](Kernel k) { return instructions(k, core, product); });
  for (const Kernel kernel : kernels) {
    if (auto packed = pack_levels_for(kernel, codes, encoding)) return *std::move(packed);
  }
  fail(ErrorKind::kInternal, "no C kernel has tables of levels");
}

}  // namespace halftone::export_c
