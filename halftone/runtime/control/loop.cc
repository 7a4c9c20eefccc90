// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/control/loop.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::runtime {
namespace {

/// The first input of a Loop that becomes an input of its body.
constexpr std::size_t kFirstState = 2;

/// Slices of a value along an axis: `outer` rows each.
struct SliceCopies {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t row_bytes = 0;
  bool reversed = false;

  SliceCopies(const ir::Shape& shape, const ir::SliceAxis& axis, ir::ElementType element)
      : reversed(axis.reversed) {
    const ir::AxisView view = ir::axis_view(shape, axis.axis);
    outer = view.outer;
    extent = view.extent;
    row_bytes = view.inner * size_bytes(element);
  }
  [[nodiscard]] std::size_t begin_of(std::size_t row, std::size_t t) const {
    return (row * extent + (reversed ? extent - 1 - t : t)) * row_bytes;
  }
  void read(const std::byte* whole, std::size_t t, std::byte* slice) const {
    for (std::size_t row = 0; row < outer; ++row) {
      std::memcpy(slice + row * row_bytes, whole + begin_of(row, t), row_bytes);
    }
  }
  void write(const std::byte* slice, std::size_t t, std::byte* whole) const {
    for (std::size_t row = 0; row < outer; ++row) {
      std::memcpy(whole + begin_of(row, t), slice + row * row_bytes, row_bytes);
    }
  }
};

/// What is known of a loop before it runs.
struct LoopPlan {
  std::string name;  ///< of the node
  ir::Loop op;
  std::shared_ptr<const Plan> body;
  std::vector<ir::LoopResult> results;
  std::vector<SliceCopies> reads;
  std::vector<SliceCopies> stacks;
  /// By state: the offset behind the arena where its next value waits, because it lies in an input
  /// of the body, which other states overwrite; nullopt: it need not wait.
  std::vector<std::optional<std::size_t>> waits;
  std::size_t scratch_bytes = 0;
};

bool lies_in_an_input(const Plan& body, ir::ValueId id) {
  const ir::ValueId root = body.storage(id).root;
  return std::ranges::any_of(body.inputs(),
                             [&](ir::ValueId input) { return body.storage(input).root == root; });
}

void place_states(LoopPlan& loop) {
  const Plan& body = *loop.body;
  loop.scratch_bytes = AlignedBuffer::rounded_up(body.arena_bytes());
  for (std::size_t s = 0; s < loop.op.num_states(); ++s) {
    const ir::ValueId next = body.outputs()[ir::first_state_output(loop.op) + s];
    loop.waits.emplace_back();
    if (!lies_in_an_input(body, next)) continue;
    loop.waits.back() = loop.scratch_bytes;
    loop.scratch_bytes += AlignedBuffer::rounded_up(body.storage(next).bytes);
  }
}

/// A loop bound to memory.
class BoundLoop {
 public:
  BoundLoop(std::shared_ptr<const LoopPlan> loop, const Buffers& buffers)
      : loop_(std::move(loop)),
        buffers_(buffers),
        session_(loop_->body, nullptr, {buffers.scratch, arena_bytes(*loop_)}) {}

  void run() {
    const ir::Loop& op = loop_->op;
    begin();
    bool goes_on = *buffers_.inputs[0] != std::byte{0};
    const std::optional<std::size_t> limit = find_limit();
    for (std::size_t t = 0; goes_on && (!limit || t < *limit); ++t) {
      if (t == op.max_iterations) {
        with_context("node '" + loop_->name + "'", [&] { ir::fail_endless(t); });
      }
      goes_on = iterate(t);
    }
    std::size_t result = 0;
    for (std::size_t s = 0; s < op.num_states(); ++s) {
      if (!op.keeps[s]) continue;
      const std::span<const std::byte> state = session_.input(1 + s);
      std::memcpy(part(result++), state.data(), state.size());
    }
  }

 private:
  static std::size_t arena_bytes(const LoopPlan& loop) {
    return AlignedBuffer::rounded_up(loop.body->arena_bytes());
  }
  [[nodiscard]] std::byte* part(std::size_t result) const {
    return buffers_.output + static_cast<std::size_t>(loop_->results[result].offset);
  }
  [[nodiscard]] std::optional<std::size_t> find_limit() const {
    if (loop_->op.trips) return static_cast<std::size_t>(*loop_->op.trips);
    if (buffers_.inputs[1] == nullptr) return std::nullopt;
    std::int64_t limit = 0;
    std::memcpy(&limit, buffers_.inputs[1], sizeof(limit));
    return static_cast<std::size_t>(std::max<std::int64_t>(limit, 0));
  }

  /// Writes the inputs that do not change, and the first states. Others use this memory between
  /// runs.
  void begin() {
    const std::size_t reads = loop_->reads.size();
    for (std::size_t i = 1; i < loop_->body->inputs().size(); ++i) {
      const bool is_slice = i > loop_->op.num_states() && i <= loop_->op.num_states() + reads;
      if (is_slice) continue;
      const std::span<std::byte> input = session_.input(i);
      std::memcpy(input.data(), buffers_.inputs[kFirstState + i - 1], input.size());
    }
  }

  bool iterate(std::size_t t) {
    const ir::Loop& op = loop_->op;
    const std::size_t states = op.num_states();
    session_.input_as<std::int64_t>(0)[0] = static_cast<std::int64_t>(t);
    for (std::size_t r = 0; r < loop_->reads.size(); ++r) {
      const std::byte* x = buffers_.inputs[kFirstState + states + r];
      loop_->reads[r].read(x, t, session_.input(1 + states + r).data());
    }
    session_.run();
    const std::size_t first = ir::first_state_output(op);
    const std::size_t kept = loop_->results.size() - loop_->stacks.size();
    for (std::size_t s = 0; s < loop_->stacks.size(); ++s) {
      const ValueView slice = session_.output(first + states + s);
      loop_->stacks[s].write(slice.bytes.data(), t, part(kept + s));
    }
    const bool goes_on = !op.is_while || session_.output(0).bytes[0] != std::byte{0};
    move_states();
    return goes_on;
  }

  /// Makes the next states the states.
  void move_states() {
    const std::size_t first = ir::first_state_output(loop_->op);
    const auto wait = [&](std::size_t s) { return buffers_.scratch + *loop_->waits[s]; };
    for (std::size_t s = 0; s < loop_->waits.size(); ++s) {
      if (!loop_->waits[s]) continue;
      const ValueView next = session_.output(first + s);
      std::memcpy(wait(s), next.bytes.data(), next.bytes.size());
    }
    for (std::size_t s = 0; s < loop_->waits.size(); ++s) {
      const std::span<std::byte> state = session_.input(1 + s);
      const std::byte* next = loop_->waits[s] ? wait(s) : session_.output(first + s).bytes.data();
      std::memcpy(state.data(), next, state.size());
    }
  }

  std::shared_ptr<const LoopPlan> loop_;
  Buffers buffers_;
  Session session_;
};

Verdict judge_loop(const NodeContext& /*context*/) { return accept("a plan of its body"); }

std::shared_ptr<const Plan> plan_body(const NodeContext& context) {
  PlanSettings settings = *context.settings;
  settings.batch = 1;  // the body has none left
  settings.execution.device = nullptr;
  return make_plan(*context.op<ir::Loop>().body, settings);
}

Kernel create_loop(const NodeContext& context) {
  auto loop = std::make_shared<LoopPlan>();
  const ir::Loop& op = context.op<ir::Loop>();
  loop->name = context.node.name;
  loop->op = op;
  loop->body = plan_body(context);
  loop->results = ir::results_of(op);
  for (std::size_t r = 0; r < op.reads.size(); ++r) {
    const ir::ValueType& x = context.input(kFirstState + op.num_states() + r);
    loop->reads.emplace_back(x.shape, op.reads[r], x.encoding.element);
  }
  const std::size_t kept = loop->results.size() - op.stacks.size();
  for (std::size_t s = 0; s < op.stacks.size(); ++s) {
    const ir::LoopResult& whole = loop->results[kept + s];
    loop->stacks.emplace_back(whole.shape, op.stacks[s], whole.element);
  }
  place_states(*loop);
  loop->op.body = nullptr;  // its plan has what it needs of the weights
  Kernel kernel;
  kernel.scratch_bytes = loop->scratch_bytes;
  kernel.packed_bytes = loop->body->packed_weight_bytes() + loop->body->constant_bytes();
  kernel.bind = [loop = std::shared_ptr<const LoopPlan>(loop)](const Buffers& buffers) -> Call {
    const auto bound = std::make_shared<BoundLoop>(loop, buffers);  // calls are copied
    return [bound] { bound->run(); };
  };
  return kernel;
}

Verdict judge_part(const NodeContext& /*context*/) { return accept("a copy"); }

Kernel create_part(const NodeContext& context) {
  Kernel kernel;
  const auto offset = static_cast<std::size_t>(context.op<ir::LoopResult>().offset);
  const std::size_t bytes = value_bytes(context.output());
  kernel.bind = [offset, bytes](const Buffers& buffers) -> Call {
    return [from = buffers.inputs[0] + offset, to = buffers.output, bytes] {
      if (bytes != 0) std::memcpy(to, from, bytes);
    };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kLoopBody{
    .name = "loop_of_plan", .judge = judge_loop, .create = create_loop};
constinit const Implementation kRecordPart{
    .name = "record_part", .judge = judge_part, .create = create_part};

}  // namespace halftone::runtime
