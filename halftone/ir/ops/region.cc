// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/region.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "halftone/ir/extent.h"
#include "halftone/ir/ops/indexing.h"

namespace halftone::ir {
namespace {

/// Bounds the cells and samples of a region.
constexpr Dim kMaxCells = 1 << 20;

template <typename Op>
ValueType infer_regions(const Op& op, InputTypes inputs) {
  require_float(inputs, 0);
  require_float(inputs, 1);
  require_indices(inputs, 2);
  const Shape& x = inputs[0]->shape;
  const Shape& regions = inputs[1]->shape;
  const Shape& images = inputs[2]->shape;
  require(x.rank() == 4, "expected images [N, H, W, C], found " + x.to_string());
  require(regions.rank() == 2 && may_be_equal(regions[1], 4) && images.rank() == 1 &&
              may_be_equal(images[0], regions[0]),
          "expected regions [R, 4] and their images [R], found " + regions.to_string() + " and " +
              images.to_string());
  require(op.height >= 1 && op.width >= 1 && op.height <= kMaxCells && op.width <= kMaxCells,
          "expected at least one cell, found " + std::to_string(op.height) + " x " +
              std::to_string(op.width));
  return dense_type(ElementType::kFloat32,
                    {better_known(regions[0], images[0]), op.height, op.width, x[3]});
}

/// One image as rows of pixels of channels.
struct Image {
  std::span<const float> values;
  Dim height;
  Dim width;
  std::size_t channels;
  [[nodiscard]] std::span<const float> pixel(Dim row, Dim col) const {
    return values.subspan(static_cast<std::size_t>(row * width + col) * channels, channels);
  }
};

/// Calls cell(image, region, output of the region) for each region.
template <typename Op, typename Pool>
Tensor pool_regions(const Op& op, InputTensors inputs, const Pool& pool) {
  Tensor result = output_tensor(op, inputs);
  const Shape& x = inputs[0]->shape();
  const auto channels = static_cast<std::size_t>(x[3]);
  const std::size_t image_size = static_cast<std::size_t>(x[1] * x[2]) * channels;
  const Tensor images = inputs[2]->cast(ElementType::kInt64);
  const auto regions = static_cast<std::size_t>(result.shape()[0]);
  const std::size_t each = static_cast<std::size_t>(op.height * op.width) * channels;
  for (std::size_t r = 0; r < regions; ++r) {
    const std::size_t n =
        resolve_index(images.as<std::int64_t>()[r], static_cast<std::size_t>(x[0]));
    const Image image{inputs[0]->as<float>().subspan(n * image_size, image_size), x[1], x[2],
                      channels};
    pool(image, inputs[1]->as<float>().subspan(4 * r, 4),
         result.as<float>().subspan(r * each, each));
  }
  return result;
}

/// Two neighbours of a position on an axis.
struct Between {
  Dim low = 0;
  Dim high = 0;
  float weight = 0;  ///< of the upper one
};

Between between(float at, Dim extent) {
  at = std::max(at, 0.0F);
  const auto low = static_cast<Dim>(at);
  if (low >= extent - 1) return {extent - 1, extent - 1, 0};
  return {low, low + 1, at - static_cast<float>(low)};
}

/// The cells of a region along an axis.
struct CellAxis {
  float begin;
  float cell;   ///< extent of a cell
  Dim samples;  ///< of a cell
  [[nodiscard]] float position(Dim cell_index, Dim sample) const {
    return begin + static_cast<float>(cell_index) * cell +
           (static_cast<float>(sample) + 0.5F) * cell / static_cast<float>(samples);
  }
};

CellAxis cells_along(const RoiAlign& op, float begin, float end, Dim count) {
  const float offset = op.half_pixel ? 0.5F : 0.0F;
  const float low = begin * op.scale - offset;
  float extent = end * op.scale - offset - low;
  if (!op.half_pixel) extent = std::max(extent, 1.0F);
  const float cell = extent / static_cast<float>(count);
  const float bounded = std::isfinite(cell) ? std::clamp(cell, 0.0F, 4096.0F) : 0.0F;
  return {low, cell, op.samples > 0 ? op.samples : static_cast<Dim>(std::ceil(bounded))};
}

/// Adds what one position gives the channels of a cell.
void add_sample(const RoiAlign& op, const Image& image, float row, float col,
                std::span<double> cell) {
  const auto height = static_cast<float>(image.height);
  const auto width = static_cast<float>(image.width);
  const bool is_inside = row >= -1 && row <= height && col >= -1 && col <= width;
  const Between r = between(is_inside ? row : 0, image.height);
  const Between c = between(is_inside ? col : 0, image.width);
  const float scale = is_inside ? 1.0F : 0.0F;
  const std::array weights = {(1 - r.weight) * (1 - c.weight), (1 - r.weight) * c.weight,
                              r.weight * (1 - c.weight), r.weight * c.weight};
  const std::array pixels = {image.pixel(r.low, c.low), image.pixel(r.low, c.high),
                             image.pixel(r.high, c.low), image.pixel(r.high, c.high)};
  for (std::size_t k = 0; k < cell.size(); ++k) {
    double sum = 0;
    double best = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const double term = static_cast<double>(scale * weights[i] * pixels[i][k]);
      sum += term;
      best = std::max(best, term);
    }
    cell[k] = op.largest ? std::max(cell[k], best) : cell[k] + sum;
  }
}

void align(const RoiAlign& op, const Image& image, std::span<const float> region,
           std::span<float> y) {
  const CellAxis rows = cells_along(op, region[1], region[3], op.height);
  const CellAxis cols = cells_along(op, region[0], region[2], op.width);
  const Dim count = rows.samples * cols.samples;
  std::vector<double> cell(image.channels);
  for (Dim p = 0; p < op.height * op.width; ++p) {
    const bool is_extreme = op.largest && count > 0;
    std::ranges::fill(cell, is_extreme ? -std::numeric_limits<double>::infinity() : 0.0);
    for (Dim s = 0; s < count; ++s) {
      add_sample(op, image, rows.position(p / op.width, s / cols.samples),
                 cols.position(p % op.width, s % cols.samples), cell);
    }
    const double divisor = op.largest ? 1.0 : static_cast<double>(std::max<Dim>(count, 1));
    for (std::size_t k = 0; k < cell.size(); ++k) {
      y[static_cast<std::size_t>(p) * cell.size() + k] = static_cast<float>(cell[k] / divisor);
    }
  }
}

/// The elements [begin, end) of a cell along an axis.
struct Elements {
  Dim begin;
  Dim end;
};

Elements elements_of(float begin, float end, Dim cell, Dim count, Dim extent) {
  const auto bounded = [](float at) {
    return static_cast<Dim>(std::isfinite(at) ? std::clamp(std::round(at), -1e9F, 1e9F) : 0.0F);
  };
  const Dim low = bounded(begin);
  const Dim all = std::max<Dim>(bounded(end) - low + 1, 1);
  const float each = static_cast<float>(all) / static_cast<float>(count);
  const auto first = static_cast<Dim>(std::floor(static_cast<float>(cell) * each));
  const auto last = static_cast<Dim>(std::ceil(static_cast<float>(cell + 1) * each));
  return {std::clamp<Dim>(low + first, 0, extent), std::clamp<Dim>(low + last, 0, extent)};
}

void pool_cell(const Image& image, Elements rows, Elements cols, std::span<float> y) {
  const bool is_empty = rows.begin >= rows.end || cols.begin >= cols.end;
  std::ranges::fill(y, is_empty ? 0.0F : -std::numeric_limits<float>::infinity());
  for (Dim row = rows.begin; row < rows.end; ++row) {
    for (Dim col = cols.begin; col < cols.end; ++col) {
      const auto pixel = image.pixel(row, col);
      for (std::size_t k = 0; k < y.size(); ++k) y[k] = std::max(y[k], pixel[k]);
    }
  }
}

}  // namespace

ValueType infer_types(const RoiAlign& op, InputTypes inputs) {
  require(op.samples >= 0 && op.samples <= kMaxCells,
          "sampling_ratio: expected at least 0, found " + std::to_string(op.samples));
  return infer_regions(op, inputs);
}

Tensor evaluate(const RoiAlign& op, InputTensors inputs) {
  return pool_regions(op, inputs,
                      [&](const Image& image, std::span<const float> region, std::span<float> y) {
                        align(op, image, region, y);
                      });
}

std::string attributes(const RoiAlign& op) {
  return std::to_string(op.height) + "x" + std::to_string(op.width) +
         " samples=" + std::to_string(op.samples) + " scale=" + std::to_string(op.scale) +
         (op.half_pixel ? " half_pixel" : "") + (op.largest ? " largest" : "");
}

ValueType infer_types(const MaxRoiPool& op, InputTypes inputs) { return infer_regions(op, inputs); }

Tensor evaluate(const MaxRoiPool& op, InputTensors inputs) {
  return pool_regions(
      op, inputs, [&](const Image& image, std::span<const float> region, std::span<float> y) {
        const auto scaled = [&](std::size_t i) { return region[i] * op.scale; };
        for (Dim p = 0; p < op.height * op.width; ++p) {
          const Elements rows =
              elements_of(scaled(1), scaled(3), p / op.width, op.height, image.height);
          const Elements cols =
              elements_of(scaled(0), scaled(2), p % op.width, op.width, image.width);
          pool_cell(image, rows, cols,
                    y.subspan(static_cast<std::size_t>(p) * image.channels, image.channels));
        }
      });
}

std::string attributes(const MaxRoiPool& op) {
  return std::to_string(op.height) + "x" + std::to_string(op.width) +
         " scale=" + std::to_string(op.scale);
}

}  // namespace halftone::ir
