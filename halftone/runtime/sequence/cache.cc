// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

constexpr std::size_t kKeys = 1;  // among the inputs of an Attention with states
constexpr std::size_t kValues = 2;

kernels::CacheType cache_type(ir::CacheNumbers numbers) {
  switch (numbers) {
    case ir::CacheNumbers::kFloat32:
      return kernels::CacheType::kFloat32;
    case ir::CacheNumbers::kFloat16:
      return kernels::CacheType::kFloat16;
    case ir::CacheNumbers::kInt8:
      return kernels::CacheType::kInt8;
    case ir::CacheNumbers::kInt6:
      return kernels::CacheType::kInt6;
    case ir::CacheNumbers::kInt4:
      return kernels::CacheType::kInt4;
  }
  return kernels::CacheType::kFloat32;
}

/// Whether all that read keys or values are attentions with the same heads, which read the others
/// too.
bool are_read_together(const ir::Graph& graph, ir::ValueId keys, ir::ValueId values) {
  const std::vector<ir::NodeId> readers = graph.consumers(keys);
  if (readers.empty() || readers != graph.consumers(values)) return false;
  const auto* first = std::get_if<ir::Attention>(&graph.node(readers[0]).op);
  return std::ranges::all_of(readers, [&](ir::NodeId id) {
    const ir::Node& node = graph.node(id);
    const auto* attention = std::get_if<ir::Attention>(&node.op);
    return attention != nullptr && attention->kv_heads == first->kv_heads &&
           node.inputs[kKeys] == keys && node.inputs[kValues] == values;
  });
}

/// The cache that a value is for Attentions, its only readers but the end of the run.
std::optional<kernels::CacheShape> cache_shape(const ir::Graph& graph, ir::ValueId value,
                                               const ir::Attention& reader) {
  const auto state = std::ranges::find(graph.states(), value, &ir::State::after);
  if (state == graph.states().end() || !changes_in_place(graph, *state)) return std::nullopt;
  // The attentions, and the state itself.
  if (graph.num_uses(value) != graph.consumers(value).size() + 1) return std::nullopt;
  const ir::Shape& shape = graph.value(value).type.shape;
  const auto* found = std::get_if<ir::AppendRows>(&graph.node(*graph.producer(value)).op);
  if (found == nullptr) return std::nullopt;
  const ir::AppendRows& append = *found;
  const bool same_heads = append.heads == reader.kv_heads;
  if (!same_heads && kernels::is_rotated(cache_type(append.numbers))) return std::nullopt;
  return kernels::CacheShape{.sequences = static_cast<std::size_t>(shape[0]),
                             .context = static_cast<std::size_t>(shape[1]),
                             .heads = reader.kv_heads,
                             .size = static_cast<std::size_t>(shape[2]) / reader.kv_heads,
                             .type = cache_type(append.numbers)};
}

/// Calls `visit(offset, bytes)` for the parts of a sequence that the panels of some tokens take.
template <typename Visit>
void visit_tokens(const kernels::CacheShape& shape, std::size_t first, std::size_t count,
                  const Visit& visit) {
  constexpr std::size_t kPanel = kernels::CacheShape::kPanelTokens;
  const std::size_t begin = first / kPanel * kPanel;
  const std::size_t tokens = (first + count + kPanel - 1) / kPanel * kPanel - begin;
  const std::size_t row_bytes = shape.bytes_of_row();
  const std::size_t scale_bytes = shape.scale_bytes();
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::size_t offset = shape.head_offset(0, head);
    visit(offset + begin * row_bytes, tokens * row_bytes);
    if (scale_bytes == 0) continue;
    visit(offset + shape.scales_offset() + begin * scale_bytes, tokens * scale_bytes);
  }
}

}  // namespace

bool changes_in_place(const ir::Graph& graph, const ir::State& state) {
  if (state.after == ir::kAbsent) return false;
  if (is_recurrence(graph, state)) return true;
  const auto producer = graph.producer(state.after);
  return producer && std::holds_alternative<ir::AppendRows>(graph.node(*producer).op) &&
         graph.node(*producer).inputs[0] == state.before && graph.num_uses(state.before) == 1;
}

std::optional<AttentionCaches> caches_of(const ir::Graph& graph, const ir::Node& node) {
  const auto* attention = std::get_if<ir::Attention>(&node.op);
  const bool has_states = node.inputs.size() > ir::Attention::kSlots &&
                          node.inputs[ir::Attention::kSlots] != ir::kAbsent;
  if (attention == nullptr || !has_states) return std::nullopt;
  if (!are_read_together(graph, node.inputs[kKeys], node.inputs[kValues])) return std::nullopt;
  const auto keys = cache_shape(graph, node.inputs[kKeys], *attention);
  const auto values = cache_shape(graph, node.inputs[kValues], *attention);
  if (!keys || !values) return std::nullopt;
  return AttentionCaches{*keys, *values};
}

std::optional<CacheUse> cache_use(const ir::Graph& graph, ir::ValueId value) {
  const std::vector<ir::NodeId> readers = graph.consumers(value);
  if (readers.empty()) return std::nullopt;
  const ir::Node& reader = graph.node(readers[0]);
  const auto caches = caches_of(graph, reader);
  if (!caches) return std::nullopt;
  if (reader.inputs[kKeys] == value) return CacheUse{caches->keys, true};
  if (reader.inputs[kValues] == value) return CacheUse{caches->values, false};
  return std::nullopt;
}

std::optional<kernels::CacheShape> cache_of(const ir::Graph& graph, const ir::State& state) {
  const auto use = state.after == ir::kAbsent ? std::nullopt : cache_use(graph, state.after);
  if (!use) return std::nullopt;
  return use->shape;
}

std::size_t state_bytes(const ir::Graph& graph, const ir::State& state) {
  const auto cache = cache_of(graph, state);
  return cache ? cache->bytes() : value_bytes(graph.value(state.before).type);
}

void copy_front(const std::optional<kernels::CacheShape>& cache, const SequenceCopy& copy,
                const StatePart& state) {
  const std::size_t each = state.bytes / copy.sequences;
  const std::size_t from = state.offset + copy.from * each;
  const std::size_t to = state.offset + copy.to * each;
  const auto move = [&](std::size_t offset, std::size_t count) {
    state.memory.copy(from + offset, to + offset, count);
  };
  if (!cache) return move(0, each);
  visit_tokens(*cache, 0, copy.tokens, move);
}

void prepare_rows(const kernels::CacheShape& cache, const SequenceRows& rows,
                  const StatePart& state) {
  const std::size_t sequence = state.offset + cache.head_offset(rows.sequence, 0);
  visit_tokens(cache, rows.first, rows.count, [&](std::size_t offset, std::size_t count) {
    state.memory.prepare_write(sequence + offset, count);
  });
}

}  // namespace halftone::runtime
