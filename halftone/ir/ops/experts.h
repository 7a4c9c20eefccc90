// SPDX-License-Identifier: Apache-2.0
// Products with matrices that each row chooses: the experts of a mixture.
#pragma once

#include "halftone/ir/ops/activation.h"
#include "halftone/ir/ops/arithmetic.h"
#include "halftone/ir/ops/rules.h"

namespace halftone::ir {

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
