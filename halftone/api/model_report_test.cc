// SPDX-License-Identifier: Apache-2.0
// Histograms and rankings of samples, the parts of a report.
#include "halftone/api/model_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>

#include "halftone/api/value_histograms.h"
#include "halftone/api/worst_samples.h"
#include "halftone/base/testing.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

std::int64_t total(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

TEST(Binned, CountsEveryValueOnce) {
  compress::Histogram fine;
  std::vector<float> values;
  for (int i = -100; i <= 300; ++i) values.push_back(static_cast<float>(i) / 100);
  fine.add(values);
  const ValueHistogram all = binned(fine);
  EXPECT_EQ(all.counts.size(), 64U);
  EXPECT_EQ(all.low, -1);
  EXPECT_EQ(all.high, 3);
  EXPECT_EQ(total(all.counts), 401);
  EXPECT_EQ(all.num_zeros, 0);
  const ValueHistogram others = binned(fine, {.omits_zeros = true});
  EXPECT_EQ(total(others.counts), 400);
  EXPECT_EQ(others.num_zeros, 1);
  EXPECT_EQ(binned(fine, {.max_bins = 32}).counts.size(), 32U);
}

TEST(Binned, TakesEqualValuesAndNone) {
  compress::Histogram fine;
  EXPECT_TRUE(binned(fine).counts.empty());
  const std::vector<float> values(5, 2.5F);
  fine.add(values);
  EXPECT_EQ(binned(fine).counts, (std::vector<std::int64_t>{5}));
}

/// Two rows whose levels are -3 a, -a, a, 3 a around b.
ir::EncodedTensor codes_of_two_rows(numerics::Granularity granularity) {
  std::vector<numerics::Basis> bases(granularity == numerics::Granularity::kTensor ? 1 : 2);
  for (std::size_t row = 0; row < bases.size(); ++row) {
    bases[row].bits = 2;
    bases[row].coefficients[0] = row == 0 ? 1 : 10;
    bases[row].coefficients[1] = 2 * bases[row].coefficients[0];
    bases[row].offset = row == 0 ? 0 : 5;
  }
  const bool has_offset = granularity != numerics::Granularity::kTensor;
  auto encoding = std::make_shared<const numerics::MatrixEncoding>(
      numerics::basis_encoding(bases, has_offset, granularity));
  return {{2, 4}, encoding, numerics::BitPlanes(2, 4, 2)};
}

TEST(WeightHistogram, IsRelativeToTheLevelsOfEachBlock) {
  const ir::Tensor weights =
      ir::test::floats({2, 4}, {-3, -1, 1, 3, -25, -5, 15, 35});  // the levels of each row
  const auto histogram =
      weight_histogram(codes_of_two_rows(numerics::Granularity::kChannel), &weights);
  ASSERT_TRUE(histogram);
  EXPECT_TRUE(histogram->is_relative);
  EXPECT_EQ(histogram->low, -1);
  EXPECT_EQ(histogram->high, 1);
  EXPECT_EQ(histogram->counts.front(), 2);
  EXPECT_EQ(histogram->counts.back(), 2);
  ASSERT_EQ(histogram->levels.size(), 4U);
  const std::vector<float> expected{-1, -1.0F / 3, 1.0F / 3, 1};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(histogram->levels[i], expected[i]);
  EXPECT_TRUE(histogram->thresholds.empty());
}

TEST(WeightHistogram, OfOneBlockHasLevelsAndThresholds) {
  const auto histogram =
      weight_histogram(codes_of_two_rows(numerics::Granularity::kTensor), nullptr);
  ASSERT_TRUE(histogram);
  EXPECT_FALSE(histogram->is_relative);
  EXPECT_EQ(histogram->levels, (std::vector<float>{-3, -1, 1, 3}));
  EXPECT_EQ(histogram->thresholds, (std::vector<float>{-2, 0, 2}));
  EXPECT_EQ(total(histogram->counts), 8);  // all codes are 0: the lowest level
}

TEST(WeightHistogram, LeavesOutLevelsThatWouldFillThePicture) {
  auto encoding = std::make_shared<numerics::MatrixEncoding>();
  encoding->bits = 8;
  encoding->codebook = numerics::codebook_of(numerics::find_system("symmetric"), 8);
  encoding->granularity = numerics::Granularity::kChannel;
  encoding->allocate(1, 4);
  encoding->set_scale(0, 0.5);
  const auto histogram =
      weight_histogram(ir::EncodedTensor{{1, 4}, encoding, numerics::BitPlanes(1, 4, 8)}, nullptr);
  ASSERT_TRUE(histogram);
  EXPECT_TRUE(histogram->is_relative);
  EXPECT_GT(histogram->num_levels, 200U);
  EXPECT_TRUE(histogram->levels.empty());
}

TEST(WeightHistogram, IsAbsentForIntegersAndNumbersThatAreNotFinite) {
  EXPECT_FALSE(weight_histogram(ir::Tensor(ir::ElementType::kInt8, {2}), nullptr));
  const ir::Constant bad = ir::test::floats({1}, {std::numeric_limits<float>::infinity()});
  EXPECT_FALSE(weight_histogram(bad, nullptr));
}

data::Dataset dataset(std::span<const float> values, std::vector<std::size_t> shape,
                      const std::vector<std::int64_t>& labels = {}) {
  std::optional<SharedBytes> y;
  if (!labels.empty()) {
    const auto array = data::make_npy(std::span<const std::int64_t>(labels), {labels.size()});
    y = own_bytes(data::npy_bytes(array));
  }
  const auto array = data::make_npy(values, std::move(shape));
  return data::dataset_from_npy("samples", own_bytes(data::npy_bytes(array)), y, {});
}

/// A network that passes a row of scores on, perhaps through a softmax.
ir::Graph scores_network(ir::Dim count, bool has_softmax) {
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, count}));
  graph.add_output(has_softmax ? graph.add_node("y", ir::Softmax{1}, {x})
                               : graph.add_node("y", ir::Unary{}, {x}));
  return graph;
}

TEST(SampleRanking, PutsTheFarthestAnswersFirst) {
  const std::vector<float> x(6);
  const data::Dataset data = dataset(x, {3, 2}, {0, 1, 1});
  const ir::Graph graph = scores_network(2, false);
  SampleRanking ranking(data, graph, &graph);
  const std::vector<float> reference{0, 0};
  const std::vector<float> near{0, 1};
  const std::vector<float> far{3, 0};
  ranking.add(0, near, reference);
  ranking.add(1, far, reference);
  ranking.add(2, near, reference);
  EXPECT_EQ(ranking.measure(), SampleMeasure::kDivergence);
  const std::vector<SampleFigures> worst = ranking.worst(2);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].index, 1U);
  EXPECT_EQ(worst[1].index, 0U);  // the first of equal ones
  EXPECT_EQ(worst[0].predicted, 0);
  EXPECT_EQ(worst[0].reference_predicted, 0);
  EXPECT_EQ(worst[0].label, 1);
  // p = 1/2: sum p log(p / q) = log(1/2) - (log q_0 + log q_1) / 2.
  const double q = 1 / (1 + std::exp(-3.0));
  const double expected = std::log(0.5) - (std::log(q) + std::log(1 - q)) / 2;
  EXPECT_NEAR(worst[0].badness, expected, 1e-12);  // a few roundings of numbers near 1
}

TEST(SampleRanking, CountsLabelsAndAnswers) {
  const std::vector<float> x(6);
  const ir::Graph graph = scores_network(2, false);
  const data::Dataset data = dataset(x, {3, 2}, {0, 1, 1});
  SampleRanking ranking(data, graph, nullptr);
  ranking.add(0, std::vector<float>{0, 1}, {});
  ranking.add(1, std::vector<float>{0, 1}, {});
  ranking.add(2, std::vector<float>{1, 0}, {});
  ASSERT_TRUE(ranking.confusion());
  EXPECT_EQ(ranking.confusion()->num_classes, 2U);
  EXPECT_EQ(ranking.confusion()->counts, (std::vector<std::int64_t>{0, 1, 1, 1}));
  const data::Dataset unlabelled = dataset(x, {3, 2});
  EXPECT_FALSE(SampleRanking(unlabelled, graph, &graph).confusion());
}

class ClassNames : public WithFolder {
 protected:
  [[nodiscard]] std::filesystem::path file(const std::string& content) const {
    std::ofstream(path("classes.txt")) << content;
    return path("classes.txt");
  }
};

TEST_F(ClassNames, AreALineEach) {
  EXPECT_EQ(read_class_names(file("cat\r\ntwo dogs \n\n")),
            (std::vector<std::string>{"cat", "two dogs"}));
}

TEST_F(ClassNames, AreOnEveryLine) {
  expect_error(ErrorKind::kFormat, "classes.txt:2: expected the name of a class",
               [&] { (void)read_class_names(file("cat\n\ndog\n")); });
  expect_error(ErrorKind::kFormat, "classes.txt:1: expected the name of a class",
               [&] { (void)read_class_names(file("\n")); });
  expect_error(ErrorKind::kIo, "none.txt", [&] { (void)read_class_names("none.txt"); });
}

TEST(ReportModel, TakesFewNetworksBeside) {
  const Network network(scores_network(2, false), "net");
  const std::vector<const Network*> beside(kMaxBeside + 1, &network);
  expect_error(ErrorKind::kUsage, "expected at most 4 networks beside the model, found 5", [&] {
    (void)report_model({network, nullptr, beside}, nullptr, {});
  });
}

TEST(SampleRanking, TakesTheLossOfLabelsWithoutAReference) {
  const std::vector<float> x(4);
  const data::Dataset data = dataset(x, {2, 2}, {1, 0});
  SampleRanking classes(data, scores_network(2, true), nullptr);
  EXPECT_EQ(classes.measure(), SampleMeasure::kLoss);
  classes.add(0, std::vector<float>{0.75F, 0.25F}, {});
  classes.add(1, std::vector<float>{0, 1}, {});
  EXPECT_NEAR(classes.worst(2)[1].badness, std::log(4.0), 1e-12);
  EXPECT_NEAR(classes.worst(2)[0].badness, 126 * std::log(2.0), 1e-12);  // 2^-126 for zero
  SampleRanking logits(data, scores_network(2, false), nullptr);
  logits.add(0, std::vector<float>{0, 0}, {});
  logits.add(1, std::vector<float>{100, 0}, {});
  EXPECT_NEAR(logits.worst(2)[0].badness, std::log(2.0), 1e-12);
  EXPECT_NEAR(logits.worst(2)[1].badness, 0, 1e-12);
  SampleRanking single(data, scores_network(1, false), nullptr);
  single.add(0, std::vector<float>{0.25F}, {});
  single.add(1, std::vector<float>{0.25F}, {});
  EXPECT_NEAR(single.worst(1)[0].badness, std::log(4.0), 1e-12);
}

TEST(SampleRanking, TakesSquaredErrorsWithoutClasses) {
  const std::vector<float> x(4);
  const data::Dataset data = dataset(x, {2, 2});
  const ir::Graph graph = scores_network(2, false);
  SampleRanking ranking(data, graph, &graph);
  EXPECT_EQ(ranking.measure(), SampleMeasure::kSquaredError);
  ranking.add(0, std::vector<float>{1, 2}, std::vector<float>{0, 0});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ranking.add(1, std::vector<float>{nan, 2}, std::vector<float>{0, 0});
  EXPECT_EQ(ranking.worst(9).size(), 2U);
  EXPECT_EQ(ranking.worst(1)[0].index, 1U);  // NaN is the worst answer
  EXPECT_EQ(ranking.worst(2)[1].badness, 5);
  EXPECT_FALSE(ranking.worst(1)[0].label);
}

TEST(PictureOf, ReducesLargeImagesAndSkipsOthers) {
  std::vector<float> x(std::size_t{3} * 128 * 96);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t channel = i / (std::size_t{128} * 96);
    x[i] = static_cast<float>(channel);
  }
  const auto picture = picture_of(dataset(x, {1, 3, 128, 96}), 0);
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->width, 48U);
  EXPECT_EQ(picture->height, 64U);
  EXPECT_EQ(picture->channels, 3U);
  EXPECT_EQ(picture->pixels[0], 0);
  EXPECT_EQ(picture->pixels[1], 128);  // the middle of the range
  EXPECT_EQ(picture->pixels[2], 255);
  const std::vector<float> row(20);
  EXPECT_FALSE(picture_of(dataset(row, {1, 20}), 0));
  EXPECT_FALSE(picture_of(dataset(row, {1, 4, 5}), 0));
}

TEST(PictureOf, KeepsPixelsOfBytes) {
  std::vector<std::uint8_t> x(64, 7);
  x[9] = 200;
  const auto array = data::make_npy(std::span<const std::uint8_t>(x), {1, 8, 8});
  const data::Dataset data =
      data::dataset_from_npy("bytes", own_bytes(data::npy_bytes(array)), {}, {});
  const auto picture = picture_of(data, 0);
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->channels, 1U);
  EXPECT_EQ(picture->pixels, x);
}

TEST(GivesProbabilities, OfASoftmaxBehindConversions) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4}));
  const auto softmax = graph.add_node("softmax", ir::Softmax{1}, {x});
  const auto codes =
      graph.add_node("codes", ir::QuantizeLinear{{{0.5F}, {0}}, ir::ElementType::kInt8}, {softmax});
  const auto log = graph.add_node("log", ir::Softmax{.axis = 1, .log = true}, {x});
  for (const auto& [output, expected] :
       {std::pair(softmax, true), {codes, true}, {log, false}, {x, false}}) {
    graph.set_outputs({output});
    EXPECT_EQ(gives_probabilities(graph), expected) << graph.value(output).name;
  }
}

}  // namespace
}  // namespace halftone
