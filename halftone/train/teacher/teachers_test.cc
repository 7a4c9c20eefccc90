// SPDX-License-Identifier: Apache-2.0
// Training with several teachers: their mean, and teachers with other input shapes.
#include "halftone/train/teacher/teachers.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {
namespace {

constexpr std::size_t kTaughtSamples = 64;

data::Dataset samples_of(const std::vector<std::size_t>& extents,
                         const std::vector<std::int64_t>& labels = {}) {
  Random random(3);
  std::vector<std::size_t> shape{kTaughtSamples};
  shape.insert(shape.end(), extents.begin(), extents.end());
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(random.normal());
  std::optional<SharedBytes> y;
  if (!labels.empty()) {
    y = own_bytes(
        data::npy_bytes(data::make_npy(std::span<const std::int64_t>(labels), {kTaughtSamples})));
  }
  const auto array = data::make_npy(std::span<const float>(x), shape);
  return data::dataset_from_npy("samples", own_bytes(data::npy_bytes(array)), y, {});
}

LearnOptions one_epoch() {
  LearnOptions options;
  options.batch = kTaughtSamples;
  return options;
}

using Rows = std::vector<std::vector<double>>;

Rows scores_of(const ir::Graph& graph, const data::Dataset& data, std::size_t classes) {
  std::vector<float> x(kTaughtSamples * 10);
  data.read(0, 0, kTaughtSamples, x);
  const auto scores = ir::test::run_reference(
      graph, ir::test::list(ir::test::floats({static_cast<ir::Dim>(kTaughtSamples), 10}, x)));
  Rows rows(kTaughtSamples);
  for (std::size_t s = 0; s < kTaughtSamples; ++s) {
    const auto row = scores[0].as<float>().subspan(classes * s, classes);
    rows[s].assign(row.begin(), row.end());
  }
  return rows;
}

std::vector<double> softmax(const std::vector<double>& scores, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (const double x : scores) sum += p.emplace_back(std::exp(x / temperature));
  for (double& x : p) x /= sum;
  return p;
}

std::size_t answer(const std::vector<double>& scores) {
  return static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
}

TEST(Teachers, SoftenedAnswersAreAveraged) {
  const std::vector<ir::Graph> teachers{compress::perceptron(10, 8, 4, 1),
                                        compress::perceptron(10, 12, 4, 2),
                                        compress::perceptron(10, 6, 4, 3)};
  const ir::Graph student = compress::perceptron(10, 5, 4, 4);
  std::vector<std::int64_t> labels;
  for (std::size_t s = 0; s < kTaughtSamples; ++s)
    labels.push_back(static_cast<std::int64_t>(s % 4));
  const data::Dataset data = samples_of({10}, labels);
  LearnOptions options = one_epoch();
  options.loss = {.label_weight = 0.3, .temperature = 2};
  const EpochResult found =
      train(student, nullptr, {teachers, data}, {.normalises = false}, options).epochs[0];

  std::vector<Rows> t;
  for (const ir::Graph& teacher : teachers) t.push_back(scores_of(teacher, data, 4));
  const Rows scores = scores_of(student, data, 4);
  double loss = 0;
  double agreed = 0;
  for (std::size_t s = 0; s < kTaughtSamples; ++s) {
    std::vector<double> p(4);
    for (const Rows& rows : t) {
      const std::vector<double> each = softmax(rows[s], 2);
      for (std::size_t c = 0; c < 4; ++c) p[c] += each[c] / 3;
    }
    const std::vector<double> q = softmax(scores[s], 2);
    double divergence = 0;
    for (std::size_t c = 0; c < 4; ++c) divergence += p[c] * std::log(p[c] / q[c]);
    loss += -0.3 * std::log(softmax(scores[s], 1)[s % 4]) + 0.7 * 4 * divergence;
    agreed += answer(p) == answer(scores[s]) ? 1 : 0;
  }
  EXPECT_NEAR(found.loss, loss / kTaughtSamples, 1e-5);
  EXPECT_EQ(found.agreement, agreed / kTaughtSamples);
}

/// A network that takes images and converts them to rows, columns, channels before its layer.
ir::Graph layer_on(const ir::Shape& input, const std::vector<std::size_t>& channels_last = {}) {
  Random random(5);
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, input));
  ir::Dim count = 1;
  for (std::size_t i = 1; i < input.rank(); ++i) count *= input[i];
  if (!channels_last.empty()) x = graph.add_node("moved", ir::Transpose{channels_last}, {x});
  if (input.rank() > 2) x = graph.add_node("flat", ir::Reshape{{ir::kBatch, count}}, {x});
  graph.add_output(
      compress::add_layer(graph, "answer", x, ir::test::random_tensor({3, count}, random), random));
  return graph;
}

TEST(Teachers, SeeTheSameMovedImagesInShapesOfTheirOwn) {
  using ir::kBatch;
  struct Case {
    std::vector<std::size_t> data;
    ir::Graph student;
    ir::Graph teacher;
  };
  const ir::Graph flat = layer_on({kBatch, 30});
  const ir::Graph grey = layer_on({kBatch, 5, 6, 1});
  const ir::Graph first = layer_on({kBatch, 3, 5, 6}, {0, 2, 3, 1});
  const ir::Graph last = layer_on({kBatch, 5, 6, 3});
  LearnOptions options = one_epoch();
  options.augment = {.flip = true, .padding = 1};
  options.epochs = 2;  // each with another augmentation
  options.optimizer.rate = 1e-12;
  for (const Case& c : {Case{{5, 6}, grey, flat}, Case{{5, 6}, flat, grey}, Case{{30}, grey, flat},
                        Case{{5, 6}, grey, layer_on({kBatch, 5, 6})}, Case{{3, 5, 6}, first, last},
                        Case{{5, 6, 3}, first, last}, Case{{3, 5, 6}, last, first}}) {
    const data::Dataset data = samples_of(c.data);
    const TrainedGraph result =
        train(c.student, nullptr, {{c.student, c.teacher}, data}, {.normalises = false}, options);
    ASSERT_EQ(result.epochs.size(), 2U);
    for (const EpochResult& epoch : result.epochs) {
      EXPECT_NEAR(epoch.loss, 0, 1e-5);
      EXPECT_EQ(epoch.agreement, 1);
    }
  }
}

TEST(Teachers, RefuseByNumber) {
  const ir::Graph student = compress::perceptron(10, 5, 4, 4);
  const data::Dataset data = samples_of({10});
  const auto expect_refusal = [&](ErrorKind kind, const std::string& text,
                                  const std::vector<ir::Graph>& teachers) {
    expect_error(kind, text, [&] { train(student, nullptr, {teachers, data}, {}, one_epoch()); });
  };
  expect_refusal(ErrorKind::kShape, "teacher 2 has scores [N, 3], teacher 1 has [N, 4]",
                 {student, compress::perceptron(10, 5, 3, 1)});
  expect_refusal(ErrorKind::kShape, "teacher 2: samples: network input 'x': samples of shape [10]",
                 {student, compress::perceptron(12, 5, 4, 1)});
  const auto looking_up = [](const ir::ValueType& type) {
    Random random(1);
    ir::Graph graph;
    const auto x = graph.add_input("x", type);
    const auto numbers = graph.add_node("numbers", ir::Cast{ir::ElementType::kFloat32}, {x});
    graph.add_output(compress::add_layer(graph, "answer", numbers,
                                         ir::test::random_tensor({4, 10}, random), random));
    return graph;
  };
  expect_refusal(ErrorKind::kUnsupported, "teacher 1: input 'x': expected float32, found int64",
                 {looking_up(ir::dense_type(ir::ElementType::kInt64, {ir::kBatch, 10}))});
  expect_refusal(ErrorKind::kUnsupported, "teacher 1: expected a symbolic batch, found a",
                 {looking_up(ir::dense_type(ir::ElementType::kFloat32, {1, 10}))});
}

}  // namespace
}  // namespace halftone::train
