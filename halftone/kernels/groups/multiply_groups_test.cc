// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/groups/multiply_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "halftone/kernels/groups/group_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using MultiplyGroups = PerTarget;

/// All strips, in two calls.
std::vector<float> multiply(const PackedGroups& w, const EncodedRows& x) {
  std::vector<float> y(x.rows() * w.rows(), std::numeric_limits<float>::quiet_NaN());
  const MatrixView<float> view(y, x.rows(), w.rows());
  const std::size_t middle = w.num_strips() / 2;
  multiply_groups(w, x, {0, middle}, view);
  multiply_groups(w, x, {middle, w.num_strips()}, view);
  return y;
}

std::vector<float> multiply_in_plain_loops(const RandomGroups& w, const EncodedRows& x) {
  std::vector<float> y(x.rows() * w.rows);
  multiply_groups_reference(w.format, w.unpacker(), x, MatrixView<float>(y, x.rows(), w.rows));
  return y;
}

OwnedRows encoded(const std::vector<float>& values, std::size_t rows, const GroupExtents& extents) {
  OwnedRows x(rows, extents);
  encode_group_rows_reference(MatrixView<const float>(values, rows, extents.cols), {0, rows},
                              x.view);
  return x;
}

void expect_reference(const RandomGroups& w, const EncodedRows& x) {
  EXPECT_EQ(bit_patterns(multiply(w.packed(), x)), bit_patterns(multiply_in_plain_loops(w, x)))
      << x.rows() << " rows, " << w.extents.cols << " inputs, " << w.rows << " outputs";
}

TEST_P(MultiplyGroups, MatchesReferenceForEveryFormatAndNumberOfRows) {
  Random random(1);
  for (const NamedFormat& named : group_formats()) {
    SCOPED_TRACE(named.name);
    const RandomGroups w(named.format, 200, 512 + named.format.group, 2);
    for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 16U, 40U}) {
      const auto values = numerics::random_floats(random, rows * w.extents.cols);
      expect_reference(w, encoded(values, rows, w.extents).view);
    }
  }
}

TEST_P(MultiplyGroups, MatchesReferenceForEveryShape) {
  Random random(3);
  for (const NamedFormat& named : group_formats()) {
    SCOPED_TRACE(named.name);
    for (const std::size_t cols : {1U, 31U, 48U, 256U, 300U, 576U}) {
      for (const std::size_t outputs : {1U, 64U, 70U}) {
        const RandomGroups w(named.format, outputs, cols, 4);
        for (const std::size_t rows : {1U, 6U}) {
          const auto values = numerics::random_floats(random, rows * cols);
          expect_reference(w, encoded(values, rows, w.extents).view);
        }
      }
    }
  }
}

TEST_P(MultiplyGroups, MatchesReferenceForManyRows) {
  Random random(5);
  for (const NamedFormat& named : group_formats()) {
    SCOPED_TRACE(named.name);
    const RandomGroups w(named.format, 65, 256, 6);
    const auto values = numerics::random_floats(random, 256 * 256);
    expect_reference(w, encoded(values, 256, w.extents).view);
  }
}

TEST_P(MultiplyGroups, MatchesReferenceForVectorsOfEveryShape) {
  Random random(12);
  for (const NamedFormat& named : vector_formats()) {
    SCOPED_TRACE(named.name);
    for (const std::size_t cols : {64U, 192U, 256U, 576U}) {
      for (const std::size_t outputs : {1U, 64U, 70U}) {
        const RandomGroups w(named.format, outputs, cols, 13);
        for (const std::size_t rows : {1U, 2U, 3U, 6U, 16U, 67U}) {
          const auto values = numerics::random_floats(random, rows * cols);
          expect_reference(w, encoded(values, rows, w.extents).view);
        }
      }
    }
  }
}

/// The largest numbers that a basis may have, and others whose parts wrap around.
TEST_P(MultiplyGroups, AddsPartsOfVectorsWithoutOverflow) {
  for (NamedFormat& named : vector_formats()) {
    SCOPED_TRACE(named.name);
    const auto d = static_cast<std::size_t>(named.format.basis->numbers());
    const auto signs = static_cast<std::size_t>(named.format.basis->signs());
    for (const std::size_t largest : {std::size_t{0}, signs - 1}) {
      std::vector<std::int8_t> matrix(d * signs, 1);
      for (std::size_t j = 0; j < d; ++j) {
        matrix[j * signs + (largest + j) % signs] = static_cast<std::int8_t>(128 - signs);
      }
      const auto basis = std::make_shared<const numerics::VectorBasis>(static_cast<int>(d), matrix);
      named.format.basis = basis.get();
      for (const std::size_t code : {std::size_t{0}, named.format.basis->num_codes() - 1}) {
        RandomGroups w(named.format, 64, 128, 14);
        for (std::size_t i = 0; i < w.levels.size() / 2; ++i) {
          w.levels[i] = named.format.basis->codeword(code)[i % d];
        }
        for (const float sign : {1.0F, -1.0F}) {
          for (const std::size_t rows : {1U, 8U}) {
            const std::vector<float> values(rows * 128, sign);
            expect_reference(w, encoded(values, rows, w.extents).view);
          }
        }
      }
    }
  }
}

/// Many strips, whose rows are multiplied by tables of sums on some targets: longer than what these
/// hold, 8192 inputs; the largest sums that they may hold, and a basis of larger ones.
TEST_P(MultiplyGroups, MatchesReferenceForCodewordsInManyStrips) {
  Random random(15);
  NamedFormat named = vector_formats().front();
  for (const std::size_t rows : {1U, 3U}) {
    const RandomGroups w(named.format, 800, 8512, 16);
    const auto values = numerics::random_floats(random, rows * w.extents.cols);
    expect_reference(w, encoded(values, rows, w.extents).view);
  }
  for (const int first : {15, 120}) {
    std::vector<std::int8_t> matrix(32, first == 15 ? 16 : 1);
    for (std::size_t j = 0; j < 4; ++j) matrix[8 * j] = static_cast<std::int8_t>(first);
    const auto basis = std::make_shared<const numerics::VectorBasis>(4, matrix);
    named.format.basis = basis.get();
    EXPECT_EQ(VectorTables(*named.format.basis).halves_fit, first == 15);
    for (const std::size_t code : {0x00U, 0x0FU, 0xF0U, 0xFFU}) {
      RandomGroups w(named.format, 768, 128, 17);
      for (std::size_t i = 0; i < w.levels.size() / 2; ++i) {
        w.levels[i] = named.format.basis->codeword(code)[i % 4];
      }
      for (const float sign : {1.0F, -1.0F}) {
        expect_reference(w, encoded(std::vector<float>(128, sign), 1, w.extents).view);
      }
    }
  }
}

/// Longer than what the tables of codes of one bit hold, 16384 inputs.
TEST_P(MultiplyGroups, MatchesReferenceForLongRows) {
  Random random(10);
  const RandomGroups w(group_formats().front().format, 70, 17000, 11);
  const auto values = numerics::random_floats(random, 2 * w.extents.cols);
  expect_reference(w, encoded(values, 2, w.extents).view);
}

/// Products of the largest magnitudes, which some instructions would clamp.
TEST_P(MultiplyGroups, DoesNotOverflow) {
  for (const NamedFormat& named : group_formats()) {
    SCOPED_TRACE(named.name);
    for (const std::size_t code :
         {std::size_t{0}, (std::size_t{1} << named.format.levels.bits) - 1}) {
      RandomGroups w(named.format, 64, 256, 7);
      std::ranges::fill(w.levels, static_cast<std::int8_t>(w.format.levels.level(code)));
      for (const float sign : {1.0F, -1.0F}) {
        for (const std::size_t rows : {1U, 8U}) {
          const std::vector<float> values(rows * 256, sign);
          expect_reference(w, encoded(values, rows, w.extents).view);
        }
      }
    }
  }
}

TEST_P(MultiplyGroups, GivesNanForRowsThatAreNotFinite) {
  const RandomGroups w(group_formats().front().format, 64, 256, 8);
  std::vector<float> values(2 * 256, 1.0F);
  values[3] = std::numeric_limits<float>::infinity();
  const std::vector<float> y = multiply(w.packed(), encoded(values, 2, w.extents).view);
  for (std::size_t o = 0; o < 64; ++o) {
    EXPECT_TRUE(std::isnan(y[o]));
    EXPECT_TRUE(std::isfinite(y[64 + o]));
  }
}

TEST_P(MultiplyGroups, WritesTheColumnsOfItsStripsOnly) {
  const RandomGroups w(group_formats().front().format, 192, 128, 9);
  const OwnedRows x = encoded(std::vector<float>(128, 1.0F), 1, w.extents);
  std::vector<float> y(192, 77);
  multiply_groups(w.packed(), x.view, {1, 2}, MatrixView<float>(y, 1, 192));
  EXPECT_EQ(std::count(y.begin(), y.begin() + 64, 77.0F), 64);
  EXPECT_EQ(std::count(y.begin() + 64, y.begin() + 128, 77.0F), 0);
  EXPECT_EQ(std::count(y.begin() + 128, y.end(), 77.0F), 64);
}

HALFTONE_INSTANTIATE_PER_TARGET(MultiplyGroups);

}  // namespace
}  // namespace halftone::kernels
