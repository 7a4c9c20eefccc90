// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/groups/encoded_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/kernels/groups/group_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using EncodedRowsOnTargets = PerTarget;

/// All that is stored of a row.
std::vector<std::uint32_t> contents(const EncodedRows& x, std::size_t row) {
  std::vector<float> floats(x.scales(row), x.scales(row) + x.extents().num_pieces());
  floats.insert(floats.end(), x.shares(row), x.shares(row) + x.extents().num_pieces());
  std::vector<std::uint32_t> all = bit_patterns(floats);
  for (std::size_t i = 0; i < x.extents().padded_cols(); ++i) {
    all.push_back(static_cast<std::uint8_t>(x.codes(row)[i]));
  }
  for (std::size_t i = 0; i < x.extents().num_pieces(); ++i) {
    all.push_back(static_cast<std::uint32_t>(x.sums(row)[i]));
  }
  return all;
}

TEST_P(EncodedRowsOnTargets, MatchReferenceForEveryGroupAndTail) {
  Random random(1);
  for (const std::size_t group : {16U, 32U, 64U, 128U, 256U}) {
    for (std::size_t cols = 1; cols < 400; cols += 13) {
      SCOPED_TRACE(testing::Message() << cols << " inputs in groups of " << group);
      std::vector<float> values = numerics::random_floats(random, 3 * cols);
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(cols), cols / 2, 0.0F);
      values[2 * cols] = 1e-38F;
      const GroupExtents extents{cols, group};
      OwnedRows x(3, extents);
      OwnedRows expected(3, extents);
      const MatrixView<const float> view(values, 3, cols);
      encode_group_rows(view, {0, 1}, x.view);
      encode_group_rows(view, {1, 3}, x.view);
      encode_group_rows_reference(view, {0, 3}, expected.view);
      for (std::size_t row = 0; row < 3; ++row) {
        EXPECT_EQ(contents(x.view, row), contents(expected.view, row));
      }
    }
  }
}

/// The order is that of a vector of codes: the first numbers of four codewords, then the second.
TEST_P(EncodedRowsOnTargets, HaveTheOrderOfVectors) {
  Random random(2);
  for (const std::size_t vector : {2U, 4U}) {
    const GroupExtents extents{192, 64, vector};
    const std::vector<float> values = numerics::random_floats(random, 2 * 192);
    OwnedRows x(2, extents);
    OwnedRows expected(2, extents);
    OwnedRows plain(2, {192, 64});
    const MatrixView<const float> view(values, 2, 192);
    encode_group_rows(view, {0, 2}, x.view);
    encode_group_rows_reference(view, {0, 2}, expected.view);
    encode_group_rows_reference(view, {0, 2}, plain.view);
    EXPECT_EQ(contents(x.view, 1), contents(expected.view, 1));
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t code = i / vector;
      const std::size_t to = (code / 4 * vector + i % vector) * 4 + code % 4;
      EXPECT_EQ(x.view.codes(1)[to], plain.view.codes(1)[i]);
    }
  }
}

TEST_P(EncodedRowsOnTargets, RoundTiesToEvenAndHaveTheirSums) {
  std::vector<float> values(64, 0.0F);
  values[0] = 127;
  values[1] = 2.5F;
  values[2] = -3.5F;
  OwnedRows x(1, {64, 64});
  encode_group_rows(MatrixView<const float>(values, 1, 64), {0, 1}, x.view);
  EXPECT_EQ(x.view.scales(0)[0], 1.0F);
  EXPECT_THAT(std::vector<int>(x.view.codes(0), x.view.codes(0) + 4),
              testing::ElementsAre(127, 2, -4, 0));
  EXPECT_EQ(x.view.sums(0)[0], 125);
  EXPECT_EQ(x.view.shares(0)[0], 125.0F);
}

TEST_P(EncodedRowsOnTargets, HaveScaleNanWhereInputsAreNotFinite) {
  for (const float bad : {kInfinity, kNan}) {
    std::vector<float> values(128, 1.0F);
    values[70] = bad;
    OwnedRows x(1, {128, 64});
    encode_group_rows(MatrixView<const float>(values, 1, 128), {0, 1}, x.view);
    EXPECT_EQ(x.view.scales(0)[0], 1.0F / 127);
    EXPECT_TRUE(std::isnan(x.view.scales(0)[1]));
    EXPECT_EQ(x.view.codes(0)[64], 0);
  }
}

TEST(EncodedRows, RefuseMemoryThatDoesNotFit) {
  const GroupExtents extents{64, 64};
  AlignedBuffer memory(EncodedRows::size_bytes(2, extents));
  EXPECT_EQ(memory.size_bytes(), 2U * (64 + 3 * 64));
  expect_error(ErrorKind::kShape, "expected 768 bytes, aligned to 64, found 512",
               [&] { EncodedRows(memory.bytes(), 3, extents); });
  expect_error(ErrorKind::kShape, "not aligned",
               [&] { EncodedRows(memory.bytes().subspan(4), 1, extents); });
}

HALFTONE_INSTANTIATE_PER_TARGET(EncodedRowsOnTargets);

}  // namespace
}  // namespace halftone::kernels
