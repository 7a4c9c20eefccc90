// SPDX-License-Identifier: Apache-2.0
// Options of a network in training. As all headers of this folder, without libtorch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/ir/tensor.h"
#include "halftone/numerics/number_format.h"

namespace halftone::train {

/// How the parameters of a number system adapt to the values that it encodes.
enum class LevelRule {
  kMovingAverage,  ///< towards the closed-form solution for the codes of each step
  kGradient,       ///< gradient descent: dL/dp = sum over values of features dL/dx
};

struct LevelQuantizerOptions {
  LevelRule rule = LevelRule::kMovingAverage;
  double momentum = 0.9;  ///< weight of the old parameters in the moving average
  /// Whether values more than half a gap beyond the outer levels get no gradient.
  bool clips = false;
  /// Factor on the gradient of the parameters with LevelRule::kGradient; see step_gradient_scale().
  double gradient_scale = 1;
};

enum class GradientRounding : std::uint8_t { kNearest, kStochastic };

/// The formats of the factors in layers: weights w and activations x in the forward pass, gradients
/// g with respect to layer outputs in the backward pass. Sums, biases and parameters stay float32.
///
///     forward    y = round(w) round(x) + b
///     backward   dL/dx = round(w)' round(g),  dL/dw = round(g) round(x)',  dL/db = sum of round(g)
///
/// Weights and activations are rounded to nearest. Encoded values are not rounded. Scales follow
/// from each tensor by the rule of the number system; groups that share one lie along the axis that
/// the product of the forward pass sums over, and along the channels of gradients.
/// Source: Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv:1710.03740), section 3.1
/// for float32 master weights; Zhou et al., DoReFa-Net, 2016 (arXiv:1606.06160), for
/// stochastic rounding of gradients alone.
struct PrecisionOptions {
  numerics::NumberFormat weights;
  numerics::NumberFormat activations;
  numerics::NumberFormat gradients;
  GradientRounding gradient_rounding = GradientRounding::kStochastic;
};

/// The processor that computes.
enum class ComputeDevice : std::uint8_t { kCpu, kCuda };

std::string_view to_string(ComputeDevice device);  ///< "cpu", "cuda"

/// Hardware whose cells represent weights inexactly. With the value l of code 0 of its input, a
/// layer that runs on it computes
///
///     y = seen (x - l) + w l + bias
///
/// from the weights w that it was programmed with and those that it represents, `seen`. Gradients
/// with respect to `seen` pass straight through to w.
/// Source: Joshi et al., Accurate deep neural network inference using computational phase-change
/// memory, Nat. Commun. 11, 2473 (2020), for training with noise in the forward pass.
/// Differs: a model of the cells in place of one Gaussian for all weights; drift too.
struct WeightHardware {
  /// Programs a layer: [outputs, inputs] seen; nothing if the layer does not run on the hardware.
  /// Equal arguments give equal results; null: no hardware.
  std::function<std::optional<std::vector<float>>(const ir::Graph& graph, const ir::Node& node,
                                                  const ir::EncodedTensor& weights,
                                                  std::uint64_t seed)>
      seen = nullptr;
  std::string settings{};  ///< equal for equal hardware; a run resumes with the same only
};

struct StudentOptions {
  LevelQuantizerOptions weights{};
  LevelQuantizerOptions activations{.clips = true};
  /// Whether layers have a ChannelNorm during training: each layer with an unshared matrix and
  /// bias, a reader other than a Softmax, and a number system that can take a factor for each
  /// channel. With hardware no layer has one: the moments of a batch would hide what the cells of
  /// one device shift.
  bool normalises = true;
  PrecisionOptions precision{};  ///< of float values
  WeightHardware hardware{};
  ComputeDevice device = ComputeDevice::kCpu;  ///< parameters of levels stay in main memory
};

}  // namespace halftone::train
