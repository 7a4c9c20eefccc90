// SPDX-License-Identifier: Apache-2.0
// The loop of a recurrent layer over the steps of its sequences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/ir/ops/recurrent.h"
#include "halftone/runtime/recurrent/state_product.h"

namespace halftone::runtime {

/// The memory a layer works on; null where an optional input is absent.
struct RecurrentBuffers {
  const float* gates = nullptr;
  const float* bias = nullptr;
  const float* hidden = nullptr;
  const float* cell = nullptr;
  const std::int32_t* lengths = nullptr;
  const float* peepholes = nullptr;
  float* output = nullptr;
};

/// A layer whose weights are packed. Samples are independent of each other, so that shares of them
/// may run at once.
struct RecurrentSteps {
  ir::Recurrent op;
  std::size_t steps = 0;
  std::size_t batch = 0;
  std::size_t gates = 0;       ///< G H
  std::size_t hidden = 0;      ///< H
  bool shares_hidden = false;  ///< all samples start with one h
  bool shares_cell = false;    ///< and with one c
  /// Of all gates; of a GRU whose reset comes before the product: of z and r, then of n.
  std::vector<StateProduct> products;
  std::size_t shares = 1;

  /// What a share works with beside the buffers.
  [[nodiscard]] std::size_t share_scratch_bytes() const;
  /// Runs the samples of a share through all steps.
  void run(const RecurrentBuffers& memory, std::size_t share, std::byte* scratch) const noexcept;
};

}  // namespace halftone::runtime
