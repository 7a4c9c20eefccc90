// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/kernels/attention/attend_block.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kTokens = CacheShape::kPanelTokens;

/// Tokens of the panels that a block of consecutive rows may read, at most.
std::size_t max_tokens(const AttentionShape& shape, std::size_t context) {
  const std::size_t seen =
      shape.window == 0 ? context : std::min(context, shape.window + QueryBlock::kMaxQueries - 1);
  return (seen + 2 * kTokens - 1) / kTokens * kTokens;  // they may start within a panel
}

/// Queries of a block, in whole tiles: as many as have scores that fit a second-level cache.
std::size_t max_queries(std::size_t tokens) {
  constexpr std::size_t kScores = std::size_t{1} << 17;
  constexpr std::size_t kTile = 12;
  const std::size_t tiles = std::clamp<std::size_t>(kScores / tokens / kTile, 0, 3);
  return tiles == 0 ? 4 : tiles * kTile;
}

std::size_t padded(std::size_t size) { return CacheShape{1, 0, 1, size}.row_size(); }

/// Floats of the parts of the scratch memory.
struct ScratchParts {
  std::size_t tokens;
  std::size_t queries;
  std::size_t scores;
  std::size_t sums;
  std::size_t converted;
  std::size_t rotated_queries;
  std::size_t rounded_queries;  // with two numbers to a float, as weights
  std::size_t weights;
  std::size_t weight_scales;

  ScratchParts(const AttentionShape& shape, std::size_t context)
      : tokens(max_tokens(shape, context)),
        queries(max_queries(tokens)),
        scores(queries * tokens),
        sums(queries * padded(shape.value_size)),
        converted(std::max(QueryBlock::kKeyPanels * kTokens * padded(shape.key_size),
                           QueryBlock::kValueTokens * padded(shape.value_size))),
        rotated_queries(queries * padded(shape.key_size)),
        rounded_queries(queries * padded(shape.key_size) / 2),
        weights(queries * QueryBlock::weight_stride_of(tokens) / 2),
        weight_scales(queries * QueryBlock::weight_stride_of(tokens) / kWeightGroup) {}

  [[nodiscard]] std::size_t bytes() const {
    return (scores + sums + converted + rotated_queries + rounded_queries + weights +
            weight_scales) *
           sizeof(float);
  }
};

const float* scales_of(const CacheView& cache, const std::byte* head) {
  if (!has_integers(cache.shape.type)) return nullptr;
  return reinterpret_cast<const float*>(head + cache.shape.scales_offset());
}

const std::byte* groups_of(const CacheView& cache, const std::byte* head) {
  return cache.shape.type == CacheType::kInt4 ? head + cache.shape.scales_offset() : nullptr;
}

/// Everything but the queries of a block.
QueryBlock block_on(const AttentionInputs& in, std::size_t slot, std::size_t kv_head,
                    std::span<std::byte> scratch) {
  const ScratchParts parts(in.shape, in.keys.shape.context);
  QueryBlock block;
  block.keys = in.keys.bytes.data() + in.keys.shape.head_offset(slot, kv_head);
  block.values = in.values.bytes.data() + in.values.shape.head_offset(slot, kv_head);
  block.key_scales = scales_of(in.keys, block.keys);
  block.value_scales = scales_of(in.values, block.values);
  block.key_groups = groups_of(in.keys, block.keys);
  block.value_groups = groups_of(in.values, block.values);
  block.key_size = in.shape.key_size;
  block.value_size = in.shape.value_size;
  block.key_row = in.keys.shape.row_size();
  block.value_row = in.values.shape.row_size();
  block.key_type = in.keys.shape.type;
  block.value_type = in.values.shape.type;
  block.scale = in.shape.scale;
  block.softcap = in.shape.softcap;
  block.has_sinks = !in.shape.sinks.empty();
  block.scores = reinterpret_cast<float*>(scratch.data());
  block.score_stride = parts.tokens;
  block.sums = block.scores + parts.scores;
  block.converted = reinterpret_cast<std::byte*>(block.sums + parts.sums);
  block.rotated_queries =
      reinterpret_cast<float*>(block.converted + parts.converted * sizeof(float));
  auto* const integers =
      reinterpret_cast<std::byte*>(block.rotated_queries + parts.rotated_queries);
  block.rounded_queries = reinterpret_cast<std::int16_t*>(integers);
  block.weights = block.rounded_queries + 2 * parts.rounded_queries;
  block.weight_scales = reinterpret_cast<float*>(block.weights + 2 * parts.weights);
  return block;
}

/// The end of the rows from `begin` on that are consecutive tokens of one sequence.
std::size_t end_of_run(const CacheRows& rows, std::size_t begin, std::size_t end) {
  std::size_t r = begin + 1;
  while (r < end && rows.slots[r] == rows.slots[begin] &&
         rows.positions[r] == rows.positions[r - 1] + 1) {
    ++r;
  }
  return r;
}

/// A query as the keys of a block are.
const float* rotated_query(const QueryBlock& block, std::size_t i, const float* query) {
  if (!is_rotated(block.key_type)) return query;
  const std::span to(block.rotated_queries + i * block.key_size, block.key_size);
  std::copy_n(query, to.size(), to.begin());
  numerics::rotate_blocks(to);
  return to.data();
}

/// Turns sums of rotated values back, with one kind of NaN.
void rotate_back(std::span<float> out) {
  numerics::rotate_blocks(out);
  for (float& y : out) y = std::isnan(y) ? std::numeric_limits<float>::quiet_NaN() : y;
}

/// Rows [begin, end), which are consecutive tokens of one sequence, and the queries of a kv head.
void attend_run(const AttentionInputs& in, BlockRange rows, std::size_t kv_head,
                std::span<std::byte> scratch, MatrixView<float> out) {
  const AttentionShape& shape = in.shape;
  const auto slot = static_cast<std::size_t>(in.rows.slots[rows.begin]);
  QueryBlock block = block_on(in, slot, kv_head, scratch);
  const std::size_t limit = max_queries(block.score_stride);
  const std::size_t queries = (rows.end - rows.begin) * shape.group();
  for (std::size_t begin = 0; begin < queries; begin += block.count) {
    block.count = std::min(limit, queries - begin);
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::size_t r = rows.begin + (begin + i) / shape.group();
      const std::size_t head = kv_head * shape.group() + (begin + i) % shape.group();
      block.queries[i] = rotated_query(block, i, in.queries.row(r).data() + head * shape.key_size);
      block.out[i] = out.row(r).data() + head * shape.value_size;
      block.last[i] = static_cast<std::size_t>(in.rows.positions[r]);
      block.first[i] = shape.first_seen(block.last[i]);
      if (block.has_sinks) block.sinks[i] = shape.sinks[head];
    }
    attend_block(block);
    for (std::size_t i = 0; i < block.count && is_rotated(block.value_type); ++i) {
      rotate_back({block.out[i], shape.value_size});
    }
  }
}

/// Checks what callers promise.
void assert_attention([[maybe_unused]] const AttentionInputs& in,
                      [[maybe_unused]] std::span<std::byte> scratch,
                      [[maybe_unused]] MatrixView<float> out) {
  HALFTONE_ASSERT(in.shape.kv_heads > 0 && in.shape.heads % in.shape.kv_heads == 0);
  HALFTONE_ASSERT(in.shape.sinks.empty() || in.shape.sinks.size() == in.shape.heads);
  HALFTONE_ASSERT(in.queries.rows() == in.rows.count() && out.rows() == in.rows.count());
  HALFTONE_ASSERT(in.queries.cols() == in.shape.heads * in.shape.key_size);
  HALFTONE_ASSERT(out.cols() == in.shape.heads * in.shape.value_size);
  HALFTONE_ASSERT(in.keys.shape.heads == in.shape.kv_heads);
  HALFTONE_ASSERT(in.values.shape.heads == in.shape.kv_heads);
  HALFTONE_ASSERT(in.keys.shape.size == in.shape.key_size);
  HALFTONE_ASSERT(in.values.shape.size == in.shape.value_size);
  HALFTONE_ASSERT(in.keys.shape.sequences == in.values.shape.sequences);
  HALFTONE_ASSERT(in.keys.shape.context == in.values.shape.context);
  HALFTONE_ASSERT(in.keys.bytes.size() >= in.keys.shape.bytes());
  HALFTONE_ASSERT(in.values.bytes.size() >= in.values.shape.bytes());
  HALFTONE_ASSERT(scratch.size() >= attend_scratch_bytes(in.shape, in.keys.shape.context));
}

/// The columns of one head or of several next to each other.
template <typename T>
MatrixView<T> columns_from(MatrixView<T> matrix, std::size_t begin, std::size_t count) {
  return {matrix.data_handle() + begin, matrix.rows(), count, matrix.stride()};
}

/// The cache of one head, filled.
struct FilledCache {
  CacheShape shape;
  AlignedBuffer bytes;

  [[nodiscard]] CacheView view() const { return {shape, bytes.bytes()}; }
};

}  // namespace

void attend(const AttentionInputs& in, BlockRange pairs, std::span<std::byte> scratch,
            MatrixView<float> out) noexcept {
  assert_attention(in, scratch, out);
  const std::size_t rows = in.rows.count();
  for (std::size_t i = pairs.begin; i < pairs.end;) {
    const std::size_t kv_head = i / rows;
    const std::size_t begin = i % rows;
    const std::size_t end = end_of_run(in.rows, begin, std::min(rows, begin + pairs.end - i));
    attend_run(in, {begin, end}, kv_head, scratch, out);
    i += end - begin;
  }
}

std::size_t attend_scratch_bytes(const AttentionShape& shape, std::size_t context) {
  return ScratchParts(shape, context).bytes();
}

void attend_causal(const AttentionShape& shape, const SampleInputs& in, BlockRange kv_heads,
                   MatrixView<float> out) {
  const std::size_t tokens = in.queries.rows();
  if (tokens == 0) return;
  const std::vector<std::int32_t> slots(tokens, 0);
  std::vector<std::int32_t> positions(tokens);
  std::iota(positions.begin(), positions.end(), 0);
  const CacheRows rows{slots, positions};
  AttentionShape one = shape;
  one.heads = shape.group();
  one.kv_heads = 1;
  FilledCache keys{{1, tokens, 1, shape.key_size}, {}};
  FilledCache values{{1, tokens, 1, shape.value_size}, {}};
  keys.bytes = AlignedBuffer(keys.shape.bytes());
  values.bytes = AlignedBuffer(values.shape.bytes());
  AlignedBuffer scratch(attend_scratch_bytes(one, tokens));
  for (std::size_t h = kv_heads.begin; h < kv_heads.end; ++h) {
    if (!shape.sinks.empty()) one.sinks = shape.sinks.subspan(h * one.heads, one.heads);
    append_keys(keys.shape, columns_from(in.keys, h * shape.key_size, shape.key_size), rows, {0, 1},
                keys.bytes.bytes());
    append_values(values.shape, columns_from(in.values, h * shape.value_size, shape.value_size),
                  rows, {0, 1}, values.bytes.bytes());
    const auto queries =
        columns_from(in.queries, h * one.heads * shape.key_size, one.heads * shape.key_size);
    attend({one, queries, keys.view(), values.view(), rows}, {0, tokens}, scratch.bytes(),
           columns_from(out, h * one.heads * shape.value_size, one.heads * shape.value_size));
  }
}

}  // namespace halftone::kernels
