// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode/encode_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/bits.h"
#include "halftone/base/error.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

TEST(EncodeTable, FlipsRebuildEveryCode) {
  Random random(1);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    const numerics::Basis basis = numerics::random_basis(random, bits, true);
    const EncodeTable table(basis);
    const numerics::LevelTable levels(basis);
    for (std::size_t l = 0; l < levels.size(); ++l) {
      const float x = levels.levels()[l];
      unsigned code = 0;
      for (std::size_t j = 0; j < table.bits(); ++j) {
        auto bit = static_cast<unsigned>(table.lowest(j) & 1);
        for (const float t : table.flips(j)) bit ^= unsigned{x > t};
        code |= bit << j;
      }
      EXPECT_EQ(code, levels.encode(x)) << "bits " << bits << " level " << l;
    }
  }
}

TEST(EncodeTable, FourBitsAreComparedAndEightSearched) {
  Random random(2);
  for (int trial = 0; trial < 100; ++trial) {
    EXPECT_TRUE(EncodeTable(numerics::random_basis(random, 4, true)).by_comparison());
    EXPECT_FALSE(EncodeTable(numerics::random_basis(random, 8, true)).by_comparison());
  }
}

TEST(EncodeTable, KnowsEvenlySpacedThresholds) {
  Random random(4);
  for (int bits = 4; bits <= numerics::kMaxBits; ++bits) {
    EncodeTable table(numerics::range_basis(bits, -0.4F, 3.1F));
    EXPECT_TRUE(table.spacing().is_even()) << bits;
    EXPECT_LT(table.spacing().margin, 0x1p-12F) << bits;
    ASSERT_TRUE(table.move_before(tanh_reference));
    EXPECT_FALSE(table.spacing().is_even()) << "thresholds of tanh, " << bits << " bits";
    EXPECT_FALSE(EncodeTable(numerics::random_basis(random, bits, true)).spacing().is_even());
  }
  EXPECT_FALSE(EncodeTable(numerics::make_basis(std::vector<float>(5))).spacing().is_even());
}

TEST(EncodeTable, MovesBeforeAFunctionExactly) {
  const std::function<float(float)> functions[] = {
      tanh_reference, [](float x) { return x < 0 ? 0 : x; },
      [](float x) { return x < -1  ? -1
                           : x > 1 ? 1
                                   : x; }, [](float x) { return 3 * x; }};
  const float infinity = std::numeric_limits<float>::infinity();
  Random random(3);
  for (const auto& f : functions) {
    for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
      // Levels around zero and one: some thresholds lie where the functions are flat.
      const EncodeTable before(numerics::range_basis(bits, 0.01F, 1.3F));
      EncodeTable moved = before;
      ASSERT_TRUE(moved.move_before(f));
      std::vector<float> x = numerics::random_floats(random, 200);
      for (const float t : moved.thresholds()) {
        x.insert(x.end(), {t, std::nextafter(t, infinity), std::nextafter(t, -infinity)});
      }
      x.insert(x.end(), {0.0F, -0.0F, infinity, -infinity, std::nanf("")});
      std::vector<float> y(x.size());
      std::transform(x.begin(), x.end(), y.begin(), f);
      std::vector<std::uint64_t> expected(before.bits() * words_for_bits(x.size()));
      std::vector<std::uint64_t> planes(expected.size());
      encode_reference(MatrixView<const float>(y, 1, y.size()), before, expected);
      encode_reference(MatrixView<const float>(x, 1, x.size()), moved, planes);
      EXPECT_EQ(planes, expected) << bits;
    }
  }
}

TEST(EncodeTable, StaysWhereAFunctionNeverGoesBelowAThreshold) {
  EncodeTable table(numerics::range_basis(2, -2.0F, 2.0F));
  const std::vector<float> thresholds(table.thresholds().begin(), table.thresholds().end());
  EXPECT_FALSE(table.move_before(tanh_reference));
  EXPECT_THAT(table.thresholds(), testing::ElementsAreArray(thresholds));
}

TEST(EncodeTable, RejectsLevelsThatOverflow) {
  const float huge = std::numeric_limits<float>::max();
  const float twice[] = {huge, huge};
  try {
    EncodeTable table(numerics::make_basis(twice));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("overflow"));
  }
}

TEST(EncodeTable, RejectsBitsOutOfRange) {
  numerics::Basis basis;
  basis.bits = 9;
  try {
    EncodeTable table(basis);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("found 9"));
  }
}

}  // namespace
}  // namespace halftone::kernels
