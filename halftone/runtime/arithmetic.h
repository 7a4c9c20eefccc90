// SPDX-License-Identifier: Apache-2.0
// What a kernel computes.
#pragma once

#include <string_view>

#include "halftone/ir/ops/arithmetic.h"

namespace halftone::runtime {

/// The arithmetic of a kernel: that of the layer (ir::arithmetic_of()), and the order of its sums
/// if it is float32. It follows from the graph and the options of the plan alone, never from the
/// processor. All kernels of one arithmetic give the same bits for a layer, except those of
/// kFastestFloat.
enum class KernelArithmetic {
  kOperator,      ///< fixed by the definition of the operator: every kernel has its bits
  kBits,          ///< inputs and weights bit by bit, exactly; then the bases
  kIntegers,      ///< inputs and levels of the weights as 8-bit integers; then scales
  kGroups,        ///< 8-bit inputs, the integers of groups of weights; then scales
  kFixedFloat,    ///< float32 in one order of sums
  kFastestFloat,  ///< float32 in the order of sums that is fastest on the processor
};

/// Whether a kernel computes a layer of this arithmetic: the only place where the two meet.
constexpr bool computes(KernelArithmetic kernel, ir::Arithmetic layer) {
  switch (kernel) {
    case KernelArithmetic::kBits:
      return layer == ir::Arithmetic::kBits;
    case KernelArithmetic::kIntegers:
      return layer == ir::Arithmetic::kIntegers;
    case KernelArithmetic::kGroups:
      return layer == ir::Arithmetic::kGroups;
    case KernelArithmetic::kOperator:
    case KernelArithmetic::kFixedFloat:
    case KernelArithmetic::kFastestFloat:
      return layer == ir::Arithmetic::kFloat;
  }
  return false;
}

/// "bits: inputs and weights bit by bit"; begins with the name of the layer's ir::Arithmetic.
constexpr std::string_view text_of(KernelArithmetic arithmetic) {
  switch (arithmetic) {
    case KernelArithmetic::kOperator:
      return "as the operator says";
    case KernelArithmetic::kBits:
      return "bits: inputs and weights bit by bit";
    case KernelArithmetic::kIntegers:
      return "integers: 8-bit inputs, 8-bit levels of the weights";
    case KernelArithmetic::kGroups:
      return "groups: 8-bit inputs, integers of groups of weights";
    case KernelArithmetic::kFixedFloat:
      return "float: one order of sums";
    case KernelArithmetic::kFastestFloat:
      return "float: the processor's order of sums";
  }
  return {};
}

}  // namespace halftone::runtime
