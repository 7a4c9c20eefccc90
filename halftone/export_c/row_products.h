// SPDX-License-Identifier: Apache-2.0
// Fully connected products of a row of codes, as lines of C within a loop: of layers, and of the
// states of recurrent ones.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halftone/export_c/level_products.h"
#include "halftone/export_c/scope.h"
#include "halftone/numerics/basis.h"

namespace halftone::export_c {

/// What bit_matmul() reads of weights besides the bits.
struct BitFloats {
  std::vector<float> scales;   ///< [outputs, planes]
  std::vector<float> offsets;  ///< [outputs], or empty for none
  std::vector<float> sums;     ///< [outputs] of all weights without offset
};
BitFloats bit_floats(const ir::EncodedTensor& weights, std::span<const float> bias);

/// Rows of bit planes times weights of bits.
class BitRows {
 public:
  /// Adds the constants and the memory of the product.
  /// @param x       of the planes
  /// @param bias    [outputs], or empty
  /// @param suffix  of all names
  BitRows(Scope& scope, const ir::EncodedTensor& weights, const numerics::Basis& x,
          std::span<const float> bias, const std::string& suffix = "");

  /// Words of a row of planes.
  [[nodiscard]] std::size_t words() const { return words_; }
  /// Adds the line that multiplies a row. @param x, y  where it and its outputs begin
  void multiply(const std::string& x, const std::string& y) const;

 private:
  Scope& scope_;
  std::size_t words_;
  std::string suffix_;
  bool is_signs_ = false;
  std::string kernel_;
  std::string weights_;
};

/// Rows of 8-bit codes times levels of weights, which may be in groups along a row.
class LevelRows {
 public:
  /// Adds the constants and the memory of the product.
  /// @param offset  of the codes: a code q is scale q + offset
  /// @param bias    [outputs], or empty
  LevelRows(Scope& scope, const ir::EncodedTensor& weights, float offset,
            std::span<const float> bias, const std::string& suffix = "");

  /// Adds the lines that multiply a row.
  /// @param q      where it begins
  /// @param scale  of its codes
  /// @param y      where its outputs begin
  void multiply(const std::string& q, const std::string& scale, const std::string& y) const;

 private:
  Scope& scope_;
  LevelProducts products_;
  std::size_t inputs_;
  std::size_t outputs_;
  std::string suffix_;
  std::string half_steps_;
  std::string centers_;
  std::string totals_;
  std::string bias_;
  std::string offset_;
};

/// Adds the line that rounds a row of float32 to 8 bits, with a scale that it declares.
/// @return the name of the scale
std::string add_rounded_row(Scope& scope, const std::string& x, std::size_t inputs,
                            const std::string& q);

}  // namespace halftone::export_c
