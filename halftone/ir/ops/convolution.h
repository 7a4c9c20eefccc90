// SPDX-License-Identifier: Apache-2.0
// Convolutions, channels last.
#pragma once

#include <memory>
#include <vector>

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/arithmetic.h"
#include "halftone/ir/ops/integer.h"
#include "halftone/ir/ops/rules.h"
#include "halftone/ir/ops/window.h"

namespace halftone::ir {

/// y[n, p, o] = activation(bias[o] + sum_(k, c) w[o, k, c] x[n, p strides + k dilations -
/// pads_before, g C/groups + c] + residual[n, p, o]), p and k over one to any number of spatial
/// axes, x zero outside its extents, and g = o / (O / groups). Depthwise: groups = C.
/// Inputs: x [N, spatial..., C], float32 or codes of one basis; w [O, kernel..., C / groups],
/// float32 or codes of a basis at any granularity, its matrix being [O, taps * C / groups]; bias
/// [O] float32, optional; residual float32 as the output, optional. Output float32 [N, counts...,
/// O], or its codes. Integers: see ZeroPoints.
/// File formats have neither the residual nor the codes: passes add them when they prepare a graph
/// to run.
struct Conv {
  static constexpr std::string_view kName = "Conv";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 4;
  Window window;
  Dim groups = 1;
  Activation activation{};
  ZeroPoints zero_points{};
  std::shared_ptr<const numerics::MatrixEncoding> codes{};  ///< of the output; null: float32
  Arithmetic arithmetic = Arithmetic::kAuto;

  bool operator==(const Conv& other) const;
};

/// The gradient of a Conv with respect to its input, also called deconvolution. Each x[n, p, :]
/// adds its product with all taps: y[n, p strides + k dilations - pads_before, o] += w[o, k, c]
/// x[n, p, g C/groups + c]; then bias and activation apply.
/// Inputs as for Conv, except integers. Output float32 [N, extents..., O], where an extent is
/// (spatial - 1) stride + covered - pads_before - pads_after + output_padding.
struct ConvTranspose {
  static constexpr std::string_view kName = "ConvTranspose";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 3;
  Window window;
  std::vector<Dim> output_padding;  ///< extra extents that no tap may reach, one per spatial axis
  Dim groups = 1;
  Activation activation{};
  Arithmetic arithmetic = Arithmetic::kAuto;
  bool operator==(const ConvTranspose&) const = default;
};

/// The extents of the kernel, given weights [O, kernel..., C / groups].
std::span<const Dim> kernel_extents(const Shape& weights);

ValueType infer_types(const Conv& op, InputTypes inputs);
ValueType infer_types(const ConvTranspose& op, InputTypes inputs);
Tensor evaluate(const Conv& op, InputTensors inputs);
Tensor evaluate(const ConvTranspose& op, InputTensors inputs);
std::string attributes(const Conv& op);
std::string attributes(const ConvTranspose& op);

}  // namespace halftone::ir
