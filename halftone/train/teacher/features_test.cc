// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/features.h"

#include <ATen/ATen.h>

#include "halftone/base/testing.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/train/run/check_training.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {
namespace {

TEST(FeatureMatch, IsReadFromText) {
  const auto expect_match = [](const std::string& text, const FeatureMatch& wanted) {
    const FeatureMatch found = parse_feature_match(text);
    EXPECT_EQ(found.teacher, wanted.teacher) << text;
    EXPECT_EQ(found.student, wanted.student) << text;
    EXPECT_EQ(found.weight, wanted.weight) << text;
  };
  expect_match("a=b", {"a", "b", 1});
  expect_match("a=b:0.25", {"a", "b", 0.25});
  expect_match("a:0=b:0:1", {"a:0", "b:0", 1});
  expect_match("a=b:out", {"a", "b:out", 1});
  expect_match("a=b:", {"a", "b:", 1});
  for (const std::string text : {"", "a", "=", "=b", "a=", "a=:2"}) {
    expect_error(ErrorKind::kUsage, "expected TEACHER_VALUE=STUDENT_VALUE",
                 [&] { parse_feature_match(text); });
  }
}

TEST(FindFeatures, GoesByNamesOfValuesAndNodes) {
  ir::Graph graph = compress::perceptron(4, 3, 2, 1);
  const ir::ValueId hidden = graph.node(*graph.producer(graph.outputs()[0])).inputs[0];
  graph.rename(hidden, "hidden/tanh");
  for (const std::string name : {"first", "hidden/tanh"}) {
    const FeatureValues values =
        find_features(graph, graph, std::vector<FeatureMatch>{{name, name}});
    EXPECT_EQ(values.teacher, std::vector{hidden});
    EXPECT_EQ(values.student, std::vector{hidden});
  }
}

TEST(FindFeatures, KnowsANetworkInFewBitsByTheNamesItHad) {
  const ir::Graph graph = compress::perceptron(4, 3, 2, 1);
  compress::Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  const ir::Graph student =
      compress::quantize(graph, compress::random_dataset(20, 4, 1), recipe, {}).graph;
  const FeatureValues values =
      find_features(graph, student, std::vector<FeatureMatch>{{"first", "first"}});
  const ir::Node& layer = student.node(*student.producer(values.student[0]));
  EXPECT_TRUE(std::holds_alternative<ir::FullyConnected>(layer.op));
}

TEST(FindFeatures, RefusesWhatCannotBeMatched) {
  const ir::Graph graph = compress::perceptron(4, 3, 2, 1);
  const auto expect_refusal = [&](ErrorKind kind, const std::string& text,
                                  const FeatureMatch& match) {
    expect_error(kind, text, [&] { find_features(graph, graph, std::vector{match}); });
  };
  expect_refusal(ErrorKind::kUsage,
                 "the teacher has no value or node 'fist'; similar names: 'first', 'second'",
                 {"fist", "first"});
  expect_refusal(ErrorKind::kUsage, "the student has no value or node 'x'", {"first", "x"});
  expect_refusal(ErrorKind::kUsage, "expected a weight above 0", {"first", "first", 0});
  expect_refusal(ErrorKind::kShape,
                 "expected values of one shape [N, ...], found float32[N, 3] and float32[N, 2]",
                 {"first", "second"});
}

TEST(FeatureLoss, IsItsDefinition) {
  const auto numbers = [](std::vector<float> values, at::IntArrayRef sizes) {
    return at::tensor(values).reshape(sizes);
  };
  const std::vector student{numbers({1, 2, 3, 4, 5, 6}, {2, 3}), numbers({1, 1}, {2, 1, 1})};
  const std::vector teacher{numbers({1, 0, 3, 4, 5, 9}, {2, 3}), numbers({0, -2}, {2, 1, 1})};
  const std::vector<FeatureMatch> matches{{"", "", 3}, {"", "", 0.5}};
  EXPECT_EQ(feature_loss(student, teacher, matches).item<float>(),
            3.0F * (4 + 9) / 3 + 0.5F * (1 + 9));
  EXPECT_EQ(feature_loss({}, {}, {}).item<float>(), 0);
}

/// [N, 4, 5, 2] - convolution - flat - 3.
ir::Graph convolution(std::uint64_t seed) {
  Random random(seed);
  ir::Graph graph;
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 4, 5, 2}));
  const auto filters =
      graph.add_constant("filters", compress::random_tensor({3, 2, 2, 2}, random, 0.3F));
  const auto maps = graph.add_node(
      "maps", ir::Conv{ir::plain_window(2), 1, {ir::ActivationKind::kTanh, 0, 0}}, {x, filters});
  const auto flat = graph.add_node("flat", ir::Reshape{{ir::kBatch, 36}}, {maps});
  graph.add_output(compress::add_layer(graph, "answer", flat,
                                       compress::random_tensor({3, 36}, random, 0.3F), random));
  return graph;
}

data::Dataset images() {
  Random random(3);
  std::vector<float> x(std::size_t{64} * 40);
  for (float& value : x) value = static_cast<float>(random.normal());
  const auto array = data::make_npy(std::span<const float>(x), {64, 4, 5, 2});
  return data::dataset_from_npy("images", own_bytes(data::npy_bytes(array)), {}, {});
}

LearnOptions with_features() {
  LearnOptions options;
  options.epochs = 100;
  options.batch = 32;
  options.optimizer.rate = 0.03;
  options.features = {{"maps", "maps", 10}};
  return options;
}

TEST(Features, OfACopyDifferByNothing) {
  const ir::Graph teacher = convolution(1);
  const data::Dataset data = images();
  LearnOptions options = with_features();
  options.epochs = 1;
  options.batch = 64;  // in one step, before any update
  const TrainedGraph result = train(teacher, nullptr, {{teacher}, data}, {}, options);
  EXPECT_NEAR(result.epochs[0].loss, 0, 1e-6);
  EXPECT_EQ(result.graph.outputs().size(), 1U);
}

TEST(Features, ComeToBeAlike) {
  const ir::Graph teacher = convolution(1);
  const data::Dataset data = images();
  const auto distance = [&](const ir::Graph& graph) {
    LearnOptions options = with_features();
    options.epochs = 1;
    options.optimizer.rate = 1e-9;
    const double with = train(graph, nullptr, {{teacher}, data}, {}, options).epochs[0].loss;
    options.features.clear();
    return with - train(graph, nullptr, {{teacher}, data}, {}, options).epochs[0].loss;
  };
  const ir::Graph fresh = convolution(2);
  const ir::Graph taught = train(fresh, nullptr, {{teacher}, data}, {}, with_features()).graph;
  EXPECT_LT(distance(taught), distance(fresh) / 10);
}

TEST(Features, NeedATeacher) {
  LearnOptions options = with_features();
  options.loss.label_weight = 1;
  const data::Dataset data = compress::random_dataset(64, 40, 1, std::vector<std::int64_t>(64, 2));
  expect_error(ErrorKind::kUsage, "features need a teacher",
               [&] { check_training(options, data, 0); });
}

}  // namespace
}  // namespace halftone::train
