// SPDX-License-Identifier: Apache-2.0
// Operands that repeat along axes of the output.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "halftone/export_c/scope.h"

namespace halftone::export_c {

/// The axes of an output, and the steps of all operands along them in elements; 0 where one
/// repeats.
struct OperandAxes {
  std::vector<std::int64_t> extents;
  std::vector<std::vector<std::int64_t>> steps;  ///< by operand
};

/// kMaxAxes axes: those along which all operands go on are joined.
/// @throws Error kUnsupported as Scope::refuse() if there are more, or the output is empty
OperandAxes operand_axes(const Scope& scope);

/// Adds the lines "static const int32_t extents[4] = ..." and "... a_steps[4] = ..."
/// @param names  of the operands
void add_axes(Scope& scope, const OperandAxes& axes, std::initializer_list<const char*> names);

/// The name of an operand: a value, or a constant array.
/// @throws Error kUnsupported as Scope::refuse() for constants of other types than float32, bool,
///         int8, uint8, int32 and int64
std::string operand(Scope& scope, std::size_t i, const std::string& name);

}  // namespace halftone::export_c
