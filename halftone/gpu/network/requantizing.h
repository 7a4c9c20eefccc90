// SPDX-License-Identifier: Apache-2.0
// Sums of int32 to codes on a device. Private to this folder.
#pragma once

#include "halftone/gpu/network/step_kernel.h"
#include "halftone/ir/ops/integer.h"

namespace halftone::gpu {

/// A Requantize: a node of its own, or the end of an integer layer.
class Requantizing {
 public:
  Requantizing(StepMaker& maker, const ir::Requantize& op);
  /// @param x  int32, as many as the output of the step has elements
  [[nodiscard]] Launch launch(const Buffer& x, const Buffer& y) const;

 private:
  Kernel* kernel_ = nullptr;
  std::vector<const Buffer*> factors_;
  std::vector<std::uint32_t> numbers_;  ///< behind the buffers
};

/// "#define CODE schar" or uchar, of 8-bit codes, or int.
std::string code_macro(ir::ElementType element);

}  // namespace halftone::gpu
