// SPDX-License-Identifier: Apache-2.0
// Divides the outputs of a fully connected layer among threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "halftone/base/parallel.h"
#include "halftone/kernels/block_range.h"
#include "halftone/runtime/elementwise/activation.h"

namespace halftone::runtime {

/// Blocks of outputs that a kernel computes together, in as many shares as there are threads worth
/// waking. Results do not depend on the number of shares, bit for bit.
class OutputShares {
 public:
  /// @param threads  maximum number of shares; 1 for a layer too small for two
  OutputShares(std::size_t outputs, std::size_t block_outputs, std::size_t threads)
      : outputs_(outputs),
        block_outputs_(block_outputs),
        blocks_(outputs / block_outputs + (outputs % block_outputs != 0)),
        shares_(std::clamp<std::size_t>(blocks_, 1, threads)) {}

  /// Calls compute(blocks) for every share in parallel, then applies the activation to the outputs
  /// of that share in y [m, outputs].
  template <typename Compute>
  void run(const Compute& compute, const ir::Activation& activation, MatrixView<float> y) const {
    const auto body = [&](std::size_t share) {
      const kernels::BlockRange blocks{blocks_ * share / shares_, blocks_ * (share + 1) / shares_};
      compute(blocks);
      const std::size_t first = blocks.begin * block_outputs_;
      const std::size_t last = std::min(blocks.end * block_outputs_, outputs_);
      for (std::size_t r = 0; r < y.rows(); ++r) {
        const auto row = y.row(r).subspan(first, last - first);
        apply_activation(activation, row, row);
      }
    };
    if (shares_ == 1) return body(0);
    parallel_for(shares_, std::ref(body));  // by reference: allocates nothing
  }

 private:
  std::size_t outputs_;
  std::size_t block_outputs_;
  std::size_t blocks_;
  std::size_t shares_;
};

}  // namespace halftone::runtime
