// SPDX-License-Identifier: Apache-2.0
// Resize of resample.h.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "halftone/base/printable.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/resample.h"
#include "halftone/ir/real.h"

namespace halftone::ir {
namespace {

/// Limit of 1 / scale for an antialiased Resize, which bounds its filter width.
constexpr double kMaxShrinking = 1 << 20;

/// x / scale, or x n / m as TensorFlow Lite rounds it.
float stepped(const Resize& op, float x, float n) {
  return op.multiplies ? x * (n / static_cast<float>(op.count)) : x / op.scale;
}

float symmetric(const Resize& op, float x, float n) {
  const float adjustment = static_cast<float>(op.count) / (op.scale * n);
  const float offset = n / 2 * (1 - adjustment);
  const double position = static_cast<double>(offset) +
                          (static_cast<double>(x) + 0.5) / static_cast<double>(op.scale) - 0.5;
  return static_cast<float>(position);
}

float aligned(const Resize& op, float x, float n) {
  if (op.count == 1) return 0;
  const float last = static_cast<float>(op.count) - 1;
  return op.multiplies ? x * ((n - 1) / last) : x * (n - 1) / last;
}

float cropped(const Resize& op, float x, float n) {
  if (op.count <= 1) return 0.5F * (op.begin + op.end) * (n - 1);
  const float inside = x * (op.end - op.begin) * (n - 1) / (static_cast<float>(op.count) - 1);
  return op.begin * (n - 1) + inside;
}

/// The position of output i in an input of `extent` elements.
float position_of(const Resize& op, std::size_t i, std::size_t extent) {
  const auto x = static_cast<float>(i);
  const auto n = static_cast<float>(extent);
  switch (op.coordinates) {
    case Coordinates::kHalfPixel:
      return stepped(op, x + 0.5F, n) - 0.5F;
    case Coordinates::kHalfPixelSymmetric:
      return symmetric(op, x, n);
    case Coordinates::kPytorchHalfPixel:
      return op.count > 1 ? stepped(op, x + 0.5F, n) - 0.5F : 0;
    case Coordinates::kAlignCorners:
      return aligned(op, x, n);
    case Coordinates::kAsymmetric:
      return stepped(op, x, n);
    case Coordinates::kHalfPixelForNearest:
      return stepped(op, x + 0.5F, n);
    case Coordinates::kCropAndResize:
      return cropped(op, x, n);
  }
  return x;
}

double cubic_weight(double distance, double a) {
  const double x = std::abs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

double weight(const Resize& op, double distance) {
  if (op.mode == Interpolation::kCubic) {
    return cubic_weight(distance, static_cast<double>(op.cubic));
  }
  return std::max(0.0, 1 - std::abs(distance));
}

/// The factor that compresses the filter argument: the scale if antialiasing and below 1, else 1.
double narrowing(const Resize& op) {
  return op.antialias ? std::min(static_cast<double>(op.scale), 1.0) : 1.0;
}

/// Number of elements on each side of a position that contribute.
std::int64_t reach(const Resize& op) {
  const double support = op.mode == Interpolation::kCubic ? 2 : 1;
  return static_cast<std::int64_t>(std::ceil(support / narrowing(op)));
}

/// The nearest element, not yet clamped to the input.
double nearest(const Resize& op, double position) {
  const double below = std::floor(position);
  const double rest = position - below;
  const bool up = op.rounding == NearestMode::kCeil
                      ? rest > 0
                      : (op.rounding == NearestMode::kPreferFloor && rest > 0.5) ||
                            (op.rounding == NearestMode::kPreferCeil && rest >= 0.5);
  return up ? below + 1 : below;
}

std::size_t bounded(double position, std::size_t extent) {
  return static_cast<std::size_t>(std::clamp(position, 0.0, static_cast<double>(extent - 1)));
}

/// Appends the taps of one output at a position.
void add_taps(const Resize& op, double position, std::size_t extent, ResizeTaps& taps) {
  const std::int64_t side = reach(op);
  const double below = std::floor(position);
  const double narrow = narrowing(op);
  std::vector<double> weights;
  for (std::int64_t t = 1 - side; t <= side; ++t) {
    const double at = below + static_cast<double>(t);
    const bool is_outside = at < 0 || at > static_cast<double>(extent - 1);
    const double w = weight(op, (at - position) * narrow);
    weights.push_back(op.exclude_outside && is_outside ? 0 : w);
    taps.indices.push_back(bounded(at, extent));
  }
  const bool normalizes = op.exclude_outside || op.antialias;
  const double sum = normalizes ? std::accumulate(weights.begin(), weights.end(), 0.0) : 1;
  for (const double w : weights) {
    taps.weights.push_back(static_cast<float>(sum == 0 ? 0 : w / sum));
  }
}

}  // namespace

ResizeTaps resize_taps(const Resize& op, std::size_t extent) {
  ResizeTaps taps;
  const bool picks = op.mode == Interpolation::kNearest;
  taps.width = picks ? 1 : static_cast<std::size_t>(2 * reach(op));
  for (std::size_t i = 0; i < op.count; ++i) {
    auto position = static_cast<double>(position_of(op, i, extent));
    if (!std::isfinite(position)) position = 0;
    const bool crops = op.coordinates == Coordinates::kCropAndResize;
    const bool is_outside = crops && (position < 0 || position > static_cast<double>(extent - 1));
    taps.outside.push_back(is_outside ? 1 : 0);
    if (picks) {
      taps.indices.push_back(bounded(nearest(op, position), extent));
      taps.weights.push_back(1);
    } else {
      add_taps(op, position, extent, taps);
    }
  }
  return taps;
}

ResizeMatrix resize_matrix(const Resize& op, std::size_t extent) {
  const ResizeTaps taps = resize_taps(op, extent);
  const auto count = static_cast<Dim>(op.count);
  ResizeMatrix result{Tensor(ElementType::kFloat32, {count, static_cast<Dim>(extent)}),
                      Tensor(ElementType::kFloat32, {count, 1})};
  for (std::size_t i = 0; i < op.count; ++i) {
    if (taps.outside[i] != 0) {
      result.rest.as<float>()[i] = op.extrapolation;
      continue;
    }
    for (std::size_t t = i * taps.width; t < (i + 1) * taps.width; ++t) {
      result.matrix.as<float>()[i * extent + taps.indices[t]] += taps.weights[t];
    }
  }
  return result;
}

bool same_taps(const Resize& a, const Resize& b, std::size_t extent) {
  const ResizeTaps x = resize_taps(a, extent);
  const ResizeTaps y = resize_taps(b, extent);
  const bool extrapolates = std::ranges::count(x.outside, 0) != std::ssize(x.outside);
  if (x.outside != y.outside || (extrapolates && a.extrapolation != b.extrapolation)) return false;
  const float bound = std::ldexp(static_cast<float>(extent), -22);
  for (std::size_t i = 0; i < a.count; ++i) {
    std::map<std::size_t, float> difference;  // by element
    for (std::size_t t = i * x.width; t < (i + 1) * x.width; ++t) {
      difference[x.indices[t]] += x.weights[t];
    }
    for (std::size_t t = i * y.width; t < (i + 1) * y.width; ++t) {
      difference[y.indices[t]] -= y.weights[t];
    }
    const auto differs = [&](const auto& entry) { return std::abs(entry.second) > bound; };
    if (std::ranges::any_of(difference, differs)) return false;
  }
  return true;
}

ValueType infer_types(const Resize& op, InputTypes inputs) {
  require_dense(inputs, 0);
  if (op.mode != Interpolation::kNearest || op.coordinates == Coordinates::kCropAndResize) {
    require_float(inputs, 0);
  }
  Shape y = inputs[0]->shape;
  require_axis(y, op.axis);
  const bool is_open = is_expression(y[op.axis]) || is_expression(static_cast<Dim>(op.count));
  // A scale of 0 is the quotient of the extents once these are known.
  const bool follows = is_open && (op.scale == 0 || op.scale == kScaleOfCount);
  require(std::isfinite(op.scale) && (op.scale > 0 || follows),
          "scale: expected a positive number, found " + number_text(op.scale));
  require(is_open || !op.antialias || static_cast<double>(op.scale) * kMaxShrinking >= 1,
          "scale: expected at least 2^-20, found " + std::to_string(op.scale));
  require(std::isfinite(op.begin) && std::isfinite(op.end),
          "crop region: expected finite ends, found " + number_text(op.begin) + " to " +
              number_text(op.end));
  if (is_open) {
    y[op.axis] = static_cast<Dim>(op.count);
    return {y, inputs[0]->encoding};
  }
  require(op.count <= std::size_t{1} << 40, "expected at most 2^40 elements along an axis");
  require(op.count == 0 || y[op.axis] > 0,
          "axis " + std::to_string(op.axis) + " of " + y.to_string() + " has nothing to resample");
  y[op.axis] = static_cast<Dim>(op.count);
  return {y, inputs[0]->encoding};
}

Tensor evaluate(const Resize& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  if (result.size() == 0) return result;
  const auto [outer, extent, inner] = axis_view(inputs[0]->shape(), op.axis);
  const ResizeTaps taps = resize_taps(op, extent);
  const bool picks = op.mode == Interpolation::kNearest;
  const std::size_t bytes = inner * size_bytes(result.element());
  for (std::size_t row = 0; row < outer * op.count; ++row) {
    const std::size_t i = row % op.count;
    const std::size_t base = row / op.count * extent;
    if (picks && taps.outside[i] == 0) {
      std::memcpy(result.bytes().data() + row * bytes,
                  inputs[0]->bytes().data() + (base + taps.indices[i]) * bytes, bytes);
      continue;
    }
    for (std::size_t c = 0; c < inner; ++c) {
      double sum = static_cast<double>(op.extrapolation);
      if (taps.outside[i] == 0) {
        sum = 0;
        for (std::size_t t = i * taps.width; t < (i + 1) * taps.width; ++t) {
          const float x = inputs[0]->as<float>()[(base + taps.indices[t]) * inner + c];
          sum += static_cast<double>(taps.weights[t]) * static_cast<double>(x);
        }
      }
      result.as<float>()[row * inner + c] = static_cast<float>(sum);
    }
  }
  return result;
}

std::string attributes(const Resize& op) {
  return std::string(to_string(op.mode)) + " axis=" + std::to_string(op.axis) +
         " count=" + to_string(static_cast<Dim>(op.count)) + " scale=" + std::to_string(op.scale);
}

std::string_view to_string(Interpolation mode) {
  static constexpr std::string_view kNames[] = {"nearest", "linear", "cubic"};
  const auto i = static_cast<std::size_t>(mode);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

}  // namespace halftone::ir
