// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/channel_norm.h"

#include <ATen/ATen.h>

#include <string>
#include <tuple>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

/// Weight of the old averages in an update.
constexpr double kMomentum = 0.9;

at::Tensor constant(std::int64_t channels, double value, at::Device device) {
  return at::full({channels}, value, at::TensorOptions(at::kFloat).device(device));
}

at::Tensor features_first(const at::Tensor& x) { return x.dim() > 2 ? x.movedim(-1, 1) : x; }
at::Tensor features_last(const at::Tensor& x) { return x.dim() > 2 ? x.movedim(1, -1) : x; }

at::Tensor normalised(const ChannelNorm& norm, const at::Tensor& x, bool by_averages,
                      ChannelMoments* moments) {
  const auto [y, mean, inverse] = at::native_batch_norm(
      features_first(x), norm.gain(), norm.shift(), by_averages ? norm.mean() : at::Tensor(),
      by_averages ? norm.variance() : at::Tensor(), !by_averages,
      /*momentum=*/0, ChannelNorm::kEpsilon);
  if (moments != nullptr) {
    const at::Tensor deviation = inverse.detach().to(at::kDouble).reciprocal();
    const at::Tensor variance = (deviation.square() - ChannelNorm::kEpsilon).clamp_min(0);
    moments->sums =
        at::stack({mean.detach().to(at::kDouble), variance, at::ones_like(variance)}).cpu();
  }
  return features_last(y);
}

}  // namespace

ChannelNorm::ChannelNorm(std::int64_t channels, at::Device device)
    : gain_(constant(channels, 1, device).requires_grad_()),
      shift_(constant(channels, 0, device).requires_grad_()),
      mean_(constant(channels, 0, device)),
      variance_(constant(channels, 1, device)) {}

at::Tensor ChannelNorm::learn(const at::Tensor& x, ChannelMoments& moments) const {
  if (x.numel() < 2 * gain_.numel()) {
    fail(ErrorKind::kUsage,
         "batch normalization: expected at least two values per channel in each part of a batch, "
         "found " +
             std::to_string(x.numel() / gain_.numel()) +
             "; larger batches or fewer parts may help");
  }
  return normalised(*this, x, false, &moments);
}

at::Tensor ChannelNorm::apply(const at::Tensor& x) const {
  return normalised(*this, x, true, nullptr);
}

ChannelMoments ChannelNorm::measure(const at::Tensor& x) {
  const at::Tensor rows = x.detach().reshape({-1, x.size(-1)});
  const auto [variance, mean] = at::var_mean(rows, at::IntArrayRef{0}, /*unbiased=*/false);
  return {at::stack({mean, variance, at::ones_like(mean)}).to(at::kCPU, at::kDouble)};
}

void ChannelNorm::update(const ChannelMoments& moments) {
  const at::Tensor means = (moments.sums / moments.sums[2]).to(mean_.options());
  mean_.mul_(kMomentum).add_(means[0], 1 - kMomentum);
  variance_.mul_(kMomentum).add_(means[1], 1 - kMomentum);
}

void ChannelNorm::start_at(const ChannelMoments& moments) {
  const at::Tensor means = (moments.sums / moments.sums[2]).to(mean_.options());
  mean_.copy_(means[0]);
  variance_.copy_(means[1]);
  gain_.data().copy_((means[1] + kEpsilon).sqrt());
  shift_.data().copy_(means[0]);
}

ChannelNorm::Folded ChannelNorm::fold() const {
  const at::Tensor factor = gain_.detach() / (variance_ + kEpsilon).sqrt();
  return {factor, shift_.detach() - factor * mean_};
}

}  // namespace halftone::train
