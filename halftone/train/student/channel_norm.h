// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of a layer's outputs that exists while a network is trained.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace halftone::train {

/// Mean and variance of each channel of some outputs. Those of parts of a batch add up; what is
/// used is their mean over the parts.
struct ChannelMoments {
  at::Tensor sums;  ///< float64 [3, channels], not on a device: means, variances, number of parts
};

/// What a layer's outputs become before the activation, channel by channel:
///
///     y = gain (x - mean) / sqrt(variance + epsilon) + shift
///
/// while learning with mean and variance of the part of the batch at hand, else with their moving
/// averages. Then it is x times a factor plus a term, which fold() gives to weights and bias: a
/// network in a file has no trace of it.
/// Source: Ioffe, Szegedy, Batch normalization, ICML 2015 (arXiv:1502.03167), algorithms 1 and 2.
/// Differs: every part of a batch has its own moments; the averaged variance is that of the parts.
class ChannelNorm {
 public:
  static constexpr double kEpsilon = 1e-5;

  /// Gain 1, shift 0.
  explicit ChannelNorm(std::int64_t channels, at::Device device = at::kCPU);

  /// @param x  float32 [..., channels]
  /// @throws Error kUsage unless there are two numbers of each channel
  [[nodiscard]] at::Tensor learn(const at::Tensor& x, ChannelMoments& moments) const;
  [[nodiscard]] at::Tensor apply(const at::Tensor& x) const;
  /// Moments of outputs that stay as they are.
  static ChannelMoments measure(const at::Tensor& x);

  /// A step of the moving averages.
  void update(const ChannelMoments& moments);
  /// Takes over these averages, and gain and shift that leave outputs of such moments as they are.
  void start_at(const ChannelMoments& moments);

  /// float32 [channels]; a gradient moves them.
  [[nodiscard]] const at::Tensor& gain() const { return gain_; }
  [[nodiscard]] const at::Tensor& shift() const { return shift_; }
  /// The moving averages, float32 [channels].
  [[nodiscard]] const at::Tensor& mean() const { return mean_; }
  [[nodiscard]] const at::Tensor& variance() const { return variance_; }

  /// float32 [channels]: apply(x) = factor x + term.
  struct Folded {
    at::Tensor factor;
    at::Tensor term;
  };
  [[nodiscard]] Folded fold() const;

 private:
  at::Tensor gain_;
  at::Tensor shift_;
  at::Tensor mean_;
  at::Tensor variance_;
};

}  // namespace halftone::train
