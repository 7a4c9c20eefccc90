// SPDX-License-Identifier: Apache-2.0
// Scales and offsets of groups: which are tried, and how they are rounded to what files store.
// Used by group_rows.cc. Arrays of rows have a multiple of kernels::kFitLanes of them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/compress/fit/fitted_groups.h"
#include "halftone/kernels/fit/codewords.h"
#include "halftone/kernels/fit/fit_group.h"

namespace halftone::compress {

/// The factors of each row for a group, and where its scales and offsets are stored.
struct GroupOfRows {
  std::span<const float> scale_factors;   ///< [rows]
  std::span<const float> offset_factors;  ///< [rows]
  std::span<float> scales;                ///< [rows] as stored
  std::span<float> offsets;               ///< [rows] as stored; zeros without offsets
};

/// Columns of the weights that a scale is chosen for.
struct WeightedColumns {
  MatrixView<const float> weights;    ///< [g, rows]
  std::span<const float> importance;  ///< [g] >= 0
};

/// Scales and offsets to try for a group.
struct ScaleCandidates {
  std::size_t rows = 0;
  std::vector<float> stored_scales;   ///< [count, rows]
  std::vector<float> stored_offsets;  ///< [count, rows]
  std::vector<float> scales;          ///< [count, rows] with their factors
  std::vector<float> offsets;         ///< [count, rows]

  [[nodiscard]] std::size_t count() const { return rows == 0 ? 0 : scales.size() / rows; }
};

class GroupScaleFit {
 public:
  /// @param candidates  how many scales to try for a group
  /// @pre check_codes() has passed; the codewords are those of the grid and live as long
  GroupScaleFit(const GroupCodes& grid, const kernels::Codewords& codewords, int candidates);

  /// The factor of a whole matrix where scales have one: see numerics::has_tensor_factor(); else 1.
  [[nodiscard]] float factor_of(MatrixView<const float> weights) const;

  /// kIntegers: the factors of the groups in the first columns, which share them.
  /// @param scale_factors, offset_factors  [rows]
  void choose_factors(const WeightedColumns& columns, std::span<float> scale_factors,
                      std::span<float> offset_factors) const;

  /// What to try for a group.
  ///  - Codewords of several weights, and up to four levels: multiples around the scale that is
  ///    best for weights of a bell-shaped distribution with the group's weighted mean square.
  ///  - More levels: from those that reach the extreme weights to shorter ones, of both signs where
  ///    the grid has them and they differ.
  ///  - With float16 offsets: least squares from several ranges.
  ///  - Powers of two: those next to the least one that reaches the extreme weights.
  ///  - Integers: those next to the least weighted squared error.
  [[nodiscard]] ScaleCandidates candidates(const WeightedColumns& group,
                                           const GroupOfRows& factors) const;

  /// Replaces scales and offsets where others have less error for the codes as they are.
  /// @param total  1' H 1
  void improve(const kernels::LevelSums& sums, float total, const GroupOfRows& group) const;

  /// scale_factor scale and offset_factor offset of each row, rounded to float32.
  static void multiply(const GroupOfRows& group, std::span<float> scales, std::span<float> offsets);

 private:
  /// What a file stores for a scale or an offset near `ideal`.
  [[nodiscard]] float stored_scale(double ideal, float factor) const;
  [[nodiscard]] float stored_offset(double ideal, float factor) const;
  void search(const WeightedColumns& group, std::span<const float> shares, std::span<float> scales,
              std::span<float> offsets) const;
  /// The least scales of both signs whose levels reach from `low` to `high`.
  struct Covering {
    double positive = 0;
    double negative = 0;
  };
  [[nodiscard]] Covering covering(double low, double high) const;
  [[nodiscard]] std::vector<Covering> coverings(MatrixView<const float> weights) const;
  /// The scale of a group whose weights are all alike in importance.
  [[nodiscard]] double plain_scale(std::span<const float> weights) const;
  [[nodiscard]] std::vector<double> bell_scales(const WeightedColumns& group) const;
  void add_multiples(const WeightedColumns& group, const GroupOfRows& factors,
                     ScaleCandidates& candidates) const;
  void add_powers(const WeightedColumns& group, ScaleCandidates& candidates) const;
  void add_ranges(const WeightedColumns& group, const GroupOfRows& factors,
                  ScaleCandidates& candidates) const;
  void add_offsets(const WeightedColumns& group, ScaleCandidates& candidates) const;
  void add_integers(const WeightedColumns& group, const GroupOfRows& factors,
                    ScaleCandidates& candidates) const;

  const GroupCodes& grid_;
  const kernels::Codewords& codewords_;
  std::size_t num_candidates_;
  bool is_coarse_;     ///< whether the extreme weights do not say what the scale should be
  bool both_signs_;    ///< whether scales of the other sign have other levels
  double bell_scale_;  ///< the scale for weights of variance one
};

}  // namespace halftone::compress
