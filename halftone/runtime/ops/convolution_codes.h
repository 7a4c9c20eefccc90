// SPDX-License-Identifier: Apache-2.0
// What the ways to convolve codes share.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "halftone/base/parallel.h"
#include "halftone/kernels/conv/conv_finish.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/activation.h"
#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// The geometry of a Conv for the kernels.
/// @pre one to three spatial axes, all extents known
kernels::ConvShape conv_shape(const NodeContext& context);

/// Why the weights of a Conv cannot be packed as codes for an encoded input; nothing if they can.
std::optional<std::string> why_not_coded_conv(const ir::Graph& graph, const ir::Node& node);

/// An activation, as much of it as a kernel does along the way.
struct ConvActivation {
  kernels::ConvFinish finish;
  ir::Activation after;  ///< what is left to do; Identity for nothing
};
ConvActivation split_activation(const ir::Activation& activation);

/// The lines of a convolution in as many shares as there are threads worth waking, each share some
/// lines at a time, so that what is done to them afterwards finds them in a near cache. Results are
/// the same bits whatever the number of shares.
struct LineShares {
  std::size_t lines = 0;
  std::size_t step = 1;  ///< lines at a time
  std::size_t shares = 1;

  /// Calls compute(share, lines) for every step of every share, in parallel.
  template <typename Compute>
  void run(const Compute& compute) const {
    const auto body = [&](std::size_t share) {
      const std::size_t end = lines * (share + 1) / shares;
      for (std::size_t first = lines * share / shares; first < end;) {
        const std::size_t last = first + std::min(step, end - first);
        compute(share, kernels::LineRange{first, last});
        first = last;
      }
    };
    if (shares == 1) return body(0);
    parallel_for(shares, std::ref(body));  // a reference, so that nothing is allocated
  }
};
/// @param us  what one thread takes
LineShares make_line_shares(const kernels::ConvShape& shape, double us, int threads);

/// The activation of some lines of y.
void activate_lines(const ir::Activation& activation, const kernels::ConvShape& shape,
                    kernels::LineRange lines, MatrixView<float> y);

}  // namespace halftone::runtime
