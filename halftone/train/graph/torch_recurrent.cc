// SPDX-License-Identifier: Apache-2.0
// Recurrent layers, unrolled along the sequence.
#include <ATen/ATen.h>

#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using ir::RecurrentKind;

/// The states of all samples at the current step; ir::Recurrent has the formulas.
class Cell {
 public:
  Cell(const ir::Recurrent& op, const TorchInputs& in, std::int64_t batch)
      : op_(op), in_(in), weights_(in[ir::kRecurrenceWeights]), hidden_(weights_.size(1)) {
    h_ = state(in[ir::kInitialHidden], batch);
    if (op.kind == RecurrentKind::kLstm) c_ = state(in[ir::kInitialCell], batch);
    if (const at::Tensor p = in[ir::kPeepholes]; p.defined()) peepholes_ = p.chunk(3);
    if (op.kind == RecurrentKind::kGru) {
      gate_weights_ = weights_.narrow(0, 0, 2 * hidden_);
      new_weights_ = weights_.narrow(0, 2 * hidden_, hidden_);
    }
  }

  /// One step of the samples whose sequence includes it.
  /// @param x       [B, G H] projected gates
  /// @param active  [B, 1] mask of these samples; undefined: all
  void step(const at::Tensor& x, const at::Tensor& active) {
    const at::Tensor h = h_;
    const at::Tensor c = c_;
    switch (op_.kind) {
      case RecurrentKind::kRnn:
        h_ = activate_gate(0, x + product(h_, weights_));
        break;
      case RecurrentKind::kGru:
        step_gru(x);
        break;
      case RecurrentKind::kLstm:
        step_lstm(x);
        break;
    }
    if (!active.defined()) return;
    h_ = at::where(active, h_, h);
    if (c_.defined()) c_ = at::where(active, c_, c);
  }

  /// [B, H]; [B, 2 H] if it includes the cells.
  [[nodiscard]] at::Tensor output() const { return op_.with_cell ? at::cat({h_, c_}, 1) : h_; }

 private:
  [[nodiscard]] at::Tensor state(const at::Tensor& first, std::int64_t batch) const {
    if (first.defined()) return first.expand({batch, hidden_});
    return at::zeros({batch, hidden_}, in_[ir::kGates].options().requires_grad(false));
  }

  /// The encoded state times weights.
  [[nodiscard]] at::Tensor product(const at::Tensor& state, const at::Tensor& weights) const {
    return at::linear(in_.encoded(op_.state_encoding.get(), state), weights);
  }

  [[nodiscard]] at::Tensor activate_gate(std::size_t function, const at::Tensor& x) const {
    const at::Tensor bounded = op_.clip == 0 ? x : x.clamp(-wide(op_.clip), wide(op_.clip));
    return activate(op_.activations[function], bounded);
  }

  [[nodiscard]] at::Tensor with_peephole(const at::Tensor& x, std::size_t gate,
                                         const at::Tensor& cell) const {
    return peepholes_.empty() ? x : x + peepholes_[gate] * cell;
  }

  void step_gru(const at::Tensor& x) {
    const std::vector<at::Tensor> projected = x.chunk(3, 1);
    const at::Tensor levels = in_.encoded(op_.state_encoding.get(), h_);
    const std::vector<at::Tensor> gates = at::linear(levels, gate_weights_).chunk(2, 1);
    const at::Tensor z = activate_gate(0, projected[0] + gates[0]);
    const at::Tensor r = activate_gate(0, projected[1] + gates[1]);
    at::Tensor term;
    if (op_.linear_before_reset) {
      term = at::linear(levels, new_weights_);
      if (in_[ir::kRecurrenceBias].defined()) term = term + in_[ir::kRecurrenceBias];
      term = r * term;
    } else {
      term = product(r * h_, new_weights_);
    }
    const at::Tensor n = activate_gate(1, projected[2] + term);
    h_ = (1 - z) * n + z * h_;
  }

  void step_lstm(const at::Tensor& x) {
    const std::vector<at::Tensor> gates = (x + product(h_, weights_)).chunk(4, 1);
    const at::Tensor i = activate_gate(0, with_peephole(gates[0], 0, c_));
    const at::Tensor forget =
        op_.input_forget ? 1 - i : activate_gate(0, with_peephole(gates[2], 2, c_));
    c_ = forget * c_ + i * activate_gate(1, gates[3]);
    if (op_.cell_clip != 0) c_ = c_.clamp(-wide(op_.cell_clip), wide(op_.cell_clip));
    const at::Tensor o = activate_gate(0, with_peephole(gates[1], 1, c_));
    h_ = o * activate(op_.activations[2], c_);
  }

  const ir::Recurrent& op_;
  const TorchInputs& in_;
  at::Tensor weights_;
  std::int64_t hidden_;
  at::Tensor gate_weights_;  ///< of z and r of a GRU
  at::Tensor new_weights_;   ///< of n
  std::vector<at::Tensor> peepholes_;
  at::Tensor h_;
  at::Tensor c_;
};

bool is_known(const ir::Recurrent& op) {
  const std::size_t functions = op.kind == RecurrentKind::kRnn   ? 1
                                : op.kind == RecurrentKind::kGru ? 2
                                                                 : 3;
  for (std::size_t i = 0; i < functions; ++i) {
    if (!is_differentiable(op.activations[i])) return false;
  }
  return true;
}

/// A reversed sequence runs step t after step t + 1. Each sample starts at its own last step, and
/// its initial states are unchanged until then.
at::Tensor compute(const ir::Recurrent& op, const TorchInputs& in) {
  const std::int64_t time_axis = op.batch_major ? 1 : 0;
  const at::Tensor gates = in[ir::kGates].movedim(time_axis, 0);
  const std::int64_t steps = gates.size(0);
  const std::int64_t batch = gates.size(1);
  at::Tensor lengths;
  if (const at::Tensor given = in[ir::kSequenceLengths]; given.defined()) {
    lengths = given.to(at::kLong).unsqueeze(1);
  }
  Cell cell(op, in, batch);
  std::vector<at::Tensor> outputs(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const std::int64_t t = op.reverse ? steps - 1 - i : i;
    const at::Tensor active = lengths.defined() ? lengths > t : at::Tensor();
    cell.step(gates[t], active);
    at::Tensor y = cell.output();
    if (lengths.defined()) {
      const at::Tensor is_shown = op.carry ? lengths > 0 : active;
      y = at::where(is_shown, y, at::zeros({}, y.options()));
    }
    outputs[static_cast<std::size_t>(t)] = y;
  }
  if (outputs.empty())
    return at::zeros_like(gates.slice(2, 0, cell.output().size(1))).movedim(0, time_axis);
  return at::stack(outputs, time_axis);
}

constexpr TorchEntry kRecurrentFunctions[] = {
    torch_entry<ir::Recurrent, compute, is_known>(),
};

}  // namespace

std::span<const TorchEntry> recurrent_functions() { return kRecurrentFunctions; }

}  // namespace halftone::train
