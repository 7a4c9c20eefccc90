// SPDX-License-Identifier: Apache-2.0
// bit_conv() for BitConvLayout::kSixes and kFours: the pixels that some lines read become tables of
// 64 bytes, which the weights of 16 outputs of several planes and blocks index.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/bit_conv_permutes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/bit_lines-inl.h"
#include "halftone/kernels/conv/permute_windows-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Bytes of a table that so many bits select: of 64 entries, or two of 16.
template <std::size_t kBits>
constexpr std::size_t kEntries = kBits == 6 ? 64 : 32;
/// Tables of a piece, and of a word.
template <std::size_t kBits>
constexpr std::size_t kPieceTables = BitConvWeights::kVectorBytes / kEntries<kBits>;
template <std::size_t kBits>
constexpr std::size_t kWordTables = (BitConvWeights::kWordInputs + kBits - 1) / kBits;

/// Writes tables of a pixel: the sums of the tables of its bits in each plane.
/// @tparam kBits    bits that select a table of a plane
/// @param words     [kPlanes] the bits of up to 64 channels
/// @param tables    [kPlanes, 2^kBits, kBytes]
/// @param count     number of tables; where it is a constant, so are all shifts
/// @param to        [count, kBytes]
template <std::size_t kBits, std::size_t kPlanes>
HWY_INLINE void WriteTables(const std::uint64_t* HWY_RESTRICT words,
                            const std::uint8_t* HWY_RESTRICT tables, std::size_t count,
                            std::uint8_t* HWY_RESTRICT to) {
  constexpr std::size_t kTables = std::size_t{1} << kBits;
  constexpr std::size_t kBytes = kEntries<kBits>;
  const hn::CappedTag<std::uint8_t, kBytes> d;
  for (std::size_t t = 0; t < count; ++t) {
    const std::uint8_t* table[kPlanes];
    for (std::size_t k = 0; k < kPlanes; ++k) {
      table[k] = tables + kBytes * (k * kTables + (words[k] >> kBits * t) % kTables);
    }
    for (std::size_t o = 0; o < kBytes; o += hn::MaxLanes(d)) {
      auto sum = hn::LoadU(d, table[0] + o);
      if constexpr (kPlanes == 2) sum = hn::Add(sum, hn::LoadU(d, table[1] + o));
      hn::StoreU(sum, d, to + t * kBytes + o);
    }
  }
}

/// The tables of pixels whose bits are zero.
/// @param size  of all in bytes
template <std::size_t kBits, std::size_t kPlanes>
void FillZeros(const std::uint8_t* tables, std::size_t size, std::uint8_t* to) {
  constexpr std::size_t kBytes = BitConvWeights::kVectorBytes;
  const std::uint64_t zeros[kPlanes] = {};
  alignas(64) std::uint8_t table[kBytes];
  WriteTables<kBits, kPlanes>(zeros, tables, kPieceTables<kBits>, table);
  for (std::size_t b = 0; b < size; b += kBytes) std::memcpy(to + b, table, kBytes);
}

/// FillTables of a constant number of tables, for all of fewer channels than a word holds.
template <std::size_t kBits, std::size_t kPlanes, std::size_t kCount>
void FillFewTables(const Pixels& pixels, const numerics::Digit& digit,
                   const std::uint8_t* HWY_RESTRICT tables, std::uint8_t* HWY_RESTRICT to) {
  const std::uint64_t* HWY_RESTRICT pixel = pixels.words;
  const std::uint64_t* const end = pixel + pixels.count * pixels.stride;
  const std::size_t planes[2] = {digit.planes[0], digit.planes[1]};
  for (; pixel != end; pixel += pixels.stride, to += kCount * kEntries<kBits>) {
    std::uint64_t words[kPlanes];
    for (std::size_t k = 0; k < kPlanes; ++k) words[k] = pixel[planes[k]];
    WriteTables<kBits, kPlanes>(words, tables, kCount, to);
  }
}

/// The tables of a digit of pixels.
template <std::size_t kBits, std::size_t kPlanes>
void FillTables(const BitConvWeights& w, std::size_t group, const Pixels& pixels, std::size_t d,
                std::uint8_t* HWY_RESTRICT to) {
  constexpr std::size_t kWord = BitConvWeights::kWordInputs;
  const numerics::Digit& digit = w.digits()[d];
  const std::size_t channels = w.shape().group_channels();
  const std::size_t begin = group * channels;
  const bool whole_words = w.shape().groups == 1;
  const std::size_t rest_tables = w.pieces_of(channels % kWord) * kPieceTables<kBits>;
  const std::uint8_t* const tables = w.tables(d);
  if (whole_words && channels < kWord) {
    constexpr std::size_t kHalf = kWordTables<kBits> / 2 + kWordTables<kBits> % 2;
    constexpr std::size_t kQuarter = kHalf / 2;
    if (rest_tables == kHalf) {
      return FillFewTables<kBits, kPlanes, kHalf>(pixels, digit, tables, to);
    }
    if (rest_tables == kQuarter) {
      return FillFewTables<kBits, kPlanes, kQuarter>(pixels, digit, tables, to);
    }
  }
  for (std::size_t q = 0; q < pixels.count; ++q) {
    const std::uint64_t* pixel = pixels.words + q * pixels.stride;
    for (std::size_t c = 0; c < channels; c += kWord) {
      const std::size_t end = std::min(c + kWord, channels);
      std::uint64_t words[kPlanes];
      for (std::size_t k = 0; k < kPlanes; ++k) {
        const std::span plane(pixel + digit.planes[k] * pixels.plane_words, pixels.plane_words);
        words[k] = whole_words ? plane[c / kWord] : bits_between(plane, begin + c, begin + end);
      }
      if (end - c == kWord) {
        WriteTables<kBits, kPlanes>(words, tables, kWordTables<kBits>, to);
        to += kWordTables<kBits> * kEntries<kBits>;
      } else {
        WriteTables<kBits, kPlanes>(words, tables, rest_tables, to);
        to += rest_tables * kEntries<kBits>;
      }
    }
  }
}

/// Looks up tables of each pixel; see ComputeLines().
/// @tparam kFolds  columns of a vector of weights: 4 of sixes, 1 of fours
template <std::size_t kFolds>
struct PixelTables {
  using Count = std::int32_t;
  static constexpr std::size_t kMaxWindows = kMaxTables;
  static constexpr std::size_t kColumn = kColumnCounts;
  static constexpr std::size_t kBits = kFolds == 4 ? 6 : 8;

  static void FillOutside(const BitConvWeights& w, std::size_t digit, std::size_t count,
                          std::byte* to) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
    const std::size_t size = count * w.pixel_bytes();
    if (w.digits()[digit].num_planes() == 2) {
      FillZeros<kBits, 2>(w.tables(digit), size, bytes);
    } else {
      FillZeros<kBits, 1>(w.tables(digit), size, bytes);
    }
  }

  static void FillInside(const BitConvWeights& w, std::size_t group, const Pixels& pixels,
                         std::size_t digit, std::byte* to) {
    auto* const bytes = reinterpret_cast<std::uint8_t*>(to);
    if (w.digits()[digit].num_planes() == 2) {
      FillTables<kBits, 2>(w, group, pixels, digit, bytes);
    } else {
      FillTables<kBits, 1>(w, group, pixels, digit, bytes);
    }
  }

  static void CountTile(const BitConvWeights& w, const Tile& tile, const StripMemory& memory,
                        std::size_t block, std::size_t blocks, Count* counts) {
    const std::size_t columns = w.bits() * blocks;
    const std::size_t stride = w.shape().axes[2].stride;
    const std::size_t first = (tile.row * w.strip().width + tile.x * stride) * w.pixel_bytes();
    for (std::size_t d = 0; d < w.digits().size(); ++d, counts += tile.count * kBlock) {
      const auto* window =
          reinterpret_cast<const std::uint8_t*>(memory.pixels + w.digit_bytes(d)) + first;
      const Vectors vectors{w.panel(tile.group, block), w.piece_bytes(columns), w.inputs(),
                            w.max_pieces(d)};
      CountColumns<kFolds>({window, stride * w.pixel_bytes(), tile.count}, vectors, counts);
    }
  }
};

void BitConvPermutes(const std::uint64_t* x, const BitConvWeights& w, const ConvPart& part) {
  if (w.layout() == BitConvLayout::kSixes) {
    ComputeLines<PixelTables<4> >(x, w, part);
  } else {
    ComputeLines<PixelTables<1> >(x, w, part);
  }
}

bool PermutesBytes() { return HWY_TARGET == HWY_AVX3_DL; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(BitConvPermutes);
HALFTONE_EXPORT(PermutesBytes);

void bit_conv_permutes(const std::uint64_t* x, const BitConvWeights& weights,
                       const ConvPart& part) noexcept {
  HALFTONE_DISPATCH(BitConvPermutes)(x, weights, part);
}

bool permutes_bytes() noexcept { return HALFTONE_DISPATCH(PermutesBytes)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
