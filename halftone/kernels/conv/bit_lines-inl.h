// SPDX-License-Identifier: Apache-2.0
// The loops of bit_conv() over lines, groups and tiles, shared by all layouts of the weights.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BIT_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BIT_LINES_INL_H_
#undef HALFTONE_KERNELS_CONV_BIT_LINES_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BIT_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/conv/bit_finish-inl.h"
#include "halftone/kernels/conv/bit_ones-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

// A Method fills the strip and counts differences:
//
//     Count        the type of the counts
//     kMaxWindows  windows that are counted together: digits of neighbouring pixels
//     kColumn      numbers from the counts of a column to those of the next
//     FillOutside(w, digit, count, to)          writes `count` pixels outside the image
//     FillInside(w, group, pixels, digit, to)   writes pixels; it may overwrite what follows them
//     CountTile(w, tile, memory, block, blocks, counts)
//         writes counts [Kw blocks, kColumn], of each [windows, 16] by digit and pixel

/// One row of pixels of all digits.
/// @param x    pixels of the row, [input, Kx, words]; null: the row is outside the image
/// @param row  of the strip
template <class Method>
void FillRow(const BitConvWeights& w, std::size_t group, const std::uint64_t* x, std::size_t row,
             const StripMemory& memory) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t width = w.strip().width;
  const std::size_t words = words_for_bits(w.shape().channels);
  const std::size_t first = std::min(axis.pad_before, width);
  const std::size_t last = x == nullptr ? first : std::min(axis.pad_before + axis.input, width);
  const Pixels pixels{x, w.x_bits() * words, words, last - first};
  const std::size_t pixel_bytes = w.pixel_bytes();
  for (std::size_t d = 0; d < w.digits().size(); ++d) {
    std::byte* to = memory.pixels + w.digit_bytes(d) + row * width * pixel_bytes;
    Method::FillOutside(w, d, first, to);
    if (pixels.count != 0) Method::FillInside(w, group, pixels, d, to + first * pixel_bytes);
    Method::FillOutside(w, d, width - last, to + last * pixel_bytes);
  }
  if (w.has_offset()) CountRow(w, group, pixels, {row, first, last}, memory);
}

/// The pixels that output lines [y, y + lines) of a plane see.
template <class Method>
void FillStrip(const std::uint64_t* x, const BitConvWeights& w, std::size_t group,
               const ConvLine& line, std::size_t lines, const StripMemory& memory) {
  const std::size_t pixel_words = w.x_bits() * words_for_bits(w.shape().channels);
  for_each_strip_row(w.shape(), w.strip(), line, lines,
                     [&](std::size_t row, bool inside, std::size_t first) {
                       const std::uint64_t* pixels = inside ? x + first * pixel_words : nullptr;
                       FillRow<Method>(w, group, pixels, row, memory);
                     });
}

/// The outputs of a tile, panel by panel.
template <class Method>
void ComputeTile(const BitConvWeights& w, const Tile& tile, const StripMemory& memory,
                 FinishFunction<typename Method::Count> finish_block, const ConvPart& part) {
  constexpr std::size_t kPanel = BitConvWeights::kPanelBlocks;
  constexpr std::size_t kColumn = Method::kColumn;
  alignas(64) typename Method::Count counts[numerics::kMaxBits * kPanel * kColumn];
  const float* row_sums = w.has_offset() ? memory.row_sums + tile.x : nullptr;
  for (std::size_t block = 0; block < w.blocks(); block += kPanel) {
    const std::size_t blocks = std::min(kPanel, w.blocks() - block);
    Method::CountTile(w, tile, memory, block, blocks, counts);
    for (std::size_t b = 0; b < blocks; ++b) {
      finish_block(w, tile, block + b, {counts + b * kColumn, blocks * kColumn, row_sums}, part);
    }
  }
}

/// bit_conv() by a method.
template <class Method>
void ComputeLines(const std::uint64_t* x, const BitConvWeights& w, const ConvPart& part) {
  const ConvShape& shape = w.shape();
  const LineRange lines = part.lines;
  const StripMemory memory = Divide(w, part.scratch.data());
  const std::size_t tile_pixels = Method::kMaxWindows / w.digits().size();
  const auto finish_block = ChooseFinish<typename Method::Count>(w);
  for (std::size_t first = lines.begin; first < lines.end;) {
    const ConvLine line = line_at(shape, first);
    const std::size_t count =
        std::min({w.strip().lines, lines.end - first, shape.axes[1].output - line.y});
    for (std::size_t group = 0; group < shape.groups; ++group) {
      FillStrip<Method>(x, w, group, line, count, memory);
      for (std::size_t l = 0; l < count; ++l) {
        const std::size_t row = l * shape.axes[1].stride;
        if (w.has_offset()) SumRows(w, memory, row);
        for (std::size_t p = 0; p < shape.line_pixels(); p += tile_pixels) {
          const Tile tile{group, (first + l - lines.begin) * shape.line_pixels() + p,
                          p,     std::min(tile_pixels, shape.line_pixels() - p),
                          row,   w.patterns().line(line.z, line.y + l)};
          ComputeTile<Method>(w, tile, memory, finish_block, part);
        }
      }
    }
    first += count;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
