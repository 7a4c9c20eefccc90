// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/samples.h"

#include <algorithm>
#include <string>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

/// Tokens of one text that belong together: a document, or several short ones.
struct Passage {
  std::size_t text = 0;
  std::size_t document = 0;  ///< its own number
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_held_out = false;

  [[nodiscard]] std::size_t size() const { return end - begin; }
};

/// Where a sample may be taken.
struct Slot {
  std::size_t text = 0;
  std::size_t document = 0;
  std::size_t begin = 0;
};

/// Places for samples of one text.
struct TextSlots {
  std::vector<Slot> fit;
  std::vector<Slot> held_out;
};

/// A document of each text, and their numbers over all texts.
class Passages {
 public:
  Passages(std::span<const TokenizedText> texts, std::size_t least) {
    for (std::size_t t = 0; t < texts.size(); ++t) add(t, texts[t], least);
  }

  [[nodiscard]] std::vector<std::vector<Passage>>& texts() { return texts_; }

 private:
  void add(std::size_t index, const TokenizedText& text, std::size_t least) {
    std::vector<Passage>& passages = texts_.emplace_back();
    std::vector<std::size_t> ends(text.documents);
    if (!ends.empty()) ends.erase(ends.begin());
    ends.push_back(text.tokens.size());
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      if (end - begin < least) continue;
      passages.push_back({index, count_++, begin, end});
      begin = end;
    }
    if (!passages.empty()) passages.back().end = text.tokens.size();
  }

  std::vector<std::vector<Passage>> texts_;
  std::size_t count_ = 0;
};

/// Of every `step` passages in a row, holds out the longest that is not above their mean length.
void hold_out(std::span<Passage* const> passages, std::size_t step) {
  for (std::size_t first = 0; first + step <= passages.size(); first += step) {
    const std::span<Passage* const> group = passages.subspan(first, step);
    std::size_t sum = 0;
    for (const Passage* passage : group) sum += passage->size();
    Passage* chosen = nullptr;
    for (Passage* passage : group) {
      if (passage->size() * step > sum) continue;
      if (chosen == nullptr || passage->size() >= chosen->size()) chosen = passage;
    }
    chosen->is_held_out = true;
  }
}

/// Slots of `tokens` each that cross no border between what is to fit and what is held out.
TextSlots slots_of(std::span<const Passage> passages, std::size_t tokens) {
  TextSlots slots;
  for (std::size_t i = 0; i < passages.size();) {
    const bool is_held_out = passages[i].is_held_out;
    std::size_t begin = passages[i].begin;
    for (; i < passages.size() && passages[i].is_held_out == is_held_out; ++i) {
      // A slot belongs to the passage that it begins in, and may end in the next one.
      const bool is_last = i + 1 == passages.size() || passages[i + 1].is_held_out != is_held_out;
      const Passage& passage = passages[i];
      for (; begin < passage.end && (!is_last || begin + tokens <= passage.end); begin += tokens) {
        (is_held_out ? slots.held_out : slots.fit)
            .push_back({passage.text, passage.document, begin});
      }
    }
  }
  return slots;
}

/// For texts whose samples to fit and held out come from the same documents.
void hold_out_slots(TextSlots& slots, std::size_t step) {
  const std::vector<Slot> all = std::move(slots.fit);
  slots.fit.clear();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size() && all.size() < step;
    (i % step + 1 == step || is_last ? slots.held_out : slots.fit).push_back(all[i]);
  }
}

std::vector<TextSlots> slots_of_texts(std::span<const TokenizedText> texts,
                                      const SampleOptions& options) {
  Passages all(texts, options.tokens);
  const std::size_t step =
      options.held_out > 0 ? std::max<std::size_t>(1, options.fit / options.held_out) + 1 : 0;
  std::vector<Passage*> of_small_texts;
  for (std::vector<Passage>& passages : all.texts()) {
    std::vector<Passage*> list;
    for (Passage& passage : passages) list.push_back(&passage);
    if (step > 0 && list.size() >= step) {
      hold_out(list, step);
    } else {
      of_small_texts.insert(of_small_texts.end(), list.begin(), list.end());
    }
  }
  const bool are_enough = of_small_texts.size() >= step;
  if (step > 0 && are_enough) hold_out(of_small_texts, step);
  std::vector<TextSlots> slots;
  for (const std::vector<Passage>& passages : all.texts()) {
    slots.push_back(slots_of(passages, options.tokens));
    if (step > 0 && !are_enough && passages.size() < step) hold_out_slots(slots.back(), step);
  }
  return slots;
}

/// Divides a number as evenly as there are places.
std::vector<std::size_t> shares_of(std::size_t wanted, const std::vector<std::size_t>& there) {
  std::vector<std::size_t> shares(there.size());
  for (bool any = true; any && wanted > 0;) {
    any = false;
    for (std::size_t i = 0; i < there.size() && wanted > 0; ++i) {
      if (shares[i] == there[i]) continue;
      ++shares[i];
      --wanted;
      any = true;
    }
  }
  return shares;
}

/// As many slots, of all texts alike and spread over each.
std::vector<Slot> spread(const std::vector<TextSlots>& texts, std::vector<Slot> TextSlots::*kind,
                         std::size_t wanted) {
  std::vector<std::size_t> there;
  for (const TextSlots& text : texts) there.push_back((text.*kind).size());
  const std::vector<std::size_t> shares = shares_of(wanted, there);
  std::vector<Slot> chosen;
  for (std::size_t t = 0; t < texts.size(); ++t) {
    for (std::size_t i = 0; i < shares[t]; ++i) {
      chosen.push_back((texts[t].*kind)[(2 * i + 1) * there[t] / (2 * shares[t])]);
    }
  }
  return chosen;
}

std::size_t num_adjoining(std::span<const Slot> slots, std::size_t tokens) {
  std::size_t count = 0;
  for (std::size_t i = 1; i < slots.size(); ++i) {
    const bool adjoins =
        slots[i].text == slots[i - 1].text && slots[i].begin == slots[i - 1].begin + tokens;
    if (adjoins) ++count;
  }
  return count;
}

/// Takes samples out of texts.
class SampleTaker {
 public:
  SampleTaker(std::span<const TokenizedText> texts, const SampleOptions& options)
      : texts_(texts), options_(options) {
    samples_.tokens = options.tokens;
  }

  void take(std::span<const Slot> slots, std::vector<std::vector<TokenId>>& to) {
    for (const Slot& slot : slots) {
      const auto begin = texts_[slot.text].tokens.begin() + static_cast<std::ptrdiff_t>(slot.begin);
      to.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(options_.tokens));
      if (options_.begin != kNoToken) to.back()[0] = options_.begin;
      samples_.texts.push_back(slot.text);
      samples_.documents.push_back(slot.document);
    }
  }
  [[nodiscard]] Samples& samples() { return samples_; }

 private:
  std::span<const TokenizedText> texts_;
  const SampleOptions& options_;
  Samples samples_;
};

}  // namespace

void check_options(const SampleOptions& options) {
  if (options.tokens < 2) {
    fail(ErrorKind::kUsage, "tokens of a calibration sample: expected 2 or more, found " +
                                std::to_string(options.tokens));
  }
  if (options.fit == 0) fail(ErrorKind::kUsage, "calibration samples: expected 1 or more, found 0");
}

void check_text(std::size_t tokens, const SampleOptions& options) {
  const std::size_t least = (options.held_out > 0 ? 2 : 1) * options.tokens;
  if (tokens >= least) return;
  fail(ErrorKind::kUsage, "calibration text: expected " + std::to_string(least) +
                              " tokens or more, found " + std::to_string(tokens) +
                              "; give a longer text or shorter samples");
}

Samples choose_samples(std::span<const TokenizedText> texts, const SampleOptions& options) {
  check_options(options);
  if (texts.empty()) fail(ErrorKind::kUsage, "calibration: expected a text, found none");
  for (const TokenizedText& text : texts) check_text(text.tokens.size(), options);
  const std::vector<TextSlots> slots = slots_of_texts(texts, options);
  SampleTaker taker(texts, options);
  const std::vector<Slot> fit = spread(slots, &TextSlots::fit, options.fit);
  taker.take(fit, taker.samples().fit);
  taker.take(spread(slots, &TextSlots::held_out, options.held_out), taker.samples().held_out);
  taker.samples().adjoining = num_adjoining(fit, options.tokens);
  return std::move(taker.samples());
}

}  // namespace halftone::lm
