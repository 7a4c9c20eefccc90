// SPDX-License-Identifier: Apache-2.0
// The types in which fitted matrices are stored.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/formats/gguf/block_types.h"
#include "halftone/lm/model/model_file.h"
#include "halftone/numerics/block_encoding.h"
#include "halftone/numerics/nested_encoding.h"

namespace halftone::lm {

/// A type of matrices: that of a GGUF file such as "Q4_K", a vector basis such as "4x8", a number
/// system such as "nvfp4", or "nested3+4", which has two precisions.
struct WeightType {
  std::string name;
  const formats::GgufType* gguf = nullptr;  ///< null for others
  /// What its codes mean and where they lie; with a factor of 1 where a tensor has one.
  numerics::SharedBlockEncoding encoding;

  [[nodiscard]] double bits() const { return encoding->bits(); }
  [[nodiscard]] bool is_vector() const { return encoding->basis != nullptr; }
  [[nodiscard]] bool is_nested() const { return name == numerics::kNestedName; }
  /// Whether rows are whole blocks, as files have them.
  [[nodiscard]] bool can_hold(std::size_t cols) const { return cols % encoding->block == 0; }
  [[nodiscard]] std::size_t blocks_per_row(std::size_t cols) const {
    return (cols + encoding->block - 1) / encoding->block;
  }
  /// Bytes of a matrix, whose rows end with a whole block.
  [[nodiscard]] std::size_t size_bytes(std::size_t rows, std::size_t cols) const {
    return rows * blocks_per_row(cols) * encoding->block_bytes;
  }
};

/// The types of GGUF that fits write and vector bases, by rising bits; those of GGUF before vector
/// bases of as many bits.
std::span<const WeightType> weight_types();
/// One of weight_types() by its name, whatever the case of its letters, numerics::kNestedName, or a
/// number system: see numerics::system_encoding(). Types live as long as the program.
/// @throws Error kUsage that lists the names, or as numerics::system_encoding()
const WeightType& weight_type(std::string_view name);

/// How a file stores a matrix of a type.
/// @param factor  of all scales of a tensor, where they have one
numerics::SharedBlockEncoding encoding_of(const WeightType& type, float factor);

/// compress::fit_matrix() to the codes of a type, or compress::fit_nested().
compress::GroupFit fit_to_type(const WeightType& type, MatrixView<const float> weights,
                               const compress::Metric<float>& metric,
                               const compress::MatrixFitOptions& options);

/// What a file stores of a fit on the grid of a type. Rows end with a whole block: where fit.cols
/// does, a file can hold them.
EncodedMatrix encode_fit(const compress::GroupFit& fit, const WeightType& type);

}  // namespace halftone::lm
