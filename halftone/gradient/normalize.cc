// SPDX-License-Identifier: Apache-2.0
// Operators that scale elements by a statistic of their neighbours, on a tape.
#include <cmath>

#include "halftone/base/elementary.h"
#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

/// Calls visit(at) for each line along an axis; at(i) is the index of its element i.
template <typename Visit>
void for_each_line(const ir::AxisView& axis, Visit&& visit) {
  for (std::size_t line = 0; line < axis.outer * axis.inner; ++line) {
    const std::size_t base = line / axis.inner * axis.extent * axis.inner + line % axis.inner;
    visit([base, inner = axis.inner](std::size_t i) { return base + i * inner; });
  }
}

/// Means over groups.
/// @param term  of an element
template <typename Term>
std::vector<float> group_means(std::span<const std::size_t> group, std::size_t num_groups,
                               Term&& term) {
  std::vector<double> sums(num_groups, 0);
  for (std::size_t i = 0; i < group.size(); ++i) sums[group[i]] += static_cast<double>(term(i));
  std::vector<float> means;
  const double count = static_cast<double>(group.size()) / static_cast<double>(num_groups);
  for (const double sum : sums) means.push_back(static_cast<float>(sum / count));
  return means;
}

TapeStep softmax_step(const StepContext& context, const ir::Softmax& op) {
  const ir::AxisView axis = ir::axis_view(context.output_shape(), op.axis);
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  return {definition_step(context).forward, [=] {
            if (dx.empty()) return;
            // With p the softmax: dx = beta p (dy - sum p dy), of its logarithm
            // beta (dy - p sum dy).
            for_each_line(axis, [&](auto at) {
              float sum = 0;
              for (std::size_t i = 0; i < axis.extent; ++i) {
                sum += op.log ? dy[at(i)] : y[at(i)] * dy[at(i)];
              }
              for (std::size_t i = 0; i < axis.extent; ++i) {
                const float p = op.log ? static_cast<float>(elementary::exp(y[at(i)])) : y[at(i)];
                dx[at(i)] += op.beta * (op.log ? dy[at(i)] - p * sum : p * (dy[at(i)] - sum));
              }
            });
          }};
}

TapeStep normalize_step(const StepContext& context, const ir::Normalize& op) {
  ir::Shape kept = context.input_shape(0);
  for (const std::size_t axis : op.axes) kept[axis] = 1;
  const std::size_t num_groups = kept.element_count();
  const auto group = broadcast_indices(kept, context.input_shape(0));
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  const bool centred = op.subtract_mean;
  const auto deviations = std::make_shared<std::vector<float>>();
  return {[=, epsilon = op.epsilon] {
            std::vector<float> centres(num_groups, 0);
            if (centred) {
              centres = group_means(group, num_groups, [&](std::size_t i) { return x[i]; });
            }
            for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] - centres[group[i]];
            *deviations =
                group_means(group, num_groups, [&](std::size_t i) { return y[i] * y[i]; });
            for (float& variance : *deviations) variance = std::sqrt(variance + epsilon);
            for (std::size_t i = 0; i < x.size(); ++i) y[i] /= (*deviations)[group[i]];
          },
          [=] {
            if (dx.empty()) return;
            // With s the deviation: dx = (dy - mean dy - y mean(y dy)) / s, without mean dy if the
            // mean is not subtracted.
            std::vector<float> means(num_groups, 0);
            if (centred) {
              means = group_means(group, num_groups, [&](std::size_t i) { return dy[i]; });
            }
            const std::vector<float> products =
                group_means(group, num_groups, [&](std::size_t i) { return y[i] * dy[i]; });
            for (std::size_t i = 0; i < dx.size(); ++i) {
              const std::size_t g = group[i];
              dx[i] += (dy[i] - means[g] - y[i] * products[g]) / (*deviations)[g];
            }
          }};
}

constexpr StepEntry kNormalizeSteps[] = {step_entry<ir::Softmax, softmax_step>(),
                                         step_entry<ir::Normalize, normalize_step>()};

}  // namespace

std::span<const StepEntry> normalize_steps() { return kNormalizeSteps; }

}  // namespace halftone::gradient
