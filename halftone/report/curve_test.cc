// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "halftone/report/markup_testing.h"

namespace halftone::report {
namespace {

using testing::HasSubstr;

using Epochs = std::vector<train::EpochResult>;

Epochs example() {
  return {{2.5, 0.25, 0.5, 0.1, 1}, {1.25, 0.5, {}, 0.05, 2}, {0.5, 0.75, 0.625, 0, 3}};
}

TEST(TrainingCsv, HasALineForEachEpoch) {
  EXPECT_EQ(to_csv(example()),
            "epoch,loss,agreement,held_out,rate,seconds\n"
            "1,2.5,0.25,0.5,0.1,1.000\n"
            "2,1.25,0.5,,0.05,2.000\n"
            "3,0.5,0.75,0.625,0,3.000\n");
  EXPECT_EQ(to_csv({}), "epoch,loss,agreement,held_out,rate,seconds\n");
}

TEST(TrainingSvg, ShowsLossAndAnswers) {
  const std::string svg = to_svg(example());
  EXPECT_TRUE(is_well_formed(svg)) << svg;
  EXPECT_EQ(count(svg, "<path "), 3U);
  EXPECT_EQ(count(svg, "<circle "), 8U);
  for (const char* part : {">loss<", ">accuracy, %<", ">epoch<", ">training<", ">validation<"}) {
    EXPECT_THAT(svg, HasSubstr(part));
  }
}

TEST(TrainingSvg, TakesWhateverThereIs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Epochs> all{{},
                                {{0, 0, {}, 0, 0}},
                                {{nan, 0.5, {}, 0, 0}, {infinity, 0.5, nan, 0, 0}},
                                {{1e300, 1, {}, 0, 0}, {-1e-300, 1, {}, 0, 0}},
                                Epochs(1000, {1, 0.5, 0.5, 0, 0})};
  for (const Epochs& epochs : all) {
    const std::string svg = to_svg(epochs);
    EXPECT_TRUE(is_well_formed(svg)) << svg;
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
  EXPECT_EQ(to_svg({{1, 0.5, {}, 0, 0}}).find("validation"), std::string::npos);
}

}  // namespace
}  // namespace halftone::report
