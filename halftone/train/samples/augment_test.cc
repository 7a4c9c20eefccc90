// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/samples/augment.h"

#include <numeric>
#include <set>
#include <vector>

#include "halftone/base/testing.h"

namespace halftone::train {
namespace {

using testing::ElementsAre;

constexpr ir::Dim kN = ir::kBatch;

std::vector<float> counted(std::size_t count) {
  std::vector<float> image(count);
  std::iota(image.begin(), image.end(), 1.0F);
  return image;
}

TEST(Augment, FlipsRowsOfEitherLayout) {
  const Augment first({.flip = true}, ir::Shape{kN, 2, 5, 6});
  const Augment last({.flip = true}, ir::Shape{kN, 5, 6, 2});
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    std::vector<float> planes = counted(60);
    std::vector<float> pixels = counted(60);
    Random same = random;
    first.apply(planes, random);
    last.apply(pixels, same);
    const bool flipped = planes[0] != 1;
    EXPECT_EQ(planes[0], flipped ? 6 : 1);
    EXPECT_EQ(planes[30], flipped ? 36 : 31);
    EXPECT_EQ(pixels[0], flipped ? 11 : 1);
    EXPECT_EQ(pixels[1], flipped ? 12 : 2);
    seen.insert(planes);
  }
  EXPECT_EQ(seen.size(), 2U);
}

TEST(Augment, CutsWindowsOutOfAPaddedImage) {
  const Augment augment({.padding = 1}, ir::Shape{kN, 1, 3, 3});
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    std::vector<float> image = counted(9);
    augment.apply(image, random);
    seen.insert(image);
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_TRUE(seen.contains(counted(9)));
  EXPECT_TRUE(seen.contains({5, 6, 0, 8, 9, 0, 0, 0, 0}));  // shifted up and to the left
  EXPECT_TRUE(seen.contains({0, 0, 0, 0, 1, 2, 0, 4, 5}));
}

TEST(Augment, LeavesEverythingByDefault) {
  const Augment augment({}, ir::Shape{kN, 784});
  Random random(1);
  std::vector<float> sample = counted(4);
  augment.apply(sample, random);
  EXPECT_THAT(sample, ElementsAre(1, 2, 3, 4));
}

TEST(Augment, RefusesWhatIsNoImage) {
  for (const ir::Shape& shape : {ir::Shape{kN, 784}, ir::Shape{kN, 16, 8, 8}}) {
    expect_error(ErrorKind::kUsage, "expected images", [&] { Augment({.flip = true}, shape); });
  }
}

}  // namespace
}  // namespace halftone::train
