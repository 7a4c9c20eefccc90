// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/teacher/teacher.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/train/learn/distillation_loss.h"

namespace halftone::train {
namespace {

void check_inputs(const ir::Graph& graph) {
  for (const ir::ValueId id : graph.inputs()) {
    const ir::Value& input = graph.value(id);
    if (input.type.is_dense(ir::ElementType::kFloat32)) continue;
    fail(ErrorKind::kUnsupported,
         "input '" + input.name + "': expected float32, found " + input.type.to_string());
  }
  if (const auto batch = ir::fixed_batch(graph)) {
    fail(ErrorKind::kUnsupported,
         "expected a symbolic batch, found a fixed batch of " + std::to_string(*batch) +
             "; export the network with an open batch, or with one sample");
  }
}

/// The graph with the scores and the features as outputs.
ir::Graph answering(const ir::Graph& graph, std::span<const ir::ValueId> features) {
  ir::Graph result = with_scores(graph);
  std::vector<ir::ValueId> outputs{result.outputs().back()};
  outputs.insert(outputs.end(), features.begin(), features.end());
  result.set_outputs(std::move(outputs));
  result.remove_unused_nodes();
  return result;
}

/// The first samples in the output of a run.
at::Tensor first_samples(const ir::Tensor& output, std::size_t samples) {
  std::vector<std::int64_t> sizes(output.shape().dims().begin(), output.shape().dims().end());
  sizes[0] = static_cast<std::int64_t>(samples);
  at::Tensor result = at::empty(sizes, at::TensorOptions(at::kFloat));
  std::copy_n(output.as<float>().begin(), result.numel(), result.data_ptr<float>());
  return result;
}

}  // namespace

Teacher::Teacher(const ir::Graph& graph, const Batches& student, std::size_t run,
                 std::span<const ir::ValueId> features)
    : batches_(student.seen_by(graph)) {
  check_inputs(graph);
  ir::Graph answers = answering(graph, features);
  scores_ = answers.value(answers.outputs()[0]).type.shape;
  plan_ =
      runtime::make_plan(std::move(answers),
                         {.batch = run, .execution = {.float_order = runtime::FloatOrder::kFixed}});
}

Answers Teacher::answer(std::span<const std::size_t> samples, std::optional<std::size_t> epoch) {
  const std::vector<at::Tensor> inputs =
      epoch ? batches_.inputs(samples, *epoch) : batches_.plain_inputs(samples);
  std::unique_ptr<runtime::Session> session = take();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto numbers = session->input_as<float>(i);
    const auto end = std::copy_n(inputs[i].data_ptr<float>(), inputs[i].numel(), numbers.begin());
    std::fill(end, numbers.end(), 0.0F);
  }
  session->run();
  Answers answers;
  answers.scores = first_samples(session->output_tensor(0), samples.size()).flatten(1);
  for (std::size_t i = 1; i < plan_->graph().outputs().size(); ++i) {
    answers.features.push_back(first_samples(session->output_tensor(i), samples.size()));
  }
  give_back(std::move(session));
  return answers;
}

std::unique_ptr<runtime::Session> Teacher::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return std::make_unique<runtime::Session>(plan_);
  std::unique_ptr<runtime::Session> session = std::move(free_.back());
  free_.pop_back();
  return session;
}

void Teacher::give_back(std::unique_ptr<runtime::Session> session) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(session));
}

}  // namespace halftone::train
