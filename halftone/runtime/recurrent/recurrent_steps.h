// SPDX-License-Identifier: Apache-2.0
// The loop over the steps of the sequences of a recurrent layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/ir/ops/recurrent_gates.h"
#include "halftone/runtime/recurrent/state_product.h"

namespace halftone::runtime {

/// The buffers of a layer; null for absent optional inputs.
struct RecurrentBuffers {
  const float* gates = nullptr;
  const float* bias = nullptr;
  const float* hidden = nullptr;
  const float* cell = nullptr;
  const std::int32_t* lengths = nullptr;
  const float* peepholes = nullptr;
  float* output = nullptr;
};

/// A layer whose weights are packed. Samples are independent, so shares of them may run
/// concurrently.
struct RecurrentSteps {
  ir::Recurrent op;
  ir::RecurrentExtents extents;
  bool shares_hidden = false;  ///< all samples start with the same h
  bool shares_cell = false;    ///< and with the same c
  /// One for all gates; for a GRU whose reset precedes the product: of z and r, then of n.
  std::vector<StateProduct> products;
  std::size_t shares = 1;

  /// Scratch memory of a share, besides the buffers.
  [[nodiscard]] std::size_t share_scratch_bytes() const;
  /// Runs the samples of a share through all steps.
  void run(const RecurrentBuffers& memory, std::size_t share, std::byte* scratch) const noexcept;
};

}  // namespace halftone::runtime
