// SPDX-License-Identifier: Apache-2.0
// depthwise_conv(): 16 channels of a line of pixels at a time, first interleaved to pairs of rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/depthwise_conv.cc"
#include "halftone/kernels/conv/depthwise_conv.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/conv/finish-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DSums = hn::CappedTag<std::int32_t, DepthwiseLevels::kBlock>;
using VSums = hn::Vec<DSums>;

constexpr std::size_t kBlock = DepthwiseLevels::kBlock;
/// Levels of a block in a pair of rows: two for each channel.
constexpr std::size_t kPairLevels = 2 * kBlock;

/// Pairs of 16-bit numbers, one pair in each lane.
HWY_INLINE VSums LoadPairs(const std::int16_t* pairs) {
  return hn::LoadU(DSums(), reinterpret_cast<const std::int32_t*>(pairs));
}

/// Interleaves two rows of a column as 16 bits. Missing channels of a block hold arbitrary values.
/// @param a, b   first channel of each row, or null for zeros
/// @param end    end of all pixels
/// @param pairs  [16, 2]
HWY_INLINE void PackPair(const std::int8_t* a, const std::int8_t* b, const std::int8_t* end,
                         std::int16_t* HWY_RESTRICT pairs) {
#if HWY_TARGET == HWY_SCALAR
  const auto pack = [&](const std::int8_t* q, std::int16_t* to) {
    for (std::size_t c = 0; c < kBlock; ++c) to[2 * c] = q == nullptr || q + c >= end ? 0 : q[c];
  };
  pack(a, pairs);
  pack(b, pairs + 1);
#else
  const hn::Full128<std::int8_t> d;
  const auto load = [&](const std::int8_t* q) HWY_ATTR {
    if (q == nullptr) return hn::Zero(d);
    const auto left = static_cast<std::size_t>(end - q);
    if (left >= kBlock) return hn::LoadU(d, q);
    alignas(16) std::int8_t some[kBlock] = {};
    std::memcpy(some, q, left);
    return hn::Load(d, some);
  };
  const auto x = load(a);
  const auto y = load(b);
  const auto store = [&](hn::Vec<decltype(d)> both, std::int16_t* to) HWY_ATTR {
#if HWY_TARGET <= HWY_AVX2
    const hn::Rebind<std::int16_t, decltype(d)> d16;
    hn::StoreU(hn::PromoteTo(d16, both), d16, to);
#else
    const hn::Repartition<std::int16_t, decltype(d)> d16;
    const hn::Half<decltype(d)> half;
    hn::StoreU(hn::PromoteTo(d16, hn::LowerHalf(half, both)), d16, to);
    hn::StoreU(hn::PromoteTo(d16, hn::UpperHalf(half, both)), d16, to + kBlock / 2);
#endif
  };
  store(hn::InterleaveLower(d, x, y), pairs);
  store(hn::InterleaveUpper(d, x, y), pairs + kBlock);
#endif
}

/// Finds the rows of pixels that the taps of a line read; null outside the image and after the last
/// row.
/// @param rows  [w.rows() + 1]
void FindRows(const std::int8_t* q, const DepthwiseLevels& w, const ConvLine& line,
              const std::int8_t** rows) {
  const ConvShape& shape = w.shape();
  const auto& [az, ay, ax] = shape.axes;
  for (std::size_t kz = 0; kz < az.kernel; ++kz) {
    const std::size_t z = input_at(az, line.z * az.stride + kz * az.dilation);
    for (std::size_t ky = 0; ky < ay.kernel; ++ky, ++rows) {
      const std::size_t y = input_at(ay, line.y * ay.stride + ky * ay.dilation);
      const std::size_t pixel = ((line.image * az.input + z) * ay.input + y) * ax.input;
      *rows = z == az.input || y == ay.input ? nullptr : q + pixel * shape.channels;
    }
  }
  *rows = nullptr;
}

/// The pairs of rows of 16 channels that a line reads, without the columns outside the image.
/// @param rows   from FindRows()
/// @param last   the end of all pixels
/// @param strip  [width, pairs, 16, 2]
void PackLine(const std::int8_t* const* rows, const std::int8_t* last, const DepthwiseLevels& w,
              std::size_t first_channel, std::int16_t* HWY_RESTRICT strip) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t channels = w.shape().channels;
  const std::size_t pairs = w.pairs();
  const std::size_t width = w.strip_width();
  const std::size_t begin = std::min(axis.pad_before, width);
  const std::size_t end = std::min(axis.pad_before + axis.input, width);
  for (std::size_t p = 0; p < pairs; ++p) {
    const std::int8_t* a = rows[2 * p] == nullptr ? nullptr : rows[2 * p] + first_channel;
    const std::int8_t* b = rows[2 * p + 1] == nullptr ? nullptr : rows[2 * p + 1] + first_channel;
    std::int16_t* to = strip + (begin * pairs + p) * kPairLevels;
    for (std::size_t x = begin; x < end; ++x, to += pairs * kPairLevels) {
      PackPair(a, b, last, to);
      if (a != nullptr) a += channels;
      if (b != nullptr) b += channels;
    }
  }
}

/// A line of outputs of a vector of channels.
struct LineTask {
  const std::int16_t* strip;   ///< of the line, from the vector's first channel on
  const std::int16_t* levels;  ///< likewise
  std::size_t first_pattern;   ///< of the line
  std::size_t first_pixel;     ///< of y
  std::size_t first_channel;
  std::size_t channels;  ///< number of channels of the vector that exist
};

/// The products of a window for a kernel with extents known at compile time: its levels stay in
/// registers.
template <std::size_t kColumns, std::size_t kPairs>
class KnownKernel {
 public:
  HWY_INLINE KnownKernel(const LineTask& task, const DepthwiseLevels& w)
      : column_step_(w.shape().axes[2].dilation * kPairs * kPairLevels) {
    for (std::size_t i = 0; i < kColumns * kPairs; ++i) {
      levels_[i] = LoadPairs(task.levels + i * kPairLevels);
    }
  }
  HALFTONE_VNNI HWY_INLINE VSums Sum(const std::int16_t* HWY_RESTRICT window) const {
    VSums sum = hn::Zero(DSums());
    for (std::size_t k = 0; k < kColumns; ++k, window += column_step_) {
      for (std::size_t p = 0; p < kPairs; ++p) {
        sum = AddPairProducts(sum, LoadPairs(window + p * kPairLevels), levels_[k * kPairs + p]);
      }
    }
    return sum;
  }

 private:
  std::size_t column_step_;
  VSums levels_[kColumns * kPairs];
};

/// The same for any kernel.
/// @tparam kColumns, kPairs  its extents; 0: those of the weights, which is slower
template <std::size_t kColumns, std::size_t kPairs>
class AnyKernel {
 public:
  HWY_INLINE AnyKernel(const LineTask& task, const DepthwiseLevels& w)
      : levels_(task.levels),
        columns_(kColumns == 0 ? w.shape().axes[2].kernel : kColumns),
        pairs_(kPairs == 0 ? w.pairs() : kPairs),
        column_step_(w.shape().axes[2].dilation * pairs_ * kPairLevels) {}
  HALFTONE_VNNI HWY_INLINE VSums Sum(const std::int16_t* HWY_RESTRICT window) const {
    VSums sum = hn::Zero(DSums());
    const std::int16_t* HWY_RESTRICT levels = levels_;
    const std::size_t columns = kColumns == 0 ? columns_ : kColumns;
    const std::size_t pairs = kPairs == 0 ? pairs_ : kPairs;
    for (std::size_t k = 0; k < columns; ++k, window += column_step_) {
      for (std::size_t p = 0; p < pairs; ++p, levels += kPairLevels) {
        sum = AddPairProducts(sum, LoadPairs(window + p * kPairLevels), LoadPairs(levels));
      }
    }
    return sum;
  }

 private:
  const std::int16_t* levels_;
  std::size_t columns_;
  std::size_t pairs_;
  std::size_t column_step_;
};

/// Outputs from sums of products.
class FloatOutputs {
 public:
  using Weights = DepthwiseWeights;
  using Part = ConvPart;
  using D = hn::RebindToFloat<DSums>;

  HWY_INLINE FloatOutputs(const LineTask& task, const Weights& w)
      : bases_(w.base(task.first_pattern) + task.first_channel),
        row_(w.row_outputs()),
        scale_(hn::LoadU(D(), w.scales() + task.first_channel)) {}
  HWY_INLINE hn::Vec<D> operator()(VSums sum, std::size_t pattern) const {
    const auto base = hn::LoadU(D(), bases_ + pattern * row_);
    return hn::Add(base, hn::Mul(scale_, hn::ConvertTo(D(), sum)));
  }
  static HWY_INLINE Finisher Writer(const LineTask& task, const Part& part) {
    return {part.finish, part.y, task.first_pixel, task.first_channel};
  }

 private:
  const float* HWY_RESTRICT bases_;
  std::size_t row_;
  hn::Vec<D> scale_;
};

/// The same for integers.
class IntegerOutputs {
 public:
  using Weights = IntegerDepthwiseWeights;
  using Part = IntegerConvPart;
  using D = DSums;

  HWY_INLINE IntegerOutputs(const LineTask& task, const Weights& w)
      : bases_(w.base(task.first_pattern) + task.first_channel), row_(w.row_outputs()) {}
  HWY_INLINE VSums operator()(VSums sum, std::size_t pattern) const {
    return hn::Add(sum, hn::LoadU(D(), bases_ + pattern * row_));
  }
  static HWY_INLINE IntegerWriter Writer(const LineTask& task, const Part& part) {
    return {part.y, task.first_pixel, task.first_channel};
  }

 private:
  const std::int32_t* HWY_RESTRICT bases_;
  std::size_t row_;
};

/// @tparam kWhole  whether all channels of the vector exist
template <class Outputs, class Kernel, bool kWhole>
HALFTONE_VNNI void ConvolveLine(const LineTask& task, const typename Outputs::Weights& w,
                                const typename Outputs::Part& part) {
  const typename Outputs::D d;
  const Kernel kernel(task, w);
  const Outputs outputs(task, w);
  const std::size_t pixels = w.shape().axes[2].output;
  const std::size_t pixel_step = w.shape().axes[2].stride * w.pairs() * kPairLevels;
  const std::size_t* HWY_RESTRICT patterns = w.patterns().along_line().data();
  const std::size_t channels = task.channels;
  const std::int16_t* HWY_RESTRICT window = task.strip;
  auto to = Outputs::Writer(task, part);
  for (std::size_t x = 0; x < pixels; ++x, window += pixel_step) {
    const auto y = outputs(kernel.Sum(window), patterns[x]);
    if constexpr (kWhole) {
      to.Store(d, y, 0);
    } else {
      to.StoreSome(d, y, channels, 0);
    }
    to.NextPixel();
  }
}

template <class Outputs, bool kWhole>
auto Choose(const DepthwiseLevels& w) {
  const std::size_t columns = w.shape().axes[2].kernel;
  if (columns == 3 && w.pairs() == 2) return &ConvolveLine<Outputs, KnownKernel<3, 2>, kWhole>;
  if (columns == 5 && w.pairs() == 3) return &ConvolveLine<Outputs, AnyKernel<5, 3>, kWhole>;
  return &ConvolveLine<Outputs, AnyKernel<0, 0>, kWhole>;
}

template <class Outputs>
HWY_INLINE void ConvolveLines(const std::int8_t* q, const typename Outputs::Weights& w,
                              const typename Outputs::Part& part) {
  constexpr std::size_t kLanes = hn::MaxLanes(DSums());
  const ConvShape& shape = w.shape();
  const LineRange lines = part.lines;
  std::byte* const scratch = part.scratch.data();
  auto* const rows = reinterpret_cast<const std::int8_t**>(scratch);
  auto* const strip = reinterpret_cast<std::int16_t*>(scratch + w.rows_bytes());
  std::memset(strip, 0, w.scratch_bytes() - w.rows_bytes());
  const std::int8_t* last = q + shape.images * shape.image_input_pixels() * shape.channels;
  const auto whole = Choose<Outputs, true>(w);
  const auto some = Choose<Outputs, false>(w);
  for (std::size_t at = lines.begin; at < lines.end; ++at) {
    const ConvLine line = line_at(shape, at);
    FindRows(q, w, line, rows);
    for (std::size_t block = 0; block < w.blocks(); ++block) {
      PackLine(rows, last, w, block * kBlock, strip);
      const std::size_t end = std::min(shape.channels, (block + 1) * kBlock);
      for (std::size_t c = block * kBlock; c < end; c += kLanes) {
        const std::size_t lane = 2 * (c % kBlock);
        const LineTask task{strip + lane,
                            w.levels(block) + lane,
                            w.patterns().line(line.z, line.y),
                            (at - lines.begin) * shape.line_pixels(),
                            c,
                            std::min(kLanes, end - c)};
        (task.channels == kLanes ? whole : some)(task, w, part);
      }
    }
  }
}

void DepthwiseConv(const std::int8_t* q, const DepthwiseWeights& w, const ConvPart& part) {
  ConvolveLines<FloatOutputs>(q, w, part);
}

void IntegerDepthwiseConv(const std::int8_t* q, const IntegerDepthwiseWeights& w,
                          const IntegerConvPart& part) {
  ConvolveLines<IntegerOutputs>(q, w, part);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(DepthwiseConv);
HALFTONE_EXPORT(IntegerDepthwiseConv);

void depthwise_conv(const std::int8_t* q, const DepthwiseWeights& weights,
                    const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HALFTONE_DISPATCH(DepthwiseConv)(q, weights, part);
}

void integer_depthwise_conv(const std::int8_t* q, const IntegerDepthwiseWeights& weights,
                            const IntegerConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HALFTONE_DISPATCH(IntegerDepthwiseConv)(q, weights, part);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
