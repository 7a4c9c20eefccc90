// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/buffer.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/gpu/testing.h"

namespace halftone::gpu {
namespace {

using kernels::AttentionShape;
using kernels::CacheShape;
using kernels::CacheType;

using AttentionOnDevice = OnDevice;

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x;
  for (std::size_t i = 0; i < count; ++i) x.push_back(static_cast<float>(random.normal()));
  return x;
}

TEST_F(AttentionOnDevice, TurnsPairsAsTheProcessorDoes) {
  constexpr std::size_t kContext = 40;
  constexpr std::size_t kSize = 24;
  const std::vector<std::int32_t> positions = {0, 39, 7};
  for (const auto pairing : {kernels::RotaryPairing::kInterleaved, kernels::RotaryPairing::kNeox}) {
    for (const std::size_t dims : std::initializer_list<std::size_t>{24, 10}) {
      const kernels::RotaryShape shape{3, dims, pairing};
      const std::vector<float> x = normal_numbers(3 * 3 * kSize, 1);
      const std::vector<float> cosines = normal_numbers(kContext * dims / 2, 2);
      const std::vector<float> sines = normal_numbers(kContext * dims / 2, 3);
      std::vector<float> want(x.size());
      const auto table = [&](const std::vector<float>& numbers) {
        return MatrixView<const float>(numbers, kContext, dims / 2);
      };
      kernels::rotate_reference(shape, MatrixView<const float>(x, 3, 3 * kSize), positions,
                                {table(cosines), table(sines)},
                                MatrixView<float>(want, 3, 3 * kSize));
      const auto from = on_device(x);
      const auto at = on_device(positions);
      const auto c = on_device(cosines);
      const auto s = on_device(sines);
      const auto y = unset(x.size());
      device->launch(rotate(*programs, {shape, kSize, 3}, {*from, *at, *c, *s, *y}));
      EXPECT_EQ(differing_bits(download<float>(*device, *y, x.size()), want), 0U) << dims;
    }
  }
}

struct Case {
  std::string name;
  CacheType type = CacheType::kFloat32;
  AttentionShape shape;
  bool has_sinks = false;
};

/// Two sequences whose caches are filled, then asked for several rows.
class AttentionCases : public OnDevice, public testing::WithParamInterface<Case> {
 protected:
  static constexpr std::size_t kContext = 150;
  static constexpr std::size_t kTokens = 2 * kContext;

  static CacheType type() { return GetParam().type; }
  /// Rows of kTokens tokens on the device, as the caches have them.
  std::unique_ptr<Buffer> rotated(const std::vector<float>& x, std::size_t heads,
                                  std::size_t size) {
    auto rows = on_device(x);
    if (kernels::is_rotated(type())) {
      device->launch(rotate_blocks(*programs, {heads, size, kTokens}, *rows, *rows));
    }
    return rows;
  }
  static CacheShape cache_of(std::size_t size) {
    return {2, kContext, GetParam().shape.kv_heads, size, GetParam().type};
  }
};

TEST_P(AttentionCases, HaveTheBitsOfTheReference) {
  AttentionShape shape = GetParam().shape;
  const std::vector<float> sinks = normal_numbers(shape.heads, 9);
  if (GetParam().has_sinks) shape.sinks = sinks;
  const CacheShape key_cache = cache_of(shape.key_size);
  const CacheShape value_cache = cache_of(shape.value_size);
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> positions;
  for (std::size_t i = 0; i < kTokens; ++i) {
    slots.push_back(static_cast<std::int32_t>(i % 2));
    positions.push_back(static_cast<std::int32_t>(i / 2));
  }
  const std::vector<float> keys = normal_numbers(kTokens * shape.kv_heads * shape.key_size, 1);
  const std::vector<float> values = normal_numbers(kTokens * shape.kv_heads * shape.value_size, 2);
  AlignedBuffer key_bytes(key_cache.bytes());
  AlignedBuffer value_bytes(value_cache.bytes());
  const kernels::CacheRows all{slots, positions};
  const auto rows_of = [](const std::vector<float>& x, std::size_t rows) {
    return MatrixView<const float>(x, rows, x.size() / rows);
  };
  const kernels::BlockRange heads{0, shape.kv_heads};
  kernels::append_keys(key_cache, rows_of(keys, kTokens), all, heads, key_bytes.bytes());
  kernels::append_values(value_cache, rows_of(values, kTokens), all, heads, value_bytes.bytes());

  const auto device_slots = on_device(slots);
  const auto device_positions = on_device(positions);
  const TokenRows tokens{kTokens, *device_slots, *device_positions};
  const auto device_keys = device->allocate(key_cache.bytes());
  const auto device_values = device->allocate(value_cache.bytes());
  const auto k = rotated(keys, shape.kv_heads, shape.key_size);
  const auto v = rotated(values, shape.kv_heads, shape.value_size);
  device->launch(append(*programs, tokens, *k, {key_cache, true, *device_keys}));
  device->launch(append(*programs, tokens, *v, {value_cache, false, *device_values}));

  const std::vector<float> queries = normal_numbers(kTokens * shape.heads * shape.key_size, 3);
  std::vector<float> want(kTokens * shape.heads * shape.value_size);
  kernels::attend_reference({shape,
                             rows_of(queries, kTokens),
                             {key_cache, key_bytes.bytes()},
                             {value_cache, value_bytes.bytes()},
                             all},
                            MatrixView<float>(want, kTokens, want.size() / kTokens));
  const auto q = rotated(queries, shape.heads, shape.key_size);
  const auto sink_buffer = on_device(sinks);
  const auto scores = unset(kTokens * shape.heads * score_size(kContext));
  const auto y = unset(want.size());
  device->launch(attend(
      *programs, shape, {{key_cache, true, *device_keys}, {value_cache, false, *device_values}},
      tokens, {*q, GetParam().has_sinks ? sink_buffer.get() : nullptr, *scores, *y}));
  if (kernels::is_rotated(type())) {
    device->launch(rotate_blocks(*programs, {shape.heads, shape.value_size, kTokens}, *y, *y));
  }
  EXPECT_EQ(differing_bits(download<float>(*device, *y, want.size()), want), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, AttentionCases,
    testing::Values(Case{"plain", CacheType::kFloat32, {4, 4, 16, 16, 0.25F}},
                    Case{"half", CacheType::kFloat16, {4, 2, 32, 32, 0.177F}},
                    Case{"ragged", CacheType::kFloat32, {6, 2, 21, 9, 0.2F}},
                    Case{"ragged_half", CacheType::kFloat16, {3, 1, 21, 9, 0.2F}},
                    Case{"window_and_cap", CacheType::kFloat32, {2, 1, 16, 16, 1.5F, 30.0F, 37}},
                    Case{"integers", CacheType::kInt8, {4, 2, 32, 32, 0.177F}},
                    Case{"ragged_integers", CacheType::kInt8, {6, 2, 21, 9, 0.2F, 20.0F, 45}, true},
                    Case{"six_bits", CacheType::kInt6, {4, 2, 64, 32, 0.177F}},
                    Case{
                        "ragged_six_bits", CacheType::kInt6, {6, 2, 37, 24, 0.2F, 20.0F, 45}, true},
                    Case{"nibbles", CacheType::kInt4, {4, 2, 64, 32, 0.177F}},
                    Case{"ragged_nibbles", CacheType::kInt4, {6, 2, 37, 24, 0.2F, 20.0F, 45}, true},
                    Case{"sinks", CacheType::kFloat16, {4, 2, 16, 16, 0.25F, 0, 16}, true}),
    [](const testing::TestParamInfo<Case>& each) { return each.param.name; });

TEST_F(AttentionOnDevice, RefusesKeysAndValuesOfDifferentTypes) {
  const CacheShape keys{1, 4, 1, 4, CacheType::kFloat16};
  const CacheShape values{1, 4, 1, 4, CacheType::kFloat32};
  const auto buffer = unset(64);
  expect_error(ErrorKind::kUnsupported, "different types", [&] {
    return attend(*programs, {1, 1, 4, 4}, {{keys, true, *buffer}, {values, false, *buffer}},
                  {1, *buffer, *buffer}, {*buffer, nullptr, *buffer, *buffer});
  });
}

}  // namespace
}  // namespace halftone::gpu
