// SPDX-License-Identifier: Apache-2.0
// What a network remembers from one run to the next.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// The states of a graph, zeros at first. The sessions of several plans may share them, one run at
/// a time, if the states have the same sizes: plans of one graph whose states do not depend on the
/// batch.
class StateMemory {
 public:
  /// Bytes of the states of a plan.
  static std::size_t bytes_for(const Plan& plan);
  /// @throws Error kUnsupported if so much memory is not available
  explicit StateMemory(const Plan& plan);

  [[nodiscard]] std::size_t count() const { return buffers_.size(); }
  /// @param index  in Plan::states()
  [[nodiscard]] std::span<std::byte> state(std::size_t index) { return buffers_[index].bytes(); }
  [[nodiscard]] std::size_t size_bytes() const;
  /// Makes all states zero again.
  void clear();
  /// @throws Error kUsage unless these are as large as the states of a plan
  void check(const Plan& plan) const;

 private:
  std::vector<AlignedBuffer> buffers_;
};

}  // namespace halftone::runtime
