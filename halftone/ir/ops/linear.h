// SPDX-License-Identifier: Apache-2.0
// Matrix products, also with matrices that each row chooses: the experts of a mixture.
#pragma once

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/arithmetic.h"
#include "halftone/ir/ops/integer.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

/// y[..., o] = activation(sum_k x[..., k] w[o, k] + bias[o]).
/// Inputs: x [..., n], float32 or codes of one basis; w [o, n], float32, codes of a basis at any
/// granularity, or blocks (BlockTensor); bias [o] float32, optional. Output float32 [..., o].
/// Integers: see ZeroPoints.
struct FullyConnected {
  static constexpr std::string_view kName = "FullyConnected";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 3;
  Activation activation;
  ZeroPoints zero_points{};
  Arithmetic arithmetic = Arithmetic::kAuto;
  bool operator==(const FullyConnected&) const = default;
};

/// y[..., i, j] = sum_k a[..., i, k] b[..., k, j], leading axes broadcast, float32; a transposed
/// operand has its last two axes exchanged first. A vector counts as a row (a) or column (b), as in
/// NumPy. Integers: see ZeroPoints; a is x, b is w, the outputs are the columns of b.
struct MatMul {
  static constexpr std::string_view kName = "MatMul";
  static constexpr std::size_t kMinInputs = 2;
  static constexpr std::size_t kMaxInputs = 2;
  bool transpose_a = false;
  bool transpose_b = false;
  ZeroPoints zero_points{};
  bool operator==(const MatMul&) const = default;
};

/// y = det x: of the matrices [.., n, n] of the last two axes, float32 [..]; 1 for n = 0.
struct Determinant {
  static constexpr std::string_view kName = "Determinant";
  static constexpr std::size_t kMinInputs = 1;
  static constexpr std::size_t kMaxInputs = 1;
  bool operator==(const Determinant&) const = default;
};

ValueType infer_types(const Determinant& op, InputTypes inputs);
Tensor evaluate(const Determinant& op, InputTensors inputs);
std::string attributes(const Determinant& op);

ValueType infer_types(const FullyConnected& op, InputTypes inputs);
ValueType infer_types(const MatMul& op, InputTypes inputs);
Tensor evaluate(const FullyConnected& op, InputTensors inputs);
Tensor evaluate(const MatMul& op, InputTensors inputs);
std::string attributes(const FullyConnected& op);
std::string attributes(const MatMul& op);

/// y[..., j, o] = activation(sum_i x[..., i] w[chosen[..., j], o, i]): the product of each row with
/// the k matrices that it chooses, or of k rows x[..., j, i] with one each.
///
/// Inputs: x [..., n] or [..., k, n] float32; w [experts, o, n], float32 or blocks (BlockTensor);
/// chosen [..., k] int32 or int64, as resolve_index() reads them. Output float32 [..., k, o].
/// Source: Shazeer et al., 2017, arXiv:1701.06538, Sec. 2.
struct ExpertProduct {
  static constexpr std::string_view kName = "ExpertProduct";
  static constexpr std::size_t kMinInputs = 3;
  static constexpr std::size_t kMaxInputs = 3;
  Activation activation;
  Arithmetic arithmetic = Arithmetic::kAuto;
  bool operator==(const ExpertProduct&) const = default;
};

ValueType infer_types(const ExpertProduct& op, InputTypes inputs);
Tensor evaluate(const ExpertProduct& op, InputTensors inputs);
std::string attributes(const ExpertProduct& op);

}  // namespace halftone::ir
