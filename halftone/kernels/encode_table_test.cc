// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/error.h"
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

TEST(EncodeTable, RefusesLevelsThatOverflow) {
  const float huge = std::numeric_limits<float>::max();
  const float twice[] = {huge, huge};
  try {
    EncodeTable table(numerics::make_basis(twice));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_THAT(error.what(), testing::HasSubstr("overflows"));
  }
}

TEST(EncodeTable, RefusesBitsOutOfRange) {
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
