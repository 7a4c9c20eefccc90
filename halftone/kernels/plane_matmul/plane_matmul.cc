// SPDX-License-Identifier: Apache-2.0
// Four inputs have 16 sums of some of them. They fit 10 bits: two tables of 16 digits of 5 bits, in
// which four bits of the weights of 32 outputs are looked up at once.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/plane_matmul/plane_matmul.cc"
#include "halftone/kernels/plane_matmul/plane_matmul.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = PlaneMatmulWeights;

constexpr std::size_t kBlock = Weights::kBlock;
/// Sums of a block gathered at a time: at least Kw of 32 outputs.
constexpr std::size_t kMostSums = std::size_t{1} << 14;
/// Added to every entry, so that none is negative: at least 4 x 127.
constexpr std::int16_t kBias = 512;
constexpr int kDigitBits = 5;
constexpr std::int16_t kLowDigit = (1 << kDigitBits) - 1;

/// The tables of a chunk: for the lower and the upper four inputs of each piece, the lower and the
/// upper digit of kBias + the sum of those inputs whose bits are set in the index.
struct Tables {
  alignas(64) std::uint8_t pieces[Weights::kMostPieces][2][2][16];
};

/// [i][b]: all ones if bit i of b is set.
struct IndexMasks {
  alignas(32) std::int16_t masks[4][16];
};
constexpr IndexMasks make_index_masks() {
  IndexMasks m{};
  for (int i = 0; i < 4; ++i) {
    for (int b = 0; b < 16; ++b) m.masks[i][b] = static_cast<std::int16_t>(-(b >> i & 1));
  }
  return m;
}
constexpr IndexMasks kIndexMasks = make_index_masks();

HWY_INLINE void MakeTable(const std::int8_t* q, std::uint8_t* HWY_RESTRICT table) {
  const hn::CappedTag<std::int16_t, 16> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  for (std::size_t b = 0; b < 16; b += hn::Lanes(d)) {
    auto sum = hn::Set(d, kBias);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto mask = hn::Load(d, kIndexMasks.masks[i] + b);
      sum = hn::Add(sum, hn::And(mask, hn::Set(d, std::int16_t{q[i]})));
    }
    hn::StoreU(hn::DemoteTo(d8, hn::And(sum, hn::Set(d, kLowDigit))), d8, table + b);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<kDigitBits>(sum)), d8, table + 16 + b);
  }
}

/// Tables of all groups of a chunk; inputs past the end of a group or row count as zero.
void MakeTables(const Weights& weights, const PlaneChunk& chunk, std::span<const std::int8_t> q,
                Tables& tables) {
  auto* to = tables.pieces;
  for (std::size_t g = chunk.first_group; g < chunk.first_group + chunk.num_groups; ++g) {
    const std::size_t end = std::min((g + 1) * weights.group_inputs(), q.size());
    std::size_t first = g * weights.group_inputs() + chunk.first_piece * Weights::kPiece;
    for (std::size_t p = 0; p < chunk.pieces; ++p, ++to, first += Weights::kPiece) {
      std::int8_t rest[Weights::kPiece] = {};
      const std::int8_t* from = q.data() + first;
      if (first + Weights::kPiece > end) {
        if (first < end) std::memcpy(rest, from, end - first);
        from = rest;
      }
      MakeTable(from, (*to)[0][0]);
      MakeTable(from + 4, (*to)[1][0]);
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void AddSums(const std::uint8_t (*tables)[2][2][16], const std::uint8_t* panel,
                        std::size_t pieces, std::uint32_t* sums) {
  for (std::size_t p = 0; p < pieces; ++p) {
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
      const unsigned bits = panel[p * kBlock + lane];
      const unsigned low = tables[p][0][0][bits & 15] + unsigned{tables[p][1][0][bits >> 4]};
      const unsigned high = tables[p][0][1][bits & 15] + unsigned{tables[p][1][1][bits >> 4]};
      sums[lane / 2 + lane % 2 * 16] += low + (high << kDigitBits);
    }
  }
}

#else

using DBytes = hn::CappedTag<std::uint8_t, kBlock>;
using DShorts = hn::RepartitionToWide<DBytes>;
using VBytes = hn::Vec<DBytes>;
using VShorts = hn::Vec<DShorts>;

/// Sums of digits of the even and the odd bytes of vectors.
struct DigitSums {
  VShorts both;  ///< even + 256 odd, modulo 2^16
  VShorts odd;

  HWY_INLINE DigitSums() : both(hn::Zero(DShorts())), odd(hn::Zero(DShorts())) {}
  HWY_INLINE void Add(VBytes digits) {
    const VShorts pairs = hn::BitCast(DShorts(), digits);
    both = hn::Add(both, pairs);
    odd = hn::Add(odd, hn::ShiftRight<8>(pairs));
  }
  [[nodiscard]] HWY_INLINE VShorts Even() const { return hn::Sub(both, hn::ShiftLeft<8>(odd)); }
};

/// sums[i] += lane i of low + 2^5 high.
HWY_INLINE void AddTo(VShorts low, VShorts high, std::uint32_t* HWY_RESTRICT sums) {
  const hn::Half<DShorts> half;
  const hn::Rebind<std::uint32_t, decltype(half)> d;
  constexpr std::size_t kHalf = hn::MaxLanes(half);
  const auto add = [&](auto low_half, auto high_half, std::uint32_t* to) {
    const auto digits = hn::ShiftLeft<kDigitBits>(hn::PromoteTo(d, high_half));
    const auto sum = hn::Add(hn::PromoteTo(d, low_half), digits);
    hn::StoreU(hn::Add(hn::LoadU(d, to), sum), d, to);
  };
  add(hn::LowerHalf(half, low), hn::LowerHalf(half, high), sums);
  add(hn::UpperHalf(half, low), hn::UpperHalf(half, high), sums + kHalf);
}

/// Adds to `low` and `high` the digits of one piece.
HWY_INLINE void LookUp(const std::uint8_t* HWY_RESTRICT bits,
                       const std::uint8_t (*HWY_RESTRICT tables)[2][16], VBytes& low,
                       VBytes& high) {
  const DBytes d;
  const VBytes low_bits = hn::Set(d, std::uint8_t{15});
  const VBytes piece = hn::Load(d, bits);
  const VBytes lower = hn::And(piece, low_bits);
  const VBytes upper =
      hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(DShorts(), piece))), low_bits);
  low = hn::Add(low, hn::TableLookupBytes(hn::LoadDup128(d, tables[0][0]), lower));
  high = hn::Add(high, hn::TableLookupBytes(hn::LoadDup128(d, tables[0][1]), lower));
  low = hn::Add(low, hn::TableLookupBytes(hn::LoadDup128(d, tables[1][0]), upper));
  high = hn::Add(high, hn::TableLookupBytes(hn::LoadDup128(d, tables[1][1]), upper));
}

/// Adds to the sums of 32 outputs what the tables say of their pieces. Per piece: five loads, four
/// look-ups, four additions; a step of digits fits a byte (8 x 31), a chunk of them 16 bits.
/// @param tables  [pieces]
/// @param panel   [pieces, 32]
HWY_INLINE void AddSums(const std::uint8_t (*HWY_RESTRICT tables)[2][2][16],
                        const std::uint8_t* HWY_RESTRICT panel, std::size_t pieces,
                        std::uint32_t* HWY_RESTRICT sums) {
  static_assert(2 * Weights::kStep * kLowDigit <= 255);
  static_assert(2 * Weights::kMostPieces * kLowDigit < 1 << 16);
  constexpr std::size_t kLanes = hn::MaxLanes(DBytes());
  for (std::size_t lane = 0; lane < kBlock; lane += kLanes) {
    DigitSums low;
    DigitSums high;
    for (std::size_t p = 0; p < pieces; p += Weights::kStep) {
      VBytes low_step = hn::Zero(DBytes());
      VBytes high_step = hn::Zero(DBytes());
      for (std::size_t i = 0; i < Weights::kStep; ++i) {
        LookUp(panel + (p + i) * kBlock + lane, tables[p + i], low_step, high_step);
      }
      low.Add(low_step);
      high.Add(high_step);
    }
    AddTo(low.Even(), high.Even(), sums + lane / 2);
    AddTo(low.odd, high.odd, sums + kBlock / 2 + lane / 2);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

using DFloat = hn::CappedTag<float, kBlock>;

/// acc += a_j P_j for every plane, then c Q, of a group and block; the sums are zeroed.
/// @param sums  [Kw, 32] of biased table entries
HWY_INLINE void FoldGroup(const Weights& weights, std::size_t group, std::size_t block,
                          std::int32_t input_sum, std::uint32_t bias,
                          std::uint32_t* HWY_RESTRICT sums, float* HWY_RESTRICT acc) {
  const DFloat d;
  const hn::RebindToUnsigned<DFloat> du;
  const hn::RebindToSigned<DFloat> di;
  const float* floats = weights.floats(group, block);
  // b = +-1 is twice the bit less one.
  const auto less = hn::Set(du, 2 * bias + static_cast<std::uint32_t>(input_sum));
  for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
    auto total = hn::LoadU(d, acc + lane);
    for (std::size_t j = 0; j < weights.bits(); ++j) {
      const auto sum = hn::LoadU(du, sums + j * kBlock + lane);
      const auto p = hn::BitCast(di, hn::Sub(hn::Add(sum, sum), less));
      total =
          hn::Add(total, hn::Mul(hn::LoadU(d, floats + j * kBlock + lane), hn::ConvertTo(d, p)));
      hn::StoreU(hn::Zero(du), du, sums + j * kBlock + lane);
    }
    if (weights.has_offset()) {
      const auto c = hn::LoadU(d, floats + weights.bits() * kBlock + lane);
      total = hn::Add(total, hn::Mul(c, hn::Set(d, static_cast<float>(input_sum))));
    }
    hn::StoreU(total, d, acc + lane);
  }
}

/// acc scale + bias into a row of y, which may end within the block.
HWY_INLINE void FinishBlock(const Weights& weights, std::size_t block, float scale,
                            float* HWY_RESTRICT acc, float* HWY_RESTRICT y) {
  const DFloat d;
  const float* bias = weights.bias(block);
  for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
    auto out = hn::Mul(hn::LoadU(d, acc + lane), hn::Set(d, scale));
    if (bias != nullptr) out = hn::Add(out, hn::LoadU(d, bias + lane));
    hn::StoreU(out, d, acc + lane);
  }
  const std::size_t first = block * kBlock;
  std::memcpy(y + first, acc, std::min(kBlock, weights.outputs() - first) * sizeof(float));
}

/// Sum of the inputs of a group.
HWY_INLINE std::int32_t GroupSum(const Weights& weights, std::size_t group,
                                 std::span<const std::int8_t> q) {
  const std::size_t begin = group * weights.group_inputs();
  const std::size_t end = std::min(begin + weights.group_inputs(), q.size());
  std::int32_t sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += q[i];
  return sum;
}

/// One row of y, for blocks whose sums are gathered together.
void RowOfBlocks(const Weights& weights, std::span<const std::int8_t> q, float scale,
                 BlockRange blocks, float* y) {
  alignas(64) std::uint32_t sums[kMostSums];
  alignas(64) float acc[kMostSums];
  Tables tables;
  const std::size_t num_blocks = blocks.end - blocks.begin;
  std::fill_n(sums, num_blocks * weights.bits() * kBlock, 0U);
  std::fill_n(acc, num_blocks * kBlock, 0.0F);
  for (const PlaneChunk& chunk : weights.chunks()) {
    MakeTables(weights, chunk, q, tables);
    std::int32_t group_sums[Weights::kMostPieces];
    if (chunk.ends_groups) {
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        group_sums[g] = GroupSum(weights, chunk.first_group + g, q);
      }
    }
    const std::size_t entries = 2 * (chunk.first_piece + chunk.pieces);  // of a group so far
    const auto bias = static_cast<std::uint32_t>(entries * kBias);
    for (std::size_t b = 0; b < num_blocks; ++b) {
      const std::uint8_t* panel = weights.planes(chunk, blocks.begin + b);
      std::uint32_t* block_sums = sums + b * weights.bits() * kBlock;
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        for (std::size_t j = 0; j < weights.bits(); ++j) {
          AddSums(tables.pieces + g * chunk.pieces, panel, chunk.pieces, block_sums + j * kBlock);
          panel += chunk.pieces * kBlock;
        }
        if (!chunk.ends_groups) continue;
        FoldGroup(weights, chunk.first_group + g, blocks.begin + b, group_sums[g], bias, block_sums,
                  acc + b * kBlock);
      }
    }
  }
  for (std::size_t b = 0; b < num_blocks; ++b) {
    FinishBlock(weights, blocks.begin + b, scale, acc + b * kBlock, y);
  }
}

void PlaneMatmul(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                 MatrixView<float> y) {
  const std::size_t step = kMostSums / kBlock / weights.bits();
  for (std::size_t block = blocks.begin; block < blocks.end; block += step) {
    const BlockRange some{block, std::min(block + step, blocks.end)};
    for (std::size_t r = 0; r < y.rows(); ++r) {
      RowOfBlocks(weights, x.q.row(r), x.scales[r], some, y.row(r).data());
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(PlaneMatmul);

void plane_matmul(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.q.cols() == weights.inputs() && y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.q.rows() == y.rows() && x.scales.size() == y.rows());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  HWY_DYNAMIC_DISPATCH(PlaneMatmul)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
