// SPDX-License-Identifier: Apache-2.0
// Formats of files and random weights, for tests and benchmarks. Only these include this.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/random.h"
#include "halftone/kernels/groups/encoded_rows.h"
#include "halftone/kernels/groups/packed_groups.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/stored_numbers.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::kernels {

struct NamedFormat {
  std::string name;
  GroupCodes format;
};

/// Codes of 4 bits from 0 on, with a float16 for 32 inputs.
inline constexpr GroupCodes kFourBits{.levels = {4}, .group = 32};

/// The tensor types of GGUF, and combinations that no file has.
inline std::vector<NamedFormat> group_formats() {
  using enum GroupScales;
  const std::array<std::int8_t, 16> curved = {-127, -104, -83, -65, -49, -35, -22, -10,
                                              1,    13,   25,  38,  53,  69,  89,  113};
  const std::array<std::int8_t, 16> e2m1 = {0, 1,  2,  3,  4,  6,  8,  12,
                                            0, -1, -2, -3, -4, -6, -8, -12};
  const std::array<std::int8_t, 16> words = {-43, -25, -8, 8,  25, 43, 43, 43,
                                             43,  43,  43, 43, 43, 43, 43, 43};
  GroupCodes of_tensor{{4, 0, e2m1}, 16, false, kE4m3};
  of_tensor.factor = 0.0123F;
  return {
      {"Q1_0", {{1, -1}, 128, false, kHalf}},
      {"Q2_0", {{2, -1}, 64, false, kHalf}},
      {"Q4_0", {{4, -8}, 32, false, kHalf}},
      {"Q4_1", {{4, 0}, 32, true, kHalf}},
      {"Q8_0", {{8, -128}, 32, false, kHalf}},
      {"TQ2_0", {{2, -1}, 256, false, kHalf}},
      {"Q4_K", {{4, 0}, 32, true, kHalfTimesByte}},
      {"Q5_K", {{5, 0}, 32, true, kHalfTimesByte}},
      {"Q2_K", {{2, 0}, 16, true, kHalfTimesByte}},
      {"Q3_K", {{3, -4}, 16, false, kHalfTimesByte}},
      {"Q6_K", {{6, -32}, 16, false, kHalfTimesByte}},
      {"Q5_0", {{5, -16}, 32, false, kHalf}},
      {"Q5_1", {{5, 0}, 32, true, kHalf}},
      {"IQ4_NL", {{4, 0, curved}, 32, false, kHalf}},
      {"IQ4_XS", {{4, 0, curved}, 32, false, kHalfTimesByte}},
      {"MXFP4", {{4, 0, e2m1}, 32, false, kPowerOfTwo}},
      {"NVFP4", {{4, 0, e2m1}, 16, false, kHalf}},
      {"NVFP4 of a tensor", of_tensor},
      {"IQ2_XS", {{4, 0, words}, 16, false, kHalfTimesByte}},
      {"3 bits per 64", {{3, -4}, 64, false, kFloat}},
      {"6 bits per 128", {{6, -32}, 128, true, kFloat}},
      {"8 bits per 16", {{8, -128}, 16, true, kFloat}},
      {"1 bit per 16", {{1, -1}, 16, false, kHalf}},
      {"table per 64", {{4, 0, curved}, 64, true, kHalf}},
  };
}

/// Those with a vector basis, named by their rates.
inline std::vector<NamedFormat> vector_formats() {
  std::vector<NamedFormat> formats;
  for (const std::string_view rate : numerics::vector_rates()) {
    GroupCodes format;
    format.group = 64;
    format.scales = GroupScales::kE3m5;
    format.basis = numerics::shipped_vector_basis(rate).get();  // that of the program
    format.factor = 0.0123F;
    formats.push_back({std::string(rate), format});
  }
  return formats;
}

/// Random weights with scales that the format stores exactly.
struct RandomGroups {
  RandomGroups(const GroupCodes& format_in, std::size_t rows_in, std::size_t cols_in,
               std::uint64_t seed)
      : format(format_in), rows(rows_in), extents{cols_in, format_in.group, format_in.vector()} {
    Random random(seed);
    while (format.basis != nullptr && levels.size() < rows * cols_in) {
      const auto codeword = format.basis->codeword(random.below(format.basis->num_codes()));
      levels.insert(levels.end(), codeword.begin(), codeword.end());
    }
    for (std::size_t i = levels.size(); i < rows * cols_in; ++i) {
      levels.push_back(static_cast<std::int8_t>(
          format.levels.level(random.below(std::uint64_t{1} << format.levels.bits))));
    }
    for (std::vector<float>* all : {&scales, &offsets}) {
      for (std::size_t row = 0; row < rows; ++row) add_scales(random, *all);
    }
  }

  void add_scales(Random& random, std::vector<float>& to) const {
    float half = 0;
    for (std::size_t g = 0; g < extents.num_groups(); ++g) {
      if (g * format.group % kGroupBlockInputs == 0) {
        half = float_from_half(half_from_float(static_cast<float>(random.normal()) / 64));
      }
      const auto byte = static_cast<float>(static_cast<int>(random.below(256)) - 128);
      switch (format.scales) {
        case GroupScales::kHalf:
          to.push_back(float_from_half(half_from_float(static_cast<float>(random.normal()) / 8)));
          break;
        case GroupScales::kHalfTimesByte:
          to.push_back(half * byte);
          break;
        case GroupScales::kPowerOfTwo:
          to.push_back(std::ldexp(1.0F, static_cast<int>(random.below(12)) - 8));
          break;
        case GroupScales::kE3m5:
          to.push_back(format.factor *
                       numerics::e3m5_number(static_cast<std::uint8_t>(random.below(256))));
          break;
        case GroupScales::kE4m3:
          to.push_back(format.factor * numerics::decode(numerics::kE4M3, static_cast<std::uint32_t>(
                                                                             random.below(127))));
          break;
        case GroupScales::kFloat:
          to.push_back(static_cast<float>(random.normal()));
          break;
      }
    }
  }

  void unpack(std::size_t row, std::span<std::int8_t> codes, std::span<float> some_scales,
              std::span<float> some_offsets) const {
    const std::size_t groups = extents.num_groups();
    std::copy_n(levels.data() + row * codes.size(), codes.size(), codes.data());
    std::copy_n(scales.data() + row * groups, groups, some_scales.data());
    if (format.has_offsets) {
      std::copy_n(offsets.data() + row * groups, groups, some_offsets.data());
    }
  }
  [[nodiscard]] PackedGroups::Unpack unpacker() const {
    return [this](std::size_t row, std::span<std::int8_t> codes, std::span<float> some_scales,
                  std::span<float> some_offsets) { unpack(row, codes, some_scales, some_offsets); };
  }
  [[nodiscard]] PackedGroups packed() const {
    return PackedGroups::pack(rows, extents.cols, format, unpacker());
  }

  GroupCodes format;
  std::size_t rows;
  GroupExtents extents;
  std::vector<std::int8_t> levels;
  std::vector<float> scales;
  std::vector<float> offsets;
};

/// Encoded rows with memory of their own.
struct OwnedRows {
  OwnedRows(std::size_t rows, const GroupExtents& extents)
      : memory(EncodedRows::size_bytes(rows, extents)), view(memory.bytes(), rows, extents) {}
  AlignedBuffer memory;
  EncodedRows view;
};

}  // namespace halftone::kernels
