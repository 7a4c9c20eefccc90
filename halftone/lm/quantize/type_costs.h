// SPDX-License-Identifier: Apache-2.0
// What each type would do to the predictions of a model, and the best types for a size.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "halftone/compress/budget/allocation.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/lm/quantize/matrix_walk.h"
#include "halftone/lm/quantize/squared_gradients.h"
#include "halftone/lm/quantize/type_recipe.h"

namespace halftone::lm {

/// A type for a matrix.
struct TypeCost {
  const WeightType* type = nullptr;
  double loss = 0;  ///< predicted divergence KL(float || quantized) in nats per token, by it alone
  std::size_t bytes = 0;
};
/// Types to choose from for each matrix.
using TypeMenu = std::map<WeightId, std::vector<const WeightType*>>;
using TypeCosts = std::map<WeightId, std::vector<TypeCost>>;

/// The types to choose from for rows of this length: vector bases, for embedding and head those
/// from 3 bits on and 8-bit integers; of GGUF K types and Q8_0, or for rows that these do not hold
/// Q2_0, Q4_0, Q5_0 and Q8_0.
std::vector<const WeightType*> types_to_choose(bool is_gguf, const WeightId& id, std::size_t cols);

/// Fits each matrix quickly to each type, and predicts the loss:
///
///     1/2 sum_o s_o e_o' M e_o
///
/// with e_o the error of row o in the basis of the model's own outputs, s_o as
/// measure_squared_gradients() gives it and M the moments of the samples held out; for an embedding
/// 1/2 sum_c s_c E[e_c^2] over the tokens of the samples; for a table that is both the sum. Experts
/// count as often as a token passes one.
/// @param types  matrices without a type are not measured
/// @param costs  of an earlier, interrupted run: new ones are added to them as they are measured
/// @throws Error as walk_matrices()
void measure_type_costs(const MatrixWalkJob& job, const SquaredGradients& gradients,
                        const TypeMenu& types, TypeCosts& costs);

/// Tensors by the matrices that they hold.
using TensorsOfMatrices = std::map<WeightId, std::string>;

/// The costs as a sensitivity: a layer without a name for each matrix, in order, whose estimate is
/// the predicted loss; a choice for each type, by rising bits.
/// @param tensor_of  matrices of one tensor are a unit; one without a tensor is a unit of its own
/// @param types      that are choices even if they are for no matrix
compress::Sensitivity sensitivity_of(const TypeCosts& costs,
                                     const TensorsOfMatrices& tensor_of = {},
                                     const std::vector<const WeightType*>& types = {});

struct BudgetedTypes {
  TypeChoice choice;
  double loss = 0;  ///< the sum of predicted losses
  double bytes = 0;
  /// What no other choice beats in both loss and bytes, from the smallest to the largest.
  std::vector<v0::NetworkCosts> front{};
};

/// The best types within a budget of bytes or of the sum of predicted losses:
/// compress::allocate().
/// @param beside     bytes that a file has beside the matrices
/// @param tensor_of  matrices of one tensor get one type
/// @throws Error as compress::allocate()
BudgetedTypes choose_within(const TypeCosts& costs, const compress::Budget& budget,
                            double beside = 0, const TensorsOfMatrices& tensor_of = {});

/// What is known of a budget before losses are measured: whether the smallest types keep it.
/// @param costs  whose losses are 0
/// @throws Error as choose_within()
void check_budget(const TypeCosts& costs, const compress::Budget& budget, double beside,
                  const TensorsOfMatrices& tensor_of);

}  // namespace halftone::lm
