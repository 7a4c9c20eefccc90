// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/recurrent_gates.h"

namespace halftone::ir {
namespace {

bool has(InputTypes inputs, std::size_t i) { return i < inputs.size() && inputs[i] != nullptr; }
const Tensor* at(InputTensors inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : nullptr;
}

void require_shape(InputTypes inputs, std::size_t i, const Shape& expected) {
  require(may_be_equal(inputs[i]->shape, expected), "input " + std::to_string(i) + ": expected " +
                                                        expected.to_string() + ", found " +
                                                        inputs[i]->shape.to_string());
}

/// An optional input [batch, H] or [1, H].
void check_state(InputTypes inputs, std::size_t i, Dim batch, Dim hidden) {
  if (!has(inputs, i)) return;
  require_float(inputs, i);
  if (inputs[i]->shape != Shape{1, hidden}) require_shape(inputs, i, {batch, hidden});
}

void check_attributes(const Recurrent& op, InputTypes inputs) {
  const bool gru = op.kind == RecurrentKind::kGru;
  const bool lstm = op.kind == RecurrentKind::kLstm;
  require(lstm || (!op.with_cell && !op.input_forget && op.cell_clip == 0),
          "only an LSTM takes with_cell, input_forget and cell_clip");
  require(lstm || (!has(inputs, kInitialCell) && !has(inputs, kPeepholes)),
          "only an LSTM takes an initial cell and peepholes");
  require((gru && op.linear_before_reset) || !has(inputs, kRecurrenceBias),
          "only a GRU with linear_before_reset takes a recurrence bias");
  require(gru || !op.linear_before_reset, "only a GRU takes linear_before_reset");
  require(!op.carry || !op.reverse, "carry: expected a sequence that is not reversed");
  require(
      op.clip >= 0 && op.cell_clip >= 0 && std::isfinite(op.clip) && std::isfinite(op.cell_clip),
      "clip and cell_clip: expected finite values of at least 0");
  if (op.state_encoding != nullptr) {
    require(op.state_encoding->granularity == numerics::Granularity::kTensor,
            "states: expected one basis for the tensor");
    op.state_encoding->check(1, 1);
  }
}

/// The state of one sample as it runs along the sequence.
class Cell {
 public:
  Cell(const Recurrent& op, const RecurrentExtents& extents, InputTensors inputs,
       std::size_t sample)
      : op_(op),
        hidden_(extents.hidden),
        weights_(inputs[kRecurrenceWeights]->as<float>()),
        h_(state(at(inputs, kInitialHidden), sample)),
        c_(state(at(inputs, kInitialCell), sample)) {
    if (op.state_encoding != nullptr) table_.emplace(op.state_encoding->levels(0));
    if (const Tensor* bias = at(inputs, kRecurrenceBias)) bias_ = bias->as<float>();
    if (const Tensor* peepholes = at(inputs, kPeepholes)) peepholes_ = peepholes->as<float>();
  }

  void step(std::span<const float> x) {
    switch (op_.kind) {
      case RecurrentKind::kRnn:
        return step_rnn(x);
      case RecurrentKind::kGru:
        return step_gru(x);
      case RecurrentKind::kLstm:
        return step_lstm(x);
    }
  }

  void write(std::span<float> y) const {
    std::copy(h_.begin(), h_.end(), y.begin());
    if (op_.with_cell)
      std::copy(c_.begin(), c_.end(), y.begin() + static_cast<std::ptrdiff_t>(hidden_));
  }

 private:
  [[nodiscard]] std::vector<float> state(const Tensor* first, std::size_t sample) const {
    if (first == nullptr) return std::vector<float>(hidden_, 0.0F);
    const auto all = first->as<float>();
    const std::size_t row = first->shape()[0] == 1 ? 0 : sample;
    const auto found = all.subspan(row * hidden_, hidden_);
    return {found.begin(), found.end()};
  }

  /// The factor of the recurrence weights: the state or its levels.
  [[nodiscard]] std::vector<float> encoded(std::vector<float> state) const {
    if (table_) {
      for (float& value : state) value = table_->nearest(value);
    }
    return state;
  }

  /// The product of a state with row j of a gate.
  [[nodiscard]] double product(const std::vector<float>& state, std::size_t gate,
                               std::size_t j) const {
    const auto row = weights_.subspan((gate * hidden_ + j) * hidden_, hidden_);
    double sum = 0;
    for (std::size_t k = 0; k < hidden_; ++k) {
      sum += static_cast<double>(state[k]) * static_cast<double>(row[k]);
    }
    return sum;
  }

  [[nodiscard]] float activate(std::size_t function, double value) const {
    return apply(op_.activations[function], clipped(static_cast<float>(value), op_.clip));
  }

  [[nodiscard]] double peephole(std::size_t gate, std::size_t j, float cell) const {
    if (peepholes_.empty()) return 0;
    return static_cast<double>(peepholes_[gate * hidden_ + j]) * static_cast<double>(cell);
  }

  void step_rnn(std::span<const float> x) {
    const std::vector<float> h = encoded(h_);
    for (std::size_t j = 0; j < hidden_; ++j) h_[j] = activate(0, product(h, 0, j) + x[j]);
  }

  void step_gru(std::span<const float> x) {
    const std::vector<float> h = encoded(h_);
    std::vector<float> z(hidden_);
    std::vector<float> r(hidden_);
    for (std::size_t j = 0; j < hidden_; ++j) {
      z[j] = activate(0, product(h, kGruUpdate, j) + x[j]);
      r[j] = activate(0, product(h, kGruReset, j) + x[hidden_ + j]);
    }
    std::vector<float> reset(h_);
    for (std::size_t j = 0; j < hidden_; ++j) reset[j] *= r[j];
    reset = encoded(std::move(reset));
    for (std::size_t j = 0; j < hidden_; ++j) {
      const double term = op_.linear_before_reset
                              ? r[j] * (product(h, kGruNew, j) + (bias_.empty() ? 0.0F : bias_[j]))
                              : product(reset, kGruNew, j);
      const float n = activate(1, term + x[kGruNew * hidden_ + j]);
      h_[j] = gru_state(z[j], n, h_[j]);
    }
  }

  void step_lstm(std::span<const float> x) {
    const std::vector<float> h = encoded(h_);
    const auto gate = [&](std::size_t g, std::size_t j) {
      return product(h, g, j) + x[g * hidden_ + j];
    };
    const auto peeping = [&](std::size_t g, std::size_t j, float cell) {
      return activate(0, gate(g, j) + peephole(g, j, cell));
    };
    for (std::size_t j = 0; j < hidden_; ++j) {
      const float i = peeping(kLstmInput, j, c_[j]);
      const float forget = op_.input_forget ? 1 - i : peeping(kLstmForget, j, c_[j]);
      const float c = lstm_cell(op_, forget, c_[j], i, activate(1, gate(kLstmNew, j)));
      const float o = peeping(kLstmOutput, j, c);
      c_[j] = c;
      h_[j] = o * apply(op_.activations[2], c);
    }
  }

  const Recurrent& op_;
  std::size_t hidden_;
  std::span<const float> weights_;
  std::vector<float> h_;
  std::vector<float> c_;
  std::optional<numerics::LevelTable> table_;
  std::span<const float> bias_;
  std::span<const float> peepholes_;
};

/// Runs one sample through its sequence.
void run_sample(const Recurrent& op, const RecurrentExtents& e, InputTensors inputs,
                std::size_t sample, std::span<float> y) {
  std::size_t length = e.steps;
  if (const Tensor* lengths = at(inputs, kSequenceLengths)) {
    const std::int64_t found = lengths->as<std::int32_t>()[sample];
    length = static_cast<std::size_t>(
        std::clamp<std::int64_t>(found, 0, static_cast<std::int64_t>(e.steps)));
  }
  Cell cell(op, e, inputs, sample);
  const auto x = inputs[kGates]->as<float>();
  for (std::size_t i = 0; i < e.steps; ++i) {
    if (i >= length && (!op.carry || length == 0)) break;
    const std::size_t row = e.row(op.reverse ? length - 1 - i : i, sample);
    if (i < length) cell.step(x.subspan(row * e.gates, e.gates));
    cell.write(y.subspan(row * e.output, e.output));
  }
}

}  // namespace

std::string_view to_string(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::kRnn:
      return "RNN";
    case RecurrentKind::kGru:
      return "GRU";
    case RecurrentKind::kLstm:
      return "LSTM";
  }
  return "unknown";
}

std::size_t num_gates(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::kRnn:
      return 1;
    case RecurrentKind::kGru:
      return 3;
    case RecurrentKind::kLstm:
      break;
  }
  return 4;
}

bool Recurrent::operator==(const Recurrent& other) const {
  const auto plain = [](const Recurrent& op) {
    return std::tuple(op.kind, op.reverse, op.batch_major, op.linear_before_reset, op.input_forget,
                      op.with_cell, op.carry, op.clip, op.cell_clip, op.activations, op.arithmetic);
  };
  if (plain(*this) != plain(other)) return false;
  if (state_encoding == nullptr || other.state_encoding == nullptr) {
    return state_encoding == other.state_encoding;
  }
  return *state_encoding == *other.state_encoding;
}

ValueType infer_types(const Recurrent& op, InputTypes inputs) {
  require_float(inputs, kGates);
  check_attributes(op, inputs);
  const Shape& gates = inputs[kGates]->shape;
  const Shape& weights = inputs[kRecurrenceWeights]->shape;
  require(inputs[kRecurrenceWeights]->encoding.element == ElementType::kFloat32,
          "recurrence weights: expected float32 or codes, found " +
              inputs[kRecurrenceWeights]->to_string());
  require(gates.rank() == 3, "gates: expected three axes, found " + gates.to_string());
  require(!depends_on_batch(gates[1 - batch_axis(op)]) && !is_open(gates[2]),
          "gates: expected a known number of steps, found " + gates.to_string());
  const auto count = static_cast<Dim>(num_gates(op.kind));
  require(gates[2] % count == 0, "gates: expected " + std::to_string(count) +
                                     " of equal size, found " + gates.to_string());
  const Dim hidden = gates[2] / count;
  const Dim batch = gates[batch_axis(op)];
  require(weights == Shape{gates[2], hidden}, "recurrence weights: expected " +
                                                  Shape{gates[2], hidden}.to_string() + ", found " +
                                                  weights.to_string());
  check_state(inputs, kInitialHidden, batch, hidden);
  check_state(inputs, kInitialCell, batch, hidden);
  if (has(inputs, kRecurrenceBias)) {
    require_float(inputs, kRecurrenceBias);
    require_shape(inputs, kRecurrenceBias, {hidden});
  }
  if (has(inputs, kSequenceLengths)) {
    require(inputs[kSequenceLengths]->is_dense(ElementType::kInt32),
            "lengths: expected int32, found " + inputs[kSequenceLengths]->to_string());
    require_shape(inputs, kSequenceLengths, {batch});
  }
  if (has(inputs, kPeepholes)) {
    require_float(inputs, kPeepholes);
    require_shape(inputs, kPeepholes, {3 * hidden});
  }
  Shape output = gates;
  output[2] = op.with_cell ? 2 * hidden : hidden;
  return dense_type(ElementType::kFloat32, std::move(output));
}

Tensor evaluate(const Recurrent& op, InputTensors inputs) {
  const RecurrentExtents e = recurrent_extents(op, inputs[kGates]->shape());
  Shape shape = inputs[kGates]->shape();
  shape[2] = static_cast<Dim>(e.output);
  Tensor result(ElementType::kFloat32, std::move(shape));
  for (std::size_t sample = 0; sample < e.batch; ++sample) {
    run_sample(op, e, inputs, sample, result.as<float>());
  }
  return result;
}

std::string attributes(const Recurrent& op) {
  std::string text(to_string(op.kind));
  const Recurrent plain;
  const auto flag = [&text](bool set, const char* name) {
    if (set) text.append(" ").append(name);
  };
  flag(op.reverse, "reverse");
  flag(op.batch_major, "batch_major");
  flag(op.linear_before_reset, "linear_before_reset");
  flag(op.input_forget, "input_forget");
  flag(op.with_cell, "with_cell");
  flag(op.carry, "carry");
  if (op.clip != 0) text += " clip=" + std::to_string(op.clip);
  if (op.cell_clip != 0) text += " cell_clip=" + std::to_string(op.cell_clip);
  if (op.activations != plain.activations) {
    for (const Activation& activation : op.activations) text += " " + to_string(activation);
  }
  if (op.state_encoding != nullptr) {
    text += " state=" + Encoding{ElementType::kFloat32, op.state_encoding}.to_string();
  }
  return text;
}

}  // namespace halftone::ir
