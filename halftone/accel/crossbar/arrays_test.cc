// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/arrays.h"

#include <cmath>
#include <numeric>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::crossbar {
namespace {

using numerics::BitPlanes;
using numerics::Granularity;
using numerics::MatrixEncoding;

/// A weight matrix and planes of pulses, all random.
struct Case {
  BitPlanes codes;
  MatrixEncoding encoding;
  std::size_t reads;
  BitMatrix pulses;

  Case(std::size_t outputs, std::size_t inputs, int bits, std::size_t num_reads = 5)
      : reads(num_reads) {
    Random random(outputs * 1000 + inputs);
    codes = numerics::random_planes(random, outputs, inputs, bits);
    encoding =
        numerics::random_encoding(random, outputs, inputs, bits, false, Granularity::kChannel);
    pulses = numerics::random_planes(random, reads, inputs, 1).planes;
    for (std::size_t k = 0; k < inputs && reads > 2; ++k) {
      pulses.set(0, k, true);
      pulses.set(1, k, false);
    }
  }
  [[nodiscard]] std::vector<float> read(const CrossbarDevice& device,
                                        std::uint64_t seed = 1) const {
    const Arrays arrays(device, codes, encoding, seed);
    std::vector<float> counts(reads * arrays.mapping().units());
    arrays.read(pulses.words(),
                {counts.data(), reads, arrays.mapping().units(), arrays.mapping().units()});
    return counts;
  }
  /// sum_k p_k w_k of each read and plane.
  [[nodiscard]] std::vector<float> exact() const {
    std::vector<float> sums;
    for (std::size_t r = 0; r < reads; ++r) {
      for (std::size_t plane = 0; plane < codes.planes.rows(); ++plane) {
        int sum = 0;
        for (std::size_t k = 0; k < codes.cols; ++k) {
          if (pulses.test(r, k)) sum += codes.planes.test(plane, k) ? 1 : -1;
        }
        sums.push_back(static_cast<float>(sum));
      }
    }
    return sums;
  }
};

/// Ideal cells that the program treats like any others.
CrossbarDevice cell_by_cell(CrossbarDevice device) {
  device.programming = Programming::kConstant;
  device.programming_sigma = 1;
  device.programming_scale = 0;
  return device;
}

CrossbarDevice difference(CrossbarDevice device, int bits) {
  device.adc.converts = Converts::kDifference;
  device.adc.bits = bits;
  return device;
}

TEST(Arrays, CountExactlyIfTheConverterHasACodePerRow) {
  const CrossbarDevice ideal = load_device("ideal");
  CrossbarDevice small = ideal;
  small.rows = 63;
  small.columns = 7;
  small.adc.bits = 6;
  for (const auto& [outputs, inputs, bits] :
       {std::array{1, 1, 1}, {3, 64, 2}, {5, 254, 1}, {4, 255, 3}, {2, 256, 2}, {70, 700, 2}}) {
    const Case c(static_cast<std::size_t>(outputs), static_cast<std::size_t>(inputs), bits);
    for (const CrossbarDevice& device :
         {ideal, small, difference(ideal, 9), difference(small, 7)}) {
      EXPECT_EQ(c.read(device), c.exact()) << outputs << " " << inputs << " " << device.rows;
      EXPECT_EQ(c.read(cell_by_cell(device)), c.exact()) << outputs << " " << inputs;
    }
  }
}

TEST(Arrays, LoseCountsIfTheConverterHasOneBitLess) {
  const Case c(20, 255, 1, 50);
  CrossbarDevice device = load_device("ideal");
  device.adc.bits = 7;
  EXPECT_NE(c.read(device), c.exact());
  EXPECT_EQ(c.read(device), c.read(cell_by_cell(device)));
  EXPECT_NE(c.read(difference(device, 8)), c.exact());
  device.rows = 127;
  EXPECT_EQ(c.read(device), c.exact());
}

TEST(Arrays, ClipCurrentsBeyondTheRange) {
  const Case c(4, 100, 1);
  CrossbarDevice device = load_device("ideal");
  device.rows = 100;
  device.adc.range = 0.25;
  const std::vector<float> counts = c.read(device);
  EXPECT_NE(counts, c.exact());
  for (const float count : counts) EXPECT_LE(std::abs(count), 25);
}

TEST(Arrays, OfSeveralLevelsCountExactlyIfLevelsAreEvenlySpaced) {
  const std::size_t outputs = 6;
  const std::size_t inputs = 300;
  for (const int bits : {2, 3, 4}) {
    Case c(outputs, inputs, bits);
    for (std::size_t o = 0; o < outputs; ++o) {
      c.encoding.set_levels(o, numerics::symmetric_basis(bits, 0.3F));
    }
    CrossbarDevice device = load_device("ideal");
    device.levels = 4;
    device.rows = 85;  // 3 x 85 = 255 counts
    const Arrays arrays(device, c.codes, c.encoding, 1);
    const std::size_t slices = arrays.mapping().slices;
    EXPECT_EQ(slices, static_cast<std::size_t>(bits + 1) / 2);
    const std::vector<float> exact = c.exact();
    const std::vector<float> counts = c.read(device);
    for (std::size_t r = 0; r < c.reads; ++r) {
      const auto driven = static_cast<float>(c.pulses.count(r));
      for (std::size_t u = 0; u < outputs * slices; ++u) {
        // Planes of weight 1 and 2 as levels 0 to 3: sum_j 2^j (w_j + 1) / 2.
        float expected = 0;
        const std::size_t first = 2 * (u % slices);
        for (std::size_t j = 0; j < 2 && first + j < static_cast<std::size_t>(bits); ++j) {
          const std::size_t plane = u / slices * static_cast<std::size_t>(bits) + first + j;
          const float w = exact[r * c.codes.planes.rows() + plane];
          expected += static_cast<float>(1U << j) * (w + driven) / 2;
        }
        if (first + 1 == static_cast<std::size_t>(bits)) expected *= 3;  // a plane alone: 0 or 3
        EXPECT_EQ(counts[r * outputs * slices + u], expected) << bits;
      }
    }
  }
}

TEST(Arrays, MeanTheSumsOfTheirPlanes) {
  // 300 inputs, each within a float32 rounding of the levels, and the converter's steps.
  for (const int levels : {2, 4, 16}) {
    const Case c(5, 300, 3);
    CrossbarDevice device = load_device("ideal");
    device.levels = levels;
    device.adc.bits = 16;
    const Arrays arrays(device, c.codes, c.encoding, 1);
    const std::vector<float> counts = c.read(device);
    const std::vector<float> exact = c.exact();
    for (std::size_t r = 0; r < c.reads; ++r) {
      const double driven = static_cast<double>(c.pulses.count(r));
      for (std::size_t o = 0; o < 5; ++o) {
        double expected = 0;
        double found = 0;
        double tolerance = 0;
        for (std::size_t j = 0; j < 3; ++j) {
          const std::size_t plane = c.codes.plane(o, static_cast<int>(j));
          const double total = 2.0 * static_cast<double>(c.codes.planes.count(plane)) - 300;
          const double dot = 2.0 * exact[r * c.codes.planes.rows() + plane] - total;
          expected += c.encoding.basis(o).coefficients[j] * dot;
        }
        const std::size_t slices = arrays.mapping().slices;
        for (std::size_t u = o * slices; u < (o + 1) * slices; ++u) {
          const UnitMeaning& unit = arrays.meanings()[u];
          found += unit.scale * (2 * counts[r * 5 * slices + u] - unit.total) +
                   unit.low * (2 * driven - 300);
          const double step = 255.0 * (levels - 1) / 65535;
          tolerance += 2 * std::abs(unit.scale) * (2 * step / 2 + 300 * levels * 0x1p-23);
        }
        EXPECT_NEAR(found, expected, tolerance) << levels;
      }
    }
  }
}

TEST(Arrays, ReadNoiseHasTheVarianceOfTheDrivenCells) {
  const Case c(400, 100, 1);
  CrossbarDevice device = load_device("ideal");
  device.rows = 100;
  device.adc.bits = 16;  // a step is a count
  device.off_siemens = 0;
  device.read_noise = ReadNoise::kConstant;
  device.read_sigma = 0.5;
  device = difference(device, 16);
  const std::vector<float> counts = c.read(device);
  const std::vector<float> exact = c.exact();
  double squares = 0;
  for (std::size_t u = 0; u < 400; ++u) squares += std::pow(counts[u] - exact[u], 2);
  // All 100 rows are driven: variance 2 x 100 x 0.25, and 1 / 12 for rounding; four deviations.
  const double variance = 50 + 1.0 / 12;
  EXPECT_NEAR(squares / 400, variance, 4 * variance * std::sqrt(2.0 / 400));
  EXPECT_EQ(std::vector<float>(counts.begin() + 400, counts.begin() + 800),
            std::vector<float>(400, 0.0F));  // no row is driven
}

TEST(Arrays, GiveTheSameForAnyNumberOfThreadsAndOrderOfReads) {
  const Case c(30, 600, 2);
  CrossbarDevice device = load_device("reram");
  device.segment_ohms = 1;
  device.rows = device.columns = 32;
  set_num_threads(1);
  const std::vector<float> one = c.read(device);
  set_num_threads(0);
  EXPECT_EQ(c.read(device), one);
  EXPECT_NE(c.read(device, 2), one);
  Case last = c;
  last.reads = 1;
  last.pulses = BitMatrix(1, 600);
  std::ranges::copy(c.pulses.row(4), last.pulses.row(0).begin());
  EXPECT_EQ(last.read(device), std::vector<float>(one.begin() + 4 * 60, one.end()));
}

TEST(Arrays, OfAFiniteRatioCountExactly) {
  const Case c(3, 255, 2);
  CrossbarDevice device = load_device("ideal");
  device.off_siemens = 0.9 * device.on_siemens;
  EXPECT_EQ(c.read(cell_by_cell(device)), c.exact());
}

TEST(SeenWeights, GiveTheSumsOfTheArrays) {
  for (const int levels : {2, 8}) {
    const Case c(6, 200, 3);
    CrossbarDevice device = load_device("pcm");
    device.levels = levels;
    device.rows = device.columns = 64;
    device.seconds = 86400;
    device.adc.bits = 16;
    const Arrays arrays(device, c.codes, c.encoding, 1);
    const SeenWeights seen = arrays.seen_weights();
    const std::vector<float> counts = c.read(device);
    const std::size_t units = arrays.mapping().units();
    const std::size_t slices = arrays.mapping().slices;
    for (std::size_t r = 0; r < c.reads; ++r) {
      const double signs = 2.0 * static_cast<double>(c.pulses.count(r)) - 200;
      for (std::size_t o = 0; o < 6; ++o) {
        double expected = seen.shifts[o];
        for (std::size_t k = 0; k < 200; ++k) {
          expected +=
              (c.pulses.test(r, k) ? 1 : -1) * static_cast<double>(seen.weights[o * 200 + k]);
        }
        double found = 0;
        double tolerance = 0;
        for (std::size_t u = o * slices; u < (o + 1) * slices; ++u) {
          const UnitMeaning& unit = arrays.meanings()[u];
          found += unit.scale * (2 * counts[r * units + u] - unit.total) + unit.low * signs;
          // On four arrays, one or two conversions are off by half a step; sums of 200 terms of up
          // to `levels` are rounded to float32.
          const double steps = levels == 2 ? 2 * 1 : 64.0 * 7 / 65535;
          tolerance += std::abs(unit.scale) * (4 * steps + 200 * levels * 0x1p-22);
        }
        EXPECT_NEAR(found, expected, tolerance) << levels;
      }
    }
  }
}

TEST(SeenWeights, OfIdealArraysAreTheWeights) {
  const Case c(6, 200, 3);
  for (const CrossbarDevice& device : {load_device("ideal"), cell_by_cell(load_device("ideal"))}) {
    const SeenWeights seen = Arrays(device, c.codes, c.encoding, 1).seen_weights();
    const std::vector<float> decoded = numerics::decode(c.codes, c.encoding);
    for (std::size_t o = 0; o < 6; ++o) {
      float reach = 0;
      const numerics::Basis basis = c.encoding.basis(o);
      for (const float a : basis.a()) reach += std::abs(a);
      for (std::size_t i = o * 200; i < (o + 1) * 200; ++i) {
        EXPECT_NEAR(seen.weights[i], decoded[i], 3 * reach * 0x1p-23F);
      }
      EXPECT_EQ(seen.shifts[o], 0);
    }
  }
}

TEST(Calibration, MakesUpForMeanDrift) {
  const Case c(20, 250, 1, 40);
  CrossbarDevice device = load_device("ideal");
  device.off_siemens = 0;
  device.drift = Drift::kPower;
  device.drift_exponent = 0.1;
  device.seconds = 86400;
  EXPECT_NE(c.read(device), c.exact());
  device.adc.calibrated = true;
  EXPECT_EQ(c.read(device), c.exact());
}

TEST(Mapping, CountsArraysCellsAndConversions) {
  CrossbarDevice device = load_device("ideal");  // 255 x 256, a reference column, 8 converters
  const Mapping mlp(device, 784, 700, 2);
  EXPECT_EQ(mlp.units(), 1400U);
  EXPECT_EQ(mlp.row_blocks(), 4U);
  EXPECT_EQ(mlp.unit_blocks(), 11U);  // 128 pairs each
  EXPECT_EQ(mlp.arrays(), 44U);
  EXPECT_EQ(mlp.cells(), 784U * (2800 + 11));
  EXPECT_EQ(mlp.conversions(), 4U * 2800);
  EXPECT_EQ(mlp.conversion_steps(), 32U);
  device.adc.converts = Converts::kDifference;
  const Mapping pairs(device, 784, 700, 2);
  EXPECT_EQ(pairs.cells(), 784U * 2800);
  EXPECT_EQ(pairs.conversions(), 4U * 1400);
  device.adc.converts = Converts::kColumn;
  device.levels = 16;
  const Mapping cells(device, 784, 700, 6);
  EXPECT_EQ(cells.slices, 2U);
  EXPECT_EQ(cells.units(), 1400U);
  EXPECT_EQ(cells.unit_blocks(), 6U);
}

TEST(Mapping, RejectsArraysWithoutRoomForAPair) {
  CrossbarDevice device;
  device.columns = 1;
  expect_error(
      ErrorKind::kUnsupported,
      "arrays of 128 x 1 cells: a weight of +-1 needs a pair of columns; expected at least "
      "2 columns, found 1",
      [&] { Mapping(device, 10, 10, 1); });
}

}  // namespace
}  // namespace halftone::crossbar
