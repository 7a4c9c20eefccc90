// SPDX-License-Identifier: Apache-2.0
// Numbers rounded to levels, with a gradient by the numbers and by the parameters of the levels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/basis.h"

namespace halftone::train {

/// What the closed form needs of some numbers: how many took each code, and their sum. Those of
/// parts of a batch add up.
struct LevelSums {
  at::Tensor counts;  ///< float64 [bases, 2^K]
  at::Tensor sums;    ///< float64 [bases, 2^K]
};

/// The levels of one basis for each row of numbers, as they are at one time.
class LevelRounding : public std::enable_shared_from_this<LevelRounding> {
 public:
  /// What computes.
  enum class Arithmetic {
    kKernels,   ///< kernels/levels.h for numbers in memory, libtorch on devices
    kLibtorch,  ///< libtorch, everywhere
  };

  /// @param clips           whether numbers beyond the outer levels, by more than half a gap, get
  /// no
  ///                        gradient
  /// @param gradient_scale  factor on the gradient of the parameters
  LevelRounding(const compress::ParameterSpace& space, const std::vector<numerics::Basis>& bases,
                bool clips, double gradient_scale, Arithmetic arithmetic = Arithmetic::kKernels);

  /// The nearest level of each number. The gradient by a number is that by its level; by the
  /// parameters p of a row it is sum_i f(code_i) dL/dlevel_i, f the features of the space.
  /// @param rows        float32 [bases, n]
  /// @param parameters  [bases, P] what the levels were made of, in memory; has a gradient if it
  ///                    wants one
  /// @pre this is held by a shared_ptr, which gradients that are still to be computed share
  [[nodiscard]] at::Tensor round(const at::Tensor& rows, const at::Tensor& parameters) const;

  /// How many of the numbers took each code, and their sums; in memory.
  /// @param rows  float32 [bases, n]
  [[nodiscard]] LevelSums sums(const at::Tensor& rows) const;

  // What round() is made of. Rows and gradients are float32 [bases, n], contiguous.

  /// [bases, n] the nearest levels; no gradient.
  [[nodiscard]] at::Tensor levels_of(const at::Tensor& rows) const;
  /// [bases, n] the gradient by the numbers.
  /// @param gradient  by their levels
  [[nodiscard]] at::Tensor gradient_by_numbers(const at::Tensor& rows,
                                               const at::Tensor& gradient) const;
  /// [bases, P] the gradient by the parameters, times the gradient scale; in memory.
  /// @param gradient  by the levels
  [[nodiscard]] at::Tensor gradient_by_parameters(const at::Tensor& rows,
                                                  const at::Tensor& gradient) const;

 private:
  [[nodiscard]] bool uses_kernels(const at::Tensor& rows) const {
    return arithmetic_ == Arithmetic::kKernels && rows.is_cpu();
  }
  [[nodiscard]] at::Tensor places_of(const at::Tensor& rows) const;
  /// float64 [bases, 2^K], in memory, of the numbers whose rows have each level.
  [[nodiscard]] at::Tensor sums_by_level(const at::Tensor& rows, const at::Tensor& numbers) const;
  [[nodiscard]] at::Tensor by_code(const at::Tensor& by_level) const;

  Arithmetic arithmetic_;
  compress::Matrix features_;
  bool clips_;
  double gradient_scale_;
  std::vector<numerics::LevelTable> tables_;
};

}  // namespace halftone::train
