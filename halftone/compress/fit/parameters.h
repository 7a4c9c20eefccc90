// SPDX-License-Identifier: Apache-2.0
// The free parameters of a number system, which a fit solves for.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/compress/fit/algebra.h"
#include "halftone/numerics/encoding.h"

namespace halftone::compress {

/// The free parameters p of the levels of a block: the level of a code is features(code) . p, so
/// for given codes the best p is a linear least-squares problem in every number system.
///
///     learned    features = (b_1, ..., b_K [, 1])        p = (a_1, ..., a_K [, c])
///     codebook   features = (level[code] [, 1])          p = (scale [, offset])
///     multiples  features = (sum_i m_i b_i [, 1])        p = (unit [, c])
class ParameterSpace {
 public:
  /// Learned levels. @pre 1 <= bits <= numerics::kMaxBits
  ParameterSpace(int bits, bool offset);
  /// The levels of a codebook.
  /// @param scale_type  how scales are stored
  ParameterSpace(std::shared_ptr<const numerics::Codebook> codebook, bool offset,
                 numerics::NumberType scale_type = numerics::NumberType::kFloat32);
  /// A basis whose coefficients are exactly m_i times a unit, and not negative.
  /// @param multiples  m, positive, of up to 10 bits
  ParameterSpace(std::vector<int> multiples, bool offset);
  /// The space of the blocks of an encoding, with their factors as they are.
  static ParameterSpace of(const numerics::MatrixEncoding& encoding);
  /// The space of a single block of that encoding.
  [[nodiscard]] ParameterSpace of_block(std::size_t block) const;

  [[nodiscard]] int bits() const { return bits_; }
  /// Whether all coefficients are free.
  [[nodiscard]] bool is_free_basis() const { return codebook_ == nullptr && multiples_.empty(); }
  /// Null for learned levels.
  [[nodiscard]] const std::shared_ptr<const numerics::Codebook>& codebook() const {
    return codebook_;
  }
  [[nodiscard]] Eigen::Index size() const { return features_->cols(); }
  [[nodiscard]] bool has_offset() const { return has_offset_; }
  /// Whether scales are powers of two, so that a step to the next is a large one.
  [[nodiscard]] bool has_coarse_scales() const {
    return codebook_ != nullptr && scale_type_ == numerics::NumberType::kE8m0;
  }
  /// Whether scales have few significant bits, so that rounding them after a fit costs much.
  [[nodiscard]] bool rounds_scales() const {
    return codebook_ != nullptr && numerics::stored_bits(scale_type_) <= 8;
  }
  /// Whether offsets are small integers times a factor. They may have one sign only.
  [[nodiscard]] bool rounds_offsets() const { return !offset_factors_.empty(); }
  /// Whether offsets are whole multiples of the scale: see Codebook::zero_point().
  [[nodiscard]] bool has_zero_points() const {
    return codebook_ != nullptr && codebook_->has_zero_points();
  }
  /// Whether levels times any factor are levels of the space.
  [[nodiscard]] bool takes_any_factor() const {
    return !has_coarse_scales() && !numerics::is_integer(scale_type_);
  }
  /// [2^K, size()]: a row of features for every code; zeros for codes that name no number.
  [[nodiscard]] const Matrix& features() const { return *features_; }

  /// The levels of a block with these parameters, rounded to numbers that are stored. The
  /// coefficients of learned levels are rounded to the integers that kernels compute with first,
  /// see numerics::on_integer_grid(), so that later steps make up for it. Numbers stored as float32
  /// are also rounded to binary16 if that changes none by more than 2^-11 of the largest: files
  /// store such numbers in half the bytes.
  [[nodiscard]] numerics::Levels to_levels(const Vector& parameters, std::size_t block = 0) const;
  /// Whether with each level there is that of the other sign.
  [[nodiscard]] bool has_symmetric_levels() const;
  /// The parameters of levels from `low` to `high`, or the narrowest around them if there is no
  /// offset. @pre a codebook
  /// @param is_reversed  whether the highest level of the codebook becomes the lowest
  [[nodiscard]] Vector covering(double low, double high, bool is_reversed) const;
  /// The best parameters (s, -s z) with this zero point z, where the level of a code is
  /// s (level - z), one feature: s = (rhs_0 - z rhs_1) / (gram_00 - 2 z gram_01 + z^2 gram_11).
  /// @pre has_zero_points()
  /// @param gram  [2, 2] sums of products of the features of codes
  /// @param rhs   [2] sums of the features times their targets
  [[nodiscard]] Vector with_zero_point(const Matrix& gram, const Vector& rhs, double z) const;
  /// The parameters of levels: exact if they are in the space, otherwise the nearest.
  [[nodiscard]] Vector parameters_of(const numerics::Levels& levels) const;

 private:
  [[nodiscard]] double to_scale(double x, double factor) const;
  [[nodiscard]] double to_offset(double x, std::size_t block) const;

  int bits_;
  bool has_offset_;
  std::shared_ptr<const numerics::Codebook> codebook_;
  numerics::NumberType scale_type_ = numerics::NumberType::kFloat32;
  std::vector<double> scale_factors_ = {1};  ///< of each block, or one for all
  numerics::NumberType offset_type_ = numerics::NumberType::kFloat32;
  std::vector<double> offset_factors_;  ///< the same; empty: none
  std::vector<int> multiples_;          ///< empty: as the number system implies
  std::shared_ptr<const Matrix> features_;
};

/// The space in which the levels of an activation are learned. If they are learned levels of two
/// bits whose planes share a digit, the ratio of the coefficients is fixed.
ParameterSpace activation_space(const numerics::MatrixEncoding& encoding);

}  // namespace halftone::compress
