// SPDX-License-Identifier: Apache-2.0
// Which rows of a run choose which experts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "halftone/kernels/block_range.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// The pairs of a row and an expert that it chooses, in the order of the experts; those of one
/// expert in their own order. In memory that it does not own.
class ExpertPairs {
 public:
  /// @param memory  size_bytes(), aligned to std::size_t
  ExpertPairs(std::byte* memory, std::size_t experts, std::size_t pairs)
      : ends_(reinterpret_cast<std::size_t*>(memory), experts + 2),
        sorted_(ends_.data() + ends_.size(), pairs),
        places_(sorted_.data() + pairs, pairs) {}
  static std::size_t size_bytes(std::size_t experts, std::size_t pairs) {
    return (experts + 2 + 2 * pairs) * sizeof(std::size_t);
  }

  /// @param chosen  the expert of each pair, as ir::resolve_index() reads it
  /// @throws Error kShape if there is no such expert
  void sort(Indices chosen) const;

  [[nodiscard]] std::size_t experts() const { return ends_.size() - 2; }
  /// The places of an expert's pairs among all, once they are sorted.
  [[nodiscard]] kernels::BlockRange places_of(std::size_t expert) const {
    return {ends_[expert], ends_[expert + 1]};
  }
  [[nodiscard]] std::size_t pair_at(std::size_t place) const { return sorted_[place]; }
  [[nodiscard]] std::size_t place_of(std::size_t pair) const { return places_[pair]; }

  /// A part of the work on the experts that are chosen, each of which has as many blocks of
  /// outputs: calls body(expert, blocks). The parts of all shares are everything once, and take
  /// about equal times.
  template <typename Body>
  void for_share(std::size_t share, std::size_t shares, std::size_t blocks, const Body& body) const;

 private:
  /// The time that a block takes, in rows: to read it from memory takes longer than a product.
  [[nodiscard]] std::size_t block_time(std::size_t expert) const {
    constexpr std::size_t kReading = 4;
    const auto [begin, end] = places_of(expert);
    return begin == end ? 0 : end - begin + kReading;
  }

  std::span<std::size_t> ends_;    ///< of the places of each expert, after a zero
  std::span<std::size_t> sorted_;  ///< pairs by place
  std::span<std::size_t> places_;  ///< by pair
};

template <typename Body>
void ExpertPairs::for_share(std::size_t share, std::size_t shares, std::size_t blocks,
                            const Body& body) const {
  std::size_t total = 0;
  for (std::size_t e = 0; e < experts(); ++e) total += blocks * block_time(e);
  const std::size_t first = total * share / shares;
  const std::size_t last = total * (share + 1) / shares;
  std::size_t before = 0;
  for (std::size_t e = 0; e < experts() && before < last; ++e) {
    const std::size_t time = block_time(e);
    if (time == 0) continue;
    // A block belongs to the share in which it begins.
    const auto blocks_before = [&](std::size_t at) {
      return at <= before ? 0 : std::min((at - before + time - 1) / time, blocks);
    };
    const kernels::BlockRange part{blocks_before(first), blocks_before(last)};
    if (part.begin < part.end) body(e, part);
    before += blocks * time;
  }
}

}  // namespace halftone::runtime
