// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/buffer.h"
#include "halftone/base/half.h"
#include "halftone/base/testing.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Cache = PerTarget;

constexpr std::int32_t kSlots[] = {1, 0, 2, 1, 1};
constexpr std::int32_t kPositions[] = {0, 15, 16, 33, 17};

/// The numbers that a cache stores for a head of a row, and their scale.
struct StoredHead {
  std::vector<float> numbers;
  float scale = 1;
};

/// As quantize_rows() rounds to 127; returns the scale.
float round_to_31_steps(std::span<float> x) {
  float largest = 0;
  bool finite = true;
  for (const float value : x) {
    finite = finite && std::isfinite(value);
    largest = std::max(largest, std::abs(value));
  }
  const float steps = 31 / largest;
  const bool zero = !finite || std::isinf(steps);
  for (float& value : x) value = zero ? 0 : static_cast<float>(std::lrint(value * steps));
  if (!finite) return std::numeric_limits<float>::quiet_NaN();
  return zero ? 0 : largest / 31;
}

StoredHead expected_head(CacheType type, std::span<const float> x) {
  StoredHead head{{x.begin(), x.end()}};
  if (is_rotated(type)) numerics::rotate_blocks(head.numbers);
  if (type == CacheType::kFloat16) {
    for (float& value : head.numbers) value = float_from_half(half_from_float(value));
  }
  if (type == CacheType::kInt8) {
    std::vector<std::int8_t> q(x.size());
    quantize_rows_reference(MatrixView<const float>(head.numbers, 1, x.size()),
                            MatrixView<std::int8_t>(q, 1, x.size()), {&head.scale, 1});
    std::copy(q.begin(), q.end(), head.numbers.begin());
  }
  if (type == CacheType::kInt6) head.scale = round_to_31_steps(head.numbers);
  constexpr std::size_t kGroup = numerics::NibbleGroup::kNumbers;
  for (std::size_t i = 0; i < x.size() && type == CacheType::kInt4; i += kGroup) {
    const auto numbers = std::span(head.numbers).subspan(i, std::min(kGroup, x.size() - i));
    std::vector<std::uint8_t> codes(numbers.size());
    const numerics::NibbleGroup group = numerics::encode_nibbles(numbers, codes);
    std::ranges::transform(codes, numbers.begin(), [&](std::uint8_t code) {
      return static_cast<float>(code) * group.unit() + group.first();
    });
  }
  return head;
}

template <typename Append, typename Read>
void expect_stored(const CacheShape& shape, std::vector<float> x, Append append, Read read) {
  AlignedBuffer bytes(shape.bytes());
  const CacheRows rows{kSlots, kPositions};
  const MatrixView<const float> values(x, 5, shape.heads * shape.size);
  append(shape, values, rows, {0, 1}, bytes.bytes());
  append(shape, values, rows, {1, shape.heads}, bytes.bytes());
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t h = 0; h < shape.heads; ++h) {
      StoredHead found{std::vector<float>(shape.size)};
      found.scale =
          read(shape, bytes.bytes(),
               {static_cast<std::size_t>(kSlots[r]), static_cast<std::size_t>(kPositions[r]), h},
               found.numbers);
      const auto expected =
          expected_head(shape.type, values.row(r).subspan(h * shape.size, shape.size));
      EXPECT_EQ(bit_patterns(found.numbers), bit_patterns(expected.numbers));
      EXPECT_EQ(bit_patterns(std::vector{found.scale}), bit_patterns(std::vector{expected.scale}))
          << shape.size << ", row " << r << ", head " << h;
    }
  }
}

constexpr CacheType kTypes[] = {CacheType::kFloat32, CacheType::kFloat16, CacheType::kInt8,
                                CacheType::kInt6, CacheType::kInt4};

TEST_P(Cache, StoresWhatItsTypeRoundsTo) {
  Random random(80);
  for (const CacheType type : kTypes) {
    for (const std::size_t size : {1U, 8U, 16U, 37U, 80U, 256U, 300U}) {
      const CacheShape shape{3, 34, 2, size, type};
      const auto x = numerics::random_floats(random, 5 * 2 * size);
      expect_stored(shape, x, append_keys, read_key);
      expect_stored(shape, x, append_values, read_value);
    }
  }
}

TEST_P(Cache, StoresExtremeNumbers) {
  Random random(81);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const CacheType type : kTypes) {
    for (const float extreme : {nan, -nan, kInfinity, -kInfinity, 65519.0F, 65520.0F, 3e38F, 1e-41F,
                                3e-8F, 2.98e-8F, 6.1e-5F, -0.0F}) {
      const CacheShape shape{3, 34, 1, 20, type};
      auto x = numerics::random_floats(random, 5 * 20);
      for (std::size_t i = 0; i < 60; i += 3) x[i] = extreme;
      std::fill(x.begin() + 60, x.begin() + 80, extreme);
      expect_stored(shape, x, append_keys, read_key);
      expect_stored(shape, x, append_values, read_value);
    }
  }
}

/// Cards store several at the same time.
TEST_P(Cache, StoresTokensInBytesOfTheirOwn) {
  Random random(82);
  for (const CacheType type : kTypes) {
    const CacheShape shape{1, 32, 1, 37, type};
    const auto x = numerics::random_floats(random, 32 * 37);
    for (const auto append : {append_keys, append_values}) {
      AlignedBuffer together(shape.bytes());
      std::ranges::fill(together.bytes(), std::byte{0});
      std::vector<std::byte> sum(shape.bytes());
      for (std::int32_t t = 0; t < 32; ++t) {
        AlignedBuffer alone(shape.bytes());
        std::ranges::fill(alone.bytes(), std::byte{0});
        const std::int32_t slot = 0;
        const MatrixView<const float> row(x.data() + t * 37, 1, 37, 37);
        append(shape, row, {{&slot, 1}, {&t, 1}}, {0, 1}, alone.bytes());
        append(shape, row, {{&slot, 1}, {&t, 1}}, {0, 1}, together.bytes());
        for (std::size_t i = 0; i < sum.size(); ++i) {
          EXPECT_TRUE(sum[i] == std::byte{0} || alone.bytes()[i] == std::byte{0});
          sum[i] |= alone.bytes()[i];
        }
      }
      EXPECT_TRUE(std::ranges::equal(sum, together.bytes()));
    }
  }
}

TEST_P(Cache, KeepsTheLastOfSeveralRowsAtOnePosition) {
  const CacheShape shape{1, 20, 1, 3, CacheType::kFloat32};
  AlignedBuffer bytes(shape.bytes());
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  const std::int32_t slots[] = {0, 0};
  const std::int32_t positions[] = {18, 18};
  append_keys(shape, MatrixView<const float>(x, 2, 3), {slots, positions}, {0, 1}, bytes.bytes());
  std::vector<float> key(3);
  read_key(shape, bytes.bytes(), {0, 18, 0}, key);
  EXPECT_EQ(key, (std::vector<float>{4, 5, 6}));
}

TEST(CacheShape, CountsItsBytes) {
  CacheShape shape{3, 4096, 8, 128, CacheType::kFloat32};
  EXPECT_EQ(shape.bytes(), 3U * 4096 * 8 * 128 * 4);
  shape.type = CacheType::kFloat16;
  EXPECT_EQ(shape.bytes(), 3U * 4096 * 8 * 128 * 2);
  shape.type = CacheType::kInt8;
  EXPECT_EQ(shape.bytes(), 3U * 4096 * 8 * (128 + 4));
  shape.type = CacheType::kInt6;
  EXPECT_EQ(shape.bytes(), 3U * 4096 * 8 * (96 + 4));
  shape.type = CacheType::kInt4;
  EXPECT_EQ(shape.bytes(), 3U * 4096 * 8 * (64 + 4 * 2));
  // Tokens and numbers are padded to 16.
  EXPECT_EQ((CacheShape{1, 17, 1, 8, CacheType::kFloat16}.bytes()), 32U * 16 * 2);
  for (const CacheType type : kTypes) {
    EXPECT_EQ((CacheShape{1, 17, 1, 37, type}.bytes_of_head() % 64), 0U);
  }
}

TEST(CacheRows, AreRejectedOutsideTheCache) {
  const CacheShape shape{3, 34, 1, 8, CacheType::kFloat32};
  require_rows(shape, {kSlots, kPositions});
  const auto reject = [&](std::int32_t slot, std::int32_t position, const char* text) {
    const std::int32_t slots[] = {0, slot};
    const std::int32_t positions[] = {0, position};
    expect_error(ErrorKind::kUsage, text, [&] { require_rows(shape, {slots, positions}); });
  };
  reject(3, 0, "slot of row 1: expected 0 to 3 exclusive, found 3");
  reject(-1, 0, "slot of row 1: expected 0 to 3 exclusive, found -1");
  reject(0, 34, "position of row 1: expected 0 to 34 exclusive, found 34");
  reject(0, -5, "position of row 1: expected 0 to 34 exclusive, found -5");
  expect_error(ErrorKind::kShape, "expected as many positions as slots, found 5 and 2", [&] {
    require_rows(shape, {std::span(kSlots).first(2), kPositions});
  });
}

HALFTONE_INSTANTIATE_PER_TARGET(Cache);

}  // namespace
}  // namespace halftone::kernels
