// SPDX-License-Identifier: Apache-2.0
// bit_conv() for BitConvLayout::kSixes and kFours: the pixels that some lines read become tables of
// 64 bytes, which the weights of 16 outputs of several planes and blocks index.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/bit_conv_permutes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/conv/bit_layouts.h"
#include "halftone/kernels/conv/bit_lines-inl.h"
#include "halftone/kernels/conv/permute_windows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Writes the tables of up to 64 channels of a pixel: the sums of the tables of their bits in each
/// plane.
/// @tparam kBits    bits that select a table of a plane
/// @param words     [kPlanes] the bits
/// @param tables    [kPlanes, 2^kBits, kBytes]
/// @param count     number of tables
/// @param to        [count, kBytes]
template <std::size_t kBits, std::size_t kPlanes>
HWY_INLINE void WriteTables(const std::uint64_t* words, const std::uint8_t* HWY_RESTRICT tables,
                            std::size_t count, std::uint8_t* HWY_RESTRICT to) {
  constexpr std::size_t kLogBytes = kBits == 6 ? 6 : 5;
  constexpr std::size_t kBytes = std::size_t{1} << kLogBytes;
  constexpr std::uint64_t kMask = ((std::uint64_t{1} << kBits) - 1) << kLogBytes;
  const hn::CappedTag<std::uint8_t, kBytes> d;
  std::uint64_t rest[kPlanes];
  for (std::size_t k = 0; k < kPlanes; ++k) rest[k] = words[k] >> (kBits - kLogBytes);
  // The bits of the first table are shifted to the left, those of the others to the right.
  std::uint64_t offsets[kPlanes];
  for (std::size_t k = 0; k < kPlanes; ++k) offsets[k] = words[k] << kLogBytes & kMask;
  for (std::size_t t = 0; t < count; ++t, to += kBytes) {
    for (std::size_t o = 0; o < kBytes; o += hn::MaxLanes(d)) {
      auto sum = hn::LoadU(d, tables + offsets[0] + o);
      if constexpr (kPlanes == 2) {
        const auto second = hn::LoadU(d, tables + (kBytes << kBits) + offsets[1] + o);
        sum = hn::Add(sum, second);
      }
      hn::StoreU(sum, d, to + o);
    }
    for (std::size_t k = 0; k < kPlanes; ++k) {
      offsets[k] = rest[k] & kMask;
      rest[k] >>= kBits;
    }
  }
}

/// Tables of a plane that form the table of a piece.
template <std::size_t kBits>
constexpr std::size_t kPieceTables = kBits == 6 ? 1 : 2;

/// The tables of pixels whose bits are zero.
/// @param size  of all in bytes
template <std::size_t kBits, std::size_t kPlanes>
void FillZeros(const std::uint8_t* tables, std::size_t size, std::uint8_t* to) {
  const std::uint64_t zeros[kPlanes] = {};
  for (std::size_t b = 0; b < size; b += BitConvWeights::kVectorBytes) {
    WriteTables<kBits, kPlanes>(zeros, tables, kPieceTables<kBits>, to + b);
  }
}

/// The tables of a digit of pixels.
template <std::size_t kBits, std::size_t kPlanes>
void FillTables(const BitConvWeights& w, std::size_t group, const Pixels& pixels, std::size_t d,
                std::uint8_t* HWY_RESTRICT to) {
  const numerics::Digit& digit = w.digits()[d];
  const std::size_t channels = w.shape().group_channels();
  const std::size_t begin = group * channels;
  const bool whole_words = w.shape().groups == 1;
  const std::uint8_t* const tables = w.tables(d);
  for (std::size_t q = 0; q < pixels.count; ++q) {
    const std::uint64_t* pixel = pixels.words + q * pixels.stride;
    for (std::size_t c = 0; c < channels; c += BitConvWeights::kWordInputs) {
      const std::size_t some = std::min(channels - c, BitConvWeights::kWordInputs);
      std::uint64_t words[kPlanes];
      for (std::size_t k = 0; k < kPlanes; ++k) {
        const std::uint64_t* plane = pixel + digit.planes[k] * pixels.plane_words;
        words[k] = whole_words
                       ? plane[c / BitConvWeights::kWordInputs]
                       : bits_between({plane, pixels.plane_words}, begin + c, begin + c + some);
      }
      const std::size_t pieces = w.pieces_of(some);
      WriteTables<kBits, kPlanes>(words, tables, pieces * kPieceTables<kBits>, to);
      to += pieces * BitConvWeights::kVectorBytes;
    }
  }
}

/// Looks up tables of each pixel; see ComputeLines().
/// @tparam kFolds  columns of a vector of weights: 4 of sixes, 1 of fours
template <std::size_t kFolds>
struct PixelTables {
  using Count = std::int32_t;
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

HWY_EXPORT(BitConvPermutes);
HWY_EXPORT(PermutesBytes);

void bit_conv_permutes(const std::uint64_t* x, const BitConvWeights& weights,
                       const ConvPart& part) noexcept {
  HWY_DYNAMIC_DISPATCH(BitConvPermutes)(x, weights, part);
}

bool permutes_bytes() noexcept { return HWY_DYNAMIC_DISPATCH(PermutesBytes)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
