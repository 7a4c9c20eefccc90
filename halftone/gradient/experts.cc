// SPDX-License-Identifier: Apache-2.0
// Products with matrices that each row chooses, on a tape: one product for each chosen matrix.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "halftone/gradient/steps.h"
#include "halftone/ir/ops/indexing.h"

namespace halftone::gradient {
namespace {

class ExpertStep {
 public:
  ExpertStep(const StepContext& context, const ir::ExpertProduct& op)
      : context_(context),
        activation_(op.activation),
        experts_(static_cast<std::size_t>(context.input_shape(1)[0])),
        outputs_(static_cast<std::size_t>(context.input_shape(1)[1])),
        cols_(static_cast<std::size_t>(context.input_shape(1)[2])),
        pairs_(context.inputs[2].size()),
        sums_(pairs_ * outputs_) {
    const bool has_own_rows = context.input_shape(0).rank() > context.input_shape(2).rank();
    if (!has_own_rows) share_ = static_cast<std::size_t>(context.input_shape(2).back());
  }

  void forward() {
    pairs_of_.assign(experts_, {});
    for (std::size_t pair = 0; pair < pairs_; ++pair) {
      const auto index = static_cast<std::int64_t>(context_.inputs[2][pair]);
      pairs_of_[ir::resolve_index(index, experts_)].push_back(pair);
    }
    for (std::size_t e = 0; e < experts_; ++e) {
      const std::vector<float> x = inputs_of(e);
      std::vector<float> y(pairs_of_[e].size() * outputs_);
      matmul(rows(x, cols_), transposed(weights(e)), mutable_rows(y, outputs_));
      for (std::size_t r = 0; r < pairs_of_[e].size(); ++r) {
        std::copy_n(&y[r * outputs_], outputs_, &sums_[pairs_of_[e][r] * outputs_]);
      }
    }
    apply_to(activation_, sums_, context_.output);
  }

  void backward() {
    std::vector<float> sum_gradients(sums_.size(), 0);
    add_slopes(activation_, sums_, context_.output_gradient, sum_gradients);
    for (std::size_t e = 0; e < experts_; ++e) {
      if (pairs_of_[e].empty()) continue;
      const std::vector<float> dy = gathered(sum_gradients, e, 1, outputs_);
      if (const std::span<float> dw = context_.input_gradients[1]; !dw.empty()) {
        const std::vector<float> x = inputs_of(e);
        matmul(transposed(rows(dy, outputs_)), rows(x, cols_),
               MutableRows(dw.subspan(e * outputs_ * cols_, outputs_ * cols_), outputs_, cols_),
               Update::kAdd);
      }
      if (!context_.input_gradients[0].empty()) add_input_gradients(e, dy);
    }
  }

 private:
  static ConstRows rows(std::span<const float> all, std::size_t cols) {
    return {all, all.size() / cols, cols};
  }
  static MutableRows mutable_rows(std::span<float> all, std::size_t cols) {
    return {all, all.size() / cols, cols};
  }
  [[nodiscard]] ConstRows weights(std::size_t expert) const {
    const std::size_t size = outputs_ * cols_;
    return {context_.inputs[1].subspan(expert * size, size), outputs_, cols_};
  }
  /// The rows of an expert's pairs. @param share  pairs that have one row together
  [[nodiscard]] std::vector<float> gathered(std::span<const float> all, std::size_t expert,
                                            std::size_t share, std::size_t cols) const {
    std::vector<float> result;
    result.reserve(pairs_of_[expert].size() * cols);
    for (const std::size_t pair : pairs_of_[expert]) {
      const std::span<const float> from = all.subspan(pair / share * cols, cols);
      result.insert(result.end(), from.begin(), from.end());
    }
    return result;
  }
  [[nodiscard]] std::vector<float> inputs_of(std::size_t expert) const {
    return gathered(context_.inputs[0], expert, share_, cols_);
  }
  void add_input_gradients(std::size_t expert, std::span<const float> dy) const {
    std::vector<float> dx(pairs_of_[expert].size() * cols_);
    matmul(rows(dy, outputs_), weights(expert), mutable_rows(dx, cols_));
    for (std::size_t r = 0; r < pairs_of_[expert].size(); ++r) {
      const std::size_t to = pairs_of_[expert][r] / share_ * cols_;
      for (std::size_t i = 0; i < cols_; ++i) {
        context_.input_gradients[0][to + i] += dx[r * cols_ + i];
      }
    }
  }

  StepContext context_;
  ir::Activation activation_;
  std::size_t experts_;
  std::size_t outputs_;
  std::size_t cols_;
  std::size_t pairs_;                               ///< of a row and an expert
  std::size_t share_ = 1;                           ///< pairs that have one input row together
  std::vector<float> sums_;                         ///< [pairs, outputs] before the activation
  std::vector<std::vector<std::size_t>> pairs_of_;  ///< each expert, in their order
};

TapeStep expert_step(const StepContext& context, const ir::ExpertProduct& op) {
  // Rejects unknown functions.
  if (!context.output_gradient.empty()) derivative(op.activation, 0.5F);
  const auto step = std::make_shared<ExpertStep>(context, op);
  return {[step] { step->forward(); }, [step] { step->backward(); }};
}

constexpr StepEntry kExpertSteps[] = {step_entry<ir::ExpertProduct, expert_step>()};

}  // namespace

std::span<const StepEntry> expert_steps() { return kExpertSteps; }

}  // namespace halftone::gradient
