// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode/encode.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Encode = PerTarget;

/// Values at least 1/8 of a gap from every threshold, and far below and above them all.
std::vector<float> easy_numbers(Random& random, const EncodeTable& table, std::size_t count) {
  const auto thresholds = table.thresholds();
  const float low = thresholds.front();
  const float gap = (thresholds.back() - low) / static_cast<float>(thresholds.size() - 1);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto level = static_cast<float>(random.below(thresholds.size() + 5)) - 3;
    value = low + gap * (level + static_cast<float>(0.125 + 0.75 * random.uniform()));
  }
  return values;
}

/// Values between, on and next to the thresholds, and values that are unordered.
std::vector<float> hard_numbers(Random& random, const EncodeTable& table, std::size_t count) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {0.0F, -0.0F, infinity, -infinity, std::nanf(""), 1e-40F, -1e-40F};
  std::vector<float> values = numerics::random_floats(random, count);
  const auto thresholds = table.thresholds();
  for (float& value : values) {
    const float t = thresholds[random.below(thresholds.size())];
    switch (random.below(6)) {
      case 0:
        value = t;
        break;
      case 1:
        value = std::nextafter(t, infinity);
        break;
      case 2:
        value = std::nextafter(t, -infinity);
        break;
      case 3:
        value = special[random.below(std::size(special))];
        break;
      default:
        break;
    }
  }
  return values;
}

void expect_encoding_matches(const EncodeTable& table, const std::vector<float>& values,
                             std::size_t rows, std::size_t cols) {
  const numerics::Basis basis = table.levels().basis();
  const MatrixView<const float> view(values, rows, cols);
  const numerics::BitPlanes expected = numerics::encode(view, numerics::tensor_encoding(basis));
  // Previous contents of the memory must not remain.
  std::vector<std::uint64_t> planes(expected.planes.words().size(), 0xAAAAAAAAAAAAAAAA);
  encode(view, table, planes);
  const auto words = expected.planes.words();
  EXPECT_EQ(planes, std::vector(words.begin(), words.end()))
      << "bits " << basis.bits << ", " << rows << " x " << cols;
  encode_reference(view, table, planes);
  EXPECT_EQ(planes, std::vector(words.begin(), words.end())) << "the reference itself";

  const Int8Levels levels(basis);
  std::vector<std::int8_t> q(rows * cols, 99);
  encode_int8(view, Int8EncodeTable(table), MatrixView<std::int8_t>(q, rows, cols));
  for (std::size_t i = 0; i < q.size(); ++i) {
    EXPECT_EQ(q[i], levels.q[expected.code(i / cols, i % cols)]) << values[i];
  }
  std::vector<std::int8_t> q_reference(q.size());
  encode_int8_reference(view, table, levels, MatrixView<std::int8_t>(q_reference, rows, cols));
  EXPECT_EQ(q, q_reference) << "the reference itself";
}

void expect_encoding_matches(Random& random, const numerics::Basis& basis, std::size_t rows,
                             std::size_t cols) {
  const EncodeTable table(basis);
  expect_encoding_matches(table, hard_numbers(random, table, rows * cols), rows, cols);
}

TEST_P(Encode, MatchesLevelTableForEvenlySpacedLevels) {
  Random random(9);
  const float infinity = std::numeric_limits<float>::infinity();
  for (int bits = 4; bits <= numerics::kMaxBits; ++bits) {
    for (const float low : {-3.0F, 0.0F, 0.7F, 40.0F}) {
      const EncodeTable table(numerics::range_basis(bits, low, low + 2.3F));
      ASSERT_TRUE(table.spacing().is_even()) << bits << " bits from " << low;
      EXPECT_TRUE(Int8EncodeTable(table).line().exists) << bits << " bits from " << low;
      std::vector<float> x = easy_numbers(random, table, 2 * 200);
      expect_encoding_matches(table, x, 2, 200);
      for (const float special : {infinity, -infinity, std::nanf(""), 3e38F, -3e38F}) {
        x[random.below(x.size())] = special;
      }
      expect_encoding_matches(table, x, 2, 200);
      expect_encoding_matches(table, hard_numbers(random, table, 400), 2, 200);
    }
  }
}

TEST_P(Encode, MatchesLevelTableForEveryTail) {
  Random random(3);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    const numerics::Basis basis = numerics::random_basis(random, bits, bits % 2 == 0);
    for (std::size_t cols = 0; cols <= 130; ++cols) expect_encoding_matches(random, basis, 2, cols);
  }
}

TEST_P(Encode, ShortRowsThatShareAWordMatch) {
  Random random(8);
  for (const int bits : {1, 2, 3, 8}) {
    for (const std::size_t cols : {1U, 2U, 3U, 4U, 5U, 8U, 13U, 16U, 21U, 31U, 32U}) {
      for (const std::size_t rows : {1U, 2U, 5U, 16U, 67U}) {
        expect_encoding_matches(random, numerics::random_basis(random, bits, true), rows, cols);
      }
    }
  }
}

TEST_P(Encode, MatchesLevelTableForManyBases) {
  Random random(4);
  for (int trial = 0; trial < 200; ++trial) {
    const int bits = 1 + static_cast<int>(random.below(numerics::kMaxBits));
    expect_encoding_matches(random, numerics::random_basis(random, bits, trial % 3 == 0), 3, 100);
  }
}

TEST_P(Encode, EqualLevelsAndZeroCoefficientsAgree) {
  Random random(5);
  const float same[] = {0.5F, 0.5F, 0.5F};
  const float zero[] = {0.0F, 0.0F};
  const float partly[] = {0.0F, 1.0F, -1.0F, 0.0F, 2.0F};
  expect_encoding_matches(random, numerics::make_basis(same), 2, 77);
  expect_encoding_matches(random, numerics::make_basis(zero, 1.0F), 2, 77);
  expect_encoding_matches(random, numerics::make_basis(partly), 2, 77);
}

TEST_P(Encode, SupportsRowStridesAtAnyAddress) {
  Random random(6);
  const EncodeTable table(numerics::random_basis(random, 2, false));
  const std::vector<float> values = numerics::random_floats(random, 1 + 3 * 101);
  const MatrixView<const float> view(values.data() + 1, 3, 70, 101);
  std::vector<std::uint64_t> planes(3 * 2 * 2);
  std::vector<std::uint64_t> expected(planes.size());
  encode(view, table, planes);
  encode_reference(view, table, expected);
  EXPECT_EQ(planes, expected);

  const Int8Levels levels(table.levels());
  std::vector<std::int8_t> q(1 + 3 * 91, 99);
  std::vector<std::int8_t> q_expected = q;  // the gaps must stay unchanged
  const auto rows_of = [](auto& codes) {
    return MatrixView<std::int8_t>(codes.data() + 1, 3, 70, 91);
  };
  encode_int8(view, Int8EncodeTable(table), rows_of(q));
  encode_int8_reference(view, table, levels, rows_of(q_expected));
  EXPECT_EQ(q, q_expected);
}

TEST_P(Encode, NoRowsWriteNothing) {
  const EncodeTable table(numerics::symmetric_basis(3, 1.0F));
  encode(MatrixView<const float>({}, 0, 10), table, {});
  encode_int8(MatrixView<const float>({}, 0, 10), Int8EncodeTable(table),
              MatrixView<std::int8_t>({}, 0, 10));
}

/// What the codes of all numbers of binary16, divided by a scale of 1/4, are by the kernel.
std::vector<float> levels_of_halves(const EncodeTable& table, std::size_t cols) {
  std::vector<float> x;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    x.push_back(float_from_half(static_cast<std::uint16_t>(bits)) / 4);
  }
  const std::size_t rows = x.size() / cols;
  const MatrixView<const float> view(x.data(), rows, cols, cols);
  numerics::BitPlanes codes(rows, cols, table.levels().bits());
  encode(view, table, codes.planes.words());
  std::vector<std::uint64_t> expected(codes.planes.words().size());
  encode_reference(view, table, expected);
  EXPECT_TRUE(std::ranges::equal(codes.planes.words(), expected));
  std::vector<float> levels;
  for (std::size_t i = 0; i < rows * cols; ++i) {
    levels.push_back(table.levels().codebook()->levels()[codes.code(i / cols, i % cols)]);
  }
  return levels;
}

// In rows of whole words, of words with a rest, and in short ones.
TEST_P(Encode, OverflowsAsMinifloatsDo) {
  for (const char* name : {"e4m3", "e5m2", "e3m4", "e4m3fnuz", "e5m2fnuz", "e2m1fnuz"}) {
    const numerics::Minifloat format = numerics::minifloat_from(name).value();
    const auto codebook =
        std::make_shared<const numerics::Codebook>(name, format, numerics::Overflow::kSpecial);
    EncodeTable table(numerics::Levels(codebook, 0.25F, 0));
    EXPECT_FALSE(table.move_before([](float x) { return 2 * x; }));
    for (const std::size_t cols : {65536U, 100U, 7U}) {
      const std::vector<float> found = levels_of_halves(table, cols);
      for (std::size_t i = 0; i < found.size(); ++i) {
        const float expected = round_to_nearest(
            format, float_from_half(static_cast<std::uint16_t>(i)), numerics::Overflow::kSpecial);
        ASSERT_TRUE(found[i] == expected || (std::isnan(found[i]) && std::isnan(expected)))
            << name << ' ' << i << ": " << found[i] << ", " << expected;
      }
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(Encode);

}  // namespace
}  // namespace halftone::kernels
