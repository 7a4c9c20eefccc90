// SPDX-License-Identifier: Apache-2.0
// Requantize on memory: a node of its own, or the end of an integer layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/ir/ops/integer.h"
#include "halftone/kernels/encode/requantize.h"

namespace halftone::runtime {

/// Sums of int32 to the codes of a Requantize.
class SumsToCodes {
 public:
  explicit SumsToCodes(const ir::Requantize& op);

  /// @param sums  whole rows of as many columns as the operator has multipliers
  /// @param y     [sums] codes
  void operator()(std::span<const std::int32_t> sums, std::byte* y) const;

 private:
  kernels::Requantization how_;
  bool is_signed_;
};

}  // namespace halftone::runtime
