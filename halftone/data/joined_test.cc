// SPDX-License-Identifier: Apache-2.0
// Data sets of several data sets, with samples of several sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "halftone/data/dataset_testing.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"

namespace halftone::data {
namespace {

using testing::ElementsAre;

/// Samples [N, ...] with the values first, first + 1, ...
Dataset counted(std::vector<std::size_t> shape, float first,
                const std::vector<std::int64_t>& labels = {}) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  const auto bytes = std::as_bytes(std::span(values));
  return dataset_from_arrays("piece",
                             {{.input = "",
                               .type = Scalar::kFloat32,
                               .shape = std::move(shape),
                               .bytes = own_bytes({bytes.begin(), bytes.end()})}},
                             labels);
}

/// Samples 0 and 3 have two values, samples 1, 2 and 4 three.
Dataset several(std::optional<std::size_t> limit = std::nullopt) {
  const std::vector<Dataset> pieces{counted({1, 2}, 0, {5}), counted({2, 3}, 10, {6, 7}),
                                    counted({1, 2}, 20, {8}), counted({1, 3}, 30, {9})};
  return Dataset::joined("all", pieces, limit);
}

std::vector<std::size_t> origins(const Dataset& data) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < data.size(); ++i) found.push_back(data.origin(i));
  return found;
}

TEST(JoinedDataset, HasAPartForEachSizeTheLargestFirst) {
  const Dataset data = several();
  EXPECT_EQ(data.size(), 5U);
  ASSERT_EQ(data.parts().size(), 2U);
  EXPECT_THAT(data.parts()[0].inputs()[0].shape.extents, ElementsAre(3));
  EXPECT_THAT(data.parts()[1].inputs()[0].shape.extents, ElementsAre(2));
  EXPECT_THAT(origins(data), ElementsAre(1, 2, 4, 0, 3));
  EXPECT_THAT(origins(data.parts()[1]), ElementsAre(0, 3));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(data.label(i), static_cast<std::int64_t>(5 + data.origin(i)));
  }
  EXPECT_THAT(read_samples(data, 0, 1, 2), ElementsAre(13, 14, 15, 30, 31, 32));
  std::vector<float> two(2);
  data.read(0, 4, 1, two);
  EXPECT_THAT(two, ElementsAre(20, 21));
}

TEST(JoinedDataset, OfOneSizeIsOrdinary) {
  const std::vector<Dataset> pieces{counted({2, 2}, 0), counted({1, 2}, 10)};
  const Dataset data = Dataset::joined("all", pieces, std::nullopt);
  EXPECT_EQ(data.parts().size(), 1U);
  EXPECT_THAT(read_samples(data, 0, 0, 3), ElementsAre(0, 1, 2, 3, 10, 11));
}

TEST(JoinedDataset, TakesTheFirstInTheOrderOfThePieces) {
  EXPECT_THAT(origins(several(3)), ElementsAre(1, 2, 0));
  EXPECT_THAT(origins(several().first(3)), ElementsAre(1, 2, 0));
  const Dataset first = several().first(1);
  EXPECT_EQ(first.parts().size(), 1U);
  EXPECT_THAT(read_samples(first, 0, 0, 1), ElementsAre(0, 1));
}

TEST(JoinedDataset, KeepsSomeSamples) {
  const std::vector<std::size_t> kept{1, 3, 4};
  const Dataset data = several().only(kept);
  EXPECT_THAT(origins(data), ElementsAre(2, 0, 3));
  EXPECT_EQ(data.label(1), 5);
  EXPECT_THAT(read_samples(data, 0, 0, 1), ElementsAre(13, 14, 15));
  const std::vector<std::size_t> again{2};
  EXPECT_THAT(origins(data.only(again)), ElementsAre(3));
}

TEST(JoinedDataset, NamesASampleByItsNumberInAllPieces) {
  const std::vector<Dataset> pieces{counted({1, 2}, 0), counted({2, 3}, NAN)};
  const Dataset data = Dataset::joined("all", pieces, std::nullopt);
  expect_error(ErrorKind::kFormat, "sample 1: expected finite numbers, found NaN",
               [&] { read_samples(data, 0, 0, 1); });
  expect_error(ErrorKind::kFormat, "sample 2: expected finite numbers",
               [&] { data.check_finite(1); });
  EXPECT_NO_THROW(data.check_finite(2));
  EXPECT_NO_THROW(read_samples(data.with_gaps(), 0, 0, 1));
  expect_error(ErrorKind::kShape, "expected a sample below 3, found 3",
               [&] { data.check_finite(3); });
}

TEST(JoinedDataset, RefusesPiecesThatDiffer) {
  const auto join = [](const std::vector<Dataset>& pieces, std::optional<std::size_t> limit = {}) {
    Dataset::joined("all", pieces, limit);
  };
  expect_error(ErrorKind::kUsage, "all: expected samples, found none", [&] { join({}); });
  expect_error(ErrorKind::kUsage, "limit: expected at least 1", [&] { join({several()}, 0); });
  expect_error(ErrorKind::kFormat, "expected labels for all samples or for none", [&] {
    join({counted({1, 2}, 0, {1}), counted({1, 2}, 0)});
  });
  const Dataset named = dataset_from_arrays(
      "named", {{.input = "x", .shape = {1, 1}, .bytes = own_bytes(std::vector<std::byte>(4))}},
      {});
  expect_error(ErrorKind::kFormat, "expected samples of the same inputs and types as in piece",
               [&] {
                 join({counted({1, 2}, 0), named});
               });
}

class SeveralFiles : public WithFolder {
 protected:
  void write(const std::string& name, std::vector<std::size_t> shape, float first) const {
    std::size_t count = 1;
    for (const std::size_t extent : shape) count *= extent;
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), first);
    write_npy(path(name), make_npy<float>(values, std::move(shape)));
  }
};

TEST_F(SeveralFiles, OfAFolderAreReadInTheOrderOfNames) {
  write("b.npy", {1, 3}, 10);
  write("a.npy", {2, 2}, 0);
  const Dataset data = open_dataset(folder_.string());
  EXPECT_THAT(origins(data), ElementsAre(0, 1, 2));
  EXPECT_EQ(data.parts().size(), 2U);
  const std::vector<std::int64_t> labels{4, 5, 6};
  const std::string path_of_labels = folder_.string() + "_labels.npy";
  write_npy(path_of_labels, make_npy<std::int64_t>(labels, {3}));
  const Dataset labelled = open_dataset(folder_.string() + "," + path_of_labels);
  EXPECT_EQ(labelled.label(2), 6);
  write("c.npy", {1, 3}, 10);
  expect_error(ErrorKind::kFormat, "expected as many labels as samples (4), found 3",
               [&] { open_dataset(folder_.string() + "," + path_of_labels); });
  std::filesystem::remove(path_of_labels);
}

TEST_F(SeveralFiles, OfOneNameAreFurtherSamples) {
  write("a.npy", {2, 2}, 0);
  write("b.npy", {1, 3}, 10);
  write("c.npy", {2, 4}, 20);
  write("d.npy", {1, 1}, 30);
  const std::vector<std::string> paths{"x=" + path("a.npy"), "z=" + path("c.npy"),
                                       "x=" + path("b.npy"), "z=" + path("d.npy")};
  const Dataset data = open_dataset(paths);
  ASSERT_EQ(data.parts().size(), 2U);
  EXPECT_EQ(data.parts()[1].inputs()[1].name, "z");
  std::vector<float> last(1);
  data.read(1, 2, 1, last);
  EXPECT_THAT(last, ElementsAre(30));
  const std::vector<std::string> uneven{paths[0], paths[1], paths[2]};
  expect_error(ErrorKind::kFormat, "expected samples of the same inputs",
               [&] { open_dataset(uneven); });
}

}  // namespace
}  // namespace halftone::data
