// SPDX-License-Identifier: Apache-2.0
// Goes through the matrices of a model with what they read.
#pragma once

#include <functional>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/base/view.h"
#include "halftone/compress/fit/metric.h"
#include "halftone/lm/quantize/folding.h"
#include "halftone/lm/quantize/sample_walk.h"
#include "halftone/lm/quantize/samples.h"

namespace halftone::lm {

/// The matrices of a model that may be fitted: those of its blocks except routers, the embedding,
/// and the head unless it is the embedding's table. Of experts the first represents all.
std::vector<WeightId> matrices_to_fit(const Description& description);
/// Whether it is the table of an embedding, or the head.
bool is_table(const WeightId& id);

/// The name of a matrix in GGUF files, whatever its file calls it. Experts of a block share one.
std::string canonical_name(const Description& description, const WeightId& id);

/// A matrix of a folded model, row by row: of experts and streams all, one below the other.
std::vector<float> folded_matrix(const Folding& folding, const WeightId& id);

/// A matrix on the way.
struct VisitedMatrix {
  WeightId id;
  MatrixView<const float> values;         ///< [outputs, n], folded
  const compress::Metric<float>& metric;  ///< in which it is to be fitted
  MatrixView<const float> moments;  ///< [n, n] by which errors are judged; empty: the identity
  /// Of the matrix: the table of blocks' inputs, which may be larger than memory, comes in pieces
  /// of whole rows.
  std::size_t first_row = 0;
};

inline constexpr std::size_t kTablePiece = std::size_t{1} << 24;

struct MatrixWalkJob {
  const ModelParts& model;
  const Folding& folding;  ///< of the model
  const Samples& samples;
  compress::Damping damping{};
  int threads = 1;                   ///< of the float model
  ProgressSink progress{};           ///< may be empty
  std::function<void()> on_block{};  ///< called after each block of which matrices were visited
  /// Called at the end with SampleWalk::losses(); empty: they are not measured.
  std::function<void(std::vector<double> losses)> on_losses{};
  std::size_t piece = kTablePiece;  ///< numbers of the table of blocks' inputs that come at once
};

/// Calls visit(matrix) for each matrix_to_fit() that is wanted, block by block, as the samples of
/// the float model reach them: see SampleWalk. It ends after the last block with one. Matrices that
/// read the same rows share their metric, experts that of all rows of their block. The table of an
/// embedding has the metric of the head's input if it is the head's too; otherwise that of inputs
/// which are all alike, as the table of blocks' inputs has it. A final transform of the folding,
/// kFinalTransform, may be wanted too, and is visited before the head. Errors are judged by the
/// samples held out or, without them, by those to fit.
/// @throws Error as SampleWalk and compress::Metric<float>::of(); messages name the matrix
void walk_matrices(const MatrixWalkJob& job, const WantedMatrix& wanted,
                   const std::function<void(const VisitedMatrix&)>& visit);

}  // namespace halftone::lm
