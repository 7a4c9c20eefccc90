// SPDX-License-Identifier: Apache-2.0
// Attention inside samples and rotary positions on a tape.
#include <algorithm>
#include <vector>

#include "halftone/gradient/steps.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/attention/attention.h"

namespace halftone::gradient {
namespace {

/// Queries of a head that go back together: their scores are the only ones in memory.
constexpr std::size_t kQueryRows = 64;

/// One head of the tokens of a sample.
/// @param all  [samples, tokens, heads size], from the sample on
template <typename T>
MatrixView<T> head_of(std::span<T> all, std::size_t tokens, std::size_t head, std::size_t size) {
  return {all.data() + head * size, tokens, size, all.size() / tokens};
}

/// The score of nothing of a head and where its gradient is added; null without.
struct Sink {
  const float* score = nullptr;
  float* gradient = nullptr;
};

/// What one head of a sample reads, and the gradients that it adds to; those not wanted are empty.
struct AttentionHead {
  ConstRows q, k, v, dy;
  MutableRows dq, dk, dv;
  Sink sink{};
};

class AttentionStep {
 public:
  AttentionStep(const StepContext& context, const ir::Attention& op)
      : context_(context),
        tokens_(static_cast<std::size_t>(context.input_shape(0)[1])),
        samples_(tokens_ == 0 ? 0 : static_cast<std::size_t>(context.input_shape(0)[0])) {
    shape_.heads = op.heads;
    shape_.kv_heads = op.kv_heads;
    shape_.key_size = static_cast<std::size_t>(context.input_shape(1)[2]) / op.kv_heads;
    shape_.value_size = static_cast<std::size_t>(context.input_shape(2)[2]) / op.kv_heads;
    shape_.scale = op.scale;
    shape_.softcap = op.softcap;
    shape_.window = op.window;
  }

  void forward() const {
    for (std::size_t n = 0; n < samples_; ++n) {
      const auto rows = [&](std::span<const float> all) {
        const std::span<const float> part = part_of(all, n);
        return ConstRows(part, tokens_, part.size() / tokens_);
      };
      const std::span<float> y = part_of(context_.output, n);
      kernels::AttentionShape shape = shape_;
      shape.sinks = sinks();
      kernels::attend_causal(
          shape, {rows(context_.inputs[0]), rows(context_.inputs[1]), rows(context_.inputs[2])},
          {0, shape_.kv_heads}, MutableRows(y, tokens_, y.size() / tokens_));
    }
  }

  /// With p the shares of a query: dv_t += p_t dy; ds_t = p_t (dy v_t - sum_u p_u dy v_u), times
  /// the scale and the slope of the cap; dq += sum_t ds_t k_t; dk_t += ds_t q. A sink has the share
  /// 1 - sum_t p_t and the value 0.
  void backward() {
    for (std::size_t n = 0; n < samples_; ++n) {
      for (std::size_t h = 0; h < shape_.heads; ++h) {
        const AttentionHead head = head_at(n, h);
        for (std::size_t t = 0; t < tokens_; t += kQueryRows) {
          pass_back(head, t, std::min(kQueryRows, tokens_ - t));
        }
      }
    }
  }

 private:
  [[nodiscard]] bool has_sinks() const { return context_.inputs.size() > ir::Attention::kSinks; }
  [[nodiscard]] std::span<const float> sinks() const {
    return has_sinks() ? context_.inputs[ir::Attention::kSinks] : std::span<const float>();
  }
  [[nodiscard]] Sink sink_of(std::size_t head) const {
    Sink sink;
    if (sinks().empty()) return sink;
    sink.score = &sinks()[head];
    const std::span<float> gradients = context_.input_gradients[ir::Attention::kSinks];
    if (!gradients.empty()) sink.gradient = &gradients[head];
    return sink;
  }

  /// The elements of a sample; none if there are none.
  template <typename T>
  [[nodiscard]] std::span<T> part_of(std::span<T> all, std::size_t sample) const {
    const std::size_t size = all.size() / samples_;
    return all.subspan(sample * size, size);
  }

  [[nodiscard]] AttentionHead head_at(std::size_t sample, std::size_t head) const {
    const std::size_t kv_head = head / shape_.group();
    const auto input = [&](std::size_t i, std::size_t which, std::size_t size) {
      return head_of(part_of(context_.inputs[i], sample), tokens_, which, size);
    };
    const auto gradient = [&](std::size_t i, std::size_t which, std::size_t size) {
      const std::span<float> all = context_.input_gradients[i];
      if (all.empty()) return MutableRows();
      return head_of(part_of(all, sample), tokens_, which, size);
    };
    const std::size_t key = shape_.key_size;
    const std::size_t value = shape_.value_size;
    return {input(0, head, key),
            input(1, kv_head, key),
            input(2, kv_head, value),
            head_of(part_of(context_.output_gradient, sample), tokens_, head, value),
            gradient(0, head, key),
            gradient(1, kv_head, key),
            gradient(2, kv_head, value),
            sink_of(head)};
  }

  /// Rows [first, first + count) of a head.
  void pass_back(const AttentionHead& head, std::size_t first, std::size_t count) {
    const std::size_t begin = shape_.first_seen(first);
    const std::size_t seen = first + count - begin;
    for (auto* buffer : {&shares_, &slopes_, &caps_}) buffer->resize(kQueryRows * tokens_);
    const MutableRows p(shares_.data(), count, seen, seen);
    const MutableRows ds(slopes_.data(), count, seen, seen);
    const ConstRows q = head.q.rows_from(first, count);
    const ConstRows dy = head.dy.rows_from(first, count);
    matmul(q, transposed(head.k.rows_from(begin, seen)), p);
    matmul(dy, transposed(head.v.rows_from(begin, seen)), ds);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t from = shape_.first_seen(first + r) - begin;
      const std::size_t to = first + r + 1 - begin;
      for (const std::span<float> row : {p.row(r), ds.row(r)}) {
        std::ranges::fill(row.first(from), 0.0F);
        std::ranges::fill(row.subspan(to), 0.0F);
      }
      pass_back_row(p.row(r).subspan(from, to - from), ds.row(r).subspan(from, to - from),
                    head.sink);
    }
    if (head.dv.size() > 0) {
      matmul(transposed(p), dy, head.dv.rows_from(begin, seen), Update::kAdd);
    }
    if (head.dq.size() > 0) {
      matmul(ds, head.k.rows_from(begin, seen), head.dq.rows_from(first, count), Update::kAdd);
    }
    if (head.dk.size() > 0) {
      matmul(transposed(ds), q, head.dk.rows_from(begin, seen), Update::kAdd);
    }
  }

  /// @param p   the products q k of what a query sees, which become its shares
  /// @param ds  the products dy v, which become the gradients of the products q k
  void pass_back_row(std::span<float> p, std::span<float> ds, const Sink& sink) {
    const std::span<float> caps = std::span(caps_).first(p.size());
    for (float& score : p) score *= shape_.scale;
    if (shape_.softcap != 0) {
      for (std::size_t t = 0; t < p.size(); ++t) caps[t] = p[t] / shape_.softcap;
      kernels::tanh(caps, caps);
      for (std::size_t t = 0; t < p.size(); ++t) p[t] = shape_.softcap * caps[t];
    }
    const float largest = *std::ranges::max_element(p);
    for (float& score : p) score -= largest;
    kernels::exp(p, p);
    float sum = 0;
    for (const float e : p) sum += e;
    float share = 0;  // of the sink
    if (sink.score != nullptr) {
      share = *sink.score - largest;
      kernels::exp({&share, 1}, {&share, 1});
      sum += share;
      share /= sum;
    }
    float mean = 0;  // of ds with the shares as weights
    for (std::size_t t = 0; t < p.size(); ++t) {
      p[t] /= sum;
      mean += p[t] * ds[t];
    }
    for (std::size_t t = 0; t < p.size(); ++t) ds[t] = p[t] * (ds[t] - mean) * shape_.scale;
    if (sink.gradient != nullptr) *sink.gradient -= share * mean;
    if (shape_.softcap == 0) return;
    for (std::size_t t = 0; t < p.size(); ++t) ds[t] *= 1 - caps[t] * caps[t];
  }

  StepContext context_;
  kernels::AttentionShape shape_;
  std::size_t tokens_;
  std::size_t samples_;
  std::vector<float> shares_;  ///< [kQueryRows, tokens], like the others
  std::vector<float> slopes_;
  std::vector<float> caps_;
};

TapeStep attention_step(const StepContext& context, const ir::Attention& op) {
  const bool has_states = context.inputs.size() > ir::Attention::kSlots &&
                          context.node.inputs[ir::Attention::kSlots] != ir::kAbsent;
  if (has_states) fail_gradient(describe(context.node) + " with states");
  const auto step = std::make_shared<AttentionStep>(context, op);
  return {[step] { step->forward(); }, [step] { step->backward(); }};
}

/// One turned pair: places in x and in the tables.
struct TurnedPair {
  std::size_t a;
  std::size_t b;
  std::size_t angle;
};

/// Calls visit(pair) for each pair of numbers that is turned.
template <typename Visit>
void for_each_pair(const StepContext& context, const ir::Rotary& op, Visit&& visit) {
  const std::span<const float> positions = context.inputs[1];
  const auto width = static_cast<std::size_t>(context.output_shape().back());
  const std::size_t size = width / op.heads;
  const std::size_t half = op.dims / 2;
  const bool halves = op.pairing == ir::RotaryPairing::kNeox;
  for (std::size_t head = 0; head < context.output.size() / size; ++head) {
    const std::size_t row = head / op.heads;
    const auto position = static_cast<std::size_t>(positions[row % positions.size()]);
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t a = head * size + (halves ? i : 2 * i);
      visit(TurnedPair{a, a + (halves ? half : 1), position * half + i});
    }
  }
}

/// Turns gradients back; those of numbers from `dims` on stay.
TapeStep rotary_step(const StepContext& context, const ir::Rotary& op) {
  const auto backward = [context, op] {
    const std::span<const float> dy = context.output_gradient;
    const std::span<const float> x = context.inputs[0];
    const std::span<const float> cos = context.inputs[2];
    const std::span<const float> sin = context.inputs[3];
    const std::span<float> dx = context.input_gradients[0];
    const std::span<float> dcos = context.input_gradients[2];
    const std::span<float> dsin = context.input_gradients[3];
    const std::size_t size = static_cast<std::size_t>(context.output_shape().back()) / op.heads;
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (i % size >= op.dims) dx[i] += dy[i];
    }
    for_each_pair(context, op, [&](const TurnedPair& at) {
      const float da = dy[at.a];
      const float db = dy[at.b];
      if (!dx.empty()) {
        dx[at.a] += da * cos[at.angle] + db * sin[at.angle];
        dx[at.b] += db * cos[at.angle] - da * sin[at.angle];
      }
      if (!dcos.empty()) dcos[at.angle] += x[at.a] * da + x[at.b] * db;
      if (!dsin.empty()) dsin[at.angle] += x[at.a] * db - x[at.b] * da;
    });
  };
  return {definition_step(context).forward, backward};
}

constexpr StepEntry kSequenceSteps[] = {step_entry<ir::Attention, attention_step>(),
                                        step_entry<ir::Rotary, rotary_step>()};

}  // namespace

std::span<const StepEntry> sequence_steps() { return kSequenceSteps; }

}  // namespace halftone::gradient
