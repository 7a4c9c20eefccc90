// SPDX-License-Identifier: Apache-2.0
// The same network in a basis that few bits represent better.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/lm/model/open_model.h"
#include "halftone/lm/quantize/rotation.h"

namespace halftone::lm {

struct FoldOptions {
  bool rotates = false;    ///< where the network allows it
  std::uint64_t seed = 0;  ///< of the rotations
};

/// A model whose hidden rows x become x R, and whose values of each head become v S, by matrices
/// that are multiplied into the neighbouring weights: the network computes the same function.
///
/// Hidden rows are rotated if all norms are RMS norms between them and a matrix: the gains g of a
/// norm move into the matrices that read it, W -> W diag(g) R, those that write hidden rows become
/// R' W, the table of the embedding T R. If that table is the head too, its gain stays in one
/// product before it, the final transform R' diag(g) R. Values are rotated unless a norm stands
/// between them and their matrix. Without rotations nothing changes.
class Folding {
 public:
  /// @param model  must outlive this
  Folding(const ModelParts& model, const FoldOptions& options);

  [[nodiscard]] const ModelParts& model() const { return model_; }
  /// What the folded weights are a model of.
  [[nodiscard]] const Description& description() const { return description_; }
  [[nodiscard]] bool rotates_rows() const { return rows_.has_value(); }

  /// A matrix, gain or bias of description(), row by row.
  /// @throws Error as Weight::decode()
  [[nodiscard]] std::vector<float> weight(const WeightId& id) const;
  /// Whether a matrix is another one than that of the model.
  [[nodiscard]] bool changes(const WeightId& id) const;
  /// The inverse for a matrix: folded weights as the model's file has them. A channel whose gain is
  /// 0 has no weights.
  void unfold(const WeightId& id, std::vector<float>& weights) const;
  /// Parts of it, for errors of a matrix: rows become those of the model's own outputs, or columns
  /// those of its inputs but for gains. @param matrix  [outputs, n], of experts all
  void unfold_outputs(const WeightId& id, MatrixView<float> matrix) const;
  void unfold_inputs(const WeightId& id, MatrixView<float> matrix) const;
  /// Turns the second moments of what a matrix of the model reads into those of the folded one.
  /// @param channel_damping  share of each input's own second moment that is added to it before
  ///                         the rotation
  /// @param moments          [n, n] symmetric
  void fold_moments(const WeightId& id, double channel_damping, std::vector<float>& moments) const;

 private:
  /// The rotation of what a matrix reads or writes; null if there is none.
  [[nodiscard]] const Rotation* input_rotation(WeightRole role) const;
  [[nodiscard]] const Rotation* output_rotation(WeightRole role) const;
  /// The gains of the norm that a matrix reads, if they move into it; otherwise empty.
  [[nodiscard]] std::vector<float> gains_before(const WeightId& id) const;
  [[nodiscard]] std::vector<float> gains(const WeightId& norm) const;
  [[nodiscard]] std::vector<float> final_transform() const;

  const ModelParts& model_;
  Description description_;
  std::optional<Rotation> rows_;
  std::optional<Rotation> heads_;   ///< values of all heads
  std::optional<Rotation> values_;  ///< of those that the value matrix gives
};

}  // namespace halftone::lm
