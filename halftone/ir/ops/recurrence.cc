// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/recurrence.h"

#include <algorithm>

#include "halftone/base/elementary.h"
#include "halftone/ir/extent.h"

namespace halftone::ir {
namespace {

std::size_t extent(Dim dim) { return static_cast<std::size_t>(dim); }

/// Checks the shapes of an operator's inputs.
class Inputs {
 public:
  template <typename Op>
  Inputs(const Op& op, InputTypes inputs)
      : inputs_(inputs), form_(op.form), first_(state_inputs(op.form)) {
    const std::size_t most = first_ + Op::kMaxInputs - 3;
    const bool may_lack = Op::kMaxInputs - 3 > Op::kMinInputs;
    require(inputs.size() == most || (may_lack && inputs.size() + 1 == most),
            "expected " + std::to_string(most) + " inputs, found " + std::to_string(inputs.size()));
    require_float(inputs, first_);
    const std::size_t rank = form_ == RecurrenceForm::kSamples ? 3 : 2;
    const Shape& x = at(0);
    require(x.rank() == rank, "input " + std::to_string(first_) + ": expected " +
                                  std::to_string(rank) + " axes, found " + x.to_string());
    require(rank == 2 || !depends_on_batch(x[1]), "axis 1 (tokens) must not be the batch");
    if (first_ == 0) return;
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      require(inputs[i] != nullptr && *inputs[i] == dense_type(ElementType::kInt32, Shape{x[0]}),
              "input " + std::to_string(i) + ": expected int32[" + to_string(x[0]) + "], found " +
                  (inputs[i] == nullptr ? "none" : inputs[i]->to_string()));
    }
  }

  /// An input of samples.
  [[nodiscard]] const Shape& at(std::size_t index) const { return inputs_[first_ + index]->shape; }
  [[nodiscard]] std::size_t width(std::size_t index) const { return extent(at(index).back()); }
  [[nodiscard]] bool has(std::size_t index) const {
    return first_ + index < inputs_.size() && inputs_[first_ + index] != nullptr;
  }
  /// Requires numbers of the same tokens as input 0.
  void require_tokens(std::size_t index) const {
    require_float(inputs_, first_ + index);
    Shape expected = at(0);
    if (at(index).rank() != 0) expected[expected.rank() - 1] = at(index).back();
    require(at(index) == expected, "input " + std::to_string(first_ + index) +
                                       ": expected the tokens of " + at(0).to_string() +
                                       ", found " + at(index).to_string());
  }
  void require_shape(std::size_t index, const Shape& shape) const {
    require_float(inputs_, first_ + index);
    require(at(index) == shape, "input " + std::to_string(first_ + index) + ": expected " +
                                    shape.to_string() + ", found " + at(index).to_string());
  }
  /// @param state    the extents behind that of sequences
  /// @param numbers  of a token
  [[nodiscard]] ValueType output(std::vector<Dim> state, Dim numbers) const {
    if (form_ != RecurrenceForm::kSamples) {
      require_float(inputs_, 0);
      const Shape& found = inputs_[0]->shape;
      require(found.rank() == state.size() + 1 && found.is_static(),
              "state: expected " + std::to_string(state.size() + 1) + " known extents, found " +
                  found.to_string());
      state.insert(state.begin(), found[0]);
      const Shape expected(std::move(state));
      require(found == expected,
              "state: expected " + expected.to_string() + ", found " + found.to_string());
      if (form_ == RecurrenceForm::kState) return *inputs_[0];
    }
    Shape y = at(0);
    y[y.rank() - 1] = numbers;
    return dense_type(ElementType::kFloat32, y);
  }

 private:
  InputTypes inputs_;
  RecurrenceForm form_;
  std::size_t first_ = 0;
};

void require_multiple(const char* what, std::size_t number, std::size_t of) {
  require(of > 0 && number % of == 0, std::string(what) + ": expected a multiple of " +
                                          std::to_string(of) + ", found " + std::to_string(number));
}

std::size_t place(std::int32_t index, std::size_t end, const char* what) {
  require(index >= 0 && extent(index) < end, std::string(what) + ": expected 0 to " +
                                                 std::to_string(end - 1) + ", found " +
                                                 std::to_string(index));
  return extent(index);
}

/// Runs a recurrence token by token.
template <typename Op>
class Tokens {
 public:
  Tokens(const Op& op, InputTensors inputs)
      : inputs_(inputs), form_(op.form), first_(state_inputs(op.form)) {}

  /// The numbers of a token, or all of an input without tokens.
  [[nodiscard]] std::span<const float> all(std::size_t index) const {
    return inputs_[first_ + index]->template as<float>();
  }
  [[nodiscard]] std::size_t width(std::size_t index) const {
    return extent(inputs_[first_ + index]->shape().back());
  }
  [[nodiscard]] std::span<const float> of(std::size_t index, std::size_t token) const {
    return all(index).subspan(token * width(index), width(index));
  }
  [[nodiscard]] bool has(std::size_t index) const {
    return first_ + index < inputs_.size() && inputs_[first_ + index] != nullptr;
  }

  /// @param numbers  of the state of a sequence
  /// @param width    of a row of the result
  /// @param step     of (token, state, row of the result)
  template <typename Step>
  Tensor run(std::size_t numbers, std::size_t width, const Step& step) const {
    const Shape& x = inputs_[first_]->shape();
    Shape shape = x;
    shape[shape.rank() - 1] = static_cast<Dim>(width);
    Tensor y(ElementType::kFloat32, shape);
    const auto row = [&](std::size_t token) { return y.as<float>().subspan(token * width, width); };
    if (form_ == RecurrenceForm::kSamples) {
      std::vector<float> state(numbers);
      const auto tokens = extent(x[1]);
      for (std::size_t token = 0; token < extent(x[0]) * tokens; ++token) {
        if (token % tokens == 0) std::ranges::fill(state, 0.0F);
        step(token, std::span(state), row(token));
      }
      return y;
    }
    Tensor states = inputs_[0]->clone();
    const auto slots = inputs_[1]->template as<std::int32_t>();
    const auto positions = inputs_[2]->template as<std::int32_t>();
    for (std::size_t token = 0; token < slots.size(); ++token) {
      const std::size_t slot = place(slots[token], extent(states.shape()[0]), "slot");
      const auto state = states.as<float>().subspan(slot * numbers, numbers);
      if (positions[token] == 0) std::ranges::fill(state, 0.0F);
      step(token, state, row(token));
    }
    return form_ == RecurrenceForm::kState ? std::move(states) : std::move(y);
  }

 private:
  InputTensors inputs_;
  RecurrenceForm form_;
  std::size_t first_ = 0;
};

std::string with_form(const std::string& text, RecurrenceForm form) {
  if (form == RecurrenceForm::kSamples) return text;
  return text + (text.empty() ? "" : " ") + "form=" + std::string(to_string(form));
}

}  // namespace

std::string_view to_string(RecurrenceForm form) {
  if (form == RecurrenceForm::kSamples) return "samples";
  return form == RecurrenceForm::kRows ? "rows" : "state";
}

ValueType infer_types(const ShortConvolution& op, InputTypes inputs) {
  const Inputs in(op, inputs);
  const Dim channels = in.at(0).back();
  require(in.has(1) && in.at(1).rank() == 2 && in.at(1)[0] >= 1,
          "kernel: expected [taps, channels]");
  const Dim taps = in.at(1)[0];
  in.require_shape(1, {taps, channels});
  if (in.has(2)) in.require_shape(2, {channels});
  return in.output({taps - 1, channels}, channels);
}

ValueType infer_types(const SelectiveScan& op, InputTypes inputs) {
  const Inputs in(op, inputs);
  for (const std::size_t i : {1U, 3U, 4U}) in.require_tokens(i);
  const Dim channels = in.at(0).back();
  const Dim heads = in.at(1).back();
  require_multiple("channels", in.width(0), in.width(1));
  require_multiple("channels", in.width(0), op.channel_groups);
  require_multiple("width of b", in.width(3), op.channel_groups);
  in.require_shape(4, in.at(3));
  const auto numbers = static_cast<Dim>(in.width(3) / op.channel_groups);
  in.require_shape(2, in.at(2).rank() == 1 ? Shape{heads} : Shape{numbers, heads});
  in.require_shape(5, {heads});
  return in.output({numbers, channels}, channels);
}

ValueType infer_types(const GatedDelta& op, InputTypes inputs) {
  const Inputs in(op, inputs);
  for (const std::size_t i : {2U, 3U}) in.require_tokens(i);
  in.require_shape(1, in.at(0));
  in.require_shape(4, in.at(3));
  require_multiple("width of keys", in.width(0), op.key_heads);
  require_multiple("heads of values", in.width(3), op.key_heads);
  require_multiple("width of values", in.width(2), in.width(3));
  const Dim heads = in.at(3).back();
  return in.output({heads, static_cast<Dim>(in.width(0) / op.key_heads),
                    static_cast<Dim>(in.width(2) / in.width(3))},
                   in.at(2).back());
}

Tensor evaluate(const ShortConvolution& op, InputTensors inputs) {
  const Tokens<ShortConvolution> in(op, inputs);
  const std::size_t channels = in.width(0);
  const std::size_t taps = in.all(1).size() / channels;
  return in.run((taps - 1) * channels, channels, [&](std::size_t token, auto state, auto y) {
    const auto x = in.of(0, token);
    for (std::size_t c = 0; c < channels; ++c) {
      float sum = in.has(2) ? in.all(2)[c] : 0;
      for (std::size_t k = 0; k < taps; ++k) {
        sum += in.all(1)[k * channels + c] * (k + 1 == taps ? x[c] : state[k * channels + c]);
      }
      y[c] = apply(op.activation, sum);
    }
    if (taps == 1) return;
    std::copy(state.begin() + static_cast<std::ptrdiff_t>(channels), state.end(), state.begin());
    std::ranges::copy(x, state.end() - static_cast<std::ptrdiff_t>(channels));
  });
}

Tensor evaluate(const SelectiveScan& op, InputTensors inputs) {
  const Tokens<SelectiveScan> in(op, inputs);
  const std::size_t channels = in.width(0);
  const std::size_t heads = in.width(1);
  const std::size_t numbers = in.width(3) / op.channel_groups;
  const bool has_one = in.all(2).size() == heads && numbers != 1;
  return in.run(numbers * channels, channels, [&](std::size_t token, auto state, auto y) {
    const auto x = in.of(0, token);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t head = c / (channels / heads);
      const std::size_t group = c / (channels / op.channel_groups);
      const float dt = in.of(1, token)[head];
      float sum = 0;
      for (std::size_t n = 0; n < numbers; ++n) {
        const float a = in.all(2)[has_one ? head : n * heads + head];
        const auto decay = static_cast<float>(elementary::exp(dt * a));
        float& s = state[n * channels + c];
        s = s * decay + dt * x[c] * in.of(3, token)[group * numbers + n];
        sum += in.of(4, token)[group * numbers + n] * s;
      }
      y[c] = sum + in.all(5)[head] * x[c];
    }
  });
}

Tensor evaluate(const GatedDelta& op, InputTensors inputs) {
  const Tokens<GatedDelta> in(op, inputs);
  const std::size_t heads = in.width(3);
  const std::size_t keys = in.width(0) / op.key_heads;
  const std::size_t values = in.width(2) / heads;
  const auto head_step = [&](std::size_t token, std::size_t head, auto state, auto y) {
    const std::size_t group = head / (heads / op.key_heads);
    const auto q = in.of(0, token).subspan(group * keys, keys);
    const auto k = in.of(1, token).subspan(group * keys, keys);
    const auto v = in.of(2, token).subspan(head * values, values);
    const auto decay = static_cast<float>(elementary::exp(in.of(3, token)[head]));
    for (std::size_t e = 0; e < values; ++e) {
      float known = 0;
      for (std::size_t d = 0; d < keys; ++d) {
        state[d * values + e] *= decay;
        known += k[d] * state[d * values + e];
      }
      const float change = in.of(4, token)[head] * (v[e] - known);
      for (std::size_t d = 0; d < keys; ++d) {
        state[d * values + e] += k[d] * change;
        y[e] += q[d] * state[d * values + e];
      }
    }
  };
  return in.run(heads * keys * values, heads * values, [&](std::size_t token, auto state, auto y) {
    for (std::size_t head = 0; head < heads; ++head) {
      head_step(token, head, state.subspan(head * keys * values, keys * values),
                y.subspan(head * values, values));
    }
  });
}

std::string attributes(const ShortConvolution& op) {
  const bool is_linear = op.activation == Activation{};
  return with_form(is_linear ? "" : "activation=" + to_string(op.activation), op.form);
}

std::string attributes(const SelectiveScan& op) {
  return with_form("channel_groups=" + std::to_string(op.channel_groups), op.form);
}

std::string attributes(const GatedDelta& op) {
  return with_form("key_heads=" + std::to_string(op.key_heads), op.form);
}

}  // namespace halftone::ir
