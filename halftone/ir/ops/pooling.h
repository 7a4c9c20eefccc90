// SPDX-License-Identifier: Apache-2.0
// Pooling: reduces windows of an image to one value per channel, channels last.
#pragma once

#include "halftone/ir/ops/rules.h"
#include "halftone/ir/ops/window.h"

namespace halftone::ir {

enum class PoolKind : std::uint8_t { kMax, kAverage };

/// y[n, p, c] = the maximum or mean of x[n, p strides + k dilations - pads_before, c] over the taps
/// k, float32 [N, spatial..., C]. Padding is ignored, or counts as zeros in a mean with
/// `count_padding`; a window without any input yields -infinity (kMax) or 0. If x is 8-bit codes,
/// so is y: a mean rounds ties away from zero (Source: TensorFlow Lite,
/// kernels/internal/reference/integer_ops/pooling.h), the lowest code replaces -infinity, and
/// padding is always ignored.
struct Pool {
  static constexpr std::string_view kName = "Pool";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  PoolKind kind = PoolKind::kMax;
  std::vector<Dim> kernel;
  Window window;
  bool count_padding = false;
  /// The last window may be cut off: positions beyond the padding are ignored.
  bool round_up = false;
  bool operator==(const Pool&) const = default;
};

/// y[n, p, c] = the row-major index, among the positions of a channel of x, of the first maximum of
/// the window that a Pool of kMax has; int64. -1 for a window without any input.
struct MaxPoolIndex {
  static constexpr std::string_view kName = "MaxPoolIndex";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  std::vector<Dim> kernel;
  Window window;
  bool round_up = false;  ///< as of a Pool
  bool operator==(const MaxPoolIndex&) const = default;
};

std::string_view to_string(PoolKind kind);  ///< "MaxPool", "AveragePool"

ValueType infer_types(const Pool& op, InputTypes inputs);
ValueType infer_types(const MaxPoolIndex& op, InputTypes inputs);
Tensor evaluate(const Pool& op, InputTensors inputs);
Tensor evaluate(const MaxPoolIndex& op, InputTensors inputs);
std::string attributes(const Pool& op);
std::string attributes(const MaxPoolIndex& op);

}  // namespace halftone::ir
