// SPDX-License-Identifier: Apache-2.0
// The C kernels of text/ multiply packed weights exactly, as the runtime's kernels do.
#include "halftone/export_c/pack/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/export_c/pack/compiled_texts.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/numerics/test_data.h"

namespace halftone::export_c {
namespace {

using numerics::BitPlanes;
using numerics::Granularity;
using numerics::MatrixEncoding;

struct Extents {
  std::size_t outputs;
  std::size_t inputs;
};

/// Below, at and above multiples of 4 outputs and of 8, 16, 32 and 64 inputs.
constexpr std::array<Extents, 9> kExtents = {
    {{1, 1}, {2, 7}, {3, 31}, {4, 32}, {5, 33}, {9, 64}, {6, 65}, {7, 145}, {3, 577}}};

std::uint32_t u32(std::size_t n) { return static_cast<std::uint32_t>(n); }
std::uint32_t words_of(std::size_t inputs) { return u32((inputs + 31) / 32); }
int sign(bool bit) { return bit ? 1 : -1; }

class CTexts : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    texts_ = compiled_texts(GetParam());
    if (texts_ == nullptr) GTEST_SKIP() << "no " << GetParam() << " here";
  }

  const CompiledTexts* texts_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Compilers, CTexts, testing::Values("gcc", "clang"),
                         [](const auto& test) { return test.param; });

/// sum_k (X[k] as signs) (W[k] as signs) of plane i of a row and plane j of an output.
int dot(const BitPlanes& x, int i, const BitPlanes& w, std::size_t o, int j) {
  int sum = 0;
  for (std::size_t k = 0; k < x.cols; ++k) {
    sum += sign(x.planes.test(x.plane(0, i), k)) * sign(w.planes.test(w.plane(o, j), k));
  }
  return sum;
}

TEST_P(CTexts, BitsCountDifferencesOfEveryPairOfPlanes) {
  Random random(1);
  for (const Extents e : kExtents) {
    for (int x_bits = 1; x_bits <= 4; ++x_bits) {
      const int w_bits = 5 - x_bits;
      const BitPlanes x = numerics::random_planes(random, 1, e.inputs, x_bits);
      const BitPlanes w = numerics::random_planes(random, e.outputs, e.inputs, w_bits);
      std::vector<std::uint32_t> counts(e.outputs * static_cast<std::size_t>(x_bits * w_bits));
      texts_->bits(pack_bits(x).words.data(), u32(x.planes.rows()), pack_bits(w).words.data(),
                   static_cast<std::uint32_t>(w_bits), words_of(e.inputs), u32(e.outputs),
                   counts.data());
      auto count = counts.begin();
      for (std::size_t o = 0; o < e.outputs; ++o) {
        for (int i = 0; i < x_bits; ++i) {
          for (int j = 0; j < w_bits; ++j, ++count) {
            EXPECT_EQ(static_cast<int>(e.inputs) - 2 * static_cast<int>(*count),
                      dot(x, i, w, o, j));
          }
        }
      }
    }
  }
}

TEST_P(CTexts, ManyWordsAreCountedInRounds) {
  constexpr std::size_t kInputs = 32 * (8 * 31 * 2 + 8 + 7);
  const BitPlanes x(1, kInputs, 1);
  BitPlanes w(1, kInputs, 1);
  for (std::size_t k = 0; k < kInputs; ++k) w.set_code(0, k, 1);
  std::uint32_t count = 0;
  texts_->bits(pack_bits(x).words.data(), 1, pack_bits(w).words.data(), 1, words_of(kInputs), 1,
               &count);
  EXPECT_EQ(count, kInputs);
}

TEST_P(CTexts, SignsMultiplyAPlaneByPlanes) {
  Random random(2);
  for (const Extents e : kExtents) {
    const BitPlanes x = numerics::random_planes(random, 1, e.inputs, 1);
    const BitPlanes w = numerics::random_planes(random, e.outputs, e.inputs, 3);
    const std::size_t columns = padded_columns(w);
    std::vector<std::int32_t> sums(columns);
    texts_->signs(pack_bits(x).words.data(), words_of(e.inputs), u32(x.planes.count(0)),
                  pack_signs(w).words.data(), u32(columns), sums.data());
    for (std::size_t o = 0; o < e.outputs; ++o) {
      for (int j = 0; j < 3; ++j) EXPECT_EQ(sums[w.plane(o, j)], dot(x, 0, w, o, j));
    }
  }
}

TEST_P(CTexts, PlanesMultiplyDigitsByPlanes) {
  Random random(3);
  constexpr std::array<std::array<std::int8_t, 2>, 5> kMultiples = {
      {{1, 0}, {1, 1}, {1, 2}, {3, 1}, {2, 5}}};
  for (const Extents e : kExtents) {
    for (const auto& multiples : kMultiples) {
      const BitPlanes x = numerics::random_planes(random, 1, e.inputs, 2);
      const BitPlanes w = numerics::random_planes(random, e.outputs, e.inputs, 2);
      const std::uint32_t words = words_of(e.inputs);
      const auto planes = pack_bits(x).words;
      std::vector<std::uint32_t> digits(8 * std::size_t{words});
      const std::uint32_t total = texts_->digits(planes.data(), planes.data() + words, words,
                                                 multiples.data(), digits.data());
      const std::size_t columns = padded_columns(w);
      std::vector<std::int32_t> sums(columns);
      const auto reach = static_cast<std::uint32_t>(multiples[0] + multiples[1]);
      texts_->planes(digits.data(), words, reach, total, pack_planes(w).words.data(), u32(columns),
                     sums.data());
      for (std::size_t o = 0; o < e.outputs; ++o) {
        for (int j = 0; j < 2; ++j) {
          EXPECT_EQ(sums[w.plane(o, j)],
                    multiples[0] * dot(x, 0, w, o, j) + multiples[1] * dot(x, 1, w, o, j));
        }
      }
    }
  }
}

TEST_P(CTexts, Digits2MultipliesDigitsByEvenLevels) {
  Random random(3);
  constexpr std::array<std::array<std::int8_t, 2>, 3> kMultiples = {{{1, 0}, {1, 2}, {5, 2}}};
  for (const Extents e : kExtents) {
    for (const auto& multiples : kMultiples) {
      const BitPlanes x = numerics::random_planes(random, 1, e.inputs, 2);
      const BitPlanes w = numerics::random_planes(random, e.outputs, e.inputs, 2);
      const std::uint32_t words = words_of(e.inputs);
      const auto planes = pack_bits(x).words;
      std::vector<std::uint32_t> digits(8 * std::size_t{words});
      const std::uint32_t total = texts_->digits(planes.data(), planes.data() + words, words,
                                                 multiples.data(), digits.data());
      std::vector<std::int32_t> sums(e.outputs, 9);
      texts_->digits_2(digits.data(), words, static_cast<std::int32_t>(total), -4,
                       pack_digits_2(w).words.data(), u32(e.outputs), -2, sums.data());
      for (std::size_t o = 0; o < e.outputs; ++o) {
        std::int32_t sum = 9;
        for (std::size_t k = 0; k < e.inputs; ++k) {
          const int digit = multiples[0] * x.planes.test(0, k) + multiples[1] * x.planes.test(1, k);
          sum -= 2 * digit * (2 * static_cast<int>(w.code(o, k)) - 4);
        }
        EXPECT_EQ(sums[o], sum);
      }
    }
  }
}

TEST_P(CTexts, LargestDigitsAndManyInputsFit) {
  const BitPlanes x = [] {
    BitPlanes ones(1, 32767, 2);
    for (std::size_t k = 0; k < ones.cols; ++k) ones.set_code(0, k, 3);
    return ones;
  }();
  const std::uint32_t words = words_of(x.cols);
  const auto planes = pack_bits(x).words;
  constexpr std::array<std::int8_t, 2> kMultiples = {2, 5};
  std::vector<std::uint32_t> digits(8 * std::size_t{words});
  const std::uint32_t total =
      texts_->digits(planes.data(), planes.data() + words, words, kMultiples.data(), digits.data());
  std::array<std::int32_t, 4> sums{};
  texts_->planes(digits.data(), words, 7, total, pack_planes(x).words.data(), 4, sums.data());
  EXPECT_EQ(total, 7U * 32767U);
  EXPECT_EQ(sums[1], 7 * 32767);
}

/// From D_ij of ht_bits, in the order of kernels::bit_matmul(), to the last bit.
TEST_P(CTexts, CountsGiveTheOutputsOfBitMatmul) {
  Random random(4);
  const BitPlanes x = numerics::random_planes(random, 1, 300, 2);
  const BitPlanes w = numerics::random_planes(random, 11, 300, 2);
  const auto encoding = numerics::random_encoding(random, 11, 300, 2, false, Granularity::kChannel);
  const numerics::Basis basis = numerics::random_basis(random, 2, false);
  std::vector<float> expected(11);
  kernels::bit_matmul_reference({x, basis}, {w, encoding}, MatrixView<float>(expected, 1, 11));
  std::vector<std::uint32_t> counts(11 * 4);
  texts_->bits(pack_bits(x).words.data(), 2, pack_bits(w).words.data(), 2, words_of(300), 11,
               counts.data());
  for (std::size_t o = 0; o < 11; ++o) {
    float acc = 0;
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        const float a = basis.a()[i] * encoding.basis(o, 0, 300).a()[j];
        acc += a * static_cast<float>(300 - 2 * static_cast<int>(counts[o * 4 + i * 2 + j]));
      }
    }
    EXPECT_EQ(std::bit_cast<std::uint32_t>(acc), std::bit_cast<std::uint32_t>(expected[o]));
  }
}

LevelsFunction function_of(const CompiledTexts& texts, Kernel kernel) {
  if (kernel == Kernel::kLevels1) return texts.levels_1;
  if (kernel == Kernel::kLevels11) return texts.levels_1_1;
  if (kernel == Kernel::kLevels2) return texts.levels_2;
  return kernel == Kernel::kLevels4 ? texts.levels_4 : texts.level_table;
}

std::vector<std::int8_t> random_bytes(Random& random, std::size_t count, bool extreme) {
  std::vector<std::int8_t> bytes(count, -128);
  for (auto& byte : bytes) {
    if (!extreme) byte = static_cast<std::int8_t>(random.next() % 256);
  }
  return bytes;
}

constexpr std::array<Kernel, 5> kLevelKernels = {
    Kernel::kLevels1, Kernel::kLevels11, Kernel::kLevels2, Kernel::kLevels4, Kernel::kLevelTable};

/// The products with each kernel that can hold the levels, against level_matmul_reference().
/// @return these kernels
std::vector<Kernel> expect_levels(const CompiledTexts& texts, Random& random, const BitPlanes& w,
                                  const MatrixEncoding& encoding, bool extreme) {
  const std::vector<std::int8_t> x = random_bytes(random, w.cols, extreme);
  const float scale = 1;
  std::vector<float> expected(w.rows);
  kernels::level_matmul_reference({MatrixView<const std::int8_t>(x, 1, w.cols), {&scale, 1}, 0}, w,
                                  encoding, {}, MatrixView<float>(expected, 1, w.rows));
  std::vector<Kernel> used;
  for (const Kernel kernel : kLevelKernels) {
    const auto packed = pack_levels_for(kernel, w, encoding);
    if (!packed) continue;
    used.push_back(kernel);
    std::vector<std::int32_t> sums(w.rows, -1);
    function_of(texts, kernel)(x.data(), packed->words.data(), u32(w.cols), u32(w.rows),
                               sums.data());
    for (std::size_t o = 0; o < w.rows; ++o) {
      const auto grid = kernels::weight_grid(encoding.levels(o, 0, w.cols));
      const float y = grid.half_step * static_cast<float>(sums[o]);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(y), std::bit_cast<std::uint32_t>(expected[o]))
          << name_of(kernel) << " output " << o << " of " << w.rows << " x " << w.cols;
    }
  }
  return used;
}

TEST_P(CTexts, LearnedLevelsMultiplyLikeLevelMatmul) {
  Random random(5);
  const std::array<std::vector<Kernel>, 4> usable = {
      {{Kernel::kLevels1, Kernel::kLevels2, Kernel::kLevels4, Kernel::kLevelTable},
       {Kernel::kLevels11, Kernel::kLevelTable},
       {Kernel::kLevelTable},
       {Kernel::kLevelTable}}};
  for (const Extents e : kExtents) {
    for (int bits = 1; bits <= 4; ++bits) {
      const BitPlanes w = numerics::random_planes(random, e.outputs, e.inputs, bits);
      const auto encoding = numerics::random_encoding(random, e.outputs, e.inputs, bits, false,
                                                      Granularity::kChannel);
      const auto used = expect_levels(*texts_, random, w, encoding, e.inputs == 577);
      // Few rows may have evenly spaced levels by chance.
      if (e.outputs > 4) {
        EXPECT_EQ(used, usable[static_cast<std::size_t>(bits) - 1]);
      }
    }
  }
}

TEST_P(CTexts, EvenLevelsMultiplyLikeLevelMatmul) {
  Random random(6);
  const std::array<std::vector<Kernel>, 4> usable = {
      {{Kernel::kLevels1, Kernel::kLevels2, Kernel::kLevels4, Kernel::kLevelTable},
       {Kernel::kLevels11, Kernel::kLevels2, Kernel::kLevels4, Kernel::kLevelTable},
       {Kernel::kLevels4, Kernel::kLevelTable},
       {Kernel::kLevels4, Kernel::kLevelTable}}};
  for (const Extents e : kExtents) {
    for (int bits = 1; bits <= 4; ++bits) {
      const BitPlanes w = numerics::random_planes(random, e.outputs, e.inputs, bits);
      const auto encoding = numerics::tensor_encoding(numerics::symmetric_basis(bits, 0.25F));
      EXPECT_EQ(expect_levels(*texts_, random, w, encoding, e.inputs == 577),
                usable[static_cast<std::size_t>(bits) - 1]);
    }
  }
}

TEST(PackLevels, TakesTheKernelOfFewestInstructions) {
  Random random(10);
  const BitPlanes w = numerics::random_planes(random, 16, 128, 2);
  const auto learned = numerics::random_encoding(random, 16, 128, 2, false, Granularity::kChannel);
  const auto even = numerics::tensor_encoding(numerics::symmetric_basis(2, 0.25F));
  EXPECT_EQ(pack_levels(w, learned, Core::kM3).kernel, Kernel::kLevels11);
  EXPECT_EQ(pack_levels(w, even, Core::kM3).kernel, Kernel::kLevels2);
  // One output does not pay for pairs of inputs.
  EXPECT_EQ(pack_levels(w.slice(0, 1), even, Core::kM3).kernel, Kernel::kLevelTable);
}

TEST_P(CTexts, BytesMultiply) {
  Random random(7);
  for (const Extents e : kExtents) {
    const std::vector<std::int8_t> x = random_bytes(random, e.inputs, e.inputs == 577);
    const std::vector<std::int8_t> w = random_bytes(random, e.outputs * e.inputs, e.inputs == 577);
    const PackedWeights packed = pack_bytes(MatrixView<const std::int8_t>(w, e.outputs, e.inputs));
    std::vector<std::int32_t> sums(e.outputs, -1);
    texts_->bytes(x.data(), packed.words.data(), u32(e.inputs), u32(e.outputs), sums.data());
    for (std::size_t o = 0; o < e.outputs; ++o) {
      std::int32_t expected = 0;
      for (std::size_t k = 0; k < e.inputs; ++k) expected += x[k] * w[o * e.inputs + k];
      EXPECT_EQ(sums[o], expected);
    }
  }
}

/// The position that a tap of an output position reads; nothing outside.
std::optional<std::size_t> pixel_of(const Window& at, std::int32_t oy, std::int32_t ox,
                                    std::int32_t tap) {
  const std::int32_t y = oy * at.stride_y - at.pad_top + tap / at.kernel_width * at.dilation_y;
  const std::int32_t x = ox * at.stride_x - at.pad_left + tap % at.kernel_width * at.dilation_x;
  if (y < 0 || y >= at.height || x < 0 || x >= at.width) return std::nullopt;
  return static_cast<std::size_t>(y * at.width + x);
}

TEST_P(CTexts, WindowsAreGathered) {
  Random random(8);
  for (const std::int32_t channels : {3, 16, 33, 64}) {
    const Window at{5, 4, channels, 3, 4, 1, 3, 2, 2, 1, 1, 2, 1, 1};
    const BitPlanes bits =
        numerics::random_planes(random, 20, static_cast<std::size_t>(channels), 2);
    const std::vector<std::int8_t> bytes =
        random_bytes(random, 20 * static_cast<std::size_t>(channels), false);
    const std::uint32_t first = u32(bits.cols) / 3;
    const std::uint32_t count = u32(bits.cols) - first;
    const auto packed = pack_bits(bits).words;
    for (std::int32_t p = 0; p < at.out_height * at.out_width; ++p) {
      const std::int32_t oy = p / at.out_width;
      const std::int32_t ox = p % at.out_width;
      const std::uint32_t words = words_of(6 * count);
      std::vector<std::uint32_t> window(2 * std::size_t{words}, ~0U);
      std::vector<std::int8_t> window_bytes(6 * std::size_t{count}, 99);
      texts_->gather_bits(packed.data(), 2, 32 * words_of(u32(bits.cols)), &at, oy, ox, first,
                          count, window.data());
      texts_->gather_bytes(bytes.data(), 7, &at, oy, ox, first, count, window_bytes.data());
      for (std::uint32_t k = 0; k < 32 * words; ++k) {
        const auto pixel = k < 6 * count
                               ? pixel_of(at, oy, ox, static_cast<std::int32_t>(k / count))
                               : std::nullopt;
        const std::size_t channel = first + k % count;
        const numerics::Code code = pixel ? bits.code(*pixel, channel) : 0;
        EXPECT_EQ((window[k / 32] >> k % 32 & 1U) | (window[words + k / 32] >> k % 32 & 1U) << 1,
                  code);
        if (k >= 6 * count) continue;
        EXPECT_EQ(window_bytes[k], pixel ? bytes[*pixel * bits.cols + channel] : 7);
      }
    }
  }
}

TEST(PackLevels, RejectsGroupsAndManyBits) {
  Random random(9);
  const BitPlanes w = numerics::random_planes(random, 2, 64, 2);
  expect_error(ErrorKind::kUnsupported, "found 2 bits, levels per group", [&] {
    pack_levels(w, numerics::random_encoding(random, 2, 64, 2, false, Granularity::kGroup, 32),
                Core::kM3);
  });
  const BitPlanes five = numerics::random_planes(random, 2, 64, 5);
  expect_error(ErrorKind::kUnsupported, "found 5 bits", [&] {
    pack_levels(five, numerics::random_encoding(random, 2, 64, 5, false, Granularity::kTensor),
                Core::kM3);
  });
}

TEST(PackDigits, TakesTheKernelOfFewestInstructions) {
  const BitPlanes w(32, 288, 2);
  const std::vector<numerics::Digit> planes(2);
  const std::vector<numerics::Digit> joined = {{{0, 1}, {1, 2}, 0.5F}};
  EXPECT_EQ(pack_digits(w, joined, 2, Core::kM3).kernel, Kernel::kPlanes);
  EXPECT_EQ(pack_digits(w, joined, 2, Core::kRv32Zbb).kernel, Kernel::kBits);
  EXPECT_EQ(pack_digits(w, planes, 2, Core::kM3).kernel, Kernel::kSigns);
  const BitPlanes many(1, kMaxCountedInputs + 1, 1);
  EXPECT_EQ(pack_digits(many, planes, 2, Core::kM3).kernel, Kernel::kBits);
}

TEST(PackSigns, RejectsMoreInputsThanCountsHold) {
  const BitPlanes w(1, kMaxCountedInputs + 1, 1);
  expect_error(ErrorKind::kUnsupported, "C kernel signs: expected at most 32767 inputs",
               [&] { pack_signs(w); });
  expect_error(ErrorKind::kUnsupported, "C kernel planes: expected at most 32767 inputs",
               [&] { pack_planes(w); });
}

}  // namespace
}  // namespace halftone::export_c
