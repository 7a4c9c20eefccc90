// SPDX-License-Identifier: Apache-2.0
// What kernels do to a number before they store it: text/tails.cl.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/gpu/driver.h"
#include "halftone/gpu/rows.h"

namespace halftone::gpu {

/// y = f(op(y, operand)) of all elements of a matrix; only the first one has a function.
struct Tail {
  Operation op = Operation::kAdd;   ///< kAdd or kMul
  const Buffer* operand = nullptr;  ///< null: only f
  std::size_t count = 1;            ///< elements of the operand, which is repeated
  Function f = Function::kNone;
};
inline constexpr std::size_t kMaxTails = 3;
/// In their order; kMaxTails at most.
using Tails = std::vector<Tail>;

/// Defines FUNCTION of the kernel texts.
std::string function_macro(Function f);
/// That of tails.
inline Function function_of(const Tails& tails) {
  return tails.empty() ? Function::kNone : tails[0].f;
}
/// Appends the arguments TAIL_PARAMETERS. @param unused  any buffer
void add_tails(std::vector<KernelArgument>& arguments, const Tails& tails, const Buffer& unused);

}  // namespace halftone::gpu
