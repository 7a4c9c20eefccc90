// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/learned_levels.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "halftone/ir/test_data.h"
#include "halftone/numerics/systems.h"

namespace halftone::compress {
namespace {

TEST(LearnedWeights, StartFromTheCodesTheyAreGiven) {
  Random random(3);
  constexpr std::size_t kRows = 5;
  constexpr std::size_t kCols = 40;
  const ir::Tensor weights = ir::test::random_tensor({kRows, kCols}, random);
  for (const int bits : {1, 2, 3}) {
    numerics::MatrixEncoding encoding;
    encoding.bits = bits;
    encoding.has_offset = true;
    encoding.granularity = numerics::Granularity::kChannel;
    encoding.allocate(kRows, kCols);
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<float> a;
      for (int i = 0; i < bits; ++i) a.push_back(static_cast<float>(random.normal()));
      encoding.set_levels(r, numerics::make_basis(a, 0.1F));
    }
    numerics::BitPlanes codes(kRows, kCols, bits);
    for (std::size_t i = 0; i < kRows * kCols; ++i) {
      codes.set_code(i / kCols, i % kCols, static_cast<numerics::Code>(random.below(1U << bits)));
    }
    const LearnedWeights learned(encoding, codes, weights.as<float>());
    EXPECT_THAT(learned.values(), testing::ElementsAreArray(numerics::decode(codes, encoding)));
    EXPECT_EQ(learned.codes(), codes);
    EXPECT_EQ(learned.encoding(), encoding);
  }
}

// The scale of a system that overflows stays: with a smaller one numbers would.
TEST(LearnedLevels, StayWhereNumbersCouldOverflow) {
  for (const char* name : {"e4m3", "e4m3_nan"}) {
    const auto codebook = codebook_of(numerics::find_system(name), 8);
    LearnedLevels learned(ParameterSpace(codebook, false), numerics::Levels(codebook, 0.5F, 0));
    std::vector<double> level_gradient(learned.table().size());
    level_gradient.back() = 1;
    learned.step(level_gradient, 0.1);
    EXPECT_EQ(learned.levels().scale() == 0.5F, std::string(name) == "e4m3_nan") << name;
  }
}

}  // namespace
}  // namespace halftone::compress
