// SPDX-License-Identifier: Apache-2.0
// What the operators on codes have in common.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// The kernel of an elementwise operator; its body takes the memory of input and output.
template <typename Body>
Kernel code_kernel(Body body) {
  Kernel kernel;
  kernel.bind =
      [body = std::make_shared<const Body>(std::move(body))](const Buffers& buffers) -> Call {
    return [body, x = buffers.inputs[0], y = buffers.output] { (*body)(x, y); };
  };
  return kernel;
}

}  // namespace halftone::runtime
