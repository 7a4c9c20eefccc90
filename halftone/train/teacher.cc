// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "halftone/train/scores.h"

namespace halftone::train {

Teacher::Teacher(const ir::Graph& graph, std::size_t samples) {
  ir::Graph scores = with_scores(graph);
  scores.set_outputs({scores.outputs().back()});
  scores.remove_unused_nodes();
  plan_ = runtime::make_plan(std::move(scores), {.batch = samples});
}

std::int64_t Teacher::classes() const {
  return plan_->graph().value(plan_->graph().outputs()[0]).type.shape[1];
}

at::Tensor Teacher::scores(std::span<const at::Tensor> inputs) {
  std::unique_ptr<runtime::Session> session = take();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto numbers = session->input_as<float>(i);
    std::copy_n(inputs[i].data_ptr<float>(), numbers.size(), numbers.begin());
  }
  session->run();
  const ir::Tensor scores = session->output_tensor(0);
  at::Tensor result = at::empty({inputs[0].size(0), classes()}, at::TensorOptions(at::kFloat));
  std::ranges::copy(scores.as<float>(), result.data_ptr<float>());
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(session));
  return result;
}

std::unique_ptr<runtime::Session> Teacher::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<runtime::Session>(plan_);
  std::unique_ptr<runtime::Session> session = std::move(free_.back());
  free_.pop_back();
  return session;
}

}  // namespace halftone::train
