// SPDX-License-Identifier: Apache-2.0
// States that attention reads, stored as its kernels read them.
#pragma once

#include <cstddef>
#include <optional>

#include "halftone/ir/graph.h"
#include "halftone/kernels/attention/cache.h"

namespace halftone::runtime {

/// Whether an AppendRows or a recurrence changes a state where it is: nothing else reads the old
/// one.
bool changes_in_place(const ir::Graph& graph, const ir::State& state);

/// The caches of keys and values of an attention.
struct AttentionCaches {
  kernels::CacheShape keys;
  kernels::CacheShape values;
};
/// The caches of an Attention: both are states that AppendRows change in place, and nothing but
/// attentions with the same heads reads them, each both. Nothing for any other node.
std::optional<AttentionCaches> caches_of(const ir::Graph& graph, const ir::Node& node);

/// How a session stores a value.
struct CacheUse {
  kernels::CacheShape shape;
  bool holds_keys = false;
};
/// The cache that an AppendRows writes; nothing for a value that is stored as its type says.
/// @param value  the output of a node
std::optional<CacheUse> cache_use(const ir::Graph& graph, ir::ValueId value);

/// Bytes of a state in a session.
std::size_t state_bytes(const ir::Graph& graph, const ir::State& state);

}  // namespace halftone::runtime
