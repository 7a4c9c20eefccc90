// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/recurrence.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/recurrence/recurrence.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

bool has_form(const ir::Node& node, ir::RecurrenceForm form) {
  const ir::RecurrenceForm* found = ir::recurrence_form(node.op);
  return found != nullptr && *found == form;
}

constexpr std::size_t kBlock = 64;  // most channels that are computed together
using StateBlock = std::array<float, kBlock>;

/// A run of channels, of one group or head.
struct Channels {
  std::size_t group = 0;
  std::size_t begin = 0;  ///< of all
  std::size_t count = 0;
};

/// Channels in groups, divided into blocks.
struct Blocks {
  std::size_t groups = 1;
  std::size_t width = 0;  ///< of a group

  [[nodiscard]] std::size_t per_group() const { return (width + kBlock - 1) / kBlock; }
  [[nodiscard]] std::size_t count() const { return groups * per_group(); }
  [[nodiscard]] Channels at(std::size_t block) const {
    const std::size_t first = block % per_group() * kBlock;
    const std::size_t group = block / per_group();
    return {group, group * width + first, std::min(kBlock, width - first)};
  }
};

/// A row of an input that has one for each token.
struct TokenInput {
  const float* data = nullptr;
  std::size_t width = 0;
  [[nodiscard]] std::span<const float> row(std::size_t token) const {
    return {data + token * width, width};
  }
};

/// The inputs of a recurrence in memory.
class BoundInputs {
 public:
  BoundInputs(const Buffers& buffers, std::span<const std::size_t> widths, std::size_t first)
      : buffers_(buffers), widths_(widths), first_(first) {}
  [[nodiscard]] const float* data(std::size_t index) const {
    return reinterpret_cast<const float*>(buffers_.inputs[first_ + index]);
  }
  [[nodiscard]] bool has(std::size_t index) const {
    return first_ + index < buffers_.inputs.size() && data(index) != nullptr;
  }
  [[nodiscard]] TokenInput tokens(std::size_t index) const {
    return {data(index), widths_[first_ + index]};
  }

 private:
  const Buffers& buffers_;
  std::span<const std::size_t> widths_;
  std::size_t first_;
};

/// What a step reads and writes: channels of one token.
struct TokenStep {
  std::size_t token = 0;
  float* state = nullptr;  ///< of its sequence
  Channels channels;
  std::span<float> y;  ///< of the channels
};

/// ShortConvolution.
struct ConvolutionSteps {
  ir::Activation activation;
  Blocks blocks;
  std::size_t taps = 1;

  [[nodiscard]] std::size_t numbers() const { return (taps - 1) * blocks.width; }
  /// Calls body(span) for the state of some channels.
  template <typename Body>
  void for_states(const TokenStep& step, const Body& body) const {
    for (std::size_t k = 0; k + 1 < taps; ++k) {
      body(std::span(step.state + k * blocks.width + step.channels.begin, step.channels.count));
    }
  }
  void run(const BoundInputs& in, const TokenStep& step) const {
    const std::size_t begin = step.channels.begin;
    const std::size_t count = step.channels.count;
    const auto x = in.tokens(0).row(step.token).subspan(begin, count);
    const auto tap = [&](std::size_t k) {
      return std::span(in.data(1) + k * blocks.width + begin, count);
    };
    if (in.has(2)) {
      std::copy_n(in.data(2) + begin, count, step.y.begin());
    } else {
      std::ranges::fill(step.y, 0.0F);
    }
    std::size_t k = 0;
    for_states(step, [&](std::span<float> old) { kernels::add_products(tap(k++), old, step.y); });
    kernels::add_products(tap(k), x, step.y);
    apply_activation(activation, step.y, step.y);
    float* previous = nullptr;
    for_states(step, [&](std::span<float> old) {
      if (previous != nullptr) std::ranges::copy(old, previous);
      previous = old.data();
    });
    if (previous != nullptr) std::ranges::copy(x, previous);
  }
};

/// SelectiveScan.
struct ScanSteps {
  Blocks blocks;
  std::size_t states = 1;  ///< of a channel
  std::size_t heads = 1;
  bool has_one = true;  ///< number a for each head, not one for each state

  [[nodiscard]] std::size_t channels() const { return blocks.groups * blocks.width; }
  [[nodiscard]] std::size_t numbers() const { return states * channels(); }
  template <typename Body>
  void for_states(const TokenStep& step, const Body& body) const {
    for (std::size_t n = 0; n < states; ++n) {
      body(std::span(step.state + n * channels() + step.channels.begin, step.channels.count));
    }
  }
  void run(const BoundInputs& in, const TokenStep& step) const {
    const std::size_t group = step.channels.group;
    const std::size_t begin = step.channels.begin;
    const std::size_t count = step.channels.count;
    const float* x = in.tokens(0).row(step.token).data() + begin;
    const float* dt = in.tokens(1).row(step.token).data();
    const float* b = in.tokens(3).row(step.token).data() + group * states;
    const float* c = in.tokens(4).row(step.token).data() + group * states;
    const std::size_t head_width = channels() / heads;
    const auto head = [&](std::size_t i) { return (begin + i) / head_width; };
    StateBlock moved;
    StateBlock decay;
    const auto decays = std::span(decay).first(count);
    const auto set_decays = [&](const float* a) {
      for (std::size_t i = 0; i < count; ++i) decay[i] = dt[head(i)] * a[head(i)];
      kernels::exp(decays, decays);
    };
    for (std::size_t i = 0; i < count; ++i) moved[i] = dt[head(i)] * x[i];
    if (has_one) set_decays(in.data(2));
    std::ranges::fill(step.y, 0.0F);
    std::size_t n = 0;
    for_states(step, [&](std::span<float> state) {
      if (!has_one) set_decays(in.data(2) + n * heads);
      kernels::step_states(decays, std::span(moved).first(count), {b[n], c[n]}, state, step.y);
      ++n;
    });
    for (std::size_t i = 0; i < count; ++i) step.y[i] += in.data(5)[head(i)] * x[i];
  }
};

/// GatedDelta.
struct DeltaSteps {
  Blocks blocks;  ///< of the values of heads
  std::size_t key_heads = 1;
  std::size_t keys = 1;  ///< numbers of a key

  [[nodiscard]] std::size_t numbers() const { return blocks.groups * keys * blocks.width; }
  template <typename Body>
  void for_states(const TokenStep& step, const Body& body) const {
    const auto [head, begin, count] = step.channels;
    for (std::size_t d = 0; d < keys; ++d) {
      body(std::span(step.state + (head * keys + d) * blocks.width + (begin - head * blocks.width),
                     count));
    }
  }
  void run(const BoundInputs& in, const TokenStep& step) const {
    const auto [head, begin, count] = step.channels;
    const std::size_t key = head / (blocks.groups / key_heads) * keys;
    const float* q = in.tokens(0).row(step.token).data() + key;
    const float* k = in.tokens(1).row(step.token).data() + key;
    const float* v = in.tokens(2).row(step.token).data() + begin;
    float decay = in.tokens(3).row(step.token)[head];
    kernels::exp({&decay, 1}, {&decay, 1});
    const float beta = in.tokens(4).row(step.token)[head];
    StateBlock change;
    const auto changes = std::span(change).first(count);
    std::ranges::fill(changes, 0.0F);
    const float* next = k;
    for_states(step, [&](std::span<float> state) {
      kernels::decay_states(decay, *next++, state, changes);
    });
    for (std::size_t i = 0; i < count; ++i) change[i] = beta * (v[i] - change[i]);
    std::ranges::fill(step.y, 0.0F);
    std::size_t d = 0;
    for_states(step, [&](std::span<float> state) {
      kernels::change_states(changes, k[d], q[d], state, step.y);
      ++d;
    });
  }
};

/// Rows or samples through the steps of an operator.
template <typename Steps>
struct RecurrenceRun {
  Steps steps;
  std::vector<std::size_t> widths;  ///< of inputs
  std::size_t first = 0;            ///< input that is not about states
  std::size_t rows = 0;
  std::size_t tokens = 0;     ///< of a sample; 0: rows have places
  std::size_t sequences = 0;  ///< of the state
  std::size_t threads = 1;

  [[nodiscard]] std::size_t width() const { return steps.blocks.groups * steps.blocks.width; }
  void require_slots(std::span<const std::int32_t> slots) const {
    for (const std::int32_t slot : slots) {
      if (slot >= 0 && static_cast<std::size_t>(slot) < sequences) continue;
      fail(ErrorKind::kUsage, "slot: expected 0 to " + std::to_string(sequences - 1) + ", found " +
                                  std::to_string(slot));
    }
  }
  void run(const Buffers& buffers) const {
    const auto places = [&](std::size_t input) {
      return std::span(reinterpret_cast<const std::int32_t*>(buffers.inputs[input]), rows);
    };
    if (first != 0) require_slots(places(1));
    // The state of a recurrence is changed in place: see is_recurrence().
    float* const states =
        first == 0 ? reinterpret_cast<float*>(buffers.scratch)
                   : const_cast<float*>(reinterpret_cast<const float*>(buffers.inputs[0]));
    const BoundInputs in(buffers, widths, first);
    const auto run_block = [&](const Channels& channels) {
      for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t sequence =
            first == 0 ? row / tokens : static_cast<std::size_t>(places(1)[row]);
        const bool is_fresh = first == 0 ? row % tokens == 0 : places(2)[row] == 0;
        float* const y = reinterpret_cast<float*>(buffers.output) + row * width() + channels.begin;
        const TokenStep step{
            row, states + sequence * steps.numbers(), channels, {y, channels.count}};
        if (is_fresh) {
          steps.for_states(step, [](std::span<float> state) { std::ranges::fill(state, 0.0F); });
        }
        steps.run(in, step);
      }
    };
    const std::size_t work = rows * (steps.numbers() + width());
    divide(steps.blocks.count(), work >= kParallelNumbers ? threads : 1,
           [&](std::size_t /*share*/, kernels::BlockRange range) {
             for (std::size_t b = range.begin; b < range.end; ++b) run_block(steps.blocks.at(b));
           });
  }
};

template <typename Steps>
Kernel kernel_of(const NodeContext& context, const Steps& steps, ir::RecurrenceForm form) {
  auto run = std::make_shared<RecurrenceRun<Steps>>();
  run->steps = steps;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    run->widths.push_back(
        context.has_input(i) ? static_cast<std::size_t>(context.input(i).shape.back()) : 0);
  }
  run->first = ir::state_inputs(form);
  const ir::Shape& x = context.input(run->first).shape;
  run->rows = row_extent(x).rows;
  run->threads = static_cast<std::size_t>(context.threads);
  Kernel kernel;
  if (form == ir::RecurrenceForm::kSamples) {
    run->tokens = static_cast<std::size_t>(x[1]);
    kernel.scratch_bytes = static_cast<std::size_t>(x[0]) * steps.numbers() * sizeof(float);
  } else {
    run->sequences = static_cast<std::size_t>(context.input(0).shape[0]);
  }
  kernel.bind = [run](const Buffers& buffers) -> Call {
    return [run, buffers] { run->run(buffers); };
  };
  return kernel;
}

std::size_t input_width(const NodeContext& context, std::size_t index) {
  return static_cast<std::size_t>(context.input(index).shape.back());
}

Kernel create_convolution(const NodeContext& context) {
  const auto& op = context.op<ir::ShortConvolution>();
  const std::size_t first = ir::state_inputs(op.form);
  const auto taps = static_cast<std::size_t>(context.input(first + 1).shape[0]);
  return kernel_of(context, ConvolutionSteps{op.activation, {1, input_width(context, first)}, taps},
                   op.form);
}

Kernel create_scan(const NodeContext& context) {
  const auto& op = context.op<ir::SelectiveScan>();
  const std::size_t first = ir::state_inputs(op.form);
  return kernel_of(context,
                   ScanSteps{{op.channel_groups, input_width(context, first) / op.channel_groups},
                             input_width(context, first + 3) / op.channel_groups,
                             input_width(context, first + 1),
                             context.input(first + 2).shape.rank() == 1},
                   op.form);
}

Kernel create_delta(const NodeContext& context) {
  const auto& op = context.op<ir::GatedDelta>();
  const std::size_t first = ir::state_inputs(op.form);
  const std::size_t heads = input_width(context, first + 3);
  return kernel_of(context,
                   DeltaSteps{{heads, input_width(context, first + 2) / heads},
                              op.key_heads,
                              input_width(context, first) / op.key_heads},
                   op.form);
}

template <typename Op>
Verdict judge_steps(const NodeContext& context) {
  const ir::RecurrenceForm form = context.op<Op>().form;
  if (context.output().shape.element_count() == 0) return refuse("nothing to compute");
  if (form == ir::RecurrenceForm::kState) return refuse("a state, not rows");
  if (form == ir::RecurrenceForm::kSamples) return accept("inside each sample");
  if (!is_in_recurrence(context.graph, context.node)) return refuse("others read the state");
  return accept("changes the state in place");
}

Verdict judge_state(const NodeContext& context) {
  if (!is_in_recurrence(context.graph, context.node)) return refuse("others read the state");
  return accept("computed with the rows");
}

Kernel create_state(const NodeContext& /*context*/) { return {}; }

}  // namespace

bool is_recurrence(const ir::Graph& graph, const ir::State& state) {
  if (state.after == ir::kAbsent) return false;
  const auto producer = graph.producer(state.after);
  if (!producer || graph.num_uses(state.before) != 2 || graph.num_uses(state.after) != 1) {
    return false;
  }
  const ir::Node& after = graph.node(*producer);
  if (!has_form(after, ir::RecurrenceForm::kState) || after.inputs[0] != state.before) {
    return false;
  }
  ir::Operator rows = after.op;
  *ir::recurrence_form(rows) = ir::RecurrenceForm::kRows;
  return std::ranges::any_of(graph.consumers(state.before), [&](ir::NodeId id) {
    return graph.node(id).op == rows && graph.node(id).inputs == after.inputs;
  });
}

bool is_in_recurrence(const ir::Graph& graph, const ir::Node& node) {
  if (!has_form(node, ir::RecurrenceForm::kRows) && !has_form(node, ir::RecurrenceForm::kState)) {
    return false;
  }
  return std::ranges::any_of(graph.states(), [&](const ir::State& state) {
    return state.before == node.inputs[0] && is_recurrence(graph, state);
  });
}

constinit const Implementation kShortConvolution{.name = "convolve_tokens",
                                                 .judge = judge_steps<ir::ShortConvolution>,
                                                 .create = create_convolution};
constinit const Implementation kSelectiveScan{
    .name = "scan_tokens", .judge = judge_steps<ir::SelectiveScan>, .create = create_scan};
constinit const Implementation kGatedDelta{
    .name = "delta_tokens", .judge = judge_steps<ir::GatedDelta>, .create = create_delta};
constinit const Implementation kKeptState{
    .name = "kept_state", .judge = judge_state, .create = create_state};

}  // namespace halftone::runtime
