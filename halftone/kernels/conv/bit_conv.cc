// SPDX-License-Identifier: Apache-2.0
// bit_conv(): the pixels that some lines read become positions in tables of differences; windows of
// several pixels then look up the weights of up to four blocks of outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/bit_conv.cc"
#include "halftone/kernels/conv/bit_conv.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "halftone/kernels/conv/bit_strip-inl.h"
#include "halftone/kernels/conv/count_windows-inl.h"
#include "halftone/kernels/conv/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Some neighbouring output pixels of a line.
struct Tile {
  std::size_t group;
  std::size_t first_pixel;  ///< of y
  std::size_t x;            ///< the first one in its line
  std::size_t count;
  std::size_t row;           ///< of the strip, where its windows begin
  std::size_t line_pattern;  ///< see PaddingPatterns::line()
};

/// The constants that convert the counts of a block to outputs. It is a local copy, so that the
/// compiler knows that no output overwrites it.
struct BlockFloats {
  const float* base;      ///< of pattern 0
  const float* products;  ///< of digit 0 and plane 0
  const float* offsets;   ///< null: there are none
  std::size_t row;        ///< from a row to the next
  std::size_t digits;
  std::size_t w_bits;
  std::size_t plane_counts;  ///< from the counts of a plane of the weights to the next
  std::size_t digit_counts;  ///< the same for a digit
  std::array<float, numerics::kMaxBits> half_n{};  ///< M n / 2 of each digit
};

/// A vector of outputs, from lane `o` of the counts on. (2 u a_j) (M n / 2 - count) is exactly
/// (u a_j) D_dj before it is rounded.
/// @param counts  from the first digit and plane of the pixel on
template <class D>
HWY_INLINE hn::Vec<D> SumPlanes(D d, const BlockFloats& floats,
                                const std::uint16_t* HWY_RESTRICT counts, std::size_t pattern,
                                float row_sum, std::size_t o) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> d16;
  auto acc = hn::LoadU(d, floats.base + pattern * floats.row + o);
  const float* product = floats.products + o;
  for (std::size_t i = 0; i < floats.digits; ++i) {
    const auto half_n = hn::Set(d, floats.half_n[i]);
    for (std::size_t j = 0; j < floats.w_bits; ++j, product += floats.row) {
      const std::uint16_t* from = counts + j * floats.plane_counts + i * floats.digit_counts + o;
      const auto count = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d16, from)));
      acc = hn::Add(acc, hn::Mul(hn::LoadU(d, product), hn::Sub(half_n, count)));
    }
  }
  if (floats.offsets != nullptr) {
    acc = hn::Add(acc, hn::Mul(hn::LoadU(d, floats.offsets + o), hn::Set(d, row_sum)));
  }
  return acc;
}

/// What the windows of a tile give for a block.
struct BlockSums {
  const std::uint16_t* counts;  ///< [Kw, plane_counts] of the block
  std::size_t plane_counts;
  const float* row_sums;  ///< of each pixel; null: the weights have no offsets
};

/// The outputs of a block of all pixels of a tile. The numbers of digits and bits are compile-time
/// constants, or 0.
template <std::size_t kDigits, std::size_t kWBits>
void FinishBlock(const BitConvWeights& w, const Tile& tile, std::size_t block,
                 const BlockSums& sums, const ConvPart& part) {
  const std::uint16_t* HWY_RESTRICT counts = sums.counts;
  const float* HWY_RESTRICT row_sums = sums.row_sums;
  const std::size_t group_outputs = w.shape().group_outputs();
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  BlockFloats floats{w.base(0) + column,
                     w.products(0, 0) + column,
                     w.has_offset() ? w.offsets() + column : nullptr,
                     w.float_row(),
                     kDigits == 0 ? w.digits().size() : kDigits,
                     kWBits == 0 ? w.bits() : kWBits,
                     sums.plane_counts,
                     tile.count * kBlock,
                     {}};
  for (std::size_t i = 0; i < floats.digits; ++i) {
    floats.half_n[i] =
        0.5F * static_cast<float>(w.digits()[i].reach()) * static_cast<float>(w.shape().inputs());
  }
  const std::size_t valid = std::min(kBlock, group_outputs - block * kBlock);
  const std::size_t* HWY_RESTRICT patterns = w.patterns().along_line().data() + tile.x;
  const std::size_t num_pixels = tile.count;
  const std::size_t line_pattern = tile.line_pattern;
  Finisher to(part.finish, part.y, tile.first_pixel, tile.group * group_outputs + block * kBlock);
  for (std::size_t t = 0; t < num_pixels; ++t, counts += kBlock) {
    const std::size_t pattern = line_pattern + patterns[t];
    const float row_sum = row_sums == nullptr ? 0 : row_sums[t];
    if (valid == kBlock) {
      const hn::CappedTag<float, kBlock> d;
      for (std::size_t o = 0; o < kBlock; o += hn::Lanes(d)) {
        to.Store(d, SumPlanes(d, floats, counts, pattern, row_sum, o), o);
      }
    } else {
      const hn::CappedTag<float, 8> d;
      for (std::size_t o = 0; o < valid; o += hn::Lanes(d)) {
        const auto some = SumPlanes(d, floats, counts, pattern, row_sum, o);
        to.StoreSome(d, some, std::min(hn::Lanes(d), valid - o), o);
      }
    }
    to.NextPixel();
  }
}

using FinishFunction = void (*)(const BitConvWeights&, const Tile&, std::size_t, const BlockSums&,
                                const ConvPart&);

/// FinishBlock, with the loops over planes unrolled for few of them.
FinishFunction ChooseFinish(const BitConvWeights& w) {
  const std::size_t digits = w.digits().size();
  if (digits == 1 && w.bits() == 1) return FinishBlock<1, 1>;
  if (digits == 1 && w.bits() == 2) return FinishBlock<1, 2>;
  if (digits == 2 && w.bits() == 1) return FinishBlock<2, 1>;
  if (digits == 2 && w.bits() == 2) return FinishBlock<2, 2>;
  return FinishBlock<0, 0>;
}

/// The counts of all digits of the pixels of a tile against some columns of a panel.
/// @param counts  [num_columns, kMaxWindows, 16], windows by digit and pixel
void CountTile(const BitConvWeights& w, const Tile& tile, const StripMemory& memory,
               Columns columns, std::size_t num_columns, std::uint16_t* counts) {
  const std::uint16_t* windows[kMaxWindows];
  const std::size_t stride = w.shape().axes[2].stride;
  const std::size_t pixel = w.num_positions() * w.tap_pieces();
  const std::size_t first = (tile.row * w.strip().width + tile.x * stride) * pixel;
  for (std::size_t d = 0; d < w.digits().size(); ++d, counts += tile.count * kBlock) {
    const std::uint16_t* window = memory.positions + w.digit_positions(d) + first;
    for (std::size_t t = 0; t < tile.count; ++t, window += stride * pixel) windows[t] = window;
    columns.tables = w.tables(d);
    columns.reach = static_cast<std::size_t>(w.digits()[d].reach());
    if (w.by_halves()) {
      CountPanel<true>(tile.count, windows, columns, num_columns, counts);
    } else {
      CountPanel<false>(tile.count, windows, columns, num_columns, counts);
    }
  }
}

void ComputeTile(const BitConvWeights& w, const Tile& tile, const StripMemory& memory,
                 FinishFunction finish_block, const ConvPart& part) {
  constexpr std::size_t kPanel = BitConvWeights::kPanelBlocks;
  alignas(64) std::uint16_t counts[numerics::kMaxBits * kPanel * kMaxWindows * kBlock];
  const float* row_sums = w.has_offset() ? memory.row_sums + tile.x : nullptr;
  for (std::size_t block = 0; block < w.blocks(); block += kPanel) {
    const std::size_t blocks = std::min(kPanel, w.blocks() - block);
    const std::size_t columns = w.bits() * blocks;
    CountTile(w, tile, memory,
              {w.panel(tile.group, block), columns * 2 * kBlock, w.inputs(), nullptr, 0}, columns,
              counts);
    for (std::size_t b = 0; b < blocks; ++b) {
      finish_block(w, tile, block + b,
                   {counts + b * kMaxWindows * kBlock, blocks * kMaxWindows * kBlock, row_sums},
                   part);
    }
  }
}

void BitConv(const std::uint64_t* x, const BitConvWeights& w, const ConvPart& part) {
  const ConvShape& shape = w.shape();
  const LineRange lines = part.lines;
  const StripMemory memory = Divide(w, part.scratch.data());
  const std::size_t tile_pixels = kMaxWindows / w.digits().size();
  const FinishFunction finish_block = ChooseFinish(w);
  for (std::size_t first = lines.begin; first < lines.end;) {
    const ConvLine line = line_at(shape, first);
    const std::size_t count =
        std::min({w.strip().lines, lines.end - first, shape.axes[1].output - line.y});
    for (std::size_t group = 0; group < shape.groups; ++group) {
      FillStrip(x, w, group, line, count, memory);
      for (std::size_t l = 0; l < count; ++l) {
        const std::size_t row = l * shape.axes[1].stride;
        if (w.has_offset()) SumRows(w, memory, row);
        for (std::size_t p = 0; p < shape.line_pixels(); p += tile_pixels) {
          const Tile tile{group, (first + l - lines.begin) * shape.line_pixels() + p,
                          p,     std::min(tile_pixels, shape.line_pixels() - p),
                          row,   w.patterns().line(line.z, line.y + l)};
          ComputeTile(w, tile, memory, finish_block, part);
        }
      }
    }
    first += count;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(BitConv);

void bit_conv(std::span<const std::uint64_t> x, const BitConvWeights& weights,
              const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  HWY_DYNAMIC_DISPATCH(BitConv)(x.data(), weights, part);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
