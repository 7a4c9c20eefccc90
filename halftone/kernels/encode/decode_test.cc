// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Decode = PerTarget;
using numerics::Granularity;

struct Grouping {
  Granularity granularity;
  std::size_t size = 0;  ///< of kGroup
};

void expect_decoding_matches(Random& random, std::size_t rows, std::size_t cols, int bits,
                             Grouping grouping) {
  const auto codes = numerics::random_planes(random, rows, cols, bits);
  const auto encoding = numerics::random_encoding(random, rows, cols, bits, bits % 2 == 0,
                                                  grouping.granularity, grouping.size);
  std::vector<float> values(rows * cols, -1.0F);
  decode(codes, encoding, 0, MatrixView<float>(values, rows, cols));
  EXPECT_EQ(values, numerics::decode(codes, encoding))
      << rows << " x " << cols << ", bits " << bits << ", group " << grouping.size;
}

TEST_P(Decode, MatchesNumericsForEveryTailAndGranularity) {
  Random random(7);
  for (std::size_t cols = 0; cols <= 70; ++cols) {
    for (const int bits : {1, 2, 3, 8}) {
      expect_decoding_matches(random, 3, cols, bits, {Granularity::kTensor, 0});
      expect_decoding_matches(random, 3, cols, bits, {Granularity::kChannel, 0});
      for (const std::size_t group : {1U, 5U, 32U, 48U}) {
        expect_decoding_matches(random, 3, cols, bits, {Granularity::kGroup, group});
      }
    }
  }
  expect_decoding_matches(random, 2, 1000, 4, {Granularity::kGroup, 129});
}

TEST_P(Decode, PicksTheRowsAskedFor) {
  Random random(8);
  const auto codes = numerics::random_planes(random, 5, 33, 2);
  const auto encoding = numerics::random_encoding(random, 5, 33, 2, true, Granularity::kChannel);
  const auto all = numerics::decode(codes, encoding);
  std::vector<float> values(2 * 33);
  decode(codes, encoding, 3, MatrixView<float>(values, 2, 33));
  EXPECT_EQ(values, std::vector<float>(all.begin() + 3 * 33, all.end()));
}

TEST_P(Decode, EncodedActivationsBecomeTheirNearestLevels) {
  Random random(9);
  const auto basis = numerics::random_basis(random, 3, true);
  const auto x = numerics::random_floats(random, 4 * 75);
  std::vector<std::uint64_t> planes(4 * 3 * 2);
  encode(MatrixView<const float>(x, 4, 75), EncodeTable(basis), planes);
  std::vector<float> values(4 * 75);
  decode(planes, basis, MatrixView<float>(values, 4, 75));
  const numerics::LevelTable table(basis);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(values[i], table.nearest(x[i]));
}

HALFTONE_INSTANTIATE_PER_TARGET(Decode);

}  // namespace
}  // namespace halftone::kernels
