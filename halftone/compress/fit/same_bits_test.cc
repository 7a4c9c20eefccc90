// SPDX-License-Identifier: Apache-2.0
// Fits give the same bits on every processor. The checksums are what x86-64 and 64-bit Arm give on
// every SIMD target, and change only where the definition of a fit does.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "halftone/base/hash.h"
#include "halftone/base/random.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/group_testing.h"
#include "halftone/compress/fit/nested_fit.h"
#include "halftone/compress/fit/table_fit.h"
#include "halftone/compress/fit/testing.h"
#include "halftone/compress/fit/weight_fit.h"
#include "halftone/kernels/per_target.h"

namespace halftone::compress {
namespace {

using SameFit = kernels::PerTarget;
using kernels::target_test_name;
using numerics::Granularity;

constexpr std::size_t kOutputs = 20;
constexpr std::size_t kInputs = 90;
constexpr std::size_t kRows = 300;

template <typename T>
void add(Hash& hash, std::span<const T> values) {
  hash.add(std::as_bytes(values));
}

void add(Hash& hash, const numerics::Levels& levels) {
  const float scale = levels.scale();
  const float offset = levels.offset();
  if (levels.codebook() == nullptr) {
    add<float>(hash, levels.basis().a());
  } else {
    add<float>(hash, std::span(&scale, 1));
  }
  add<float>(hash, std::span(&offset, 1));
}

void add(Hash& hash, const MatrixFit& fit) {
  for (std::size_t b = 0; b < fit.encoding.num_blocks(); ++b) add(hash, fit.encoding.levels(b));
  add<std::uint64_t>(hash, fit.codes.planes.words());
  add<double>(hash, std::span(fit.bias_correction.data(),
                              static_cast<std::size_t>(fit.bias_correction.size())));
}

/// Bell-shaped within +-6, by operations that round in one way everywhere.
std::vector<float> bell_floats(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    value = static_cast<float>(sum);
  }
  return values;
}

MatrixView<const float> matrix(const std::vector<float>& numbers, std::size_t cols) {
  return {numbers, numbers.size() / cols, cols};
}

/// Second moments of correlated inputs, and of the same ones rounded to tenths.
LayerStatistics moments() {
  Random random(4);
  std::vector<float> original = bell_floats(random, kRows * kInputs);
  for (std::size_t i = 1; i < original.size(); ++i) original[i] += 0.5F * original[i - 1];
  std::vector<float> actual = original;
  for (float& x : actual) x = std::round(10 * x) / 10;
  LayerStatistics::Builder statistics(kInputs);
  statistics.add(matrix(actual, kInputs), matrix(original, kInputs));
  return statistics.finish();
}

constexpr const char* kSystems[] = {"basis", "affine", "symmetric", "fixed"};

TEST_P(SameFit, Levels) {
  Random random(5);
  const std::vector<float> x = bell_floats(random, 2000);
  const std::vector<float> weights(x.size(), 0.3F);
  Hash hash;
  for (const char* system : kSystems) {
    for (int bits = 1; bits <= 4; ++bits) {
      const LevelFit fit = fit_levels(space_of(system, bits), x, {}, weights);
      add(hash, fit.levels);
      add<double>(hash, std::span(&fit.error, 1));
    }
  }
  EXPECT_EQ(hash.value(), 0x70e0a585787c5087u);
}

TEST_P(SameFit, WeightsWithErrorFeedbackAndRefinement) {
  Random random(6);
  const std::vector<float> weights = bell_floats(random, kOutputs * kInputs);
  const LayerStatistics statistics = moments();
  Hash hash;
  for (const char* system : kSystems) {
    for (const Granularity granularity :
         {Granularity::kChannel, Granularity::kTensor, Granularity::kGroup}) {
      const std::size_t group = granularity == Granularity::kGroup ? 32 : 0;
      add(hash, fit_weights(matrix(weights, kInputs),
                            {&numerics::find_system(system), 2, true, granularity, group},
                            statistics, {}));
    }
  }
  EXPECT_EQ(hash.value(), 0x91ae2a2ad88b2e2eu);
}

TEST_P(SameFit, EachStepOfWeights) {
  Random random(7);
  const std::vector<float> weights = bell_floats(random, kOutputs * kInputs);
  const LayerStatistics statistics = moments();
  Hash hash;
  for (const int steps : {0, 1, 2, 3}) {
    MatrixFitOptions options;
    options.feedback = (steps & 1) != 0;
    options.refine = (steps & 2) != 0;
    add(hash, fit_weights(matrix(weights, kInputs), {}, statistics, options));
  }
  EXPECT_EQ(hash.value(), 0x9ad35891f903f496u);
}

TEST_P(SameFit, Tables) {
  Random random(8);
  const std::vector<float> table = bell_floats(random, 50 * 24);
  std::vector<std::size_t> uses(50);
  for (std::size_t i = 0; i < uses.size(); ++i) uses[i] = i;
  Hash hash;
  for (const Granularity granularity : {Granularity::kChannel, Granularity::kTensor}) {
    WeightFormat format;
    format.granularity = granularity;
    add(hash, fit_table(matrix(table, 24), format, {uses, 1}, {}, {}));
  }
  EXPECT_EQ(hash.value(), 0xa12b39b5e4091393u);
}

TEST_P(SameFit, WeightsInGroups) {
  const TestLayer layer(35, 100);
  const Metric<float> metric = Metric<float>::of(layer.m());
  Hash hash;
  for (const NamedGrid& named : grids_of_files()) {
    const GroupFit fit = fit_matrix(layer.w(), metric, named.grid);
    add<std::uint16_t>(hash, fit.codes);
    for (const auto& numbers : {fit.scales, fit.offsets, fit.scale_factors, fit.offset_factors}) {
      add<float>(hash, numbers);
    }
  }
  EXPECT_EQ(hash.value(), 0x7e69499d01916536u);
}

TEST_P(SameFit, NestedWeights) {
  const TestLayer layer(35, 128);
  const GroupFit fit = fit_nested(layer.w(), Metric<float>::of(layer.m()));
  Hash hash;
  add<std::uint16_t>(hash, fit.codes);
  add<float>(hash, fit.scales);
  EXPECT_EQ(hash.value(), 0xe91edc0d2a56f168u);
}

HALFTONE_INSTANTIATE_PER_TARGET(SameFit);

}  // namespace
}  // namespace halftone::compress
