// SPDX-License-Identifier: Apache-2.0
// Rounding to levels, with gradients with respect to the values and the parameters of the levels.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/levels.h"

namespace halftone::train {

/// Statistics for the closed-form solution: number and sum of the values with each code. Those of
/// parts of a batch add up.
struct LevelSums {
  at::Tensor counts;  ///< float64 [rows, 2^K]
  at::Tensor sums;    ///< float64 [rows, 2^K]
};

/// A snapshot of the levels, with those of each row of values.
class LevelRounding : public std::enable_shared_from_this<LevelRounding> {
 public:
  /// The implementation that computes.
  enum class Arithmetic {
    kKernels,   ///< kernels/encode/levels.h in main memory, libtorch on devices
    kLibtorch,  ///< libtorch, everywhere
  };

  /// @param clips           whether values more than half a gap beyond the outer levels get no
  ///                        gradient
  /// @param gradient_scale  factor on the gradient of the parameters
  LevelRounding(const compress::ParameterSpace& space, const std::vector<numerics::Levels>& levels,
                bool clips, double gradient_scale, Arithmetic arithmetic = Arithmetic::kKernels);

  /// The nearest level of each value. The gradient with respect to a value is that of its level;
  /// with respect to the parameters p of a row it is sum_i f(code_i) dL/dlevel_i, where f are the
  /// features of the space.
  /// @param rows        float32 [rows, n]
  /// @param parameters  [rows, P] of the levels, in main memory; may require a gradient
  /// @pre a shared_ptr owns this; pending backward passes share it
  [[nodiscard]] at::Tensor round(const at::Tensor& rows, const at::Tensor& parameters) const;

  /// Number and sum of the values with each code; in main memory.
  /// @param rows  float32 [rows, n]
  [[nodiscard]] LevelSums sums(const at::Tensor& rows) const;

  // The steps of round(). Rows and gradients are float32 [rows, n], contiguous.

  /// [rows, n] the nearest levels; no gradient.
  [[nodiscard]] at::Tensor levels_of(const at::Tensor& rows) const;
  /// [rows, n] the gradient with respect to the values.
  /// @param gradient  with respect to their levels
  [[nodiscard]] at::Tensor value_gradient(const at::Tensor& rows, const at::Tensor& gradient) const;
  /// [rows, P] the gradient with respect to the parameters, times the gradient scale; in main
  /// memory.
  /// @param gradient  with respect to the levels
  [[nodiscard]] at::Tensor parameter_gradient(const at::Tensor& rows,
                                              const at::Tensor& gradient) const;

 private:
  [[nodiscard]] bool uses_kernels(const at::Tensor& rows) const {
    return arithmetic_ == Arithmetic::kKernels && rows.is_cpu();
  }
  /// Of each row.
  [[nodiscard]] std::int64_t num_levels() const {
    return static_cast<std::int64_t>(tables_.front().size());
  }
  [[nodiscard]] at::Tensor places_of(const at::Tensor& rows) const;
  /// float64 [rows, levels], in main memory: sums of `numbers` over the elements with each level.
  [[nodiscard]] at::Tensor sums_by_level(const at::Tensor& rows, const at::Tensor& numbers) const;
  /// float64 [rows, 2^K] from [rows, levels].
  [[nodiscard]] at::Tensor by_code(const at::Tensor& by_level) const;

  Arithmetic arithmetic_;
  compress::Matrix features_;
  bool clips_;
  double gradient_scale_;
  std::vector<numerics::LevelTable> tables_;
};

}  // namespace halftone::train
