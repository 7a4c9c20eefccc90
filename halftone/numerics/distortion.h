// SPDX-License-Identifier: Apache-2.0
// Error statistics that measure the quality of every number system.
#pragma once

#include <cstddef>
#include <span>

namespace halftone::numerics {

/// Streaming distortion between a reference and an approximation; sums in float64, index order.
class Distortion {
 public:
  Distortion() = default;
  /// Starts from existing sums.
  Distortion(std::size_t count, double signal, double noise)
      : count_(count), signal_(signal), noise_(noise) {}

  /// @pre reference.size() == approximation.size()
  void add(std::span<const float> reference, std::span<const float> approximation);

  /// The same without the elements that are NaN or infinite in one of both.
  void add_finite(std::span<const float> reference, std::span<const float> approximation);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] double signal() const { return signal_; }  ///< sum x^2
  [[nodiscard]] double noise() const { return noise_; }    ///< sum (x - y)^2
  /// Mean of (x - y)^2; 0 if nothing was added.
  [[nodiscard]] double mse() const;
  /// Signal to quantization noise ratio, 10 log10(sum x^2 / sum (x - y)^2), in decibels; +infinity
  /// without noise, -infinity with noise but no signal.
  [[nodiscard]] double sqnr_db() const;
  /// Largest |x - y| of the values passed to add().
  [[nodiscard]] double max_abs_error() const { return max_abs_error_; }

 private:
  std::size_t count_ = 0;
  double signal_ = 0;
  double noise_ = 0;
  double max_abs_error_ = 0;
};

}  // namespace halftone::numerics
