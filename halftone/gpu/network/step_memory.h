// SPDX-License-Identifier: Apache-2.0
// Memory of a session on a device. Private to this folder.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::gpu {

/// Buffers for values and scratch memory of the steps on a device. A value keeps its buffer until
/// its last reader is done; later ones take it over, since launches of a queue run in order.
class StepBuffers {
 public:
  explicit StepBuffers(const runtime::Plan& plan);

  /// Bytes of each buffer.
  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }
  [[nodiscard]] std::size_t total_bytes() const;
  /// Index of the buffer of a value, by root.
  [[nodiscard]] const std::map<ir::ValueId, std::size_t>& values() const { return values_; }
  /// Indices of the scratch memory of a step.
  [[nodiscard]] std::span<const std::size_t> scratch(std::size_t step) const {
    return scratch_[step];
  }

 private:
  std::size_t take(std::size_t bytes);
  void release(std::size_t index) { free_.emplace(sizes_[index], index); }

  std::vector<std::size_t> sizes_;
  std::map<ir::ValueId, std::size_t> values_;
  std::vector<std::vector<std::size_t>> scratch_;
  std::multimap<std::size_t, std::size_t> free_;  ///< size in bytes, index
};

}  // namespace halftone::gpu
