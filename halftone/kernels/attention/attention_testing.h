// SPDX-License-Identifier: Apache-2.0
// For the tests and the benchmark of attention: caches with contents, and rows that read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/attention/attention.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {

/// A cache that holds random numbers at every position.
struct TestCache {
  CacheShape shape;
  AlignedBuffer bytes;
  std::vector<float> numbers;  ///< [sequences * context, heads * size], before they were stored

  template <typename Append>
  TestCache(const CacheShape& of, Append append, Random& random)
      : shape(of),
        bytes(of.bytes()),
        numbers(numerics::random_floats(random, of.sequences * of.context * of.heads * of.size)) {
    std::vector<std::int32_t> slots;
    std::vector<std::int32_t> positions;
    for (std::size_t i = 0; i < of.sequences * of.context; ++i) {
      slots.push_back(static_cast<std::int32_t>(i / of.context));
      positions.push_back(static_cast<std::int32_t>(i % of.context));
    }
    append(of, MatrixView<const float>(numbers, slots.size(), of.heads * of.size),
           CacheRows{slots, positions}, BlockRange{0, of.heads}, bytes.bytes());
  }

  [[nodiscard]] CacheView view() const { return {shape, bytes.bytes()}; }
};

/// Queries, and the caches that they read.
struct AttentionCase {
  AttentionShape shape;
  TestCache keys;
  TestCache values;
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> positions;
  std::vector<float> queries;

  AttentionCase(const AttentionShape& of, std::size_t sequences, std::size_t context,
                CacheType type, Random& random)
      : shape(of),
        keys({sequences, context, of.kv_heads, of.key_size, type}, append_keys, random),
        values({sequences, context, of.kv_heads, of.value_size, type}, append_values, random) {}

  /// Adds a row.
  void add_row(std::size_t slot, std::size_t position, Random& random) {
    slots.push_back(static_cast<std::int32_t>(slot));
    positions.push_back(static_cast<std::int32_t>(position));
    const auto more = numerics::random_floats(random, shape.heads * shape.key_size);
    queries.insert(queries.end(), more.begin(), more.end());
  }
  [[nodiscard]] std::size_t rows() const { return slots.size(); }
  [[nodiscard]] std::size_t pairs() const { return rows() * shape.kv_heads; }
  [[nodiscard]] AttentionInputs inputs() const {
    return {shape, MatrixView<const float>(queries, rows(), shape.heads * shape.key_size),
            keys.view(), values.view(), CacheRows{slots, positions}};
  }
  [[nodiscard]] std::size_t outputs() const { return rows() * shape.heads * shape.value_size; }
  [[nodiscard]] MatrixView<float> view_of(std::vector<float>& out) const {
    return {std::span(out), rows(), shape.heads * shape.value_size};
  }
  [[nodiscard]] AlignedBuffer scratch() const {
    return AlignedBuffer(attend_scratch_bytes(shape, keys.shape.context));
  }
};

}  // namespace halftone::kernels
