// SPDX-License-Identifier: Apache-2.0
// The free parameters of a number system, which a fit solves for.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "halftone/compress/fit/algebra.h"
#include "halftone/numerics/basis.h"

namespace halftone::compress {

/// Number systems that can be fitted; all are bases with more or fewer free parameters.
enum class Scheme {
  kBasis,      ///< K free coefficients, and an optional offset
  kAffine,     ///< evenly spaced levels: scale and (real) offset
  kSymmetric,  ///< evenly spaced about zero: scale
  kFixed,      ///< two's complement with a step that is a power of two
};

std::string_view to_string(Scheme scheme);
/// @throws Error kUsage that lists the names, if there is no such scheme
Scheme scheme_from(std::string_view name);

/// The free parameters p of a number system: the level of a code is features(code) . p, so
/// for given codes the best p is a linear least-squares problem in every scheme.
///
///     basis      features = (b_1, ..., b_K [, 1])        p = (a_1, ..., a_K [, c])
///     affine     features = (sum_i 2^(i-1) b_i, 1)       p = (scale, c)
///     symmetric  features = (sum_i 2^(i-1) b_i)          p = (scale)
///     fixed      features = (sum_i 2^(i-1) b_i - 1/2)    p = (scale), a power of two
///     multiples  features = (sum_i m_i b_i [, 1])        p = (unit [, c])
class ParameterSpace {
 public:
  /// @pre 1 <= bits <= numerics::kMaxBits
  /// @param offset  whether a basis has an offset; the other schemes imply it
  ParameterSpace(Scheme scheme, int bits, bool offset);
  /// A basis whose coefficients are exactly m_i times a unit, and not negative.
  /// @param multiples  m, positive, of up to 10 bits
  ParameterSpace(std::vector<int> multiples, bool offset);

  [[nodiscard]] int bits() const { return bits_; }
  /// Whether all coefficients are free.
  [[nodiscard]] bool is_free_basis() const {
    return scheme_ == Scheme::kBasis && multiples_.empty();
  }
  [[nodiscard]] Eigen::Index size() const { return features_.cols(); }
  /// Whether levels may have an offset, so that the encoding must store one.
  [[nodiscard]] bool has_offset() const;
  /// [2^K, size()]: a row of features for every code.
  [[nodiscard]] const Matrix& features() const { return features_; }

  /// The basis with these parameters, rounded to values that the scheme can represent. It is also
  /// rounded to binary16 if that changes no value by more than 2^-11 of the largest: files store
  /// such bases in half the bytes.
  [[nodiscard]] numerics::Basis to_basis(const Vector& parameters) const;

 private:
  Scheme scheme_;
  int bits_;
  bool offset_;
  std::vector<int> multiples_;  ///< empty: as the scheme implies
  Matrix features_;
};

/// The space in which an activation basis is learned. If the two planes of the basis share a digit,
/// the ratio of the coefficients is fixed.
ParameterSpace activation_space(Scheme scheme, const numerics::Basis& basis, bool has_offset);

}  // namespace halftone::compress
