// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/attention.h"

#include <memory>

#include "halftone/base/buffer.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

kernels::CacheRows cache_rows(const std::byte* slots, const std::byte* positions,
                              std::size_t count) {
  return {{reinterpret_cast<const std::int32_t*>(slots), count},
          {reinterpret_cast<const std::int32_t*>(positions), count}};
}

kernels::AttentionShape attention_shape(const ir::Attention& op, std::size_t key_size,
                                        std::size_t value_size) {
  return {.heads = op.heads,
          .kv_heads = op.kv_heads,
          .key_size = key_size,
          .value_size = value_size,
          .scale = op.scale,
          .softcap = op.softcap,
          .window = op.window};
}

/// The scores of nothing that an attention reads, or none.
std::span<const float> sinks_of(const Buffers& buffers, std::size_t heads) {
  const bool has_sinks = buffers.inputs.size() > ir::Attention::kSinks;
  const std::byte* sinks = has_sinks ? buffers.inputs[ir::Attention::kSinks] : nullptr;
  if (sinks == nullptr) return {};
  return {reinterpret_cast<const float*>(sinks), heads};
}

Verdict judge_append(const NodeContext& context) {
  if (!cache_use(context.graph, context.node.output)) return refuse("no attention alone reads it");
  return accept("rows into the cache of an attention");
}

Kernel create_append(const NodeContext& context) {
  const CacheUse use = *cache_use(context.graph, context.node.output);
  const ir::MatrixExtent rows = row_extent(context.input(1).shape);
  const std::size_t threads =
      rows.rows * rows.cols >= kParallelNumbers ? static_cast<std::size_t>(context.threads) : 1;
  Kernel kernel;
  kernel.bind = [use, rows, threads](const Buffers& buffers) -> Call {
    const kernels::CacheRows places = cache_rows(buffers.inputs[2], buffers.inputs[3], rows.rows);
    const auto values = float_matrix(buffers.inputs[1], rows);
    const std::span<std::byte> cache(buffers.output, use.shape.bytes());
    return [=] {
      kernels::require_rows(use.shape, places);
      divide(use.shape.heads, threads, [&](std::size_t /*share*/, kernels::BlockRange heads) {
        if (use.holds_keys) kernels::append_keys(use.shape, values, places, heads, cache);
        if (!use.holds_keys) kernels::append_values(use.shape, values, places, heads, cache);
      });
    };
  };
  return kernel;
}

/// Attention over caches.
struct CachedAttention {
  kernels::AttentionShape shape;
  AttentionCaches caches;
  ir::MatrixExtent queries;
  std::size_t threads = 1;
  std::size_t scratch_bytes = 0;  ///< of a thread

  /// Threads for the tokens that the rows of a run see.
  [[nodiscard]] std::size_t shares(const kernels::CacheRows& rows) const {
    std::size_t seen = 0;
    for (const std::int32_t position : rows.positions) {
      const auto p = static_cast<std::size_t>(position);
      seen += p + 1 - shape.first_seen(p);
    }
    const std::size_t numbers = seen * shape.heads * (shape.key_size + shape.value_size);
    return numbers >= kParallelNumbers ? threads : 1;
  }

  void run(const Buffers& buffers) const {
    const kernels::CacheRows rows = cache_rows(buffers.inputs[3], buffers.inputs[4], queries.rows);
    kernels::require_rows(caches.keys, rows);
    kernels::AttentionShape whole = shape;
    whole.sinks = sinks_of(buffers, shape.heads);
    const kernels::AttentionInputs in{
        .shape = whole,
        .queries = float_matrix(buffers.inputs[0], queries),
        .keys = {caches.keys, {buffers.inputs[1], caches.keys.bytes()}},
        .values = {caches.values, {buffers.inputs[2], caches.values.bytes()}},
        .rows = rows};
    const MatrixView<float> y =
        float_matrix(buffers.output, {queries.rows, shape.heads * shape.value_size});
    divide(
        queries.rows * shape.kv_heads, shares(rows),
        [&](std::size_t share, kernels::BlockRange pairs) {
          kernels::attend(in, pairs, {buffers.scratch + share * scratch_bytes, scratch_bytes}, y);
        });
  }
};

Verdict judge_cached(const NodeContext& context) {
  if (!caches_of(context.graph, context.node)) return refuse("keys and values are not its caches");
  return accept("reads caches");
}

Kernel create_cached(const NodeContext& context) {
  const AttentionCaches caches = *caches_of(context.graph, context.node);
  auto attention = std::make_shared<CachedAttention>();
  attention->shape =
      attention_shape(context.op<ir::Attention>(), caches.keys.size, caches.values.size);
  attention->caches = caches;
  attention->queries = row_extent(context.input(0).shape);
  attention->threads = static_cast<std::size_t>(context.threads);
  attention->scratch_bytes = AlignedBuffer::rounded_up(
      kernels::attend_scratch_bytes(attention->shape, caches.keys.context));
  Kernel kernel;
  kernel.scratch_bytes = attention->threads * attention->scratch_bytes;
  kernel.bind = [attention](const Buffers& buffers) -> Call {
    return [attention, buffers] { attention->run(buffers); };
  };
  return kernel;
}

Verdict judge_samples(const NodeContext& context) {
  if (context.has_input(ir::Attention::kSlots)) return refuse("keys and values are states");
  return accept("inside each sample");
}

/// Attention inside samples, all of one length.
struct SampleAttention {
  kernels::AttentionShape shape;
  std::size_t samples = 0;
  std::size_t tokens = 0;
  std::size_t threads = 1;

  void run(const Buffers& buffers) const {
    kernels::AttentionShape whole = shape;
    whole.sinks = sinks_of(buffers, shape.heads);
    const auto rows = [&](auto* data, std::size_t sample, std::size_t width) {
      return float_matrix(data + sample * tokens * width * sizeof(float), {tokens, width});
    };
    const auto body = [&](std::size_t /*share*/, kernels::BlockRange pairs) {
      for (std::size_t pair = pairs.begin; pair < pairs.end; ++pair) {
        const std::size_t sample = pair / shape.kv_heads;
        const std::size_t head = pair % shape.kv_heads;
        kernels::attend_causal(whole,
                               {rows(buffers.inputs[0], sample, shape.heads * shape.key_size),
                                rows(buffers.inputs[1], sample, shape.kv_heads * shape.key_size),
                                rows(buffers.inputs[2], sample, shape.kv_heads * shape.value_size)},
                               {head, head + 1},
                               rows(buffers.output, sample, shape.heads * shape.value_size));
      }
    };
    divide(samples * shape.kv_heads, threads, body);
  }
};

Kernel create_samples(const NodeContext& context) {
  const auto& op = context.op<ir::Attention>();
  const auto width = [&](std::size_t i) {
    return static_cast<std::size_t>(context.input(i).shape[2]) / op.kv_heads;
  };
  const ir::Shape& q = context.input(0).shape;
  const SampleAttention attention{attention_shape(op, width(1), width(2)),
                                  static_cast<std::size_t>(q[0]), static_cast<std::size_t>(q[1]),
                                  static_cast<std::size_t>(context.threads)};
  Kernel kernel;
  kernel.bind = [attention](const Buffers& buffers) -> Call {
    return [attention, buffers] { attention.run(buffers); };
  };
  return kernel;
}

/// Rotary positions; the rows of each sample have the same positions.
struct Rotation {
  kernels::RotaryShape shape;
  ir::MatrixExtent rows;
  std::size_t positions = 0;
  ir::MatrixExtent tables;

  void run(const Buffers& buffers) const {
    const std::span<const std::int32_t> places(
        reinterpret_cast<const std::int32_t*>(buffers.inputs[1]), positions);
    kernels::require_positions(places, tables.rows);
    const kernels::RotaryTables angles{float_matrix(buffers.inputs[2], tables),
                                       float_matrix(buffers.inputs[3], tables)};
    for (std::size_t first = 0; first < rows.rows; first += positions) {
      const std::size_t offset = first * rows.cols * sizeof(float);
      kernels::rotate(shape, float_matrix(buffers.inputs[0] + offset, {positions, rows.cols}),
                      places, angles,
                      float_matrix(buffers.output + offset, {positions, rows.cols}));
    }
  }
};

Verdict judge_rotary(const NodeContext& context) {
  if (context.output().shape.element_count() == 0) return refuse("nothing to turn");
  return accept("pairs of each head");
}

Kernel create_rotary(const NodeContext& context) {
  const auto& op = context.op<ir::Rotary>();
  const bool halves = op.pairing == ir::RotaryPairing::kNeox;
  const Rotation rotation{
      {op.heads, op.dims,
       halves ? kernels::RotaryPairing::kNeox : kernels::RotaryPairing::kInterleaved},
      row_extent(context.input(0).shape),
      context.input(1).shape.element_count(),
      row_extent(context.input(2).shape)};
  Kernel kernel;
  kernel.bind = [rotation](const Buffers& buffers) -> Call {
    return [rotation, buffers] { rotation.run(buffers); };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kAppendToCache{
    .name = "cache_rows", .judge = judge_append, .create = create_append};
constinit const Implementation kAttendCaches{
    .name = "attend_cache", .judge = judge_cached, .create = create_cached};
constinit const Implementation kAttendSamples{
    .name = "attend_samples", .judge = judge_samples, .create = create_samples};

constinit const Implementation kRotateRows{
    .name = "rotate_rows", .judge = judge_rotary, .create = create_rotary};

}  // namespace halftone::runtime
