// SPDX-License-Identifier: Apache-2.0
// Layers with weights on a tape: each is a product of unfolded inputs with the weights' matrix.
#include <algorithm>

#include "halftone/gradient/steps.h"
#include "halftone/ir/unfolding.h"

namespace halftone::gradient {
namespace {

/// One layer on one batch.
class LayerStep {
 public:
  LayerStep(const StepContext& context, const ir::Activation& activation)
      : context_(context),
        unfolding_(context.graph, context.node),
        activation_(activation),
        outputs_(ir::matrix_extent(context.input_shape(1)).rows),
        group_outputs_(outputs_ / unfolding_.num_groups()),
        cols_(unfolding_.num_cols()),
        samples_(context.inputs[0].size() / unfolding_.sample_elements()),
        rows_(samples_ * unfolding_.rows_per_sample()),
        unfolded_(unfolding_.num_groups() * rows_ * cols_) {
    if (!is_linear()) sums_.resize(rows_ * outputs_);
  }

  void forward() {
    for (std::size_t g = 0; g < unfolding_.num_groups(); ++g) {
      const std::size_t sample_rows = unfolding_.rows_per_sample();
      for (std::size_t n = 0; n < samples_; ++n) {
        unfolding_.gather(context_.inputs[0].data() + n * unfolding_.sample_elements(), g,
                          unfolded(g) + n * sample_rows * cols_);
      }
      matmul(unfolded_rows(g), transposed(weights(g)),
             MutableRows(sums().data() + g * group_outputs_, rows_, group_outputs_, outputs_));
    }
    const std::span<float> to = sums();
    const bool has_bias = context_.inputs.size() > 2 && !context_.inputs[2].empty();
    const bool has_residual = context_.inputs.size() > 3 && !context_.inputs[3].empty();
    for (std::size_t i = 0; has_bias && i < to.size(); ++i)
      to[i] += context_.inputs[2][i % outputs_];
    for (std::size_t i = 0; has_residual && i < to.size(); ++i) to[i] += context_.inputs[3][i];
    if (!is_linear()) apply_to(activation_, sums_, context_.output);
  }

  void backward() {
    if (!is_linear()) {
      sum_gradients_.assign(sums_.size(), 0.0F);
      add_slopes(activation_, sums_, context_.output_gradient, sum_gradients_);
    }
    const std::span<const float> from = sum_gradients();
    if (context_.inputs.size() > 2 && !context_.input_gradients[2].empty()) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        context_.input_gradients[2][i % outputs_] += from[i];
      }
    }
    if (context_.inputs.size() > 3 && !context_.input_gradients[3].empty()) {
      for (std::size_t i = 0; i < from.size(); ++i) context_.input_gradients[3][i] += from[i];
    }
    for (std::size_t g = 0; g < unfolding_.num_groups(); ++g) backward_group(g);
  }

 private:
  [[nodiscard]] bool is_linear() const { return activation_ == ir::Activation{}; }
  /// What the activation reads, [rows, outputs], and its gradient.
  [[nodiscard]] std::span<float> sums() { return is_linear() ? context_.output : sums_; }
  [[nodiscard]] std::span<const float> sum_gradients() const {
    return is_linear() ? context_.output_gradient : sum_gradients_;
  }
  [[nodiscard]] float* unfolded(std::size_t group) {
    return unfolded_.data() + group * rows_ * cols_;
  }
  [[nodiscard]] ConstRows unfolded_rows(std::size_t group) {
    return {unfolded(group), rows_, cols_, cols_};
  }
  [[nodiscard]] ConstRows weights(std::size_t group) const {
    return {context_.inputs[1].data() + group * group_outputs_ * cols_, group_outputs_, cols_,
            cols_};
  }

  /// Overwrites the unfolded inputs with their gradient.
  void backward_group(std::size_t g) {
    const ConstRows gradient(sum_gradients().data() + g * group_outputs_, rows_, group_outputs_,
                             outputs_);
    if (!context_.input_gradients[1].empty()) {
      float* to = context_.input_gradients[1].data() + g * group_outputs_ * cols_;
      matmul(transposed(gradient), unfolded_rows(g), MutableRows(to, group_outputs_, cols_, cols_),
             Update::kAdd);
    }
    if (context_.input_gradients[0].empty()) return;
    matmul(gradient, weights(g), MutableRows(unfolded(g), rows_, cols_, cols_));
    for (std::size_t n = 0; n < samples_; ++n) {
      unfolding_.scatter_add(unfolded(g) + n * unfolding_.rows_per_sample() * cols_, g,
                             context_.input_gradients[0].data() + n * unfolding_.sample_elements());
    }
  }

  StepContext context_;
  ir::Unfolding unfolding_;
  ir::Activation activation_;
  std::size_t outputs_;
  std::size_t group_outputs_;
  std::size_t cols_;
  std::size_t samples_;
  std::size_t rows_;
  std::vector<float> unfolded_;  ///< [groups, rows, cols]
  std::vector<float> sums_;      ///< see sums(); empty without an activation
  std::vector<float> sum_gradients_;
};

template <typename Layer>
TapeStep layer_step(const StepContext& context, const Layer& op) {
  // Rejects unknown functions.
  if (!context.output_gradient.empty()) derivative(op.activation, 0.5F);
  const auto step = std::make_shared<LayerStep>(context, op.activation);
  return {[step] { step->forward(); }, [step] { step->backward(); }};
}

constexpr StepEntry kLayerSteps[] = {
    step_entry<ir::FullyConnected, layer_step<ir::FullyConnected>>(),
    step_entry<ir::Conv, layer_step<ir::Conv>>(),
    step_entry<ir::ConvTranspose, layer_step<ir::ConvTranspose>>()};

}  // namespace

std::span<const StepEntry> layer_steps() { return kLayerSteps; }

}  // namespace halftone::gradient
