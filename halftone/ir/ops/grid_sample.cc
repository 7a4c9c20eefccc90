// SPDX-License-Identifier: Apache-2.0
// GridSample of resample.h.
#include <algorithm>
#include <array>
#include <cmath>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/resample.h"

namespace halftone::ir {
namespace {

/// The elements along one axis that contribute to an output, at most four.
struct Neighbours {
  std::array<std::int64_t, 4> indices{};  ///< -1: outside, zero
  std::array<double, 4> weights{};
  std::size_t count = 0;
};

/// Reflects a position into the range [low, high].
double reflected(double position, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  const double rest = std::fmod(std::abs(position - low), 2 * span);
  return low + (rest <= span ? rest : 2 * span - rest);
}

/// One axis of the image.
struct Axis {
  const GridSample& op;
  std::int64_t extent;

  [[nodiscard]] double low() const { return op.align_corners ? 0 : -0.5; }
  [[nodiscard]] double high() const { return static_cast<double>(extent - 1) - low(); }

  /// The position of a grid coordinate, moved inside as `surroundings` requires.
  [[nodiscard]] double position(float coordinate) const {
    const auto n = static_cast<double>(extent);
    const double x = static_cast<double>(coordinate);
    double at = op.align_corners ? (x + 1) / 2 * (n - 1) : ((x + 1) * n - 1) / 2;
    if (!std::isfinite(at)) at = -1;
    if (op.mode == Interpolation::kNearest) at = std::nearbyint(at);
    const bool is_outside = at < low() || at > high();
    // Cubic weights are those of the position outside; each element is the nearest inside.
    const bool is_cubic = op.mode == Interpolation::kCubic;
    if (is_outside && op.surroundings == Surroundings::kEdge && !is_cubic) {
      return std::clamp(at, 0.0, n - 1);
    }
    if (is_outside && op.surroundings == Surroundings::kReflection) {
      return reflected(at, low(), high());
    }
    // Beyond these bounds all values are zero or the edge; the clamp makes the position fit an
    // integer.
    return std::clamp(at, -4.0, n + 4);
  }

  /// The index of the element at an integral position.
  [[nodiscard]] std::int64_t element(double at) const {
    const auto last = static_cast<double>(extent - 1);
    if (at >= 0 && at <= last) return static_cast<std::int64_t>(at);
    if (op.surroundings == Surroundings::kZeros) return -1;
    if (op.surroundings == Surroundings::kReflection) at = reflected(at, low(), high());
    return static_cast<std::int64_t>(std::clamp(at, 0.0, last));
  }

  [[nodiscard]] Neighbours neighbours(float coordinate) const {
    const double at = position(coordinate);
    Neighbours result;
    const auto add = [&](double where, double weight) {
      result.indices[result.count] = element(where);
      result.weights[result.count++] = weight;
    };
    const double below = std::floor(at);
    const double rest = at - below;
    if (op.mode == Interpolation::kNearest) {
      add(std::nearbyint(at), 1);
    } else if (op.mode == Interpolation::kLinear) {
      add(below, 1 - rest);
      add(below + 1, rest);
    } else {
      constexpr double kA = -0.75;
      const auto near = [](double x) { return ((kA + 2) * x - (kA + 3)) * x * x + 1; };
      const auto far = [](double x) { return ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA; };
      add(below - 1, far(1 + rest));
      add(below, near(rest));
      add(below + 1, near(1 - rest));
      add(below + 2, far(2 - rest));
    }
    return result;
  }
};

/// Adds the weighted neighbours to the channels of one output.
void accumulate(std::span<const float> image, std::int64_t cols, const Neighbours& row,
                const Neighbours& col, std::vector<double>& sums) {
  std::ranges::fill(sums, 0);
  for (std::size_t i = 0; i < row.count; ++i) {
    for (std::size_t j = 0; j < col.count; ++j) {
      if (row.indices[i] < 0 || col.indices[j] < 0) continue;
      const auto base = static_cast<std::size_t>(row.indices[i] * cols + col.indices[j]);
      const double weight = row.weights[i] * col.weights[j];
      for (std::size_t c = 0; c < sums.size(); ++c) {
        sums[c] += weight * static_cast<double>(image[base * sums.size() + c]);
      }
    }
  }
}

}  // namespace

ValueType infer_types(const GridSample& /*op*/, InputTypes inputs) {
  require_float(inputs, 0);
  require_float(inputs, 1);
  const Shape& x = inputs[0]->shape;
  const Shape& grid = inputs[1]->shape;
  require(x.rank() == 4 && grid.rank() == 4 && may_be_equal(x[0], grid[0]) && grid[3] == 2,
          "grid " + grid.to_string() + " does not fit an image " + x.to_string());
  for (const std::size_t axis : {std::size_t{1}, std::size_t{2}}) {
    require_axis(x, axis);
    require(x[axis] > 0 || is_expression(x[axis]),
            "image " + x.to_string() + " has nothing to sample");
  }
  return dense_type(ElementType::kFloat32, {x[0], grid[1], grid[2], x[3]});
}

Tensor evaluate(const GridSample& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  if (result.size() == 0) return result;
  const Shape& x = inputs[0]->shape();
  const auto channels = static_cast<std::size_t>(x[3]);
  const auto image_size = static_cast<std::size_t>(x[1] * x[2]) * channels;
  const std::size_t positions = result.size() / channels;
  const std::size_t positions_per_image = positions / static_cast<std::size_t>(x[0]);
  const auto grid = inputs[1]->as<float>();
  std::vector<double> sums(channels);
  for (std::size_t p = 0; p < positions; ++p) {
    const auto image =
        inputs[0]->as<float>().subspan(p / positions_per_image * image_size, image_size);
    const Neighbours col = Axis{op, x[2]}.neighbours(grid[2 * p]);
    const Neighbours row = Axis{op, x[1]}.neighbours(grid[2 * p + 1]);
    accumulate(image, x[2], row, col, sums);
    std::ranges::transform(sums,
                           result.as<float>().begin() + static_cast<std::ptrdiff_t>(p * channels),
                           [](double sum) { return static_cast<float>(sum); });
  }
  return result;
}

std::string attributes(const GridSample& op) {
  static constexpr std::string_view kAround[] = {" zeros", " edge", " reflection"};
  return std::string(to_string(op.mode)) +
         std::string(kAround[static_cast<std::size_t>(op.surroundings)]) +
         (op.align_corners ? " align_corners" : "");
}

}  // namespace halftone::ir
