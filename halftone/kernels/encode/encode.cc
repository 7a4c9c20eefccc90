// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/encode.cc"
#include "halftone/kernels/encode/encode.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "halftone/base/bits.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/search_levels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DFloat = hn::ScalableTag<float>;
constexpr std::size_t kLanes = hn::MaxLanes(DFloat());

/// The lanes of a mask as the low bits.
template <class D, class M>
HWY_INLINE std::uint64_t MaskToBits(D d, M mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  // No wider than needed, so that the bits stay in registers.
  using Bits = std::conditional_t<
      (hn::MaxLanes(D()) <= 8), std::uint8_t,
      std::conditional_t<(hn::MaxLanes(D()) <= 16), std::uint16_t, std::uint64_t>>;
  Bits bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

/// One bit for each of 64 floats: the xor over all thresholds of x > threshold. The masks of four
/// vectors at a time stay in registers during the loop over the thresholds.
HWY_INLINE std::uint64_t CompareWord(const float* HWY_RESTRICT x, std::span<const float> flips) {
  constexpr std::size_t kStep = std::min<std::size_t>(4 * kLanes, 64);
  const DFloat d;
  std::uint64_t word = 0;
  for (std::size_t c = 0; c < 64; c += kStep) {
    const auto x0 = hn::LoadU(d, x + c);
    const auto x1 = hn::LoadU(d, x + c + kLanes);
    const auto x2 = hn::LoadU(d, x + c + 2 * kLanes);
    const auto x3 = hn::LoadU(d, x + c + 3 * kLanes);
    auto m0 = hn::FirstN(d, 0);
    auto m1 = m0;
    auto m2 = m0;
    auto m3 = m0;
    for (const float flip : flips) {
      const auto t = hn::Set(d, flip);
      m0 = hn::Xor(m0, hn::Gt(x0, t));
      m1 = hn::Xor(m1, hn::Gt(x1, t));
      m2 = hn::Xor(m2, hn::Gt(x2, t));
      m3 = hn::Xor(m3, hn::Gt(x3, t));
    }
    const std::uint64_t bits = MaskToBits(d, m0) | MaskToBits(d, m1) << kLanes |
                               MaskToBits(d, m2) << (2 * kLanes) |
                               MaskToBits(d, m3) << (3 * kLanes);
    word |= bits << c;
  }
  return word;
}

/// Replaces the codes of numbers beyond the outer levels.
HWY_INLINE void FindBeyond(const float* HWY_RESTRICT x, std::size_t count,
                           const numerics::Beyond& beyond, std::uint8_t* HWY_RESTRICT codes) {
  for (std::size_t c = 0; c < count; ++c) {
    if (const numerics::Beyond::Special* special = beyond.find(x[c])) {
      codes[c] = static_cast<std::uint8_t>(special->code);
    }
  }
}

/// The codes of `count` <= 64 floats, transposed to one word per plane.
HWY_INLINE void SearchWord(const float* HWY_RESTRICT x, std::size_t count, const EncodeTable& table,
                           std::uint64_t* HWY_RESTRICT words) {
  const hn::CappedTag<std::uint8_t, 64> d8;
  alignas(64) std::uint8_t codes[64] = {};
  SearchLevels(x, count, table, codes);
  for (std::size_t c = 0; c < count; ++c) {
    codes[c] = static_cast<std::uint8_t>(table.codes()[codes[c]]);
  }
  if (table.beyond()) FindBeyond(x, count, *table.beyond(), codes);
  for (std::size_t j = 0; j < table.bits(); ++j) {
    const auto bit = hn::Set(d8, static_cast<std::uint8_t>(1U << j));
    words[j] = 0;
    for (std::size_t c = 0; c < 64; c += hn::MaxLanes(d8)) {
      words[j] |= MaskToBits(d8, hn::TestBit(hn::Load(d8, codes + c), bit)) << c;
    }
  }
}

/// The planes' bits of a vector of floats, at bit `c` of one word each.
HWY_INLINE void CompareLanes(hn::Vec<DFloat> value, const EncodeTable& table, std::size_t c,
                             std::uint64_t* HWY_RESTRICT words) {
  const DFloat d;
  for (std::size_t j = 0; j < table.bits(); ++j) {
    auto bits = hn::FirstN(d, 0);
    for (const float flip : table.flips(j)) bits = hn::Xor(bits, hn::Gt(value, hn::Set(d, flip)));
    words[j] |= MaskToBits(d, bits) << c;
  }
}

/// As EncodeWord for the last word of a row, but with only as many vectors as `count` floats fill:
/// rows may be pixels of few channels.
HWY_INLINE void EncodeTail(const float* HWY_RESTRICT x, std::size_t count, const EncodeTable& table,
                           std::size_t words, std::uint64_t* HWY_RESTRICT word) {
  const DFloat d;
  std::uint64_t found[numerics::kMaxBits] = {};
  if (table.by_comparison()) {
    std::size_t c = 0;
    for (; c + kLanes <= count; c += kLanes) CompareLanes(hn::LoadU(d, x + c), table, c, found);
    if (c < count) {
      alignas(64) float rest[kLanes] = {};
      std::memcpy(rest, x + c, (count - c) * sizeof(float));
      CompareLanes(hn::Load(d, rest), table, c, found);
    }
  } else {
    SearchWord(x, count, table, found);
  }
  const std::uint64_t valid = (std::uint64_t{1} << count) - 1;
  for (std::size_t j = 0; j < table.bits(); ++j) {
    const std::uint64_t lowest = table.by_comparison() ? table.lowest(j) : 0;
    word[j * words] = (found[j] ^ lowest) & valid;
  }
}

/// Encodes 64 floats at a time to `word` of each plane of a row, in any basis.
class WordEncoder {
 public:
  explicit WordEncoder(const EncodeTable& table) : table_(table) {}

  [[nodiscard]] std::size_t bits() const { return table_.bits(); }
  HWY_INLINE void operator()(const float* HWY_RESTRICT x, std::size_t words,
                             std::uint64_t* HWY_RESTRICT word) const {
    if (!table_.by_comparison()) {
      std::uint64_t found[numerics::kMaxBits];
      SearchWord(x, 64, table_, found);
      for (std::size_t j = 0; j < bits(); ++j) word[j * words] = found[j];
      return;
    }
    for (std::size_t j = 0; j < bits(); ++j) {
      word[j * words] = CompareWord(x, table_.flips(j)) ^ table_.lowest(j);
    }
  }

 private:
  const EncodeTable& table_;
};

/// The same for one bit, or for two of which the upper changes at the middle threshold and the
/// lower at all three: nothing is compared twice, and the thresholds stay in registers.
template <std::size_t kBits>
class FewLevels {
 public:
  static bool takes(const EncodeTable& table) {
    if (table.bits() != kBits) return false;
    if (kBits == 1) return table.flips(0).size() == 1;
    const std::size_t upper = upper_plane(table);
    return table.flips(upper).size() == 1 && table.flips(1 - upper).size() == 3 &&
           table.flips(upper)[0] == table.flips(1 - upper)[1];
  }

  /// @pre takes()
  explicit FewLevels(const EncodeTable& table)
      : upper_(upper_plane(table)), middle_(table.flips(upper_)[0]) {
    for (std::size_t j = 0; j < kBits; ++j) lowest_[j] = table.lowest(j);
    if constexpr (kBits == 2) {
      low_ = table.flips(1 - upper_)[0];
      high_ = table.flips(1 - upper_)[2];
    }
  }

  [[nodiscard]] constexpr std::size_t bits() const { return kBits; }
  HWY_INLINE void operator()(const float* HWY_RESTRICT x, std::size_t words,
                             std::uint64_t* HWY_RESTRICT word) const {
    const DFloat d;
    const auto middle = hn::Set(d, middle_);
    const auto low = hn::Set(d, low_);
    const auto high = hn::Set(d, high_);
    std::uint64_t upper_bits = 0;
    std::uint64_t lower_bits = 0;
    HWY_UNROLL(8)
    for (std::size_t c = 0; c < 64; c += kLanes) {
      const auto v = hn::LoadU(d, x + c);
      const auto upper = hn::Gt(v, middle);
      upper_bits |= MaskToBits(d, upper) << c;
      if constexpr (kBits == 2) {
        const auto ends = hn::Xor(hn::Gt(v, low), hn::Gt(v, high));
        lower_bits |= MaskToBits(d, hn::Xor(upper, ends)) << c;
      }
    }
    word[upper_ * words] = upper_bits ^ lowest_[upper_];
    if constexpr (kBits == 2) word[(1 - upper_) * words] = lower_bits ^ lowest_[1 - upper_];
  }

 private:
  static std::size_t upper_plane(const EncodeTable& table) {
    return kBits == 2 && table.flips(1).size() == 1 ? 1 : 0;
  }

  std::size_t upper_;
  float middle_;
  float low_ = 0;
  float high_ = 0;
  std::uint64_t lowest_[kBits];
};

/// Encodes consecutive rows of n <= 32 values, as many at a time as fit a word, while 64 values
/// can be read. Returns the number of encoded rows.
template <class EncodeWord>
HWY_INLINE std::size_t EncodeShortRows(MatrixView<const float> values,
                                       const EncodeWord& encode_word,
                                       std::uint64_t* HWY_RESTRICT planes) {
  const std::size_t n = values.cols();
  const std::size_t bits = encode_word.bits();
  const std::size_t together = 64 / n;
  const std::uint64_t valid = (std::uint64_t{1} << n) - 1;
  const float* x = values.data_handle();
  std::size_t r = 0;
  for (; r * n + 64 <= values.rows() * n; r += together, x += together * n) {
    std::uint64_t words[numerics::kMaxBits];
    encode_word(x, 1, words);
    for (std::size_t s = 0; s < together; ++s) {
      for (std::size_t j = 0; j < bits; ++j) planes[s * bits + j] = (words[j] >> (s * n)) & valid;
    }
    planes += together * bits;
  }
  return r;
}

template <class EncodeWord>
HWY_NOINLINE void EncodeRows(MatrixView<const float> values, const EncodeTable& table,
                             const EncodeWord& encode_word, std::uint64_t* planes) {
  const std::size_t n = values.cols();
  const std::size_t words = words_for_bits(n);
  const std::size_t whole = n / 64;
  const bool short_rows = n != 0 && n <= 32 && values.stride() == n;
  std::size_t r = short_rows ? EncodeShortRows(values, encode_word, planes) : 0;
  for (; r < values.rows(); ++r) {
    const float* x = values.data_handle() + r * values.stride();
    std::uint64_t* row = planes + r * encode_word.bits() * words;
    for (std::size_t w = 0; w < whole; ++w) encode_word(x + 64 * w, words, row + w);
    if (whole != words) EncodeTail(x + 64 * whole, n % 64, table, words, row + whole);
  }
}

void Encode(MatrixView<const float> values, const EncodeTable& table, std::uint64_t* planes) {
  if (FewLevels<1>::takes(table)) {
    EncodeRows(values, table, FewLevels<1>(table), planes);
  } else if (FewLevels<2>::takes(table)) {
    EncodeRows(values, table, FewLevels<2>(table), planes);
  } else {
    EncodeRows(values, table, WordEncoder(table), planes);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(Encode);

void encode(MatrixView<const float> values, const EncodeTable& table,
            std::span<std::uint64_t> planes) noexcept {
  HALFTONE_ASSERT(planes.size() == values.rows() * table.bits() * words_for_bits(values.cols()));
  HALFTONE_DISPATCH(Encode)(values, table, planes.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
