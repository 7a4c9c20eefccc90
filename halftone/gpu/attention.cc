// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/attention.h"

#include <algorithm>
#include <cmath>

#include "halftone/gpu/launches.h"
#include "halftone/gpu/texts.h"

namespace halftone::gpu {
namespace {

using kernels::CacheShape;
using kernels::CacheType;

Kernel& attention_kernel(Programs& programs, CacheType type, const char* name) {
  const std::string macros = type == CacheType::kFloat32   ? ""
                             : type == CacheType::kFloat16 ? "#define CACHE_HALF\n"
                             : type == CacheType::kInt8    ? "#define CACHE_INT8\n"
                             : type == CacheType::kInt6    ? "#define CACHE_INT6\n"
                                                           : "#define CACHE_INT4\n";
  return programs.kernel(program_text(macros, {"elementary", "caches", "attention"}), name);
}

/// Numbers of a head in a cache; bytes of codes.
std::uint32_t head_numbers(const CacheShape& shape) {
  const std::size_t number_bytes = shape.bytes_of_row() / shape.row_size();
  return number(shape.bytes_of_head() / std::max<std::size_t>(1, number_bytes));
}

}  // namespace

Launch rotate(Programs& programs, const RotaryRows& rows, const RotaryBuffers& buffers) {
  const std::size_t cols = rows.shape.heads * rows.size;
  const bool are_halves = rows.shape.pairing == kernels::RotaryPairing::kNeox;
  return {&attention_kernel(programs, CacheType::kFloat32, "rotate_heads"),
          grid_of(rows.count * cols),
          {buffers.x, buffers.positions, buffers.cosines, buffers.sines, buffers.y,
           number(rows.count * cols), number(cols), number(rows.size), number(rows.shape.dims),
           number(are_halves ? 1 : 0)}};
}

Launch rotate_blocks(Programs& programs, const BlockRows& rows, const Buffer& x, const Buffer& y) {
  const std::size_t block = rows.size & (~rows.size + 1);
  constexpr std::size_t kRotateThreads = 128;  // THREADS of text/attention.cl
  return {&attention_kernel(programs, CacheType::kFloat32, "rotate_blocks"),
          {rows.heads * rows.size / block, rows.count, kRotateThreads},
          {x, y, number(rows.heads * rows.size), number(block),
           1 / std::sqrt(static_cast<float>(block))}};
}

Launch append(Programs& programs, const TokenRows& rows, const Buffer& x, const Cache& cache) {
  const CacheShape& shape = cache.shape;
  const std::size_t count =
      rows.count * shape.heads * (kernels::is_rotated(shape.type) ? 1 : shape.size);
  return {&attention_kernel(programs, shape.type, "append"),
          grid_of(count),
          {x, rows.slots, rows.positions, cache.bytes, number(count), number(shape.heads),
           number(shape.size), head_numbers(shape), number(shape.context),
           number(cache.holds_keys ? 1 : 0)}};
}

Launch place_heads(Programs& programs, const PlacedHeads& from, const CachePair& caches,
                   const TokenRows& rows, const Buffer& queries) {
  const CacheShape& keys = caches.keys.shape;
  const CacheShape& values = caches.values.shape;
  std::vector<KernelArgument> arguments;
  for (const RowsWithin* each : {&from.queries.rows, &from.keys.rows, &from.values}) {
    arguments.emplace_back(each->buffer);
    arguments.emplace_back(number(each->begin));
    arguments.emplace_back(number(each->stride));
  }
  const auto known = [&](const Buffer* buffer) {
    arguments.emplace_back(buffer == nullptr ? queries : *buffer);
  };
  arguments.insert(arguments.end(), {rows.slots, rows.positions});
  known(from.angles.cosines);
  known(from.angles.sines);
  known(from.queries.norm.gain);
  known(from.keys.norm.gain);
  const std::uint32_t norms =
      (from.queries.norm.gain != nullptr ? 1U : 0U) + (from.keys.norm.gain != nullptr ? 2U : 0U);
  const bool are_halves = from.angles.shape.pairing == kernels::RotaryPairing::kNeox;
  arguments.insert(arguments.end(), {queries, caches.keys.bytes, caches.values.bytes,
                                     number(from.heads), number(keys.heads), number(keys.size),
                                     number(values.size), head_numbers(keys), head_numbers(values),
                                     number(from.angles.shape.dims), number(are_halves ? 1 : 0),
                                     norms, from.queries.norm.epsilon, from.keys.norm.epsilon});
  constexpr std::size_t kPlaceThreads = 128;
  return {&attention_kernel(programs, keys.type, "place_heads"),
          {from.heads + 2 * keys.heads, rows.count, kPlaceThreads},
          std::move(arguments)};
}

Launch attend(Programs& programs, const kernels::AttentionShape& shape, const CachePair& caches,
              const TokenRows& rows, const AttentionBuffers& buffers) {
  constexpr std::size_t kAttendThreads = 128;  // THREADS of text/attention.cl
  const auto& [keys, values] = caches;
  if (keys.shape.type != values.shape.type) {
    fail(ErrorKind::kUnsupported, "a device: keys and values of different types");
  }
  const Buffer& sinks = buffers.sinks == nullptr ? buffers.queries : *buffers.sinks;
  return {&attention_kernel(programs, keys.shape.type, "attend"),
          {shape.heads, rows.count, kAttendThreads},
          {buffers.queries,
           keys.bytes,
           values.bytes,
           rows.slots,
           rows.positions,
           sinks,
           buffers.scores,
           buffers.y,
           number(shape.heads),
           number(shape.kv_heads),
           number(shape.key_size),
           number(shape.value_size),
           head_numbers(keys.shape),
           head_numbers(values.shape),
           number(keys.shape.context),
           number(score_size(keys.shape.context)),
           number(shape.window),
           shape.scale,
           shape.softcap,
           static_cast<float>(kernels::query_steps(shape.key_size)),
           number(buffers.sinks == nullptr ? 0 : 1)}};
}

}  // namespace halftone::gpu
