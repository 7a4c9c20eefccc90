// SPDX-License-Identifier: Apache-2.0
// Operators that treat every element alike.
#pragma once

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y = activation(x), float32 of any shape.
struct Unary {
  static constexpr std::string_view kName = "Unary";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  Activation activation;
  bool operator==(const Unary&) const = default;
};

enum class BinaryKind : std::uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPow, kPRelu };
std::string_view to_string(BinaryKind kind);

/// y = activation(a (op) b) with NumPy broadcasting, float32. kPRelu: a < 0 ? a b : a.
struct Binary {
  static constexpr std::string_view kName = "Binary";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  BinaryKind kind = BinaryKind::kAdd;
  Activation activation;
  bool operator==(const Binary&) const = default;
};

/// The elements converted to another type; see Tensor::cast().
struct Cast {
  static constexpr std::string_view kName = "Cast";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  ElementType element = ElementType::kFloat32;
  bool operator==(const Cast&) const = default;
};

/// The value of one pair, before the activation.
float apply(BinaryKind kind, float a, float b);

ValueType infer_types(const Unary& op, InputTypes inputs);
ValueType infer_types(const Binary& op, InputTypes inputs);
ValueType infer_types(const Cast& op, InputTypes inputs);
Tensor evaluate(const Unary& op, InputTensors inputs);
Tensor evaluate(const Binary& op, InputTensors inputs);
Tensor evaluate(const Cast& op, InputTensors inputs);
std::string attributes(const Unary& op);
std::string attributes(const Binary& op);
std::string attributes(const Cast& op);

}  // namespace halftone::ir
