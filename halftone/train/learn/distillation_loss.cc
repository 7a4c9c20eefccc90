// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/learn/distillation_loss.h"

#include <ATen/ATen.h>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "halftone/base/error.h"

namespace halftone::train {

ir::Graph with_outputs(ir::Graph graph, std::span<const ir::ValueId> values) {
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  outputs.insert(outputs.end(), values.begin(), values.end());
  graph.set_outputs(std::move(outputs));
  return graph;
}

ir::Graph with_scores(ir::Graph graph) {
  ir::ValueId scores = graph.outputs()[0];
  if (const auto producer = graph.producer(scores)) {
    const ir::Node& node = graph.node(*producer);
    const auto* softmax = std::get_if<ir::Softmax>(&node.op);
    if (softmax != nullptr && softmax->beta == 1 && softmax->axis == 1) scores = node.inputs[0];
  }
  const ir::Value& value = graph.value(scores);
  if (value.type.shape.rank() != 2 || !value.type.is_dense(ir::ElementType::kFloat32)) {
    fail(ErrorKind::kShape, "output '" + value.name +
                                "': expected scores float32[N, classes], found " +
                                value.type.to_string());
  }
  return with_outputs(std::move(graph), std::array{scores});
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
