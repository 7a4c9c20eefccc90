// SPDX-License-Identifier: Apache-2.0
// Operators that apply the same function to every element.
#pragma once

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/binary.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y = activation(x), float32 of any shape. Abs, Neg and Sign also take integers; Not takes
/// booleans and integers. The output is kBool if is_predicate(), except for Not of integers.
struct Unary {
  static constexpr std::string_view kName = "Unary";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  Activation activation;
  bool operator==(const Unary&) const = default;
};

/// y = activation(a (op) b) with NumPy broadcasting; both operands of one type. Integers wrap
/// around. Only float32 results have an activation.
struct Binary {
  static constexpr std::string_view kName = "Binary";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  BinaryKind kind = BinaryKind::kAdd;
  Activation activation;
  bool operator==(const Binary&) const = default;
};

/// y = condition ? a : b with NumPy broadcasting; condition kBool, a and b dense of one type.
struct Where {
  static constexpr std::string_view kName = "Where";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  bool operator==(const Where&) const = default;
};

/// Converts the elements to another type; see Tensor::cast().
struct Cast {
  static constexpr std::string_view kName = "Cast";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  ElementType element = ElementType::kFloat32;
  bool operator==(const Cast&) const = default;
};

ValueType infer_types(const Unary& op, InputTypes inputs);
ValueType infer_types(const Binary& op, InputTypes inputs);
ValueType infer_types(const Where& op, InputTypes inputs);
ValueType infer_types(const Cast& op, InputTypes inputs);
Tensor evaluate(const Unary& op, InputTensors inputs);
Tensor evaluate(const Binary& op, InputTensors inputs);
Tensor evaluate(const Where& op, InputTensors inputs);
Tensor evaluate(const Cast& op, InputTensors inputs);
std::string attributes(const Unary& op);
std::string attributes(const Binary& op);
std::string attributes(const Where& op);
std::string attributes(const Cast& op);

}  // namespace halftone::ir
