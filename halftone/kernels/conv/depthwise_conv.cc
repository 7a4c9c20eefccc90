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

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DSums = hn::CappedTag<std::int32_t, DepthwiseWeights::kBlock>;
using VSums = hn::Vec<DSums>;

constexpr std::size_t kBlock = DepthwiseWeights::kBlock;
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
void FindRows(const std::int8_t* q, const DepthwiseWeights& w, const ConvLine& line,
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
void PackLine(const std::int8_t* const* rows, const std::int8_t* last, const DepthwiseWeights& w,
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
  const float* bases;          ///< of the line's first pattern, from the vector's first channel on
  std::size_t base_row;        ///< from pattern to pattern
  const float* scales;
  const std::size_t* patterns;  ///< [line_pixels]
  std::size_t first_pixel;      ///< of y
  std::size_t first_channel;
  std::size_t channels;  ///< number of channels of the vector that exist
};

/// The products of a window for a kernel with extents known at compile time: its levels stay in
/// registers.
template <std::size_t kColumns, std::size_t kPairs>
class KnownKernel {
 public:
  HWY_INLINE KnownKernel(const LineTask& task, const DepthwiseWeights& w)
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
  HWY_INLINE AnyKernel(const LineTask& task, const DepthwiseWeights& w)
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

/// @tparam kWhole  whether all channels of the vector exist
template <class Kernel, bool kWhole>
HALFTONE_VNNI void ConvolveLine(const LineTask& task, const DepthwiseWeights& w,
                                const ConvFinish& finish, const MatrixView<float>& y) {
  const hn::RebindToFloat<DSums> d;
  const Kernel kernel(task, w);
  const std::size_t pixels = w.shape().axes[2].output;
  const std::size_t pixel_step = w.shape().axes[2].stride * w.pairs() * kPairLevels;
  const auto scale = hn::LoadU(d, task.scales);
  const std::size_t* HWY_RESTRICT patterns = task.patterns;
  const float* HWY_RESTRICT bases = task.bases;
  const std::size_t base_row = task.base_row;
  const std::size_t channels = task.channels;
  const std::int16_t* HWY_RESTRICT window = task.strip;
  Finisher to(finish, y, task.first_pixel, task.first_channel);
  for (std::size_t x = 0; x < pixels; ++x, window += pixel_step) {
    const auto base = hn::LoadU(d, bases + patterns[x] * base_row);
    const auto acc = hn::Add(base, hn::Mul(scale, hn::ConvertTo(d, kernel.Sum(window))));
    if constexpr (kWhole) {
      to.Store(d, acc, 0);
    } else {
      to.StoreSome(d, acc, channels, 0);
    }
    to.NextPixel();
  }
}

using Convolve = void (*)(const LineTask&, const DepthwiseWeights&, const ConvFinish&,
                          const MatrixView<float>&);
template <bool kWhole>
Convolve Choose(const DepthwiseWeights& w) {
  const std::size_t columns = w.shape().axes[2].kernel;
  if (columns == 3 && w.pairs() == 2) return ConvolveLine<KnownKernel<3, 2>, kWhole>;
  if (columns == 5 && w.pairs() == 3) return ConvolveLine<AnyKernel<5, 3>, kWhole>;
  return ConvolveLine<AnyKernel<0, 0>, kWhole>;
}

void DepthwiseConv(const std::int8_t* q, const DepthwiseWeights& w, const ConvPart& part) {
  constexpr std::size_t kLanes = hn::MaxLanes(DSums());
  const ConvShape& shape = w.shape();
  const LineRange lines = part.lines;
  std::byte* const scratch = part.scratch.data();
  auto* const rows = reinterpret_cast<const std::int8_t**>(scratch);
  auto* const strip = reinterpret_cast<std::int16_t*>(scratch + w.rows_bytes());
  std::memset(strip, 0, w.scratch_bytes() - w.rows_bytes());
  const std::int8_t* last = q + shape.images * shape.image_input_pixels() * shape.channels;
  const Convolve whole = Choose<true>(w);
  const Convolve some = Choose<false>(w);
  for (std::size_t at = lines.begin; at < lines.end; ++at) {
    const ConvLine line = line_at(shape, at);
    FindRows(q, w, line, rows);
    const float* const bases = w.base(w.patterns().line(line.z, line.y));
    for (std::size_t block = 0; block < w.blocks(); ++block) {
      PackLine(rows, last, w, block * kBlock, strip);
      const std::size_t end = std::min(shape.channels, (block + 1) * kBlock);
      for (std::size_t c = block * kBlock; c < end; c += kLanes) {
        const std::size_t lane = 2 * (c % kBlock);
        const LineTask task{strip + lane,
                            w.levels(block) + lane,
                            bases + c,
                            w.blocks() * kBlock,
                            w.scales() + c,
                            w.patterns().along_line().data(),
                            (at - lines.begin) * shape.line_pixels(),
                            c,
                            std::min(kLanes, end - c)};
        (task.channels == kLanes ? whole : some)(task, w, part.finish, part.y);
      }
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(DepthwiseConv);

void depthwise_conv(const std::int8_t* q, const DepthwiseWeights& weights,
                    const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HWY_DYNAMIC_DISPATCH(DepthwiseConv)(q, weights, part);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
