// SPDX-License-Identifier: Apache-2.0
// Launches that do the work of several have the bits of these.
#include <gtest/gtest.h>

#include "halftone/base/random.h"
#include "halftone/gpu/attention.h"
#include "halftone/gpu/norms.h"
#include "halftone/gpu/testing.h"
#include "halftone/kernels/groups/group_testing.h"

namespace halftone::gpu {
namespace {

using kernels::RandomGroups;

using JoinedOnDevice = OnDevice;

std::vector<float> some_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<float>(random.normal()));
  return x;
}

constexpr std::size_t kColumns = 256;

TEST_F(JoinedOnDevice, TailsAreThoseOfLaunchesBehind) {
  const RandomGroups weights(kernels::kFourBits, 70, kColumns, 3);
  const GroupMatrix w(*programs, weights.packed());
  for (const std::size_t rows : std::initializer_list<std::size_t>{1, 3, 13}) {
    const auto x = on_device(some_floats(rows * kColumns, 1));
    const auto bias = on_device(some_floats(70, 2));
    const auto other = on_device(some_floats(rows * 70, 3));
    const auto want = unset(rows * 70);
    const GroupInputs encoded(*programs, rows, w.extents());
    device->launch(encoded.encode(*x));
    device->launch(multiply_groups(w, encoded, *want));
    device->launch(combine(*programs, {Operation::kAdd, Function::kSilu}, {*want, rows * 70},
                           {*bias, 70}, *want));
    device->launch(
        combine(*programs, {Operation::kMul}, {*want, rows * 70}, {*other, rows * 70}, *want));
    device->launch(
        combine(*programs, {Operation::kAdd}, {*want, rows * 70}, {*other, rows * 70}, *want));
    const auto found = unset(rows * 70);
    device->launch(multiply_groups(w, encoded, *found,
                                   {{Operation::kAdd, bias.get(), 70, Function::kSilu},
                                    {Operation::kMul, other.get(), rows * 70},
                                    {Operation::kAdd, other.get(), rows * 70}}));
    EXPECT_EQ(differing_bits(download<float>(*device, *found, rows * 70),
                             download<float>(*device, *want, rows * 70)),
              0U)
        << rows;
  }
}

TEST_F(JoinedOnDevice, MatricesHaveTheProductsOfEach) {
  const RandomGroups first(kernels::kFourBits, 70, kColumns, 3);
  const RandomGroups second(kernels::kFourBits, 20, kColumns, 4);
  EXPECT_TRUE(GroupMatrix::can_join(first.packed(), second.packed()));
  EXPECT_FALSE(GroupMatrix::can_join(
      first.packed(), RandomGroups(kernels::kFourBits, 70, 2 * kColumns, 3).packed()));
  EXPECT_FALSE(GroupMatrix::can_join(
      first.packed(), RandomGroups(kernels::vector_formats()[0].format, 70, kColumns, 3).packed()));
  std::vector<kernels::PackedGroups> parts;
  parts.push_back(first.packed());
  parts.push_back(second.packed());
  const GroupMatrix both(*programs, parts);
  EXPECT_EQ(both.first_row(1), 128U);
  EXPECT_EQ(both.rows(), 148U);
  for (const std::size_t rows : std::initializer_list<std::size_t>{2, 9}) {
    const auto x = on_device(some_floats(rows * kColumns, 1));
    const GroupInputs encoded(*programs, rows, both.extents());
    const auto y = unset(rows * both.rows());
    device->launch(encoded.encode(*x));
    device->launch(multiply_groups(both, encoded, *y));
    const auto all = download<float>(*device, *y, rows * both.rows());
    for (std::size_t part = 0; part < 2; ++part) {
      const GroupMatrix w(*programs, parts[part]);
      const auto alone = unset(rows * w.rows());
      device->launch(multiply_groups(w, encoded, *alone));
      const auto want = download<float>(*device, *alone, rows * w.rows());
      for (std::size_t r = 0; r < rows; ++r) {
        const auto at = std::span(all).subspan(r * both.rows() + both.first_row(part), w.rows());
        EXPECT_EQ(differing_bits(at, std::span(want).subspan(r * w.rows(), w.rows())), 0U);
      }
    }
  }
}

TEST_F(JoinedOnDevice, GatesAreThoseOfLaunchesBehind) {
  const RandomGroups weights(kernels::kFourBits, 2 * 70, kColumns, 3);
  const GroupMatrix w(*programs, weights.packed());
  constexpr std::size_t kRows = 3;
  const auto x = on_device(some_floats(kRows * kColumns, 1));
  const auto both = unset(kRows * 140);
  device->launch(multiply_groups(w, {*x, kRows}, *both));
  const auto sums = download<float>(*device, *both, kRows * 140);
  std::vector<float> gate;
  std::vector<float> up;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t o = 0; o < 70; ++o) {
      gate.push_back(sums[r * 140 + o]);
      up.push_back(sums[r * 140 + 70 + o]);
    }
  }
  const auto g = on_device(gate);
  const auto u = on_device(up);
  const auto want = unset(kRows * 70);
  device->launch(apply(*programs, Function::kSilu, *g, *g, kRows * 70));
  device->launch(combine(*programs, {Operation::kMul}, {*g, kRows * 70}, {*u, kRows * 70}, *want));
  const auto of_rows = unset(kRows * 70);
  device->launch(combine_gated(*programs, {kRows, 140, 70, 70, Function::kSilu}, *both, *of_rows));
  const auto of_products = unset(kRows * 70);
  device->launch(multiply_gated(w, {*x, kRows}, {70, 70, Function::kSilu}, *of_products));
  const auto wanted = download<float>(*device, *want, kRows * 70);
  EXPECT_EQ(differing_bits(download<float>(*device, *of_rows, kRows * 70), wanted), 0U);
  EXPECT_EQ(differing_bits(download<float>(*device, *of_products, kRows * 70), wanted), 0U);
}

TEST_F(JoinedOnDevice, NormsEncodeWhatTheyGive) {
  for (const std::size_t cols : std::initializer_list<std::size_t>{64, 300, 4096, 2100}) {
    for (const bool subtracts_mean : {false, true}) {
      constexpr std::size_t kRows = 3;
      const NormShape shape{kRows, cols, 1e-5F, subtracts_mean};
      const auto x = on_device(some_floats(kRows * cols, 1));
      const auto gain = on_device(some_floats(cols, 2));
      const auto want = unset(kRows * cols);
      const auto found = unset(kRows * cols);
      device->launch(normalize(*programs, shape, *x, *want));
      device->launch(
          combine(*programs, {Operation::kMul}, {*want, kRows * cols}, {*gain, cols}, *want));
      const kernels::GroupExtents extents{cols, 32};
      const GroupInputs apart(*programs, kRows, extents);
      const GroupInputs passing(*programs, kRows, extents);
      device->launch(apart.encode(*want));
      device->launch(normalize_and_encode(*programs, shape, *x, {*found, passing},
                                          {{Operation::kMul, gain.get(), cols}}));
      EXPECT_EQ(differing_bits(download<float>(*device, *found, kRows * cols),
                               download<float>(*device, *want, kRows * cols)),
                0U);
      const std::size_t codes = kRows * extents.padded_cols();
      const std::size_t pieces = kRows * extents.num_pieces();
      EXPECT_EQ(download<std::int8_t>(*device, passing.codes(), codes),
                download<std::int8_t>(*device, apart.codes(), codes));
      EXPECT_EQ(download<std::int32_t>(*device, passing.sums(), pieces),
                download<std::int32_t>(*device, apart.sums(), pieces));
      EXPECT_EQ(differing_bits(download<float>(*device, passing.scales(), pieces),
                               download<float>(*device, apart.scales(), pieces)),
                0U);
      EXPECT_EQ(differing_bits(download<float>(*device, passing.shares(), pieces),
                               download<float>(*device, apart.shares(), pieces)),
                0U);
    }
  }
}

/// Rows with queries, keys and values side by side.
TEST_F(JoinedOnDevice, HeadsAreThoseOfLaunchesApart) {
  constexpr std::size_t kRows = 3;
  constexpr std::size_t kHeads = 4;
  constexpr std::size_t kSize = 24;
  constexpr std::size_t kContext = 20;
  const kernels::CacheShape shape{2, kContext, 2, kSize, kernels::CacheType::kFloat16};
  const auto q = some_floats(kRows * kHeads * kSize, 1);
  const auto k = some_floats(kRows * 2 * kSize, 2);
  const auto v = some_floats(kRows * 2 * kSize, 3);
  std::vector<float> side_by_side;
  for (std::size_t r = 0; r < kRows; ++r) {
    for (const auto* part : {&q, &k, &v}) {
      const auto width = static_cast<std::ptrdiff_t>(part->size() / kRows);
      const auto from = part->begin() + static_cast<std::ptrdiff_t>(r) * width;
      side_by_side.insert(side_by_side.end(), from, from + width);
    }
  }
  const auto slots = on_device(std::vector<std::int32_t>{0, 1, 0});
  const auto positions = on_device(std::vector<std::int32_t>{5, 19, 6});
  const auto cosines = on_device(some_floats(kContext * 5, 4));
  const auto sines = on_device(some_floats(kContext * 5, 5));
  const auto gain = on_device(some_floats(kSize, 6));
  const kernels::RotaryShape turn{kHeads, 10, kernels::RotaryPairing::kNeox};
  const TokenRows tokens{kRows, *slots, *positions};
  const std::vector<std::byte> zeros(shape.bytes());
  const auto cache = [&] { return on_device(zeros); };
  const auto k1 = cache();
  const auto v1 = cache();
  const auto k2 = cache();
  const auto v2 = cache();
  const auto turned = [&](const std::vector<float>& x, std::size_t heads) {
    const auto rows = on_device(x);
    const auto y = unset(x.size());
    auto z = unset(x.size());
    device->launch(normalize(*programs, {kRows * heads, kSize, 1e-6F}, *rows, *y,
                             {{Operation::kMul, gain.get(), kSize}}));
    device->launch(rotate(*programs, {{heads, turn.dims, turn.pairing}, kSize, kRows},
                          {*y, *positions, *cosines, *sines, *z}));
    return z;
  };
  const auto want = turned(q, kHeads);
  device->launch(append(*programs, tokens, *turned(k, 2), {shape, true, *k1}));
  device->finish();
  device->launch(append(*programs, tokens, *on_device(v), {shape, false, *v1}));
  device->finish();
  const auto rows = on_device(side_by_side);
  const std::size_t width = side_by_side.size() / kRows;
  const HeadNorm norm{gain.get(), 1e-6F};
  const auto found = unset(q.size());
  device->launch(place_heads(*programs,
                             {kHeads,
                              {{*rows, 0, width}, norm},
                              {{*rows, kHeads * kSize, width}, norm},
                              {*rows, (kHeads + 2) * kSize, width},
                              {turn, cosines.get(), sines.get()}},
                             {{shape, true, *k2}, {shape, false, *v2}}, tokens, *found));
  EXPECT_EQ(differing_bits(download<float>(*device, *found, q.size()),
                           download<float>(*device, *want, q.size())),
            0U);
  EXPECT_EQ(download<std::byte>(*device, *k2, zeros.size()),
            download<std::byte>(*device, *k1, zeros.size()));
  EXPECT_EQ(download<std::byte>(*device, *v2, zeros.size()),
            download<std::byte>(*device, *v1, zeros.size()));
}

}  // namespace
}  // namespace halftone::gpu
