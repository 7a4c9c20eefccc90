// SPDX-License-Identifier: Apache-2.0
// The real files that tutorials and benchmarks use; skipped where they are absent.
#include <cstdlib>
#include <map>

#include "halftone/data/dataset_testing.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"

namespace halftone::data {
namespace {

std::filesystem::path data_folder() {
  const char* const configured = std::getenv("HALFTONE_DATA");
  if (configured != nullptr) return configured;
  return std::filesystem::path(HALFTONE_SOURCE_DIR) / "../shared/data";
}

class RealData : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(data_folder())) {
      GTEST_SKIP() << "no data in " << data_folder() << "; HALFTONE_DATA names another folder";
    }
  }
};

TEST_F(RealData, MnistHasItsKnownSizeAndMean) {
  DatasetOptions options;
  options.split = "test";
  const Dataset dataset = open_dataset((data_folder() / "mnist").string(), options);
  ASSERT_EQ(dataset.size(), 10000u);
  EXPECT_THAT((std::vector{dataset.label(0), dataset.label(1), dataset.label(9999)}),
              testing::ElementsAre(7, 2, 6));
  double sum = 0;
  std::vector<float> images(1000 * 784);
  for (std::size_t first = 0; first < dataset.size(); first += 1000) {
    dataset.read(0, first, 1000, {{784}}, images);
    for (const float x : images) sum += x;
  }
  EXPECT_NEAR(sum / (784 * 10000), 0.1325, 0.0001);  // the published mean of the test set
}

TEST_F(RealData, MnistLimitUnpacksTheFrontOfTheTrainSet) {
  DatasetOptions options;
  options.limit = 2000;
  const Dataset dataset = open_dataset((data_folder() / "mnist").string(), options);
  EXPECT_EQ(dataset.size(), 2000u);
  EXPECT_EQ(dataset.label(0), 5);
}

TEST_F(RealData, CifarHasEveryClass) {
  const Dataset dataset = open_dataset((data_folder() / "cifar10/lossless_test_761.bin").string());
  EXPECT_EQ(dataset.size(), 761u);
  std::map<std::int64_t, int> counts;
  for (std::size_t i = 0; i < dataset.size(); ++i) ++counts[dataset.label(i)];
  EXPECT_EQ(counts.size(), 10u);
  std::vector<float> image(3072);
  dataset.read(0, 760, 1, {{32, 32, 3}}, image);
  EXPECT_THAT(image, testing::Each(testing::AllOf(testing::Ge(0.0F), testing::Le(1.0F))));
}

TEST_F(RealData, KeywordsHaveTwelveClasses) {
  const std::string folder = (data_folder() / "kws").string();
  const Dataset dataset = open_dataset(folder + "/x.npy," + folder + "/y.npy");
  EXPECT_EQ(dataset.size(), 500u);
  EXPECT_THAT(dataset.inputs()[0].shape.extents, testing::ElementsAre(49, 10, 1));
  for (std::size_t i = 0; i < dataset.size(); ++i) {
    EXPECT_GE(dataset.label(i), 0);
    EXPECT_LT(dataset.label(i), 12);
  }
  EXPECT_EQ(read_samples(dataset, 0, 0, 500), read_npy(folder + "/x.npy").floats());
}

}  // namespace
}  // namespace halftone::data
