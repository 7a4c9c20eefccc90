// SPDX-License-Identifier: Apache-2.0
// What every operator of the families beside this file brings along, and the words for it.
//
// An operator is a struct of attributes with
//   kName, kMinInputs, kMaxInputs           its row in the table of operators
//   infer_types(op, InputTypes)             its shape rule; throws kShape or kUnsupported
//   evaluate(op, InputTensors)              its meaning, in plain loops on dense tensors
//   attributes(op)                          its attributes as text, for dumps
// Every operator here has one output.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "halftone/ir/tensor.h"

namespace halftone::ir {

/// One entry per input; null where an optional input is absent.
using InputTypes = std::span<const ValueType* const>;
using InputTensors = std::span<const Tensor* const>;

/// @throws Error kShape "input I: expected WANTED, found TYPE" unless the input is dense float32
void require_float(InputTypes inputs, std::size_t index);
/// @throws Error kShape unless condition holds
void require(bool condition, const std::string& message);

}  // namespace halftone::ir
