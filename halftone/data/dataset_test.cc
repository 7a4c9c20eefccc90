// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/dataset.h"

#include <limits>
#include <numeric>

#include "halftone/data/dataset_testing.h"
#include "halftone/data/function_source.h"
#include "halftone/data/hold_out.h"

namespace halftone::data {
namespace {

constexpr SampleLayout kPlain = SampleLayout::kPlain;
constexpr SampleLayout kChw = SampleLayout::kChw;
constexpr SampleLayout kHwc = SampleLayout::kHwc;

/// Samples of float32 numbers from memory.
std::vector<DatasetInput> make_inputs(SampleShape shape, const std::vector<float>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  DenseSamples samples;
  samples.data = own_bytes({bytes.begin(), bytes.end()});
  samples.sample_elements = shape.num_elements();
  samples.stride_bytes = samples.sample_elements * sizeof(float);
  std::vector<DatasetInput> inputs;
  inputs.push_back({"x", std::move(shape), Scalar::kFloat32, make_dense_source(samples)});
  return inputs;
}

std::vector<float> iota(std::size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

Dataset make_dataset(SampleShape shape, std::size_t count, std::vector<std::int64_t> labels = {},
                     std::optional<std::size_t> limit = {}) {
  const std::vector<float> numbers = iota(count * shape.num_elements());
  return {"data", count, make_inputs(std::move(shape), numbers), std::move(labels), limit};
}

TEST(Adapt, AddsAndRemovesExtentsOfOneAndFlattens) {
  for (const SampleShape& want :
       {SampleShape{{28, 28}}, SampleShape{{1, 28, 28}}, SampleShape{{28, 28, 1}},
        SampleShape{{1, 1, 28, 28}}, SampleShape{{784}}, SampleShape{{1, 784}},
        SampleShape{{1, 28, 28}, kChw}, SampleShape{{28, 28, 1}, kHwc}}) {
    EXPECT_FALSE(adapt({{28, 28}}, want).transposed) << want.text();
    EXPECT_FALSE(adapt(want, {{28, 28}}).transposed) << want.text();
  }
}

TEST(Adapt, MovesChannelsOnlyIfTheLayoutIsKnown) {
  EXPECT_TRUE(adapt({{3, 32, 30}, kChw}, {{32, 30, 3}}).transposed);
  EXPECT_TRUE(adapt({{32, 30, 3}, kHwc}, {{3, 32, 30}}).transposed);
  EXPECT_FALSE(adapt({{3, 32, 30}, kChw}, {{3, 32, 30}}).transposed);
  EXPECT_FALSE(adapt({{3, 32, 30}, kChw}, {{2880}}).transposed);
  expect_error(ErrorKind::kShape,
               "samples of shape [3, 32, 30] do not fit the expected shape [32, 30, 3]", [] {
                 adapt({{3, 32, 30}}, {{32, 30, 3}});
               });
  expect_error(ErrorKind::kShape, "do not fit", [] { adapt({{3, 32, 30}, kChw}, {{30, 32, 3}}); });
  expect_error(ErrorKind::kShape, "do not fit", [] { adapt({{6, 4}}, {{4, 6}}); });
  expect_error(ErrorKind::kShape, "do not fit", [] { adapt({{784}}, {{785}}); });
}

TEST(Adapt, UsesTheWantedLayoutIfAllExtentsAreEqual) {
  EXPECT_FALSE(adapt({{3, 3, 3}, kChw}, {{3, 3, 3}}).transposed);
  EXPECT_FALSE(adapt({{3, 3, 3}, kChw}, {{3, 3, 3}, kChw}).transposed);
  EXPECT_TRUE(adapt({{3, 3, 3}, kChw}, {{3, 3, 3}, kHwc}).transposed);
}

TEST(ImageShape, IsAnImageIfThereAreFewChannels) {
  EXPECT_EQ(image_shape({3, 32, 32}).layout, kChw);
  EXPECT_EQ(image_shape({49, 10, 1}).layout, kHwc);
  EXPECT_EQ(image_shape({3, 32, 3}).layout, kPlain);
  EXPECT_EQ(image_shape({32, 32, 32}).layout, kPlain);
  EXPECT_EQ(image_shape({3, 32}).layout, kPlain);
}

TEST(Dataset, ReadsAnyRangeOfSamples) {
  const Dataset dataset = make_dataset({{2, 2}}, 4);
  EXPECT_EQ(dataset.size(), 4u);
  EXPECT_THAT(read_samples(dataset, 0, 1, 2), testing::ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_TRUE(read_samples(dataset, 0, 4, 0).empty());
}

TEST(Dataset, MovesChannelsBothWays) {
  // CHW [2, 2, 3]: element (c, h, w) is 6 c + 3 h + w.
  const Dataset chw = make_dataset({{2, 2, 3}, kChw}, 2);
  std::vector<float> hwc(12);
  chw.read(0, 0, 1, {{2, 3, 2}}, hwc);
  EXPECT_THAT(hwc, testing::ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
  const Dataset back("data", 1, make_inputs({{2, 3, 2}, kHwc}, hwc), {}, {});
  std::vector<float> numbers(12);
  back.read(0, 0, 1, {{2, 2, 3}}, numbers);
  EXPECT_EQ(numbers, iota(12));
}

TEST(Dataset, LimitKeepsTheFront) {
  const Dataset dataset = make_dataset({{1}}, 4, {5, 6, 7, 8}, 2);
  EXPECT_EQ(dataset.size(), 2u);
  EXPECT_EQ(dataset.label(1), 6);
  expect_error(ErrorKind::kUsage, "label 2 of 2 does not exist", [&] { (void)dataset.label(2); });
  EXPECT_EQ(make_dataset({{1}}, 4, {}, 9).size(), 4u);
}

TEST(Dataset, RejectsInvalidContents) {
  expect_error(ErrorKind::kFormat, "data: expected samples, found none",
               [] { make_dataset({{2}}, 0); });
  expect_error(ErrorKind::kFormat, "expected samples, found none",
               [] { Dataset("data", 3, {}, {}, {}); });
  expect_error(ErrorKind::kFormat, "data: expected as many labels as samples (4), found 3", [] {
    make_dataset({{2}}, 4, {1, 2, 3}, 2);
  });
  expect_error(ErrorKind::kUsage, "limit: expected at least 1, found 0",
               [] { make_dataset({{2}}, 4, {}, 0); });
  for (const std::size_t extent : {std::size_t{0}, std::size_t{1} << 60}) {
    std::vector<DatasetInput> inputs;
    inputs.push_back({"x", {{1 << 20, extent}}, Scalar::kFloat32, nullptr});
    expect_error(ErrorKind::kFormat, "data: expected samples of 1 to 2^28 numbers, found shape",
                 [&] { Dataset("data", 1, std::move(inputs), {}, {}); });
  }
}

TEST(Dataset, RejectsReadsOutOfRange) {
  const Dataset dataset = make_dataset({{2}}, 4);
  std::vector<float> room(4);
  expect_error(ErrorKind::kShape, "data: samples 3 and 2 more",
               [&] { dataset.read(0, 3, 2, room); });
  expect_error(ErrorKind::kShape, "data: samples", [&] { dataset.read(1, 0, 2, room); });
  expect_error(ErrorKind::kShape, "expected room for 1 samples of 2 numbers, found 4",
               [&] { dataset.read(0, 0, 1, room); });
  expect_error(ErrorKind::kShape, "do not fit the expected shape [3]",
               [&] { dataset.read(0, 0, 2, {{3}}, room); });
  expect_error(ErrorKind::kUsage, "data: expected labels, found none",
               [&] { (void)dataset.label(0); });
  std::vector<std::int64_t> integers(4);
  expect_error(ErrorKind::kFormat, "data: expected integers, found float32",
               [&] { dataset.read_integers(0, 0, 2, integers); });
}

TEST(Dataset, OnlyKeepsSomeSamples) {
  const Dataset all = make_dataset({{2}}, 6, {5, 4, 3, 2, 1, 0});
  const Dataset some = all.only(std::vector<std::size_t>{0, 2, 3, 5});
  EXPECT_EQ(some.size(), 4U);
  EXPECT_EQ(read_samples(some, 0, 0, 4), (std::vector<float>{0, 1, 4, 5, 6, 7, 10, 11}));
  EXPECT_EQ(read_samples(some, 0, 2, 1), (std::vector<float>{6, 7}));
  EXPECT_EQ(some.label(3), 0);
  EXPECT_EQ(some.origin(3), 5U);
  const Dataset fewer = some.only(std::vector<std::size_t>{1, 3}).first(1);
  EXPECT_EQ(read_samples(fewer, 0, 0, 1), (std::vector<float>{4, 5}));
  EXPECT_EQ(fewer.origin(0), 2U);
  EXPECT_EQ(fewer.label(0), 3);
  expect_error(ErrorKind::kUsage, "data: expected samples to keep, found none",
               [&] { (void)all.only({}); });
}

TEST(Dataset, MayHaveGaps) {
  std::vector<float> numbers = iota(6);
  numbers[3] = std::numeric_limits<float>::infinity();
  const Dataset gaps = Dataset("data", 3, make_inputs({{2}}, numbers), {}, {}).with_gaps();
  EXPECT_EQ(read_samples(gaps, 0, 1, 1)[1], numbers[3]);
  EXPECT_TRUE(gaps.has_gaps());
  gaps.check_finite(0);
  expect_error(ErrorKind::kFormat, "data: sample 1: expected finite numbers, found infinity", [&] {
    gaps.only(std::vector<std::size_t>{1, 2}).check_finite(0);
  });
}

TEST(Adapt, SaysThatSamplesAreTransposed) {
  expect_error(ErrorKind::kShape,
               "samples of shape [8, 9, 16] do not fit the expected shape [16, 8, 9]: channels "
               "last where channels first are expected; transpose the samples",
               [] {
                 adapt({{8, 9, 16}}, {{16, 8, 9}});
               });
  expect_error(ErrorKind::kShape, "channels first where channels last are expected", [] {
    adapt({{16, 8, 9}}, {{8, 9, 16}});
  });
}

TEST(Dataset, NamesTheSampleThatIsNotFinite) {
  std::vector<float> numbers = iota(6);
  numbers[5] = std::numeric_limits<float>::quiet_NaN();
  const Dataset nan("data", 3, make_inputs({{2}}, numbers), {}, {});
  EXPECT_EQ(read_samples(nan, 0, 0, 2).size(), 4u);
  expect_error(ErrorKind::kFormat, "data: sample 2: expected finite numbers, found NaN",
               [&] { read_samples(nan, 0, 1, 2); });
  numbers[5] = -std::numeric_limits<float>::infinity();
  const Dataset infinite("data", 3, make_inputs({{2}}, numbers), {}, {});
  expect_error(ErrorKind::kFormat, "data: sample 2: expected finite numbers, found infinity",
               [&] { read_samples(infinite, 0, 0, 3); });
}

TEST(HoldOut, TakesEveryFourthSample) {
  const Dataset all = make_dataset({{2}, kPlain}, 6, {10, 11, 12, 13, 14, 15});
  const HeldOut parts = hold_out(all, 4);
  ASSERT_EQ(parts.judged.size(), 1U);
  EXPECT_EQ(parts.judged.label(0), 13);
  ASSERT_EQ(parts.fit.size(), 5U);
  std::vector<float> values(6);
  parts.fit.read(0, 1, 3, {{2}, kPlain}, values);
  EXPECT_EQ(values, (std::vector<float>{2, 3, 4, 5, 8, 9}));
  EXPECT_EQ(parts.fit.label(3), 14);
  values.resize(2);
  parts.judged.read(0, 0, 1, {{2}, kPlain}, values);
  EXPECT_EQ(values, (std::vector<float>{6, 7}));
}

TEST(HoldOut, HoldsOutTheLastOfFewSamples) {
  const HeldOut parts = hold_out(make_dataset({{1}, kPlain}, 2), 4);
  EXPECT_EQ(parts.fit.size(), 1U);
  EXPECT_EQ(parts.judged.size(), 1U);
  halftone::expect_error(ErrorKind::kUsage, "one sample cannot be divided", [] {
    (void)hold_out(make_dataset({{1}, kPlain}, 1), 4);
  });
}

}  // namespace
}  // namespace halftone::data
