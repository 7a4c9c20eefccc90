// SPDX-License-Identifier: Apache-2.0
// Samples of several sizes, for networks whose extents are open.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/accel/explore/testing.h"
#include "halftone/api/evaluate.h"
#include "halftone/api/explore.h"
#include "halftone/api/model_report.h"
#include "halftone/api/open_form.h"
#include "halftone/api/quantize.h"
#include "halftone/api/recipe.h"
#include "halftone/api/run.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/api/sensitivity.h"
#include "halftone/base/testing.h"
#include "halftone/data/hold_out.h"
#include "halftone/data/open_dataset.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/test_data.h"
#include "halftone/ir/testing.h"

namespace halftone {
namespace {

using ir::Dim;
using ir::kBatch;

constexpr std::size_t kClasses = 4;

ir::Window window_of(Dim taps, Dim stride) {
  ir::Window window = ir::plain_window(2);
  window.strides = {stride, stride};
  window.pads_before = window.pads_after = {taps / 2, taps / 2};
  return window;
}

/// A classifier of images [N, H, W, 2]: two convolutions, the rows of the second as one axis and
/// back, the mean over the image.
Network classifier(Dim rows, Dim cols, Dim taps = 3, Dim stride = 2) {
  ir::Graph graph;
  Random random(5);
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, rows, cols, 2}));
  const auto w =
      graph.add_constant("w", ir::test::uniform_tensor({8, taps, taps, 2}, random, -1, 1));
  const ir::Activation relu{ir::ActivationKind::kRelu};
  const auto y = graph.add_node("first", ir::Conv{window_of(taps, stride), 1, relu}, {x, w});
  const auto v = graph.add_constant("v", ir::test::uniform_tensor({4, 1, 1, 8}, random, -1, 1));
  const auto z = graph.add_node("second", ir::Conv{window_of(1, 1), 1, {}}, {y, v});
  const ir::Shape shape = graph.value(z).type.shape;
  const ir::Dim all = ir::dim_of(ir::extent_of(shape[1]) * ir::extent_of(shape[2]));
  const auto flat = graph.add_node("flat", ir::Reshape{{kBatch, all, 4}}, {z});
  graph.add_output(graph.add_node("mean", ir::Reduce{ir::ReduceKind::kMean, {1}, false}, {flat}));
  return Network(std::move(graph), "images");
}

Dim extent_named(const char* name) { return ir::dim_of(ir::Extent::symbol(name)); }
Network open_classifier() { return classifier(extent_named("H"), extent_named("W")); }

std::vector<float> pixels(std::size_t count, std::uint64_t seed) {
  std::vector<float> values(count);
  Random random(seed);
  for (float& x : values) x = static_cast<float>(random.normal());
  return values;
}

data::Dataset images(std::vector<std::size_t> shape, std::span<const float> values) {
  const auto bytes = std::as_bytes(values);
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < shape[0]; ++i) {
    labels.push_back(static_cast<std::int64_t>(i % kClasses));
  }
  return data::dataset_from_arrays("images",
                                   {{.input = "",
                                     .type = data::Scalar::kFloat32,
                                     .shape = std::move(shape),
                                     .bytes = own_bytes({bytes.begin(), bytes.end()})}},
                                   labels);
}

data::Dataset images(std::size_t count, std::size_t rows, std::size_t cols) {
  return images({count, rows, cols, 2}, pixels(count * rows * cols * 2, rows));
}

std::vector<data::Dataset> three_sizes() {
  return {images(20, 8, 6), images(30, 5, 9), images(10, 12, 12)};
}

data::Dataset several_sizes() {
  return data::Dataset::joined("several", three_sizes(), std::nullopt);
}

compress::Recipe bits(int weights, int activations) {
  return load_recipe({}, {{.weight_bits = weights, .activation_bits = activations}});
}

TEST(SampleSizes, AreEvaluatedAsEachByItself) {
  const Network reference = open_classifier();
  const Network network(quantize(reference, several_sizes(), bits(2, 2)).graph);
  double right = 0;
  double reference_right = 0;
  double agreed = 0;
  for (const data::Dataset& each : three_sizes()) {
    const compress::Evaluation found = evaluate(network, each, &reference);
    const auto count = static_cast<double>(each.size());
    right += found.value * count;
    reference_right += *found.reference->value * count;
    agreed += found.reference->agreement * count;
  }
  const compress::Evaluation all = evaluate(network, several_sizes(), &reference);
  EXPECT_EQ(all.samples, 60U);
  constexpr double kTwoRoundings = 60 * 0x1p-52;  // of a quotient and of its product with 60
  EXPECT_NEAR(all.value * 60, right, kTwoRoundings);
  EXPECT_NEAR(*all.reference->value * 60, reference_right, kTwoRoundings);
  EXPECT_NEAR(all.reference->agreement * 60, agreed, kTwoRoundings);
}

TEST(SampleSizes, AreFittedTogetherForAnyNumberOfDevices) {
  for (const auto& [weights, activations, least_db] :
       {std::tuple{4, 8, 20.0}, std::tuple{2, 2, 5.0}}) {
    const auto fit = [w = weights, a = activations](std::size_t devices) {
      compress::QuantizeSettings options;
      options.devices = spmd::Devices::emulate(devices);
      return quantize(open_classifier(), several_sizes(), bits(w, a), options);
    };
    const Network network(fit(1).graph);
    EXPECT_TRUE(is_open(network));
    EXPECT_EQ(to_bytes(network, "onnx").bytes.size(),
              to_bytes(Network(fit(3).graph), "onnx").bytes.size());
    EXPECT_TRUE(std::ranges::equal(to_bytes(network, "onnx").bytes,
                                   to_bytes(Network(fit(3).graph), "onnx").bytes));
    const Network reference = open_classifier();
    for (const data::Dataset& each : three_sizes()) {
      EXPECT_GT(evaluate(network, each, &reference).reference->sqnr_db, least_db);
    }
  }
}

/// Layers of one tap see pixels, however these lie in images: the same pixels as images of one size
/// have the same statistics, but for the order of sums.
TEST(SampleSizes, HaveTheStatisticsOfTheirPixels) {
  const std::vector<float> all = pixels(std::size_t{96} * 24 * 2, 3);
  const std::span<const float> values(all);
  const std::size_t third = values.size() / 3;
  const std::vector<data::Dataset> pieces{images({32, 4, 6, 2}, values.first(third)),
                                          images({64, 2, 6, 2}, values.subspan(third, third)),
                                          images({16, 6, 8, 2}, values.subspan(2 * third))};
  const data::Dataset mixed = data::Dataset::joined("mixed", pieces, std::nullopt);
  ASSERT_EQ(mixed.parts().size(), 3U);
  const data::Dataset same = images({96, 4, 6, 2}, values);
  const auto pixelwise = [] { return classifier(extent_named("H"), extent_named("W"), 1, 1); };
  const Network a(quantize(pixelwise(), mixed, bits(2, 4)).graph);
  const Network b(quantize(pixelwise(), same, bits(2, 4)).graph);
  const compress::Evaluation found = evaluate(a, same, &b);
  EXPECT_EQ(found.reference->agreement, 1);
  EXPECT_GT(found.reference->sqnr_db, 60);
}

TEST(SampleSizes, HaveASensitivity) {
  SensitivitySettings settings;
  settings.choices = {compress::LayerChoice{}};
  const compress::Sensitivity found = sensitivity(open_classifier(), several_sizes(), settings);
  EXPECT_EQ(found.samples, 60U);
  EXPECT_EQ(found.layers.size(), 2U);
}

TEST(SampleSizes, AreReported) {
  const Network reference = open_classifier();
  const Network network(quantize(reference, several_sizes(), bits(2, 2)).graph);
  const data::Dataset data = several_sizes();
  const ModelReport report = report_model({network, &reference}, &data, {});
  EXPECT_THAT(report.missing, testing::IsEmpty());
  EXPECT_EQ(report.num_samples, 60U);
  const compress::Evaluation found = evaluate(network, data, &reference);
  EXPECT_EQ(report.model.evaluation->value, found.value);
  EXPECT_EQ(report.model.evaluation->reference->agreement, found.reference->agreement);
  EXPECT_EQ(report.model.nodes[0].type, "float32[N, 5, 9, 2]") << "of the most samples";
  ASSERT_TRUE(report.model.causes);
  EXPECT_EQ(report.model.causes->num_samples, 60U);
  // Errors of the layers in each size, weighted by their elements; the last layer is the output but
  // for its mean.
  ASSERT_EQ(report.model.layers.size(), 2U);
  for (const LayerFigures& layer : report.model.layers) {
    ASSERT_TRUE(layer.error && layer.inputs && layer.loss);
    EXPECT_GT(layer.error->sqnr_db, 0);
  }
  const data::Dataset one = images(30, 5, 9);
  EXPECT_NE(report_model({network, &reference}, &one, {}).model.layers[0].error->sqnr_db,
            report.model.layers[0].error->sqnr_db);
  EXPECT_EQ(sensitivity_of(network, reference, data).samples, 60U);
}

TEST(SampleSizes, AreExplored) {
  const data::Dataset data = several_sizes();
  ExploreSettings settings{.space = space_of(accel::test::space_of_arrays("2, 8"))};
  settings.options.budget.accuracy_drop = 1;
  settings.tries = 1;
  const ExploreReport found = explore(open_classifier(), {data}, settings);
  EXPECT_EQ(found.fit_samples + found.judged_samples, 60U);
  EXPECT_EQ(found.sensitivities.samples, found.judged_samples);
  ASSERT_EQ(found.verified.size(), 1U);
  // The loss that was measured is that of all sizes.
  const data::HeldOut parts = data::hold_out(data, 4);
  const Network chosen(
      quantize(open_classifier(), parts.fit, compress::parse_recipe(found.recipe, "found")).graph);
  const Network reference = open_classifier();
  const compress::Evaluation all = evaluate(chosen, parts.judged, &reference);
  constexpr double kDropRounding = 60 * 0x1p-52;
  EXPECT_NEAR(found.verified[0].measured_drop, *all.reference->value - all.value, kDropRounding);
}

TEST(SampleSizes, ThatDoNotFitAreNamed) {
  const std::vector<data::Dataset> pieces{images(4, 8, 6), images(3, 5, 9)};
  const data::Dataset two = data::Dataset::joined("two", pieces, std::nullopt);
  // A file with numbers.
  expect_error(ErrorKind::kShape,
               "sample 4: two: network input 'x': samples of shape [5, 9, 2] do "
               "not fit the expected shape [8, 6, 2]",
               [&] { quantize(classifier(8, 6), two, bits(2, 2)); });
  expect_error(ErrorKind::kShape, "sample 4: images: two: network input 'x'",
               [&] { evaluate(classifier(8, 6), two, nullptr); });
  // A file with one number.
  expect_error(ErrorKind::kShape,
               "sample 4: images: samples [5, 9, 2] of two do not fit input 'x' "
               "float32[N, H, 6, 2]",
               [&] { quantize(classifier(extent_named("H"), 6), two, bits(2, 2)); });
  // Work that takes one size.
  expect_error(ErrorKind::kShape,
               "two: expected samples of one size, found [8, 6, 2] in sample 0 and [5, 9, 2] in "
               "sample 4",
               [&] { (void)with_samples(open_classifier(), two); });
}

}  // namespace
}  // namespace halftone
