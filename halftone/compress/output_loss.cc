// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/output_loss.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/compress/evaluate.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {
namespace {

constexpr std::array<std::pair<LossKind, std::string_view>, 3> kLossNames{{
    {LossKind::kDivergence, "kl"},
    {LossKind::kError, "error"},
    {LossKind::kLabels, "labels"},
}};

/// The node that computes a value if it is an Op; otherwise null.
template <typename Op>
const ir::Node* computed_by_a(const ir::Graph& graph, ir::ValueId id) {
  const auto producer = graph.producer(id);
  if (!producer || !std::holds_alternative<Op>(graph.node(*producer).op)) return nullptr;
  return &graph.node(*producer);
}

/// The least probability that counts, if the first output holds probabilities. Those that are
/// rounded to integers count as half a step where they become zero.
std::optional<double> least_probability(const ir::Graph& graph) {
  ir::ValueId scores = graph.outputs()[0];
  double least = std::numeric_limits<float>::min();
  if (const ir::Node* floats = computed_by_a<ir::DequantizeLinear>(graph, scores)) {
    const ir::Node* codes = computed_by_a<ir::QuantizeLinear>(graph, floats->inputs[0]);
    if (codes == nullptr) return std::nullopt;
    least = std::get<ir::DequantizeLinear>(floats->op).parameters.scales[0] / 2.0;
    scores = codes->inputs[0];
  }
  const ir::Node* softmax = computed_by_a<ir::Softmax>(graph, scores);
  if (softmax == nullptr || std::get<ir::Softmax>(softmax->op).log) return std::nullopt;
  return least;
}

}  // namespace

std::string_view to_string(LossKind kind) {
  return std::ranges::find(kLossNames, kind, &decltype(kLossNames)::value_type::first)->second;
}

LossKind loss_named(std::string_view name) {
  for (const auto& [kind, known] : kLossNames) {
    if (known == name) return kind;
  }
  fail(ErrorKind::kUsage, "loss: expected kl, error or labels, found '" + std::string(name) + "'");
}

LossKind default_loss(const ir::Graph& graph, const data::Dataset& data) {
  const ir::Shape& shape = graph.value(graph.outputs()[0]).type.shape;
  const bool has_row = shape.rank() == 2 && shape[1] != ir::kBatch && shape[1] > 1;
  return has_row && (data.has_labels() || least_probability(graph)) ? LossKind::kDivergence
                                                                    : LossKind::kError;
}

std::size_t scores_per_sample(const ir::Graph& graph, std::size_t fixed_batch,
                              const std::string& what) {
  const ir::Value& output = graph.value(graph.outputs()[0]);
  const ir::Shape& shape = output.type.shape;
  const std::size_t samples = shape.is_static() ? fixed_batch : 1;
  const std::size_t elements = shape.with_batch(1).element_count();
  const bool usable = shape.rank() >= 1 && elements % samples == 0 &&
                      output.type.encoding.element == ir::ElementType::kFloat32;
  const std::size_t count = usable ? elements / samples : 0;
  if (count == 0) {
    fail(ErrorKind::kShape, what + ": output '" + output.name +
                                "': expected float32 scores for every sample, found " +
                                output.type.to_string());
  }
  return count;
}

OutputLoss::OutputLoss(const ir::Graph& graph, const data::Dataset& data, LossKind kind,
                       std::size_t scores)
    : data_(data), kind_(kind), scores_(scores), least_probability_(least_probability(graph)) {
  const ir::Value& output = graph.value(graph.outputs()[0]);
  const ir::Dim last = output.type.shape.back();
  const bool has_row = last > 0 && scores % static_cast<std::size_t>(last) == 0;
  classes_ = has_row ? static_cast<std::size_t>(last) : scores;
  if (kind == LossKind::kError) return;
  if (classes_ < 2) {
    fail(ErrorKind::kShape, "loss " + std::string(to_string(kind)) + ": output '" + output.name +
                                "': expected scores of two classes or more, found " +
                                output.type.to_string() + "; use the loss error");
  }
  if (kind == LossKind::kLabels && (!data.has_labels() || classes_ != scores)) {
    fail(ErrorKind::kUsage,
         "loss labels: expected data with labels and a network with one row of scores for each "
         "sample; use the loss kl or error");
  }
}

void OutputLoss::allow_rounding_of(const ir::Graph& network) {
  if (!least_probability_) return;
  const ir::Node* floats = computed_by_a<ir::DequantizeLinear>(network, network.outputs()[0]);
  if (floats == nullptr) return;
  const float step = std::get<ir::DequantizeLinear>(floats->op).parameters.scales[0];
  least_probability_ = std::max(*least_probability_, step / 2.0);
}

void OutputLoss::log_probabilities(std::span<const float> scores, std::span<double> result) const {
  if (least_probability_) {
    std::ranges::transform(scores, result.begin(), [this](float p) {
      return elementary::log(std::max<double>(p, *least_probability_));
    });
    return;
  }
  const double high = *std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += elementary::exp(score - high);
  const double log_sum = high + elementary::log(sum);
  std::ranges::transform(scores, result.begin(), [&](float score) { return score - log_sum; });
}

std::size_t OutputLoss::label(std::size_t sample) const {
  const std::int64_t label = data_.label(sample);
  // A single score tells two classes apart.
  const auto classes = static_cast<std::int64_t>(std::max<std::size_t>(scores_, 2));
  if (label < 0 || label >= classes) {
    fail(ErrorKind::kFormat, data_.name() + ": label of sample " +
                                 std::to_string(data_.origin(sample)) + ": expected 0 to " +
                                 std::to_string(classes - 1) + ", found " + std::to_string(label));
  }
  return static_cast<std::size_t>(label);
}

LossSum OutputLoss::of(std::size_t sample, std::span<const float> reference,
                       std::span<const float> scores) const {
  if (kind_ == LossKind::kError) {
    numerics::Distortion distortion;
    distortion.add(reference, scores);
    return {distortion.noise(), distortion.signal()};
  }
  LossSum sum;
  std::vector<double> p(classes_);
  std::vector<double> q(classes_);
  for (std::size_t row = 0; row < reference.size(); row += classes_) {
    log_probabilities(reference.subspan(row, classes_), p);
    log_probabilities(scores.subspan(row, classes_), q);
    sum.weight += 1;
    if (kind_ == LossKind::kLabels) {
      sum.loss += p[label(sample)] - q[label(sample)];
      continue;
    }
    for (std::size_t c = 0; c < classes_; ++c) {
      sum.loss += elementary::exp(p[c]) * (p[c] - q[c]);
    }
  }
  return sum;
}

int OutputLoss::answers_lost(std::size_t sample, std::span<const float> reference,
                             std::span<const float> scores) const {
  const std::int64_t found = predicted_class(scores);
  const std::int64_t expected = predicted_class(reference);
  const std::int64_t right =
      data_.has_labels() ? static_cast<std::int64_t>(label(sample)) : expected;
  return (expected == right ? 1 : 0) - (found == right ? 1 : 0);
}

void OutputLoss::draw_gradient(std::span<const float> reference, Random& random,
                               std::span<float> gradient) const {
  const auto sign = [&] { return random.below(2) == 0 ? -1.0 : 1.0; };
  if (kind_ == LossKind::kError) {
    for (float& g : gradient) g = static_cast<float>(sign());
    return;
  }
  std::vector<double> roots(classes_);
  std::vector<double> signs(classes_);
  for (std::size_t row = 0; row < reference.size(); row += classes_) {
    log_probabilities(reference.subspan(row, classes_), roots);
    double sum = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      roots[c] = elementary::exp(roots[c] / 2);
      signs[c] = sign();
      sum += roots[c] * signs[c];
    }
    for (std::size_t c = 0; c < classes_; ++c) {
      gradient[row + c] = static_cast<float>(
          least_probability_ ? signs[c] / roots[c] : roots[c] * (signs[c] - roots[c] * sum));
    }
  }
}

}  // namespace halftone::compress
