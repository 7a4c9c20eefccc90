// SPDX-License-Identifier: Apache-2.0
// byte_conv(): multiplies pieces of a few channels of some windows, broadcast, with those of 16
// outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/byte_conv.cc"
#include "halftone/kernels/conv/byte_conv.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/block_range.h"
#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/conv/byte_strip-inl.h"
#include "halftone/kernels/conv/finish-inl.h"
#include "halftone/kernels/core.h"
#include "halftone/kernels/int8_matmul/level_grid.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = ByteConvWeights;

constexpr std::size_t kBlock = Weights::kBlock;
constexpr std::size_t kPieceBytes = Weights::kPieceBytes;
/// Windows whose sums are finished together.
constexpr std::size_t kMaxWindows = 32;

/// Neighbouring windows of the strip.
struct Windows {
  const std::int8_t* first;
  std::size_t stride;  ///< bytes from a window to the next
  std::span<const std::uint32_t> inputs;

  [[nodiscard]] Windows from(std::size_t window) const {
    return {first + window * stride, stride, inputs};
  }
};

/// Levels of neighbouring blocks of outputs.
struct Levels {
  const std::uint8_t* first;  ///< [pieces, 16, 4 bytes]
  std::size_t block_bytes;    ///< from a block to the next
  std::int32_t factor;        ///< of all levels
};

/// Sums of products: [blocks, windows, outputs].
using Sums = std::int32_t[kMaxWindows][kBlock];

#if HWY_TARGET == HWY_SCALAR

constexpr std::size_t kWindows = 1;
constexpr std::size_t kMaxBlocks = 1;

/// @tparam Level, Pixel  types of the numbers, as the layout says
template <typename Level, typename Pixel>
void MultiplyNumbers(const Windows& x, const std::uint8_t* levels, std::int32_t* to) {
  constexpr std::size_t kPiece = kPieceBytes / sizeof(Level);
  const auto* level = reinterpret_cast<const Level*>(levels);
  const auto* first = reinterpret_cast<const Pixel*>(x.first);
  std::fill_n(to, kBlock, 0);
  for (const std::uint32_t input : x.inputs) {
    for (std::size_t o = 0; o < kBlock; ++o) {
      for (std::size_t i = 0; i < kPiece; ++i) {
        to[o] += level[o * kPiece + i] * first[input * kPiece + i];
      }
    }
    level += kBlock * kPiece;
  }
}

template <ByteLayout kLayout, int kOffset, std::size_t kBlocks, std::size_t kCount>
void Multiply(const Windows& x, const Levels& levels, Sums* sums, std::size_t window) {
  static_assert(kCount == 1 && kBlocks == 1 && kOffset == 0);
  constexpr bool kBytes = kLayout != ByteLayout::kShorts;
  using Level = std::conditional_t<kBytes, std::uint8_t, std::int16_t>;
  using Pixel = std::conditional_t<kBytes, std::int8_t, std::int16_t>;
  MultiplyNumbers<Level, Pixel>(x, levels.first, (*sums)[window]);
  for (std::int32_t& sum : (*sums)[window]) sum *= levels.factor;
}

#else

/// Outputs of a vector, and vectors of a block.
constexpr std::size_t kOutputs = hn::MaxLanes(DInts());
constexpr std::size_t kVectors = kBlock / kOutputs;
/// Windows whose sums fit the registers: with two vectors of levels, one of pixels, one of products
/// and one of ones, four take 13 registers of AVX2. Five would fit, but lines of 8, 16 and 32
/// pixels are whole fours. NEON_DOT has 32 registers and keeps no products.
constexpr std::size_t kWindows = kVectors == 1 ? 16 : (kVectors == 2 || HALFTONE_USES_DOT ? 4 : 2);
/// Blocks of outputs that are multiplied together: two share the pixels of half as many windows.
constexpr std::size_t kMaxBlocks = kVectors == 1 ? 2 : 1;

/// sums[b][window + s][o] = sum of the products of all pieces of window s and output o of block b.
/// @tparam kOffset  subtracted from the levels of kBytes
template <ByteLayout kLayout, int kOffset, std::size_t kBlocks, std::size_t kCount>
HALFTONE_VNNI void Multiply(const Windows& x, const Levels& levels, Sums* HWY_RESTRICT sums,
                            std::size_t window) {
  const DBytes d;
  const DInts d32;
  constexpr std::size_t kLevels = kBlocks * kVectors;
  VInts acc[kCount][kLevels];
  for (auto& of_window : acc) {
    for (VInts& v : of_window) v = hn::Zero(d32);
  }
  const std::size_t stride = x.stride;
  const std::uint8_t* HWY_RESTRICT first_level = levels.first;
  const std::uint32_t* HWY_RESTRICT input = x.inputs.data();
  const std::uint32_t* const end = input + x.inputs.size();
  for (; input != end; ++input, first_level += kBlock * kPieceBytes) {
    VBytes level[kLevels];
    for (std::size_t v = 0; v < kLevels; ++v) {
      const std::uint8_t* block = first_level + v / kVectors * levels.block_bytes;
      const VBytes loaded = hn::LoadU(d, block + v % kVectors * kOutputs * kPieceBytes);
      level[v] = Keep(LessOffset<kOffset>(loaded));
    }
    const std::int8_t* piece = x.first + std::size_t{*input} * kPieceBytes;
    const std::int8_t* upper = piece + 8 * stride;  // few multiples of the stride suffice
    for (std::size_t s = 0; s < kCount; ++s) {
      const Quad pixels = Keep(LoadQuad((s < 8 ? piece : upper) + s % 8 * stride));
      for (std::size_t v = 0; v < kLevels; ++v) {
        if constexpr (kLayout != ByteLayout::kShorts) {
          acc[s][v] = Keep(AddByteProducts(acc[s][v], level[v], pixels));
        } else {
          acc[s][v] = Keep(AddShortProducts(acc[s][v], level[v], pixels));
        }
      }
    }
  }
  const VInts factor = hn::Set(d32, levels.factor);
  for (std::size_t s = 0; s < kCount; ++s) {
    for (std::size_t v = 0; v < kLevels; ++v) {
      if constexpr (kLayout == ByteLayout::kSmall) acc[s][v] = hn::Mul(acc[s][v], factor);
      hn::StoreU(acc[s][v], d32, sums[v / kVectors][window + s] + v % kVectors * kOutputs);
    }
  }
}

#if HALFTONE_SUMS_SHORTS

/// Multiply() for ByteLayout::kSmall: two instructions for a vector of products, where the general
/// one takes three.
template <std::size_t kBlocks, std::size_t kCount>
void MultiplySmall(const Windows& x, const Levels& levels, Sums* HWY_RESTRICT sums,
                   std::size_t window) {
  const DBytes d;
  const DInts d32;
  constexpr std::size_t kLevels = kBlocks * kVectors;
  const VShorts factor = hn::Set(DShorts(), static_cast<std::uint16_t>(levels.factor));
  const std::size_t stride = x.stride;
  const std::uint8_t* HWY_RESTRICT first_level = levels.first;
  for (std::size_t first = 0; first < x.inputs.size(); first += kSmallQuads) {
    VShorts acc[kCount][kLevels];
    for (auto& of_window : acc) {
      for (VShorts& v : of_window) v = hn::Zero(DShorts());
    }
    const std::size_t last = std::min(first + kSmallQuads, x.inputs.size());
    for (std::size_t i = first; i < last; ++i, first_level += kBlock * kPieceBytes) {
      VBytes level[kLevels];
      for (std::size_t v = 0; v < kLevels; ++v) {
        const std::uint8_t* block = first_level + v / kVectors * levels.block_bytes;
        level[v] = Keep(hn::LoadU(d, block + v % kVectors * kOutputs * kPieceBytes));
      }
      const std::int8_t* piece = x.first + std::size_t{x.inputs[i]} * kPieceBytes;
      const std::int8_t* upper = piece + 8 * stride;
      for (std::size_t s = 0; s < kCount; ++s) {
        const Quad pixels = Keep(LoadQuad((s < 8 ? piece : upper) + s % 8 * stride));
        for (std::size_t v = 0; v < kLevels; ++v) {
          acc[s][v] = Keep(AddSmallProducts(acc[s][v], level[v], pixels));
        }
      }
    }
    for (std::size_t s = 0; s < kCount; ++s) {
      for (std::size_t v = 0; v < kLevels; ++v) {
        std::int32_t* to = sums[v / kVectors][window + s] + v % kVectors * kOutputs;
        const VInts wide = WidenSmallSums(acc[s][v], factor);
        hn::StoreU(first == 0 ? wide : hn::Add(wide, hn::LoadU(d32, to)), d32, to);
      }
    }
  }
}

#endif

#endif  // HWY_TARGET == HWY_SCALAR

/// The fastest multiplication for the target.
template <ByteLayout kLayout, int kOffset, std::size_t kBlocks, std::size_t kCount>
constexpr auto ChooseMultiply() {
#if HALFTONE_SUMS_SHORTS
  if constexpr (kLayout == ByteLayout::kSmall) return &MultiplySmall<kBlocks, kCount>;
#endif
  return &Multiply<kLayout, kOffset, kBlocks, kCount>;
}

/// The same for any range of windows.
template <ByteLayout kLayout, int kOffset, std::size_t kBlocks,
          std::size_t kCount = kWindows / kBlocks>
HWY_INLINE void MultiplyAll(const Windows& x, BlockRange windows, const Levels& levels,
                            Sums* sums) {
  for (; windows.begin + kCount <= windows.end; windows.begin += kCount) {
    constexpr auto multiply = ChooseMultiply<kLayout, kOffset, kBlocks, kCount>();
    multiply(x.from(windows.begin), levels, sums, windows.begin);
  }
  if constexpr (kCount > 1) {
    MultiplyAll<kLayout, kOffset, kBlocks, kCount / 2>(x, windows, levels, sums);
  }
}

/// Some neighbouring output pixels of a line.
struct ByteTile {
  std::size_t group;
  std::size_t first_pixel;  ///< of y
  std::size_t x;            ///< the first one in its line
  std::size_t count;
  std::size_t row;           ///< of the strip where its windows begin
  std::size_t line_pattern;  ///< see PaddingPatterns::line()
};

/// What the windows of a tile give for a block.
struct ByteSums {
  const std::int32_t (*products)[kBlock];  ///< [count]
  const std::int32_t* window_sums;         ///< [count]
  std::int32_t steps;  ///< of the grid, less twice what is subtracted from the levels
};

/// The outputs of a block of all pixels of a tile.
/// @tparam D  vectors of float; those of fewer lanes have less to store that does not fill one
template <class D>
void FinishBytes(const Weights& w, const ByteTile& tile, std::size_t block, const ByteSums& sums,
                 const ConvPart& part) {
  const std::int32_t* window_sums = sums.window_sums;
  const D d;
  const hn::RebindToSigned<D> di;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const std::size_t group_outputs = w.shape().group_outputs();
  const std::size_t valid = std::min(kBlock, group_outputs - block * kBlock);
  const float* const bases = w.base(0) + column;
  const float* const half_steps = w.half_steps() + column;
  const float* const centers = w.centers() + column;
  const std::size_t row = w.float_row();
  const std::int32_t steps = sums.steps;
  const std::size_t* patterns = w.patterns().along_line().data() + tile.x;
  const std::size_t line_pattern = tile.line_pattern;
  const std::size_t count = tile.count;
  Finisher to(part.finish, part.y, tile.first_pixel, tile.group * group_outputs + block * kBlock);
  for (std::size_t t = 0; t < count; ++t) {
    const float* base = bases + (line_pattern + patterns[t]) * row;
    const auto window_sum = hn::Set(di, window_sums[t]);
    const auto less = hn::Mul(hn::Set(di, steps), window_sum);
    const auto sum = hn::ConvertTo(d, window_sum);
    const auto outputs = [&](std::size_t o) HWY_ATTR {
      const auto p = hn::LoadU(di, sums.products[t] + o);
      const auto odd = hn::ConvertTo(d, hn::Sub(hn::Add(p, p), less));
      const auto acc = hn::Add(hn::LoadU(d, base + o), hn::Mul(hn::LoadU(d, half_steps + o), odd));
      return hn::Add(acc, hn::Mul(hn::LoadU(d, centers + o), sum));
    };
    if constexpr (kLanes == kBlock) {
      to.Store(d, outputs(0), 0);  // only used for whole blocks
    } else {
      for (std::size_t o = 0; o < valid; o += kLanes) {
        if (o + kLanes <= valid) {
          to.Store(d, outputs(o), o);
        } else {
          to.StoreSome(d, outputs(o), valid - o, o);
        }
      }
    }
    to.NextPixel();
  }
}

template <ByteLayout kLayout, int kOffset>
void ComputeByteTile(const Weights& w, const ByteTile& tile, const ByteStrip& strip,
                     const ConvPart& part) {
  alignas(64) Sums products[kMaxBlocks];
  const std::size_t stride = w.shape().axes[2].stride;
  const std::size_t pixel_bytes = w.tap_pieces() * kPieceBytes;
  const Windows windows{strip.pixels + (tile.row * w.strip().width + tile.x * stride) * pixel_bytes,
                        stride * pixel_bytes, w.inputs()};
  for (std::size_t block = 0; block < w.blocks(); block += kMaxBlocks) {
    const std::size_t blocks = std::min(kMaxBlocks, w.blocks() - block);
    const Levels levels{w.levels(tile.group, block), w.block_bytes(), w.factor()};
    const BlockRange all{0, tile.count};
    if (blocks == kMaxBlocks) {
      MultiplyAll<kLayout, kOffset, kMaxBlocks>(windows, all, levels, products);
    } else {
      MultiplyAll<kLayout, kOffset, 1>(windows, all, levels, products);
    }
    for (std::size_t b = 0; b < blocks; ++b) {
      const ByteSums sums{products[b], strip.window_sums + tile.x, w.steps() - 2 * kOffset};
      if ((block + b + 1) * kBlock <= w.shape().group_outputs()) {
        FinishBytes<hn::CappedTag<float, kBlock>>(w, tile, block + b, sums, part);
      } else {
        FinishBytes<hn::CappedTag<float, 8>>(w, tile, block + b, sums, part);
      }
    }
  }
}

using ComputeTile = void (*)(const Weights&, const ByteTile&, const ByteStrip&, const ConvPart&);

ComputeTile ChooseTile(const Weights& w) {
  if (w.layout() == ByteLayout::kShorts) return ComputeByteTile<ByteLayout::kShorts, 0>;
  if (w.layout() == ByteLayout::kSmall) return ComputeByteTile<ByteLayout::kSmall, 0>;
  if (w.steps() > 127) return ComputeByteTile<ByteLayout::kBytes, kLevelOffset>;
  return ComputeByteTile<ByteLayout::kBytes, 0>;
}

void ByteConv(const std::int8_t* q, const Weights& w, const ConvPart& part) {
  const ConvShape& shape = w.shape();
  const LineRange lines = part.lines;
  ByteStrip strip = DivideStrip(w, part.scratch.data());
  auto* const copy = reinterpret_cast<std::int8_t*>(part.scratch.data());
  const ComputeTile compute_tile = ChooseTile(w);
  for (std::size_t first = lines.begin; first < lines.end;) {
    const ConvLine line = line_at(shape, first);
    const std::size_t count =
        std::min({w.strip().lines, lines.end - first, shape.axes[1].output - line.y});
    for (std::size_t group = 0; group < shape.groups; ++group) {
      const std::int8_t* group_q = q + group * shape.group_channels();
      for_each_strip_row(
          shape, w.strip(), line, count, [&](std::size_t row, bool inside, std::size_t pixel) {
            const std::int8_t* from = inside ? group_q + pixel * shape.channels : nullptr;
            if (!w.reads_in_place()) CopyByteRow(w, from, row, copy);
            SumByteRow(w, from, row, strip);
          });
      if (w.reads_in_place()) strip.pixels = q + first * shape.line_pixels() * shape.channels;
      for (std::size_t l = 0; l < count; ++l) {
        const std::size_t row = l * shape.axes[1].stride;
        SumWindows(w, strip, row);
        for (std::size_t p = 0; p < shape.line_pixels(); p += kMaxWindows) {
          const ByteTile tile{group, (first + l - lines.begin) * shape.line_pixels() + p,
                              p,     std::min(kMaxWindows, shape.line_pixels() - p),
                              row,   w.patterns().line(line.z, line.y + l)};
          compute_tile(w, tile, strip, part);
        }
      }
    }
    first += count;
  }
}

/// Bits of weights whose levels AddByteProducts() multiplies exactly.
int MaxByteBits() { return kMultipliesLargeLevels ? numerics::kMaxBits : 4; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/neon_dot_pass.h"

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(ByteConv);
HWY_EXPORT(MaxByteBits);

ByteLayout preferred_byte_layout(const numerics::MatrixEncoding& encoding) noexcept {
  if (encoding.bits > HALFTONE_DISPATCH(MaxByteBits)()) return ByteLayout::kShorts;
  const bool is_small = prefers_small_levels() && common_factor(encoding) > 1;
  return is_small ? ByteLayout::kSmall : ByteLayout::kBytes;
}

void byte_conv(const std::int8_t* q, const ByteConvWeights& weights,
               const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HALFTONE_DISPATCH(ByteConv)(q, weights, part);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
