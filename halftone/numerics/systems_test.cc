// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/systems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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

TEST(NumberSystems, ListTheirNamesByFamilyWhenOneIsUnknown) {
  const std::string families =
      "number system 'int9': expected one of learned: basis; integers: affine, symmetric, int, "
      "int_narrow, fixed, ternary; powers of two: pot, apot, log; tables: nf4, posit; floats: "
      "e4m3, ";
  expect_error(ErrorKind::kUsage, families, [] { find_system("int9"); });
  expect_error(ErrorKind::kUsage, "e8m0 or another eXmY of up to 16 bits; blocks: bfp, mxfp8_e4m3",
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

}  // namespace
}  // namespace halftone::numerics
