// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/distillation_loss.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::train {

std::string_view to_string(LossKind kind) {
  switch (kind) {
    case LossKind::kAuto:
      return "auto";
    case LossKind::kProbabilities:
      return "kl";
    case LossKind::kSquaredError:
      return "mse";
  }
  return "unknown";
}

ir::Graph with_outputs(ir::Graph graph, std::span<const ir::ValueId> values) {
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  outputs.insert(outputs.end(), values.begin(), values.end());
  graph.set_outputs(std::move(outputs));
  return graph;
}

namespace {

/// The operator of a type that computes a value; null if another one does.
template <typename Op>
const Op* op_behind(const ir::Graph& graph, ir::ValueId value) {
  const auto producer = graph.producer(value);
  return producer ? std::get_if<Op>(&graph.node(*producer).op) : nullptr;
}

ir::ValueId input_behind(const ir::Graph& graph, ir::ValueId value) {
  return graph.node(*graph.producer(value)).inputs[0];
}

struct Scores {
  ir::ValueId value;
  std::size_t axis;  ///< of the classes
};

Scores scores_of(const ir::Graph& graph) {
  ir::ValueId value = graph.outputs()[0];
  const auto* moved = op_behind<ir::Transpose>(graph, value);
  if (moved != nullptr && moved->permutation[0] == 0) value = input_behind(graph, value);
  const auto* softmax = op_behind<ir::Softmax>(graph, value);
  if (softmax != nullptr && softmax->beta == 1 && softmax->axis > 0) {
    return {input_behind(graph, value), softmax->axis};
  }
  const std::size_t rank = graph.value(value).type.shape.rank();
  return {value, rank < 2 ? 1 : rank - 1};
}

void check_scores(const ir::Value& value) {
  const ir::Shape& shape = value.type.shape;
  const bool fits = shape.rank() >= 2 && value.type.is_dense(ir::ElementType::kFloat32) &&
                    std::ranges::count(shape.dims().subspan(1), ir::kBatch) == 0;
  if (fits) return;
  fail(ErrorKind::kShape, "output '" + value.name +
                              "': expected scores float32[N, ..., classes], found " +
                              value.type.to_string());
}

}  // namespace

ir::Graph with_scores(ir::Graph graph) {
  auto [scores, axis] = scores_of(graph);
  check_scores(graph.value(scores));
  std::vector<std::size_t> permutation(graph.value(scores).type.shape.rank());
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  const auto classes = permutation.begin() + static_cast<std::ptrdiff_t>(axis);
  if (classes + 1 != permutation.end()) {
    std::rotate(classes, classes + 1, permutation.end());
    scores = graph.add_node("scores", ir::Transpose{std::move(permutation)}, {scores});
  }
  return with_outputs(std::move(graph), std::array{scores});
}

ScoreExtents score_extents(const ir::Shape& scores) {
  ScoreExtents extents{1, scores.back()};
  for (const ir::Dim dim : scores.dims().subspan(1, scores.rank() - 2)) extents.positions *= dim;
  return extents;
}

at::Tensor squared_error_loss(const at::Tensor& student, const at::Tensor& teachers) {
  return (student - teachers.mean(0)).square().sum() / static_cast<double>(student.size(1));
}

at::Tensor mean_answer(const at::Tensor& teachers, double temperature) {
  const at::Tensor each = at::log_softmax(teachers / temperature, 2);
  return at::logsumexp(each, 0) - std::log(static_cast<double>(teachers.size(0)));
}

at::Tensor distillation_loss(const at::Tensor& student, const at::Tensor& taught,
                             const at::Tensor& labels, const LossOptions& options) {
  at::Tensor loss = at::zeros({}, student.options());
  if (options.label_weight > 0) {
    const at::Tensor log_q = at::log_softmax(student, 1);
    loss = loss - options.label_weight * log_q.gather(1, labels.unsqueeze(1)).sum();
  }
  if (options.label_weight < 1) {
    const double t = options.temperature;
    const at::Tensor log_q = at::log_softmax(student / t, 1);
    loss = loss + (1 - options.label_weight) * t * t * (taught.exp() * (taught - log_q)).sum();
  }
  return loss;
}

}  // namespace halftone::train
