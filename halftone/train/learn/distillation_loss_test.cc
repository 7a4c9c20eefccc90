// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/distillation_loss.h"

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone::train {
namespace {

using testing::DoubleNear;

TEST(WithScores, LooksBehindASoftmax) {
  ir::Graph graph = compress::perceptron(4, 3, 2, 1);
  const ir::ValueId scores = graph.outputs()[0];
  EXPECT_EQ(with_scores(graph).outputs()[1], scores);
  const ir::ValueId softmax = graph.add_node("softmax", ir::Softmax{1}, {scores});
  graph.set_outputs({softmax});
  const ir::Graph both = with_scores(graph);
  ASSERT_EQ(both.outputs().size(), 2U);
  EXPECT_EQ(both.outputs()[0], softmax);
  EXPECT_EQ(both.outputs()[1], scores);
}

TEST(WithScores, FindsTheClassesOfPositions) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 3, 4, 5}));
  const auto first = graph.add_node("first", ir::Transpose{{0, 3, 1, 2}}, {x});
  graph.add_output(first);
  // A channels-first network ends with a transpose.
  EXPECT_EQ(with_scores(graph).outputs()[1], x);
  EXPECT_EQ(score_extents({ir::kBatch, 3, 4, 5}), (ScoreExtents{12, 5}));
  EXPECT_EQ(score_extents({ir::kBatch, 7}), (ScoreExtents{1, 7}));
  // The axis of a Softmax decides.
  const auto softmax = graph.add_node("softmax", ir::Softmax{1}, {x});
  graph.set_outputs({softmax});
  const ir::Graph moved = with_scores(graph);
  const ir::ValueId scores = moved.outputs()[1];
  EXPECT_EQ(moved.value(scores).type.shape, (ir::Shape{ir::kBatch, 4, 5, 3}));
  EXPECT_EQ(moved.node(*moved.producer(scores)).inputs[0], x);
}

TEST(WithScores, RefusesWhatHasNoScores) {
  for (const ir::ValueType& type :
       {ir::dense_type(ir::ElementType::kInt64, {ir::kBatch, 4}),
        ir::test::float_type({ir::kBatch}), ir::test::float_type({4, ir::kBatch})}) {
    ir::Graph graph;
    graph.add_output(graph.add_input("x", type));
    expect_error(ErrorKind::kShape, "output 'x': expected scores float32[N, ..., classes], found ",
                 [&] { with_scores(graph); });
  }
}

/// The loss of one sample, in float64.
double loss_of(const std::vector<double>& s, const std::vector<double>& t, std::size_t label,
               const LossOptions& options) {
  const auto softmax = [](const std::vector<double>& scores, double temperature) {
    std::vector<double> p;
    double sum = 0;
    for (const double x : scores) sum += p.emplace_back(std::exp(x / temperature));
    for (double& x : p) x /= sum;
    return p;
  };
  const double temperature = options.temperature;
  const auto p = softmax(t, temperature);
  const auto q = softmax(s, temperature);
  double divergence = 0;
  for (std::size_t i = 0; i < s.size(); ++i) divergence += p[i] * std::log(p[i] / q[i]);
  return -options.label_weight * std::log(softmax(s, 1)[label]) +
         (1 - options.label_weight) * temperature * temperature * divergence;
}

TEST(MeanAnswer, IsTheMeanOfSoftenedProbabilities) {
  const at::Tensor teachers =
      at::tensor(std::vector<double>{2, -1, 0, -1, 1, 1.5}).reshape({2, 1, 3});
  const at::Tensor mean = mean_answer(teachers, 3);
  ASSERT_EQ(mean.sizes(), (std::vector<std::int64_t>{1, 3}));
  const at::Tensor wanted = at::softmax(teachers / 3, 2).mean(0);
  EXPECT_LT((mean.exp() - wanted).abs().max().item<double>(), 1e-15);
  // Exact for one teacher.
  const at::Tensor one = at::tensor(std::vector<float>{100, -0.3F, 7}).reshape({1, 1, 3});
  EXPECT_TRUE(mean_answer(one, 2.5).equal(at::log_softmax(one / 2.5, 2)[0]));
}

TEST(DistillationLoss, IsItsDefinition) {
  const std::vector<std::vector<double>> s{{1, -2, 0.5}, {0.1, 0.2, 3}};
  const std::vector<std::vector<double>> t{{2, -1, 0}, {-1, 1, 1.5}};
  const std::vector<std::int64_t> labels{0, 1};
  const auto rows = [](const std::vector<std::vector<double>>& m) {
    at::Tensor result = at::empty({2, 3}, at::TensorOptions(at::kDouble));
    for (std::size_t r = 0; r < 2; ++r) std::ranges::copy(m[r], result.data_ptr<double>() + 3 * r);
    return result;
  };
  at::Tensor places = at::empty({2}, at::TensorOptions(at::kLong));
  std::ranges::copy(labels, places.data_ptr<std::int64_t>());
  for (const LossOptions& options :
       {LossOptions{0, 4}, LossOptions{1, 4}, LossOptions{0.3, 1}, LossOptions{0.7, 2.5}}) {
    const double wanted = loss_of(s[0], t[0], 0, options) + loss_of(s[1], t[1], 1, options);
    const at::Tensor taught = mean_answer(rows(t).unsqueeze(0), options.temperature);
    const double found = distillation_loss(rows(s), taught, places, options).item<double>();
    EXPECT_THAT(found, DoubleNear(wanted, 1e-12));
  }
  EXPECT_NO_THROW(distillation_loss(rows(s), {}, places, {1, 4}));
  EXPECT_NO_THROW(distillation_loss(rows(s), rows(t), {}, {0, 4}));
}

}  // namespace
}  // namespace halftone::train
