// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/numerics/codebooks.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

MatrixView<const float> view(const std::vector<float>& values, std::size_t rows) {
  return {values, rows, values.size() / rows};
}

/// Calls check(system, bits) for every row and its numbers of bits.
template <typename Check>
void for_each_system(const Check& check) {
  for (const NumberSystem& system : number_systems()) {
    for (int bits = system.min_bits; bits <= system.max_bits; ++bits) {
      SCOPED_TRACE(std::string(system.name) + " of " + std::to_string(bits) + " bits");
      check(system, bits);
    }
  }
}

TEST(NumberSystems, AreFoundByNameAndAlias) {
  std::set<std::string_view> names;
  for (const NumberSystem& system : number_systems()) {
    EXPECT_EQ(&find_system(system.name), &system);
    EXPECT_TRUE(names.insert(system.name).second) << system.name;
    if (system.alias.empty()) continue;
    EXPECT_EQ(&find_system(system.alias), &system);
    EXPECT_TRUE(names.insert(system.alias).second) << system.alias;
  }
  EXPECT_EQ(find_system("e5m10").name, "fp16");
}

TEST(NumberSystems, SayWhatTheyAre) {
  for (const NumberSystem& system : number_systems()) {
    EXPECT_FALSE(system.family.empty() || system.formula.empty() || system.source.empty())
        << system.name;
    EXPECT_GE(system.min_bits, 1) << system.name;
    EXPECT_LE(system.min_bits, system.max_bits) << system.name;
    EXPECT_EQ(system.blocks.granularity == Granularity::kGroup, system.blocks.group_size != 0);
    EXPECT_EQ(system.is_learned(), system.name == "basis");
  }
}

TEST(NumberSystems, IncludeFloatsOfAnySplit) {
  const NumberSystem& small = find_system("e3m4");
  EXPECT_EQ(small.name, "e3m4");
  EXPECT_EQ(small.rule, ScaleRule::kLargest);
  EXPECT_EQ(codebook_of(small, 8)->levels()[0x6f], 15.5F);
  EXPECT_EQ(&find_system("e3m4"), &small);
  const NumberSystem& large = find_system("e6m5");
  EXPECT_EQ(large.rule, ScaleRule::kUnit);
  EXPECT_EQ(codebook_of(large, 12)->bits(), 12);
}

TEST(NumberSystems, OfFloatsOverflowWithASuffix) {
  for (const std::string name : {"e4m3", "e5m2", "e4m3fnuz", "e3m4", "fp16", "bf16", "fp16_e6m9"}) {
    const NumberSystem& own = find_system(name);
    const NumberSystem& system = find_system(name + "_nan");
    EXPECT_EQ(system.name, name + "_nan");
    EXPECT_EQ(&find_system(system.name), &system);
    EXPECT_EQ(system.saturating, &own);
    EXPECT_EQ(own.saturating, nullptr);
    EXPECT_EQ(system.rule, own.rule);
    EXPECT_EQ(system.blocks, own.blocks);
    const auto codebook = codebook_of(system, system.max_bits);
    EXPECT_EQ(codebook->name(), system.name);
    const float beyond = codebook->levels()[codebook->encode(-kInfinity)];
    EXPECT_TRUE(name.starts_with("e4m3") ? std::isnan(beyond) : beyond == -kInfinity);
    EXPECT_EQ(codebook_of(own, own.max_bits)->encode(2), codebook->encode(2));
  }
  EXPECT_EQ(&find_system("e5m10_nan"), &find_system("fp16_nan"));
}

TEST(NumberSystems, RefuseToOverflowWithoutInfinityAndNan) {
  for (const std::string name : {"e2m1", "e3m2", "e2m3", "e3m3"}) {
    expect_error(ErrorKind::kUsage,
                 "number system '" + name +
                     "_nan': expected _nan behind a float with infinity or NaN, as in e4m3_nan, "
                     "found '" +
                     name + "', whose codes are all numbers",
                 [&] { find_system(name + "_nan"); });
  }
  for (const std::string name : {"int", "mxfp8_e4m3", "e8m0", "basis"}) {
    expect_error(ErrorKind::kUsage, "as in e4m3_nan, found '" + name + "'",
                 [&] { find_system(name + "_nan"); });
  }
  for (const std::string name : {"_nan", "fp8_nan", "e4m3_nan_nan"}) {
    expect_error(ErrorKind::kUsage, "found an unknown name", [&] { find_system(name); });
  }
}

TEST(NumberSystems, ListTheirNamesByFamilyWhenOneIsUnknown) {
  const std::string families =
      "number system 'int9': expected one of learned: basis; integers: affine, asymmetric, "
      "symmetric, int, int_narrow, fixed, ternary; powers of two: pot, apot, log; tables: nf4, "
      "posit; floats: "
      "e4m3, ";
  expect_error(ErrorKind::kUsage, families, [] { find_system("int9"); });
  expect_error(
      ErrorKind::kUsage,
      "e8m0 or another eXmY of up to 16 bits, some also with _nan; blocks: bfp, mxfp8_e4m3",
      [] { find_system(""); });
}

TEST(NumberSystems, RejectBitsThatTheyDoNotHave) {
  expect_error(ErrorKind::kUsage, "number system 'nf4': expected 4 bits, found 3",
               [] { codebook_of(find_system("nf4"), 3); });
  expect_error(ErrorKind::kUsage, "number system 'posit': expected 3 to 16 bits, found 17",
               [] { codebook_of(find_system("posit"), 17); });
  expect_error(ErrorKind::kUsage, "number system 'basis': expected 1 to 8 bits, found 0",
               [] { empty_encoding(find_system("basis"), 0, {}, 1, 1); });
}

TEST(NumberSystems, ShareACodebookOfEverySize) {
  for_each_system([](const NumberSystem& system, int bits) {
    const auto codebook = codebook_of(system, bits);
    ASSERT_EQ(codebook == nullptr, system.is_learned());
    if (codebook == nullptr) return;
    EXPECT_EQ(codebook->name(), system.name);
    EXPECT_EQ(codebook->bits(), bits);
    EXPECT_EQ(codebook_of(find_system(system.name), bits), codebook);
  });
}

TEST(NumberSystems, EncodeTheirLevelsToThemselves) {
  for_each_system([](const NumberSystem& system, int bits) {
    if (system.is_learned()) return;
    const auto codebook = codebook_of(system, bits);
    const bool is_narrow = system.name == "int_narrow";
    for (std::size_t l = is_narrow ? 1 : 0; l < codebook->sorted().size(); ++l) {
      ASSERT_EQ(codebook->encode(codebook->sorted()[l]), codebook->codes()[l]);
    }
  });
}

// Whatever the system, each value has the code and the value that the definition says, in blocks
// of every shape, the last of which is shorter.
TEST(NumberSystems, EncodeByTheirRuleInBlocksOfEveryShape) {
  Random random(31);
  const std::vector<float> values = random_floats(random, 3 * 37);
  for_each_system([&](const NumberSystem& system, int bits) {
    if (system.is_learned()) return;
    for (const BlockShape shape : {BlockShape{Granularity::kTensor, 0}, BlockShape{},
                                   BlockShape{Granularity::kGroup, 16}, system.blocks}) {
      const MatrixEncoding encoding = encoding_by_rule(system, bits, shape, view(values, 3));
      encoding.check(3, 37);
      EXPECT_EQ(encoding.granularity, shape.granularity);
      EXPECT_EQ(encoding.has_offset, system.has_offset);
      const std::vector<float> decoded = decode(encode(view(values, 3), encoding), encoding);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t group =
            shape.granularity == Granularity::kGroup ? i % 37 / shape.group_size : 0;
        const Levels levels = encoding.levels(encoding.block(i / 37, group, 37));
        ASSERT_EQ(decoded[i], levels.value(levels.encode(values[i])));
      }
    }
  });
}

double squared_error(const NumberSystem& system, int bits, const std::vector<float>& values) {
  const MatrixEncoding encoding = encoding_by_rule(system, bits, system.blocks, view(values, 1));
  const std::vector<float> decoded = decode(encode(view(values, 1), encoding), encoding);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += std::pow(double{values[i]} - double{decoded[i]}, 2);
  }
  return sum / static_cast<double>(values.size());
}

// More bits give at most the error of fewer, but for a tenth where they only add small levels.
TEST(NumberSystems, LoseLittleOfNormalNumbers) {
  Random random(32);
  const std::vector<float> values = random_floats(random, 4096);
  for (const NumberSystem& system : number_systems()) {
    if (system.is_learned() || system.name == "e8m0") continue;
    double last = 1e9;
    for (int bits = system.min_bits; bits <= system.max_bits; ++bits) {
      const double error = squared_error(system, bits, values);
      EXPECT_LE(error, 1.1 * last) << system.name << bits;
      if (bits >= 5) {
        EXPECT_LT(error, 0.05) << system.name << bits;
      }
      last = error;
    }
  }
}

TEST(NumberSystems, StoreScalesAsTheyShould) {
  const auto stored = [](const char* name, BlockShape shape) {
    const MatrixEncoding encoding =
        empty_encoding(find_system(name), find_system(name).max_bits, shape, 4, 64);
    return encoding.stored_bits();
  };
  const BlockShape groups{Granularity::kGroup, 32};
  EXPECT_EQ(stored("int", {}), 4U * 32);
  EXPECT_EQ(stored("int", groups), 8U * 16);
  EXPECT_EQ(stored("affine", {}), 4U * 64);
  EXPECT_EQ(stored("affine", groups), 8U * 32);
  EXPECT_EQ(stored("mxfp4", groups), 8U * 8);
  EXPECT_EQ(stored("fixed", {}), 4U * 8);
  EXPECT_EQ(stored("nvfp4", find_system("nvfp4").blocks), 16U * 8 + 32);
  EXPECT_EQ(stored("int_k", find_system("int_k").blocks), 16U * 8 + 4 * 16);
  EXPECT_EQ(stored("affine_k", find_system("affine_k").blocks), 8U * 12 + 4 * 32);
  // Without groups there is nothing to share.
  EXPECT_EQ(stored("int_k", {}), 4U * 32);
  EXPECT_EQ(stored("affine_k", {Granularity::kTensor, 0}), 64U);
  EXPECT_EQ(stored("basis", {}), 4U * 9 * 32);
  EXPECT_EQ(empty_encoding(find_system("e5m2"), 8, groups, 4, 64).scales.type(),
            NumberType::kBfloat16);
}

TEST(NumberSystems, GiveZerosAScaleOtherThanZero) {
  const std::vector<float> zeros(2 * 40);
  for_each_system([&](const NumberSystem& system, int bits) {
    if (system.is_learned() || system.name == "e8m0") return;
    const MatrixEncoding encoding = encoding_by_rule(system, bits, system.blocks, view(zeros, 2));
    encoding.check(2, 40);
    const std::vector<float> decoded = decode(encode(view(zeros, 2), encoding), encoding);
    // Levels without a zero are nearly zero.
    const float most = system.name == "symmetric" ? 0x1p-24F : 0;
    for (const float x : decoded) EXPECT_LE(std::abs(x), most);
  });
  const auto scale = [&](const char* name) {
    const NumberSystem& system = find_system(name);
    return encoding_by_rule(system, system.max_bits, system.blocks, view(zeros, 2)).scales[0];
  };
  EXPECT_EQ(scale("mxfp4"), 0x1p-127F);
  EXPECT_EQ(scale("nvfp4"), 0x1p-9F);
  EXPECT_EQ(scale("int_k"), 1);
  EXPECT_EQ(scale("int"), 0x1p-24F);
}

TEST(NumberSystems, TakeScalesFromFiniteNumbersOnly) {
  const std::vector<float> values{kNan, 7, -kInfinity, -3};
  const MatrixEncoding encoding =
      encoding_by_rule(find_system("int"), 4, {Granularity::kTensor, 0}, view(values, 1));
  EXPECT_EQ(encoding.scales[0], 1);
}

TEST(NumberSystems, HaveNoRuleForLearnedLevels) {
  const std::vector<float> values(4);
  expect_error(ErrorKind::kUsage, "number system 'basis': no rule gives its levels",
               [&] { encoding_by_rule(find_system("basis"), 2, {}, view(values, 2)); });
}

// NVFP4 by hand: 6 is the largest of E2M1, 448 of E4M3.
TEST(NumberSystems, ScaleNvfp4InTwoSteps) {
  std::vector<float> values(32, 1.0F);
  values[0] = 2688;  // 6 * 448: the tensor's factor is 1
  values[16] = 3.3F;
  const NumberSystem& system = find_system("nvfp4");
  const MatrixEncoding encoding = encoding_by_rule(system, 4, system.blocks, view(values, 1));
  EXPECT_EQ(encoding.scales.factor(0), 1);
  EXPECT_EQ(encoding.scales[0], 448);
  EXPECT_EQ(encoding.scales[1], 0.5625F);  // 3.3 / 6 = 0.55 in steps of 1/16
  const BitPlanes codes = encode(view(values, 1), encoding);
  EXPECT_EQ(codes.code(0, 0), 7);
  EXPECT_EQ(codes.code(0, 1), 0);
  EXPECT_EQ(codes.code(0, 16), 7);
  EXPECT_EQ(codes.code(0, 17), 4);  // 1 / 0.5625 = 1.78 is nearest to 2
}

/// A row of `groups` groups of `size` numbers, of about 10^-3 to 10; some groups have one sign.
std::vector<float> uneven_numbers(Random& random, std::size_t groups, std::size_t size) {
  std::vector<float> values;
  for (std::size_t g = 0; g < groups; ++g) {
    const double scale = std::pow(10.0, 4 * random.uniform() - 3);
    const double shift = g % 3 == 0 ? 0 : g % 3 == 1 ? 3 : -3;
    for (std::size_t i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(scale * (random.normal() + shift)));
    }
  }
  return values;
}

TEST(NumberSystems, WithZeroPointsHaveTheLevelZeroAndAWholeZeroPoint) {
  Random random(35);
  std::vector<float> values;
  for (const float middle : {0.0F, 0.3F, 5.0F, -5.0F}) {
    for (int i = 0; i < 20; ++i) values.push_back(middle + static_cast<float>(random.normal()));
  }
  for (int bits = 1; bits <= 8; ++bits) {
    const MatrixEncoding encoding =
        encoding_by_rule(find_system("asymmetric"), bits, {}, view(values, 4));
    for (std::size_t row = 0; row < 4; ++row) {
      const auto numbers = std::span(values).subspan(20 * row, 20);
      const auto [low, high] = std::ranges::minmax(numbers);
      const Levels levels = encoding.levels(row);
      const float scale = levels.scale();
      EXPECT_FLOAT_EQ(scale, (std::max(high, 0.0F) - std::min(low, 0.0F)) /
                                 static_cast<float>((1 << bits) - 1));
      const auto zero = static_cast<Code>(std::round(-levels.offset() / scale));
      ASSERT_LT(zero, 1 << bits);
      EXPECT_EQ(levels.offset(), -(scale * static_cast<float>(zero)));
      EXPECT_EQ(levels.value(zero), 0);
      EXPECT_EQ(levels.value(levels.encode(0)), 0);
    }
  }
}

// What llama.cpp computes for block_q6_K and block_q4_K, in plain loops: d q s and d q s - dmin m,
// with the codes of the file.
TEST(NumberSystems, DecodeSuperGroupsByTheFormula) {
  Random random(33);
  for (const char* name : {"int_k", "affine_k"}) {
    const NumberSystem& system = find_system(name);
    const std::size_t size = system.blocks.group_size;
    const std::size_t share = system.scales.share;
    const std::size_t groups = share + 3;  // the last run of a row is shorter
    std::vector<float> values = uneven_numbers(random, 2 * groups, size);
    const MatrixView<const float> matrix = view(values, 2);
    for (const int bits : {2, 4, 6}) {
      SCOPED_TRACE(std::string(name) + std::to_string(bits));
      const MatrixEncoding encoding = encoding_by_rule(system, bits, system.blocks, matrix);
      encoding.check(2, groups * size);
      ASSERT_EQ(encoding.scales.num_factors(), 4U);
      const BitPlanes codes = encode(matrix, encoding);
      const std::vector<float> decoded = decode(codes, encoding);
      const int shift = system.has_offset ? 0 : 1 << (bits - 1);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::size_t row = i / (groups * size);
        const std::size_t col = i % (groups * size);
        const std::size_t block = row * groups + col / size;
        const std::size_t super = 2 * row + col / (size * share);
        const int q = codes.code(row, col) - shift;
        const auto code = [&](const StoredNumbers& numbers) {
          return static_cast<int>(static_cast<std::int8_t>(numbers.bytes()[block]));
        };
        const float d = encoding.scales.factor(super);
        float expected = d * static_cast<float>(code(encoding.scales)) * static_cast<float>(q);
        if (system.has_offset) {
          const float dmin = -encoding.offsets.factor(super);
          expected -= dmin * static_cast<float>(code(encoding.offsets));
        }
        ASSERT_EQ(decoded[i], expected);
      }
    }
  }
}

// d = max_s / 63, s = round(scale / d); the same for minima, which are at most 0.
TEST(NumberSystems, ScaleSuperGroupsByTheRuleOfKQuants) {
  Random random(34);
  const NumberSystem& system = find_system("affine_k");
  const std::vector<float> values = uneven_numbers(random, 8, 32);
  const MatrixEncoding encoding = encoding_by_rule(system, 4, system.blocks, view(values, 1));
  std::vector<double> scales;
  std::vector<double> minima;
  for (std::size_t g = 0; g < 8; ++g) {
    const auto [low, high] = std::minmax_element(values.begin() + 32 * static_cast<int>(g),
                                                 values.begin() + 32 * static_cast<int>(g) + 32);
    minima.push_back(std::max(0.0, -double{*low}));
    scales.push_back((double{*high} + minima.back()) / 15);
  }
  const auto expect = [&](const StoredNumbers& found, double sign, const std::vector<double>& all) {
    const float d = round_to(NumberType::kFloat16, *std::ranges::max_element(all) / 63);
    EXPECT_EQ(found.factor(0), sign * d);
    for (std::size_t g = 0; g < 8; ++g) {
      const double code = std::clamp(std::nearbyint(all[g] / d), 0.0, 63.0);
      EXPECT_EQ(std::to_integer<int>(found.bytes()[g]), std::max(code, sign > 0 ? 1.0 : 0.0));
    }
  };
  expect(encoding.scales, 1, scales);
  expect(encoding.offsets, -1, minima);
  // At 4 bits the error is about that of groups with float16 scales.
  const auto error = [&](const char* name) {
    const MatrixEncoding own =
        encoding_by_rule(find_system(name), 4, system.blocks, view(values, 1));
    const std::vector<float> decoded = decode(encode(view(values, 1), own), own);
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum += std::pow(double{values[i]} - double{decoded[i]}, 2);
    }
    return sum;
  };
  EXPECT_LT(error("affine_k"), 2 * error("int"));
}

std::size_t bytes_in_memory(const StoredNumbers& numbers) {
  return numbers.bytes().size() + numbers.factor_bytes().size();
}

// Small scales occupy a byte each, and codes whole words of a row.
TEST(NumberSystems, OfGroupsOccupyHardlyMoreMemoryThanStorage) {
  Random random(5);
  const std::vector<float> values = random_floats(random, std::size_t{8} * 1024);
  for_each_system([&](const NumberSystem& system, int bits) {
    MatrixEncoding encoding =
        empty_encoding(system, bits, {Granularity::kGroup, 32}, 8, values.size() / 8);
    if (!system.is_learned()) {
      encoding = encoding_by_rule(system, bits, {Granularity::kGroup, 32}, view(values, 8));
    }
    const BitPlanes codes(8, values.size() / 8, bits);
    const double memory =
        static_cast<double>(codes.planes.words().size_bytes() + bytes_in_memory(encoding.scales) +
                            bytes_in_memory(encoding.offsets));
    const auto code_bits = values.size() * static_cast<std::size_t>(bits);
    EXPECT_LE(memory, 1.1 * static_cast<double>(code_bits + encoding.stored_bits()) / 8);
  });
}

}  // namespace
}  // namespace halftone::numerics
