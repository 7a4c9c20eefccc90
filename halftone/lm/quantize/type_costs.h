// SPDX-License-Identifier: Apache-2.0
// What each type would do to the predictions of a model, and the best types for a size.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/lm/quantize/matrix_walk.h"
#include "halftone/lm/quantize/sensitivity.h"
#include "halftone/lm/quantize/type_recipe.h"

namespace halftone::lm {

/// A type for a matrix.
struct TypeCost {
  const WeightType* type = nullptr;
  double loss = 0;  ///< predicted divergence KL(float || quantized) in nats per token, by it alone
  std::size_t bytes = 0;
};
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
/// measure_sensitivities() gives it and M the moments of the samples held out; for an embedding
/// 1/2 sum_c s_c E[e_c^2] over the tokens of the samples; for a table that is both the sum. Experts
/// count as often as a token passes one.
/// @param types  the types to choose from for each matrix; none are not measured
/// @param costs  of an earlier, interrupted run: new ones are added to them as they are measured
/// @throws Error as walk_matrices()
TypeCosts measure_type_costs(const MatrixWalkJob& job, const Sensitivities& sensitivities,
                             const std::map<WeightId, std::vector<const WeightType*>>& types);
void measure_type_costs(const MatrixWalkJob& job, const Sensitivities& sensitivities,
                        const std::map<WeightId, std::vector<const WeightType*>>& types,
                        TypeCosts& costs);

/// @param least  bytes of the smallest types
/// @throws Error kUsage if they are more than there are: says how many more are needed
void require_size(std::size_t least, std::size_t bytes);

struct BudgetedTypes {
  TypeChoice choice;
  double loss = 0;  ///< the sum of predicted losses
  std::size_t bytes = 0;
};

/// The choice of the least predicted loss whose matrices take at most so many bytes: exactly, see
/// compress::solve_knapsack().
/// @param tensor_of  the tensor that holds a matrix: matrices of one tensor get one type; empty:
///                   each has its own
/// @throws Error kUsage if the least choice is too large: says the sizes that are possible
BudgetedTypes choose_within(const TypeCosts& costs, std::size_t bytes,
                            const std::map<WeightId, std::string>& tensor_of = {});

/// The choice of the fewest bytes whose predicted losses sum to at most so much: exactly, but that
/// each loss counts in steps of 2^-32 of the limit, rounded up.
/// @throws Error kUsage if the limit is not a finite number above 0, or the least losses are more:
///         says what they are
BudgetedTypes choose_below(const TypeCosts& costs, double loss,
                           const std::map<WeightId, std::string>& tensor_of = {});

}  // namespace halftone::lm
