// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/serve/cache_slots.h"

#include <algorithm>

#include "halftone/lm/generate/generate.h"

namespace halftone::lm {

CacheSlots::CacheSlots(TokenModel& model)
    : model_(model), uses_(model.sequences()), copies_(model.truncates_freely()) {}

bool CacheSlots::has_free() const {
  return std::ranges::any_of(uses_, [](const Use& use) { return !use.is_lent; });
}

std::size_t CacheSlots::front(std::size_t sequence, std::span<const TokenId> text) const {
  const std::size_t same = reusable_tokens(model_.tokens(sequence), text);
  const bool is_usable = model_.truncates_freely() || same == model_.length(sequence);
  return is_usable ? same : 0;
}

std::size_t CacheSlots::longest_front(std::span<const TokenId> text) const {
  std::size_t longest = 0;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (!uses_[i].is_lent || copies_) longest = std::max(longest, front(i, text));
  }
  return longest;
}

std::size_t CacheSlots::oldest_free(std::size_t other) const {
  std::size_t oldest = other;
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i].is_lent || i == other) continue;
    if (oldest == other || uses_[i].last < uses_[oldest].last) oldest = i;
  }
  return oldest;
}

std::optional<CacheSlots::Slot> CacheSlots::take(std::span<const TokenId> text) {
  if (!has_free()) return std::nullopt;
  std::vector<std::size_t> fronts;
  for (std::size_t i = 0; i < uses_.size(); ++i) fronts.push_back(front(i, text));
  const auto source = static_cast<std::size_t>(std::ranges::max_element(fronts) - fronts.begin());
  std::optional<std::size_t> best;  // of the free ones
  for (std::size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i].is_lent) continue;
    const bool is_better = !best || fronts[i] > fronts[*best] ||
                           (fronts[i] == fronts[*best] && uses_[i].last < uses_[*best].last);
    if (is_better) best = i;
  }
  Slot slot{*best, fronts[*best]};
  const bool wastes_little =
      slot.reused == fronts[source] && 2 * slot.reused >= model_.length(slot.sequence);
  const std::size_t oldest = oldest_free(source);
  if (!wastes_little && copies_ && oldest != source && fronts[source] > fronts[oldest]) {
    copies_ = model_.copy_front(source, oldest, fronts[source]);
    if (copies_) slot = {oldest, fronts[source]};
    if (TokenModel* draft = model_.draft(); copies_ && draft != nullptr) {
      draft->copy_front(source, oldest, std::min(fronts[source], draft->length(source)));
    }
  }
  model_.truncate(slot.sequence, slot.reused);
  uses_[slot.sequence] = {true, ++loans_};
  return slot;
}

void CacheSlots::give_back(std::size_t sequence) { uses_[sequence] = {false, ++loans_}; }

}  // namespace halftone::lm
