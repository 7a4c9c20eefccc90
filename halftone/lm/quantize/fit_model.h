// SPDX-License-Identifier: Apache-2.0
// Fits the matrices of a language model to types of few bits.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/lm/quantize/matrix_walk.h"
#include "halftone/lm/quantize/type_recipe.h"
#include "halftone/lm/quantize/weight_types.h"

namespace halftone::lm {

/// A matrix in codes: of a model's experts all, one below the other.
struct FittedMatrix {
  const WeightType* type = nullptr;
  std::size_t rows = 0;
  std::size_t cols = 0;  ///< but rows of `encoded` end with a whole block
  EncodedMatrix encoded;
  /// Of outputs, relative: sum of E[(w x - q x)^2] / sum of E[(w x)^2], over the samples held out
  /// or, without them, those to fit; 0 for a matrix of zeros.
  double error = 0;
};

using FittedMatrices = std::map<WeightId, FittedMatrix>;

struct ModelFitOptions {
  compress::Damping damping;
  compress::MatrixFitOptions groups;
  int threads = 1;          ///< of the float model; fits use those of parallel_for()
  ProgressSink progress{};  ///< may be empty
  FittedMatrices known{};   ///< of an earlier, interrupted run: they are not fitted again
  /// Called with all matrices so far, after each block that has new ones; may be empty.
  std::function<void(const FittedMatrices& fitted)> on_block{};
  std::function<void(std::vector<double> losses)> on_losses{};  ///< see MatrixWalkJob
  std::size_t piece = kTablePiece;                              ///< likewise
};

/// The numbers that codes represent, [rows, cols].
std::vector<float> decode(const FittedMatrix& matrix);

/// The type of a final transform, if it holds its rows: 8 bits.
const WeightType& final_transform_type();

/// Fits matrices as walk_matrices() visits them, by compress::fit_matrix(). A final transform of
/// the folding is stored in 8 bits.
/// @param model   of the folding
/// @param choice  of choose_types()
/// @throws Error as walk_matrices() and compress::fit_matrix(); messages name the matrix
FittedMatrices fit_model(const ModelParts& model, const Folding& folding, const TypeChoice& choice,
                         const Samples& samples, const ModelFitOptions& options);

}  // namespace halftone::lm
