// SPDX-License-Identifier: Apache-2.0
// bit_conv() for BitConvLayout::kTables: the pixels that some lines read become positions in tables
// of differences; windows of several pixels then look up the weights of up to four blocks of
// outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/bit_conv_tables.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/bit_lines-inl.h"
#include "halftone/kernels/conv/bit_positions-inl.h"
#include "halftone/kernels/conv/count_windows-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Looks up positions in shared tables; see ComputeLines().
struct SharedTables {
  using Count = std::uint16_t;
  static constexpr std::size_t kMaxWindows = HWY_NAMESPACE::kMaxWindows;
  static constexpr std::size_t kColumn = kMaxWindows * kBlock;

  static void FillOutside(const BitConvWeights& w, std::size_t /*digit*/, std::size_t count,
                          std::byte* to) {
    std::fill_n(to, count * w.pixel_bytes(), std::byte{0});
  }

  static void FillInside(const BitConvWeights& w, std::size_t group, const Pixels& pixels,
                         std::size_t digit, std::byte* to) {
    FillDigit(w, group, pixels, w.digits()[digit], reinterpret_cast<std::uint16_t*>(to));
  }

  static void CountTile(const BitConvWeights& w, const Tile& tile, const StripMemory& memory,
                        std::size_t block, std::size_t blocks, Count* counts) {
    const std::uint16_t* windows[kMaxWindows];
    const std::size_t num_columns = w.bits() * blocks;
    Columns columns{w.panel(tile.group, block), w.piece_bytes(num_columns), w.inputs(), nullptr, 0};
    const std::size_t stride = w.shape().axes[2].stride;
    const std::size_t pixel = w.num_positions() * w.tap_pieces();
    const std::size_t first = (tile.row * w.strip().width + tile.x * stride) * pixel;
    for (std::size_t d = 0; d < w.digits().size(); ++d, counts += tile.count * kBlock) {
      const auto* window =
          reinterpret_cast<const std::uint16_t*>(memory.pixels + w.digit_bytes(d)) + first;
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
};

void BitConvTables(const std::uint64_t* x, const BitConvWeights& w, const ConvPart& part) {
  ComputeLines<SharedTables>(x, w, part);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(BitConvTables);

void bit_conv_tables(const std::uint64_t* x, const BitConvWeights& weights,
                     const ConvPart& part) noexcept {
  HALFTONE_DISPATCH(BitConvTables)(x, weights, part);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
