// SPDX-License-Identifier: Apache-2.0
// Recurrent layers on a tape: backpropagation through time.
#include <algorithm>
#include <cmath>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/gradient/steps.h"
#include "halftone/ir/ops/recurrent_gates.h"

namespace halftone::gradient {
namespace {

/// One layer on one batch; the letters are those of ir::Recurrent. Steps are counted in the order
/// in which they run. `sums` are what enters f and g, before the clip.
class RecurrentStep {
 public:
  RecurrentStep(const StepContext& context, const ir::Recurrent& op)
      : context_(context), op_(op), is_gru_(op.kind == ir::RecurrentKind::kGru) {
    if (!input(ir::kSequenceLengths).empty()) fail_gradient(describe(context.node));
    for (const ir::Activation& activation : op.activations) derivative(activation, 0.5F);
    extents_ = ir::recurrent_extents(op, context.input_shape(ir::kGates));
    batch_ = extents_.batch;
    steps_ = extents_.steps;
    gates_ = extents_.gates;
    hidden_ = extents_.hidden;
    states_.resize((steps_ + 1) * batch_ * hidden_);
    cells_.resize(states_.size());
    factors_.resize(states_.size());
    resets_.resize(is_gru_ ? states_.size() : 0);
    reset_factors_.resize(resets_.size());
    sums_.resize(steps_ * batch_ * gates_);
    sum_gradients_.resize(batch_ * gates_);
    state_gradients_.resize(batch_ * hidden_);
    cell_gradients_.resize(batch_ * hidden_);
    factor_gradients_.resize(batch_ * hidden_);
    if (op.state_encoding != nullptr) encode_states();
  }

  void forward() {
    start(ir::kInitialHidden, states_);
    start(ir::kInitialCell, cells_);
    for (std::size_t i = 0; i < steps_; ++i) {
      for (std::size_t n = 0; n < batch_; ++n) {
        std::copy_n(context_.inputs[ir::kGates].data() + row(i, n) * gates_, gates_, sums(i, n));
      }
      bring_to_levels(codes_, of_step(states_, i), of_step(factors_, i), i);
      run(i);
      write(i);
    }
  }

  void backward() {
    std::ranges::fill(state_gradients_, 0.0F);
    std::ranges::fill(cell_gradients_, 0.0F);
    for (std::size_t i = steps_; i-- > 0;) {
      read_gradient(i);
      run_back(i);
      if (const auto dx = input_gradient(ir::kGates); !dx.empty()) add_gates_gradient(i, dx);
      if (op_.linear_before_reset) scale_by_reset(i);
      multiply_back(i);
    }
    finish(ir::kInitialHidden, state_gradients_);
    finish(ir::kInitialCell, cell_gradients_);
  }

 private:
  using Floats = std::vector<float>;

  [[nodiscard]] std::span<const float> input(std::size_t i) const {
    return i < context_.inputs.size() ? context_.inputs[i] : std::span<const float>();
  }
  [[nodiscard]] std::span<float> input_gradient(std::size_t i) const {
    return i < context_.input_gradients.size() ? context_.input_gradients[i] : std::span<float>();
  }
  /// The row of a step and a sample, in the gates and in the output.
  [[nodiscard]] std::size_t row(std::size_t i, std::size_t n) const {
    return extents_.row(op_.reverse ? steps_ - 1 - i : i, n);
  }
  [[nodiscard]] float* sums(std::size_t i, std::size_t n) {
    return sums_.data() + (i * batch_ + n) * gates_;
  }
  /// The part [B, H] that belongs to a step.
  [[nodiscard]] std::span<float> of_step(Floats& all, std::size_t i) const {
    return all.empty() ? std::span<float>()
                       : std::span(all).subspan(i * batch_ * hidden_, batch_ * hidden_);
  }
  [[nodiscard]] bool multiplies_reset() const { return is_gru_ && !op_.linear_before_reset; }
  /// Gates whose rows of R multiply the state: for a GRU that resets before, all but the last.
  [[nodiscard]] std::size_t num_state_gates() const {
    return num_gates(op_.kind) - (multiplies_reset() ? 1 : 0);
  }
  [[nodiscard]] float peephole(std::size_t gate, std::size_t j) const {
    const auto p = input(ir::kPeepholes);
    return p.empty() ? 0.0F : p[gate * hidden_ + j];
  }

  [[nodiscard]] float activate(std::size_t function, float sum) const {
    return apply(op_.activations[function], ir::clipped(sum, op_.clip));
  }
  [[nodiscard]] float slope(std::size_t function, float sum) const {
    if (op_.clip != 0 && std::abs(sum) >= op_.clip) return 0;
    return derivative(op_.activations[function], sum);
  }

  void encode_states() {
    const numerics::LevelTable* levels = context_.levels;
    if (levels == nullptr) {
      fixed_.emplace(op_.state_encoding->levels(0));
      levels = &*fixed_;
    }
    codes_.emplace(*levels, states_.size());
    if (multiplies_reset()) reset_codes_.emplace(*levels, states_.size());
  }

  /// Computes the factor that is multiplied in place of a state.
  void bring_to_levels(std::optional<StraightThrough>& codes, std::span<const float> state,
                       std::span<float> factor, std::size_t i) {
    DropOptions none;
    if (codes) return codes->encode(state, factor, none, i * state.size());
    std::ranges::copy(state, factor.begin());
  }
  void pass_back(const std::optional<StraightThrough>& codes, std::span<const float> state,
                 std::span<float> state_gradient, std::size_t i) const {
    if (codes) {
      return codes->pass_back(state, factor_gradients_, state_gradient, context_.level_gradient,
                              i * state.size());
    }
    for (std::size_t k = 0; k < state.size(); ++k) state_gradient[k] += factor_gradients_[k];
  }

  void start(std::size_t which, Floats& all) const {
    const auto first = input(which);
    for (std::size_t k = 0; k < batch_ * hidden_; ++k) {
      all[k] = first.empty() ? 0.0F : first[k % first.size()];
    }
  }
  void finish(std::size_t which, const Floats& gradients) const {
    const auto first = input_gradient(which);
    if (first.empty()) return;
    for (std::size_t k = 0; k < gradients.size(); ++k) first[k % first.size()] += gradients[k];
  }

  /// The rows of R of some gates.
  [[nodiscard]] ConstRows weights(std::size_t first_gate, std::size_t count) const {
    return {input(ir::kRecurrenceWeights).data() + first_gate * hidden_ * hidden_, count * hidden_,
            hidden_, hidden_};
  }
  /// Adds the products of some gates' rows of R with [B, H] factors to the sums.
  void multiply(std::size_t i, std::span<const float> factor, std::size_t first_gate,
                std::size_t count) {
    matmul(ConstRows(factor, batch_, hidden_), transposed(weights(first_gate, count)),
           MutableRows(sums(i, 0) + first_gate * hidden_, batch_, count * hidden_, gates_),
           Update::kAdd);
  }
  /// Adds to the gradient of R, and writes that of the factors to factor_gradients_.
  void multiply_back(std::span<const float> factor, std::size_t first_gate, std::size_t count) {
    const ConstRows gradient(sum_gradients_.data() + first_gate * hidden_, batch_, count * hidden_,
                             gates_);
    if (const auto dr = input_gradient(ir::kRecurrenceWeights); !dr.empty()) {
      matmul(transposed(gradient), ConstRows(factor, batch_, hidden_),
             MutableRows(dr.data() + first_gate * hidden_ * hidden_, count * hidden_, hidden_,
                         hidden_),
             Update::kAdd);
    }
    matmul(gradient, weights(first_gate, count), MutableRows(factor_gradients_, batch_, hidden_));
  }
  /// Backward pass of the operations at the start of every step.
  void multiply_back(std::size_t i) {
    multiply_back(of_step(factors_, i), 0, num_state_gates());
    pass_back(codes_, of_step(states_, i), state_gradients_, i);
  }

  void run(std::size_t i) {
    if (is_gru_) return run_gru(i);
    multiply(i, of_step(factors_, i), 0, num_gates(op_.kind));
    const bool is_lstm = op_.kind == ir::RecurrentKind::kLstm;
    for (std::size_t n = 0; n < batch_; ++n) {
      for (std::size_t j = 0; j < hidden_; ++j) {
        const std::size_t at = (i * batch_ + n) * hidden_ + j;
        const std::size_t next = at + batch_ * hidden_;
        if (is_lstm) {
          run_lstm(sums(i, n) + j, j, cells_[at], cells_[next], states_[next]);
        } else {
          states_[next] = activate(0, sums(i, n)[j]);
        }
      }
    }
  }
  void run_back(std::size_t i) {
    if (is_gru_) return run_gru_back(i);
    const bool is_lstm = op_.kind == ir::RecurrentKind::kLstm;
    for (std::size_t n = 0; n < batch_; ++n) {
      for (std::size_t j = 0; j < hidden_; ++j) {
        float& dh = state_gradients_[n * hidden_ + j];
        float* ds = sum_gradients_.data() + n * gates_ + j;
        if (is_lstm) {
          const std::size_t at = (i * batch_ + n) * hidden_ + j;
          run_lstm_back({sums(i, n) + j,
                         {cells_[at], cells_[at + batch_ * hidden_]},
                         dh,
                         cell_gradients_[n * hidden_ + j],
                         ds},
                        j);
        } else {
          *ds = dh * slope(0, sums(i, n)[j]);
        }
        dh = 0;
      }
    }
  }

  /// @param s  the unit's four sums, H apart: i, o, a, c
  void run_lstm(float* s, std::size_t j, float c, float& next_c, float& next_h) const {
    s[0] += peephole(ir::kLstmInput, j) * c;
    s[2 * hidden_] += peephole(ir::kLstmForget, j) * c;
    const float in = activate(0, s[0]);
    const float forget = op_.input_forget ? 1 - in : activate(0, s[2 * hidden_]);
    next_c = ir::lstm_cell(op_, forget, c, in, activate(1, s[ir::kLstmNew * hidden_]));
    s[hidden_] += peephole(ir::kLstmOutput, j) * next_c;
    next_h = activate(0, s[hidden_]) * apply(op_.activations[2], next_c);
  }
  /// One unit of one sample in the backward pass of an LSTM.
  struct LstmUnit {
    const float* s;  ///< its four sums, H apart: i, o, a, c
    float c[2];      ///< its cell before and after the step
    float dh;
    float& dc;  ///< of the cell after the step, then of the one before it
    float* ds;  ///< of the four sums, H apart
  };
  void run_lstm_back(const LstmUnit& unit, std::size_t j) const {
    const auto& [s, c, dh, dc, ds] = unit;
    const float in = activate(0, s[0]);
    const float forget = op_.input_forget ? 1 - in : activate(0, s[2 * hidden_]);
    ds[hidden_] = dh * apply(op_.activations[2], c[1]) * slope(0, s[hidden_]);
    dc += dh * activate(0, s[hidden_]) * derivative(op_.activations[2], c[1]) +
          ds[hidden_] * peephole(ir::kLstmOutput, j);
    if (op_.cell_clip != 0 && std::abs(c[1]) >= op_.cell_clip) dc = 0;
    const float by_forget = dc * c[0];
    const float by_in = dc * activate(1, s[3 * hidden_]) - (op_.input_forget ? by_forget : 0.0F);
    ds[0] = by_in * slope(0, s[0]);
    ds[2 * hidden_] = op_.input_forget ? 0.0F : by_forget * slope(0, s[2 * hidden_]);
    ds[3 * hidden_] = dc * in * slope(1, s[3 * hidden_]);
    dc = dc * forget + ds[0] * peephole(ir::kLstmInput, j) +
         ds[2 * hidden_] * peephole(ir::kLstmForget, j);
    if (const auto dp = input_gradient(ir::kPeepholes); !dp.empty()) {
      dp[j] += ds[0] * c[0];
      dp[hidden_ + j] += ds[hidden_] * c[1];
      dp[2 * hidden_ + j] += ds[2 * hidden_] * c[0];
    }
  }

  /// Of a GRU resets_ holds r * h, or R_n h + b_n if it is linear before its reset.
  void run_gru(std::size_t i) {
    multiply(i, of_step(factors_, i), 0, num_state_gates());
    const auto bias = input(ir::kRecurrenceBias);
    const std::span<float> resets = of_step(resets_, i);
    const float* h = of_step(states_, i).data();
    const auto for_each = [&](auto&& visit) {
      for (std::size_t k = 0; k < batch_ * hidden_; ++k) {
        visit(k, sums(i, k / hidden_) + k % hidden_, k % hidden_);
      }
    };
    for_each([&](std::size_t k, float* s, std::size_t j) {
      const float r = activate(0, s[hidden_]);
      if (multiplies_reset()) {
        resets[k] = r * h[k];
      } else {
        const float x = context_.inputs[ir::kGates][row(i, k / hidden_) * gates_ + 2 * hidden_ + j];
        resets[k] = s[2 * hidden_] - x + (bias.empty() ? 0.0F : bias[j]);
        s[2 * hidden_] = x + r * resets[k];
      }
    });
    if (multiplies_reset()) {
      bring_to_levels(reset_codes_, resets, of_step(reset_factors_, i), i);
      multiply(i, of_step(reset_factors_, i), 2, 1);
    }
    float* next = of_step(states_, i + 1).data();
    for_each([&](std::size_t k, const float* s, std::size_t) {
      const float z = activate(0, s[0]);
      next[k] = ir::gru_state(z, activate(1, s[ir::kGruNew * hidden_]), h[k]);
    });
  }
  void run_gru_back(std::size_t i) {
    const float* h = of_step(states_, i).data();
    const std::span<float> resets = of_step(resets_, i);
    for (std::size_t k = 0; k < batch_ * hidden_; ++k) {
      const float* s = sums(i, k / hidden_) + k % hidden_;
      float* ds = sum_gradients_.data() + k / hidden_ * gates_ + k % hidden_;
      float& dh = state_gradients_[k];
      const float z = activate(0, s[0]);
      ds[0] = dh * (h[k] - activate(1, s[2 * hidden_])) * slope(0, s[0]);
      ds[2 * hidden_] = dh * (1 - z) * slope(1, s[2 * hidden_]);
      ds[hidden_] = ds[2 * hidden_] * resets[k] * slope(0, s[hidden_]);
      dh *= z;
    }
    if (!multiplies_reset()) return;
    multiply_back(of_step(reset_factors_, i), 2, 1);
    // Of r * h, before it was encoded.
    std::vector<float> gradients(resets.size(), 0);
    pass_back(reset_codes_, resets, gradients, i);
    for (std::size_t k = 0; k < resets.size(); ++k) {
      const float s = sums(i, k / hidden_)[hidden_ + k % hidden_];
      sum_gradients_[k / hidden_ * gates_ + hidden_ + k % hidden_] =
          gradients[k] * h[k] * slope(0, s);
      state_gradients_[k] += gradients[k] * activate(0, s);
    }
  }

  void write(std::size_t i) {
    for (std::size_t n = 0; n < batch_; ++n) {
      float* y = context_.output.data() + row(i, n) * extents_.output;
      std::copy_n(of_step(states_, i + 1).data() + n * hidden_, hidden_, y);
      if (op_.with_cell) {
        std::copy_n(of_step(cells_, i + 1).data() + n * hidden_, hidden_, y + hidden_);
      }
    }
  }
  void read_gradient(std::size_t i) {
    for (std::size_t n = 0; n < batch_; ++n) {
      const float* dy = context_.output_gradient.data() + row(i, n) * extents_.output;
      for (std::size_t j = 0; j < hidden_; ++j) {
        state_gradients_[n * hidden_ + j] += dy[j];
        if (op_.with_cell) cell_gradients_[n * hidden_ + j] += dy[hidden_ + j];
      }
    }
  }
  /// Inputs enter the sums unscaled, but the products with R may be scaled by the reset gate.
  void scale_by_reset(std::size_t i) {
    const auto db = input_gradient(ir::kRecurrenceBias);
    for (std::size_t k = 0; k < batch_ * hidden_; ++k) {
      const std::size_t j = k % hidden_;
      float& ds = sum_gradients_[k / hidden_ * gates_ + 2 * hidden_ + j];
      ds *= activate(0, sums(i, k / hidden_)[hidden_ + j]);
      if (!db.empty()) db[j] += ds;
    }
  }
  void add_gates_gradient(std::size_t i, std::span<float> to) {
    for (std::size_t n = 0; n < batch_; ++n) {
      float* dx = to.data() + row(i, n) * gates_;
      for (std::size_t g = 0; g < gates_; ++g) dx[g] += sum_gradients_[n * gates_ + g];
    }
  }

  StepContext context_;
  ir::Recurrent op_;
  bool is_gru_;
  ir::RecurrentExtents extents_;
  std::size_t batch_ = 0;
  std::size_t steps_ = 0;
  std::size_t gates_ = 0;
  std::size_t hidden_ = 0;
  std::optional<numerics::LevelTable> fixed_;  ///< levels of the states if they are not learned
  std::optional<StraightThrough> codes_;
  std::optional<StraightThrough> reset_codes_;
  Floats states_;         ///< [T + 1, B, H]: before each step and after the last
  Floats cells_;          ///< [T + 1, B, H]
  Floats factors_;        ///< [T + 1, B, H]: the states or their levels, which R multiplies
  Floats resets_;         ///< [T + 1, B, H], of a GRU
  Floats reset_factors_;  ///< [T + 1, B, H], of a GRU
  Floats sums_;           ///< [T, B, G H]
  Floats sum_gradients_;  ///< [B, G H], here and below of one step
  Floats state_gradients_;
  Floats cell_gradients_;
  Floats factor_gradients_;
};

TapeStep recurrent_step(const StepContext& context, const ir::Recurrent& op) {
  const auto step = std::make_shared<RecurrentStep>(context, op);
  return {[step] { step->forward(); }, [step] { step->backward(); }};
}

constexpr StepEntry kRecurrentSteps[] = {step_entry<ir::Recurrent, recurrent_step>()};

}  // namespace

std::span<const StepEntry> recurrent_steps() { return kRecurrentSteps; }

}  // namespace halftone::gradient
