// SPDX-License-Identifier: Apache-2.0
// Batch normalisation of layer outputs that exists only during training.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace halftone::train {

/// Mean and variance of each channel of layer outputs. The sums of a batch's parts add up; their
/// mean over the parts is used.
struct ChannelMoments {
  at::Tensor sums;  ///< float64 [3, channels], in main memory: means, variances, number of parts
};

/// Normalises a layer's outputs before the activation, channel by channel:
///
///     y = gain (x - mean) / sqrt(variance + epsilon) + shift
///
/// During training, mean and variance are those of the current part of the batch, else their moving
/// averages. With averages it is a factor and a term, which fold() returns for weights and bias: a
/// saved network does not contain it.
/// Source: Ioffe, Szegedy, Batch normalization, ICML 2015 (arXiv:1502.03167), algorithms 1 and 2.
/// Differs: each part of a batch has its own moments; the moving variance averages those of parts.
class ChannelNorm {
 public:
  static constexpr double kEpsilon = 1e-5;

  /// Gain 1, shift 0.
  explicit ChannelNorm(std::int64_t channels, at::Device device = at::kCPU);

  /// @param x  float32 [..., channels]
  /// @throws Error kUsage unless each channel has at least two values
  [[nodiscard]] at::Tensor learn(const at::Tensor& x, ChannelMoments& moments) const;
  [[nodiscard]] at::Tensor apply(const at::Tensor& x) const;
  /// The moments of x, without normalisation.
  static ChannelMoments measure(const at::Tensor& x);

  /// Updates the moving averages.
  void update(const ChannelMoments& moments);
  /// Sets the averages, and sets gain and shift so that outputs with these moments are unchanged.
  void start_at(const ChannelMoments& moments);

  /// float32 [channels], trained by gradients.
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
