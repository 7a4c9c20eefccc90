// SPDX-License-Identifier: Apache-2.0
// Implementations of the operators that place tokens in a sequence or mix them, and the states that
// they read and change in place.
#pragma once

#include <cstddef>
#include <optional>

#include "halftone/base/paged_buffer.h"
#include "halftone/ir/graph.h"
#include "halftone/kernels/attention/cache.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/sequence/sequence_tokens.h"

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

/// The cache that a state is; nothing for a state of another kind.
std::optional<kernels::CacheShape> cache_of(const ir::Graph& graph, const ir::State& state);

/// Where the bytes of a state lie.
struct StatePart {
  PagedBuffer& memory;
  std::size_t offset = 0;
  std::size_t bytes = 0;  ///< of all sequences, [sequences, ...]
};

/// Copies tokens in a state: of a cache what these take, else all of the sequence. Sequences of a
/// cache may have the same pages afterwards: prepare_rows() before a run writes them.
/// @throws Error as PagedBuffer::copy()
void copy_front(const std::optional<kernels::CacheShape>& cache, const SequenceCopy& copy,
                const StatePart& state);
/// Gives a cache memory for some tokens that no other sequence shares.
/// @throws Error as PagedBuffer::prepare_write()
void prepare_rows(const kernels::CacheShape& cache, const SequenceRows& rows,
                  const StatePart& state);

/// Whether two nodes with the same inputs give the rows of a recurrence and the state after them,
/// nothing else reads the state, and it is tied: the first then changes the state in place, and the
/// second has nothing to do.
/// @param state  its input and its output
bool is_recurrence(const ir::Graph& graph, const ir::State& state);
/// Whether a node is one of such two.
bool is_in_recurrence(const ir::Graph& graph, const ir::Node& node);

/// Rows into a cache that an attention reads.
extern const Implementation kAppendToCache;
/// Attention over caches. Threads divide pairs of a token and a head of keys.
extern const Implementation kAttendCaches;
/// Attention inside samples. Threads divide pairs of a sample and a head of keys.
extern const Implementation kAttendSamples;
/// Rotary positions.
extern const Implementation kRotateRows;
/// Recurrences of samples, and of rows that change a state in place. Threads
/// divide channels.
extern const Implementation kShortConvolution;
extern const Implementation kSelectiveScan;
extern const Implementation kGatedDelta;
/// The state after rows that change it in place.
extern const Implementation kKeptState;

}  // namespace halftone::runtime
