// SPDX-License-Identifier: Apache-2.0
// Some queries that read the same head of one sequence, as the bodies of attend() see them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "halftone/kernels/attention/attention.h"

namespace halftone::kernels {

/// Queries of consecutive tokens of a sequence, and the heads of each that read one head of keys.
struct QueryBlock {
  /// More reuse what is read no better, and have more scores than the caches of a core hold.
  static constexpr std::size_t kMaxQueries = 36;
  /// Keys whose values the sums of all queries take up before those of the next keys; also those
  /// whose weights are rounded to integers together.
  static constexpr std::size_t kValueTokens = kWeightGroup;
  /// Panels of keys that are converted at a time.
  static constexpr std::size_t kKeyPanels = 2;

  std::size_t count = 0;
  const float* queries[kMaxQueries];  ///< [key_size] each, rotated as the keys are
  float* out[kMaxQueries];            ///< [value_size] each, rotated as the values are
  std::size_t first[kMaxQueries];     ///< positions that a query sees: never decreases
  std::size_t last[kMaxQueries];      ///< the last of them: never decreases
  float sinks[kMaxQueries];           ///< scores of nothing, if has_sinks

  const std::byte* keys = nullptr;  ///< of the head
  const std::byte* values = nullptr;
  const float* key_scales = nullptr;  ///< null without integer_steps()
  const float* value_scales = nullptr;
  const std::byte* key_groups = nullptr;  ///< of kInt4, of the first panel
  const std::byte* value_groups = nullptr;
  std::size_t key_size = 0;
  std::size_t value_size = 0;
  std::size_t key_row = 0;  ///< numbers of a row with its padding
  std::size_t value_row = 0;
  CacheType key_type = CacheType::kFloat32;
  CacheType value_type = CacheType::kFloat32;
  float scale = 1;
  float softcap = 0;
  bool has_sinks = false;

  float* scores = nullptr;  ///< [count, score_stride], from position `base()` on
  std::size_t score_stride = 0;
  float* sums = nullptr;  ///< [count, value_row]
  std::byte* converted =
      nullptr;  ///< floats [kKeyPanels * 16 * key_row] or [kValueTokens * value_row]

  float* rotated_queries = nullptr;  ///< [count, key_size], for rotated keys

  // For integers. Groups of weights begin at multiples of kWeightGroup.
  std::int16_t* rounded_queries = nullptr;  ///< [count, key_row]
  std::int16_t* weights = nullptr;          ///< [count, weight_stride()], from group_base() on
  float* weight_scales = nullptr;           ///< [count, weight_stride() / kWeightGroup]

  /// Bytes of the groups of kInt4 of a panel of heads of some size.
  static constexpr std::size_t group_bytes(std::size_t size) {
    return CacheShape::kPanelTokens * CacheShape{1, 0, 1, size, CacheType::kInt4}.scale_bytes();
  }
  /// The first position of the first panel.
  [[nodiscard]] std::size_t base() const {
    return first[0] / CacheShape::kPanelTokens * CacheShape::kPanelTokens;
  }
  /// The first position after the last panel.
  [[nodiscard]] std::size_t end() const {
    return (last[count - 1] / CacheShape::kPanelTokens + 1) * CacheShape::kPanelTokens;
  }
  /// The first position of the first group of weights.
  [[nodiscard]] std::size_t group_base() const { return first[0] / kWeightGroup * kWeightGroup; }
  [[nodiscard]] std::size_t weight_stride() const { return weight_stride_of(score_stride); }
  static constexpr std::size_t weight_stride_of(std::size_t score_stride) {
    return (score_stride / kWeightGroup + 2) * kWeightGroup;
  }
  /// The score of a query at a position.
  [[nodiscard]] float* score(std::size_t query, std::size_t position) const {
    return scores + query * score_stride + (position - base());
  }
};

/// Computes the outputs of a block.
void attend_block(const QueryBlock& block) noexcept;

}  // namespace halftone::kernels
