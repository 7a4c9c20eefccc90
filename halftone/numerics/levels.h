// SPDX-License-Identifier: Apache-2.0
// What the codes of one block mean, and the levels in ascending order.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halftone/numerics/basis.h"
#include "halftone/numerics/codebook.h"

namespace halftone::numerics {

/// What the codes of one block mean: the levels of a basis, or those of a codebook with a scale
/// and an offset,
///
///     value = fl(fl(scale level[code]) + offset)
class Levels {
 public:
  Levels() = default;
  /// Implicit, because a basis is one way to give levels.
  Levels(const Basis& basis) : basis_(basis) {}  // NOLINT(google-explicit-constructor)
  /// @pre the codebook is not null, the numbers are finite
  Levels(std::shared_ptr<const Codebook> codebook, float scale, float offset);

  [[nodiscard]] int bits() const { return basis_.bits; }
  [[nodiscard]] std::size_t num_codes() const { return std::size_t{1} << bits(); }
  [[nodiscard]] float value(Code code) const;
  [[nodiscard]] float offset() const { return basis_.offset; }
  /// Null for a basis.
  [[nodiscard]] const Codebook* codebook() const { return codebook_.get(); }
  /// Of the codebook; 1 for a basis.
  [[nodiscard]] float scale() const { return scale_; }

  /// Whether the bits of a code are signs of coefficients: a basis, or a codebook that has them.
  [[nodiscard]] bool is_summed() const;
  /// The coefficients and the offset. For a codebook the coefficients are scale times its own,
  /// within a rounding of its values. @pre is_summed()
  [[nodiscard]] Basis basis() const;

  /// The code of x in the codebook, Codebook::encode(fl(fl(x - offset) / scale)); that of zero if
  /// the scale is 0. @pre there is a codebook
  [[nodiscard]] Code encode(float x) const { return codebook_->encode(argument(x)); }
  /// fl(fl(x - offset) / scale), or 0 if the scale is 0.
  [[nodiscard]] float argument(float x) const {
    return scale_ == 0 ? 0 : (x - basis_.offset) / scale_;
  }

 private:
  Basis basis_;  ///< of a codebook only bits and offset
  std::shared_ptr<const Codebook> codebook_;
  float scale_ = 1;
};

/// The different levels of a block in ascending order, ready to encode with: a number encodes to
/// level l if l thresholds are below it. NaN takes the lowest level. Where a codebook has other
/// codes for numbers beyond the levels, these are apart: all levels and thresholds are finite.
///
/// The threshold between neighbouring levels q_l <= q_(l+1) of a basis is (q_l + q_(l+1)) / 2,
/// computed in float32: a number exactly on it takes the lower level. With a codebook it is the
/// largest number that Levels::encode() gives the lower level.
class LevelTable {
 public:
  explicit LevelTable(const Levels& levels);

  [[nodiscard]] std::size_t size() const { return levels_.size(); }
  /// Ascending. A basis has 2^K; equal levels keep the order of their codes.
  [[nodiscard]] std::span<const float> levels() const { return levels_; }
  /// The code of each level.
  [[nodiscard]] std::span<const Code> codes() const { return codes_; }
  /// [size() - 1] ascending.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }
  /// Half the mean distance between neighbouring levels.
  [[nodiscard]] float half_gap() const {
    return (levels_.back() - levels_.front()) / static_cast<float>(2 * (size() - 1));
  }

  /// What numbers beyond the outer levels become, unless they take these: see Codebook::beyond().
  [[nodiscard]] const std::optional<Beyond>& beyond() const { return beyond_; }

  /// Index of the level x encodes to; of an outer level for numbers beyond.
  [[nodiscard]] std::size_t index(float x) const;
  [[nodiscard]] Code encode(float x) const {
    const Beyond::Special* special = special_of(x);
    return special != nullptr ? special->code : codes_[index(x)];
  }
  /// The level itself: decode(encode(x)).
  [[nodiscard]] float nearest(float x) const {
    const Beyond::Special* special = special_of(x);
    return special != nullptr ? special->value : levels_[index(x)];
  }

 private:
  void add_basis(const Basis& basis);
  void add_codebook(const Levels& levels, const Codebook& codebook);
  [[nodiscard]] const Beyond::Special* special_of(float x) const {
    return beyond_ ? beyond_->find(x) : nullptr;
  }

  std::vector<float> levels_;
  std::vector<Code> codes_;
  std::vector<float> thresholds_;
  std::optional<Beyond> beyond_;
};

/// Encodes the numbers of one block: by its sorted levels, or directly in the codebook, which needs
/// no memory for the block.
class BlockEncoder {
 public:
  explicit BlockEncoder(const Levels& levels) : levels_(levels) {
    if (levels.codebook() == nullptr) table_.emplace(levels);
  }

  [[nodiscard]] Code encode(float x) const {
    return table_ ? table_->encode(x) : levels_.encode(x);
  }
  [[nodiscard]] float value(Code code) const { return levels_.value(code); }
  [[nodiscard]] const Levels& levels() const { return levels_; }

 private:
  Levels levels_;
  std::optional<LevelTable> table_;
};

}  // namespace halftone::numerics
