// SPDX-License-Identifier: Apache-2.0
// Windows of an image reduced to one number per channel, channels last.
#pragma once

#include "halftone/ir/ops/rules.h"
#include "halftone/ir/ops/window.h"

namespace halftone::ir {

enum class PoolKind : std::uint8_t { kMax, kAverage };

/// y[n, p, c] = the largest or the mean of x[n, p strides + k dilations - pads_before, c] over the
/// taps k, float32 [N, spatial..., C]. Padding counts for nothing, or as zeros in a mean with
/// `count_padding`; a window without any input gives -infinity (kMax) or 0. x may also be codes of
/// 8 bits: then y is, a mean rounds ties away from zero (Source: TensorFlow Lite,
/// kernels/internal/reference/integer_ops/pooling.h), -infinity is the lowest code, and padding
/// never counts.
struct Pool {
  static constexpr std::string_view kName = "Pool";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  PoolKind kind = PoolKind::kMax;
  std::vector<Dim> kernel;
  Window window;
  bool count_padding = false;
  /// A last window may be cut off: what reaches past the padding counts for nothing.
  bool round_up = false;
  bool operator==(const Pool&) const = default;
};

std::string_view to_string(PoolKind kind);  ///< "MaxPool", "AveragePool"

ValueType infer_types(const Pool& op, InputTypes inputs);
Tensor evaluate(const Pool& op, InputTensors inputs);
std::string attributes(const Pool& op);

}  // namespace halftone::ir
