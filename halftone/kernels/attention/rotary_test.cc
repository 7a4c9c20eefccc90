// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/testing.h"
#include "halftone/kernels/attention/attention.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Rotary = PerTarget;

constexpr std::size_t kContext = 7;
constexpr std::int32_t kRowPositions[] = {6, 0, 3};

void expect_rotation_matches(const RotaryShape& shape, std::size_t size, Random& random) {
  const std::size_t width = shape.heads * size;
  auto x = numerics::random_floats(random, 3 * width);
  const auto cosines = numerics::random_floats(random, kContext * shape.dims / 2);
  const auto sines = numerics::random_floats(random, kContext * shape.dims / 2);
  const RotaryTables tables{MatrixView<const float>(cosines, kContext, shape.dims / 2),
                            MatrixView<const float>(sines, kContext, shape.dims / 2)};
  std::vector<float> y(x.size());
  std::vector<float> expected(x.size());
  rotate(shape, MatrixView<const float>(x, 3, width), kRowPositions, tables,
         MatrixView<float>(y, 3, width));
  rotate_reference(shape, MatrixView<const float>(x, 3, width), kRowPositions, tables,
                   MatrixView<float>(expected, 3, width));
  EXPECT_EQ(bit_patterns(y), bit_patterns(expected)) << shape.dims << " of " << size;
  const MatrixView<float> in_place(x, 3, width);
  rotate(shape, in_place, kRowPositions, tables, in_place);
  EXPECT_EQ(bit_patterns(x), bit_patterns(expected)) << shape.dims << " of " << size;
}

TEST_P(Rotary, MatchesReferenceForEveryNumberOfDims) {
  Random random(90);
  for (const RotaryPairing pairing : {RotaryPairing::kNeox, RotaryPairing::kInterleaved}) {
    for (std::size_t dims = 0; dims <= 72; dims += 2) {
      expect_rotation_matches({3, dims, pairing}, dims, random);
      expect_rotation_matches({2, dims, pairing}, dims + 5, random);
    }
    expect_rotation_matches({4, 128, pairing}, 128, random);
  }
}

TEST(RotaryPairs, TurnsPairs) {
  // By a right angle: (a, b) becomes (-b, a).
  const std::vector<float> x{1, 2, 3, 4, 5};
  const std::vector<float> cosines{0, 0};
  const std::vector<float> sines{1, 1};
  const RotaryTables tables{MatrixView<const float>(cosines, 1, 2),
                            MatrixView<const float>(sines, 1, 2)};
  const std::int32_t position = 0;
  std::vector<float> y(5);
  const MatrixView<const float> from(x, 1, 5);
  rotate({1, 4, RotaryPairing::kInterleaved}, from, {&position, 1}, tables,
         MatrixView<float>(y, 1, 5));
  EXPECT_EQ(y, (std::vector<float>{-2, 1, -4, 3, 5}));
  rotate({1, 4, RotaryPairing::kNeox}, from, {&position, 1}, tables, MatrixView<float>(y, 1, 5));
  EXPECT_EQ(y, (std::vector<float>{-3, -4, 1, 2, 5}));
}

TEST(RotaryPairs, RejectsPositionsOutsideTheTables) {
  require_positions(kRowPositions, kContext);
  expect_error(ErrorKind::kUsage, "position of row 0: expected 0 to 6 exclusive, found 6",
               [] { require_positions(kRowPositions, 6); });
}

HALFTONE_INSTANTIATE_PER_TARGET(Rotary);

}  // namespace
}  // namespace halftone::kernels
