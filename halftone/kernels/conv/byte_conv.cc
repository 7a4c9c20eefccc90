// SPDX-License-Identifier: Apache-2.0
// byte_conv() and integer_conv(): multiply pieces of a few channels of some windows, broadcast,
// with those of 16 outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/byte_conv.cc"
#include "halftone/kernels/conv/byte_conv.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>

#include "halftone/kernels/block_range.h"
#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/conv/byte_finish-inl.h"
#include "halftone/kernels/conv/byte_strip-inl.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/targets.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kPieceBytes = ByteConvLevels::kPieceBytes;
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
constexpr std::size_t kRowBlocks = 1;

/// @tparam Level, Pixel  types of the numbers, as the layout says
template <typename Level, typename Pixel>
void MultiplyNumbers(const Windows& x, const std::uint8_t* levels, std::int32_t* to) {
  constexpr std::size_t kPiece = kPieceBytes / sizeof(Level);
  const auto* level = reinterpret_cast<const Level*>(levels);
  const auto* first = reinterpret_cast<const Pixel*>(x.first);
  std::uint32_t sums[kBlock] = {};  // which may wrap around
  for (const std::uint32_t input : x.inputs) {
    for (std::size_t o = 0; o < kBlock; ++o) {
      for (std::size_t i = 0; i < kPiece; ++i) {
        sums[o] += static_cast<std::uint32_t>(level[o * kPiece + i] * first[input * kPiece + i]);
      }
    }
    level += kBlock * kPiece;
  }
  std::copy_n(sums, kBlock, to);
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
constexpr std::size_t kWindows = kVectors == 1 ? 16 : (kVectors == 2 || HALFTONE_USES_SDOT ? 4 : 2);
/// Blocks of outputs that are multiplied together: two share the pixels of half as many windows.
constexpr std::size_t kMaxBlocks = kVectors == 1 ? 2 : 1;
/// The same for a single window, which need not keep the levels.
constexpr std::size_t kRowBlocks = kVectors <= 2 || HALFTONE_USES_SDOT ? 4 : 2;

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
      level[v] = LessOffset<kOffset>(hn::LoadU(d, block + v % kVectors * kOutputs * kPieceBytes));
      if constexpr (kCount > 1) level[v] = Keep(level[v]);
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
template <ByteLayout kLayout, int kOffset, std::size_t kBlocks, std::size_t kCount>
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

/// Computes `kBlocks` neighbouring blocks of a tile, of weights in several sections.
template <ByteLayout kLayout, int kOffset, std::size_t kBlocks, std::size_t kCount>
void ComputeSections(const ByteConvWeights& w, const ByteTile& tile, std::size_t block,
                     const Windows& windows, const ByteStrip& strip, const ConvPart& part) {
  alignas(64) Sums products[kBlocks];
  alignas(64) float acc[kBlocks][kMaxWindows * kBlock];
  for (std::size_t b = 0; b < kBlocks; ++b) StartSections(w, tile, block + b, acc[b]);
  const std::int32_t* window_sums = strip.window_sums + tile.x;
  for (std::size_t s = 0; s < w.sections(); ++s, window_sums += w.shape().line_pixels()) {
    const BlockRange pieces = w.section(s);
    const Windows inputs{windows.first, windows.stride,
                         windows.inputs.subspan(pieces.begin, pieces.end - pieces.begin)};
    const Levels levels{w.levels(tile.group, block) + pieces.begin * kBlock * kPieceBytes,
                        w.block_bytes(), w.factor()};
    MultiplyAll<kLayout, kOffset, kBlocks, kCount>(inputs, {0, tile.count}, levels, products);
    for (std::size_t b = 0; b < kBlocks; ++b) {
      AddSection(w, tile, block + b, s, {products[b], window_sums, kOffset}, acc[b]);
    }
  }
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const std::size_t valid = w.shape().group_outputs() - (block + b) * kBlock;
    if (valid >= kBlock) {
      FinishSections<hn::CappedTag<float, kBlock>>(w, tile, block + b, kBlock, acc[b], part);
    } else {
      FinishSections<hn::CappedTag<float, 8>>(w, tile, block + b, valid, acc[b], part);
    }
  }
}

/// The same of any weights.
template <ByteLayout kLayout, int kOffset, std::size_t kBlocks, std::size_t kCount, class Weights,
          class Part>
void ComputeBlocks(const Weights& w, const ByteTile& tile, std::size_t block,
                   const Windows& windows, const ByteStrip& strip, const Part& part) {
  if constexpr (std::is_same_v<Weights, ByteConvWeights>) {
    if (w.sections() > 1) {
      return ComputeSections<kLayout, kOffset, kBlocks, kCount>(w, tile, block, windows, strip,
                                                                part);
    }
  }
  alignas(64) Sums products[kBlocks];
  const Levels levels{w.levels(tile.group, block), w.block_bytes(), w.factor()};
  MultiplyAll<kLayout, kOffset, kBlocks, kCount>(windows, {0, tile.count}, levels, products);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    const ByteSums sums{products[b], strip.window_sums + tile.x, kOffset};
    const std::size_t valid = w.shape().group_outputs() - (block + b) * kBlock;
    if (valid >= kBlock) {
      FinishBytes<hn::CappedTag<float, kBlock>>(w, tile, block + b, kBlock, sums, part);
    } else {
      FinishBytes<hn::CappedTag<float, 8>>(w, tile, block + b, valid, sums, part);
    }
  }
}

template <ByteLayout kLayout, int kOffset, class Weights, class Part>
void ComputeByteTile(const Weights& w, const ByteTile& tile, const ByteStrip& strip,
                     const Part& part) {
  const std::size_t stride = w.shape().axes[2].stride;
  const std::size_t pixel_bytes = w.tap_pieces() * kPieceBytes;
  const Windows windows{strip.pixels + (tile.row * w.strip().width + tile.x * stride) * pixel_bytes,
                        stride * pixel_bytes, w.inputs()};
  std::size_t block = 0;
  if (tile.count == 1) {
    for (; block + kRowBlocks <= w.blocks(); block += kRowBlocks) {
      ComputeBlocks<kLayout, kOffset, kRowBlocks, 1>(w, tile, block, windows, strip, part);
    }
  }
  for (; block + kMaxBlocks <= w.blocks(); block += kMaxBlocks) {
    ComputeBlocks<kLayout, kOffset, kMaxBlocks, kWindows / kMaxBlocks>(w, tile, block, windows,
                                                                       strip, part);
  }
  for (; block < w.blocks(); ++block) {
    ComputeBlocks<kLayout, kOffset, 1, kWindows>(w, tile, block, windows, strip, part);
  }
}

template <class Weights, class Part>
using ComputeTile = void (*)(const Weights&, const ByteTile&, const ByteStrip&, const Part&);

template <class Weights, class Part>
ComputeTile<Weights, Part> ChooseTile(const Weights& w) {
  using Layout = ByteLayout;
  if (w.layout() == Layout::kShorts) return ComputeByteTile<Layout::kShorts, 0, Weights, Part>;
  if constexpr (std::is_same_v<Weights, ByteConvWeights>) {
    if (w.layout() == Layout::kSmall) return ComputeByteTile<Layout::kSmall, 0, Weights, Part>;
  }
  if (w.has_large_levels()) return ComputeByteTile<Layout::kBytes, kLevelOffset, Weights, Part>;
  return ComputeByteTile<Layout::kBytes, 0, Weights, Part>;
}

template <class Weights, class Part>
HWY_INLINE void ComputeLines(const std::int8_t* q, const Weights& w, const Part& part) {
  const ConvShape& shape = w.shape();
  const LineRange lines = part.lines;
  ByteStrip strip = DivideStrip(w, part.scratch.data());
  auto* const copy = reinterpret_cast<std::int8_t*>(part.scratch.data());
  const auto compute_tile = ChooseTile<Weights, Part>(w);
  const bool has_sections = w.sections() > 1;
  if (!w.needs_sums()) std::fill_n(strip.window_sums, shape.line_pixels(), 0);
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
            if (w.needs_sums() && !has_sections) SumByteRow(w, from, row, strip);
          });
      if (w.reads_in_place()) strip.pixels = q + first * shape.line_pixels() * shape.channels;
      if (has_sections) SumSpans(w, strip, count);
      for (std::size_t l = 0; l < count; ++l) {
        const std::size_t row = l * shape.axes[1].stride;
        if (has_sections) SumSections(w, strip, row);
        if (w.needs_sums() && !has_sections) SumWindows(w, strip, row);
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

void ByteConv(const std::int8_t* q, const ByteConvWeights& w, const ConvPart& part) {
  ComputeLines(q, w, part);
}

void IntegerConv(const std::int8_t* q, const IntegerConvWeights& w, const IntegerConvPart& part) {
  ComputeLines(q, w, part);
}

/// Bits of weights whose levels AddByteProducts() multiplies exactly.
int MaxByteBits() { return kMultipliesLargeLevels ? numerics::kMaxBits : 4; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/dot_pass-inl.h"

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(ByteConv);
HALFTONE_EXPORT(IntegerConv);
HALFTONE_EXPORT(MaxByteBits);

ByteLayout preferred_byte_layout(const numerics::MatrixEncoding& encoding) noexcept {
  if (encoding.bits > HALFTONE_DISPATCH_DOT(MaxByteBits)()) return ByteLayout::kShorts;
  const bool is_small = prefers_small_levels() && common_factor(encoding) > 1;
  return is_small ? ByteLayout::kSmall : ByteLayout::kBytes;
}

ByteLayout preferred_integer_layout() noexcept {
  const bool fits = HALFTONE_DISPATCH_DOT(MaxByteBits)() == numerics::kMaxBits;
  return fits ? ByteLayout::kBytes : ByteLayout::kShorts;
}

void byte_conv(const std::int8_t* q, const ByteConvWeights& weights,
               const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HALFTONE_DISPATCH_DOT(ByteConv)(q, weights, part);
}

void integer_conv(const std::int8_t* q, const IntegerConvWeights& weights,
                  const IntegerConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HALFTONE_DISPATCH_DOT(IntegerConv)(q, weights, part);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
