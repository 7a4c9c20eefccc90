// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/float_pool.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <limits>

#include "halftone/kernels/conv/float_conv.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The pixels of a window inside the image: counts and steps, in floats, along each axis.
struct PoolWindow {
  const float* x;  ///< the first of them
  std::array<std::size_t, 3> counts;
  std::array<std::size_t, 3> steps;

  /// Calls visit(first channel) for each pixel in order.
  template <typename Visit>
  HWY_INLINE void for_each(const Visit& visit) const {
    for (std::size_t i = 0; i < counts[0]; ++i) {
      for (std::size_t j = 0; j < counts[1]; ++j) {
        const float* at = x + i * steps[0] + j * steps[1];
        for (std::size_t k = 0; k < counts[2]; ++k, at += steps[2]) visit(at);
      }
    }
  }
};

/// The largest values of kVectors vectors of channels; NaN if one is.
struct PoolLargest {
  template <std::size_t kVectors, class D>
  HWY_INLINE void run(D d, const PoolWindow& window, std::size_t channel, float* y) const {
    const std::size_t lanes = hn::Lanes(d);
    hn::Vec<D> largest[kVectors];
    for (auto& v : largest) v = hn::Set(d, -std::numeric_limits<float>::infinity());
    window.for_each([&](const float* x) HWY_ATTR {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto value = hn::LoadU(d, x + channel + v * lanes);
        const auto takes = hn::Or(hn::Lt(largest[v], value), hn::IsNaN(value));
        largest[v] = hn::IfThenElse(takes, value, largest[v]);
      }
    });
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(largest[v], d, y + channel + v * lanes);
    }
  }
};

/// The means of kVectors vectors of channels.
struct PoolMean {
  double divisor;

  template <std::size_t kVectors, class D>
  HWY_INLINE void run(D d, const PoolWindow& window, std::size_t channel, float* y) const {
    const hn::Rebind<double, D> wide;
    const std::size_t lanes = hn::Lanes(d);
    hn::Vec<decltype(wide)> sums[kVectors];
    for (auto& v : sums) v = hn::Zero(wide);
    window.for_each([&](const float* x) HWY_ATTR {
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto value = hn::LoadU(d, x + channel + v * lanes);
        sums[v] = hn::Add(sums[v], hn::PromoteTo(wide, value));
      }
    });
    const auto by = hn::Set(wide, divisor);
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::DemoteTo(d, hn::Div(sums[v], by)), d, y + channel + v * lanes);
    }
  }
};

/// The remaining channels from c on, as many vectors at a time.
/// @return  the first channel that is left
template <std::size_t kVectors, class D, class Pool>
HWY_INLINE std::size_t PoolVectors(D d, const Pool& pool, const PoolWindow& window,
                                   std::size_t channels, std::size_t c, float* y) {
  const std::size_t step = kVectors * hn::Lanes(d);
  for (; c + step <= channels; c += step) pool.template run<kVectors>(d, window, c, y);
  return c;
}

/// All channels of a window: four vectors together, then single ones, then parts of a vector.
template <class D, class Pool>
HWY_INLINE void PoolChannels(D d, const Pool& pool, const PoolWindow& window, std::size_t channels,
                             float* y) {
  std::size_t c = PoolVectors<4>(d, pool, window, channels, 0, y);
  c = PoolVectors<1>(d, pool, window, channels, c, y);
  if constexpr (hn::MaxLanes(D()) > 8) {
    c = PoolVectors<1>(hn::CappedTag<float, 8>(), pool, window, channels, c, y);
  }
  if constexpr (hn::MaxLanes(D()) > 4) {
    c = PoolVectors<1>(hn::CappedTag<float, 4>(), pool, window, channels, c, y);
  }
  PoolVectors<1>(hn::CappedTag<float, 1>(), pool, window, channels, c, y);
}

/// The windows of the pixels of a line of the output, one after another.
class LineOfWindows {
 public:
  LineOfWindows(const FloatPool& pool, const float* x, const ConvLine& line)
      : axis_(pool.shape.axes[2]), window_{x, {}, {}} {
    const ConvShape& shape = pool.shape;
    const std::array<std::size_t, 2> at = {line.z, line.y};
    std::size_t step = shape.channels;  // from one pixel to the next along an axis
    set_step(2, axis_, step);
    window_.x += line.image * shape.image_input_pixels() * shape.channels;
    for (std::size_t a = 2; a-- > 0;) {
      const ConvAxis& axis = shape.axes[a];
      set_step(a, axis, step);
      window_.x += set_taps(a, axis, at[a], axis.inside(at[a]));
    }
    line_ = window_.x;
  }

  /// The window of a pixel.
  [[nodiscard]] const PoolWindow& at(std::size_t pixel) {
    // Most windows lie inside; inside() divides.
    const std::size_t first = pixel * axis_.stride;
    const std::size_t last = first + (axis_.kernel - 1) * axis_.dilation;
    const bool is_whole = first >= axis_.pad_before && last - axis_.pad_before < axis_.input;
    const TapRange taps = is_whole ? TapRange{0, axis_.kernel} : axis_.inside(pixel);
    window_.x = line_ + set_taps(2, axis_, pixel, taps);
    return window_;
  }

 private:
  void set_step(std::size_t a, const ConvAxis& axis, std::size_t& step) {
    pixel_steps_[a] = step;
    window_.steps[a] = axis.dilation * step;
    step *= axis.input;
  }

  /// @return  from the first input along the axis to the first one of the window, in floats
  std::size_t set_taps(std::size_t a, const ConvAxis& axis, std::size_t at, TapRange taps) {
    window_.counts[a] = taps.end - taps.begin;
    if (window_.counts[a] == 0) return 0;
    return (at * axis.stride + taps.begin * axis.dilation - axis.pad_before) * pixel_steps_[a];
  }

  const ConvAxis& axis_;
  PoolWindow window_;
  const float* line_ = nullptr;  ///< the first pixel of the windows' first row
  std::array<std::size_t, 3> pixel_steps_{};
};

void FloatPoolLines(const float* x, const FloatPool& pool, LineRange lines, MatrixView<float> y) {
  const ConvShape& shape = pool.shape;
  const hn::ScalableTag<float> d;
  const hn::Rebind<float, hn::ScalableTag<double>> half;  // as many as vectors of float64 hold
  std::size_t row = 0;
  for (std::size_t l = lines.begin; l < lines.end; ++l) {
    LineOfWindows windows(pool, x, line_at(shape, l));
    for (std::size_t p = 0; p < shape.line_pixels(); ++p, ++row) {
      const PoolWindow& window = windows.at(p);
      float* to = y.row(row).data();
      if (pool.is_max) {
        PoolChannels(d, PoolLargest{}, window, shape.channels, to);
        continue;
      }
      const std::size_t inside = window.counts[0] * window.counts[1] * window.counts[2];
      const std::size_t counted = pool.counts_padding ? shape.taps() : inside;
      const auto divisor = static_cast<double>(std::max<std::size_t>(counted, 1));
      PoolChannels(half, PoolMean{divisor}, window, shape.channels, to);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(FloatPoolLines);

void float_pool(const float* x, const FloatPool& pool, LineRange lines,
                MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(pool.shape.channels == pool.shape.outputs);
  HALFTONE_ASSERT(are_outputs(y, pool.shape, lines));
  HALFTONE_DISPATCH(FloatPoolLines)(x, pool, lines, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
