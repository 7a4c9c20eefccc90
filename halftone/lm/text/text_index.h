// SPDX-License-Identifier: Apache-2.0
// Finds texts at the beginning of others.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone::lm {

/// A list of texts, sorted.
class TextIndex {
 public:
  struct Entry {
    std::string text;
    std::int32_t value = 0;
  };

  TextIndex() = default;
  /// @param entries  of which the last counts where several have one text; empty ones never
  explicit TextIndex(std::vector<Entry> entries) : entries_(std::move(entries)) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.text.empty(); });
    std::ranges::stable_sort(entries_, {}, &Entry::text);
    for (std::size_t i = 0; i < entries_.size(); ++i) ++begin_[byte(entries_[i].text, 0) + 1U];
    for (std::size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  }

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool has_first(char c) const {
    const auto first = static_cast<std::uint8_t>(c);
    return begin_[first] != begin_[first + 1U];
  }

  /// Calls visit(length, value) for every entry that a text begins with, the shortest first.
  template <typename Visit>
  void for_each_prefix(std::string_view text, Visit visit) const {
    if (text.empty()) return;
    const std::size_t first = byte(text, 0);
    auto begin = entries_.begin() + static_cast<std::ptrdiff_t>(begin_[first]);
    auto end = entries_.begin() + static_cast<std::ptrdiff_t>(begin_[first + 1]);
    for (std::size_t length = 1; begin != end; ++length) {
      // All from begin to end begin with `length` bytes of the text; those that end there come
      // first.
      const bool has_ended = begin->text.size() == length;
      while (begin != end && begin->text.size() == length) ++begin;
      if (has_ended) visit(length, std::prev(begin)->value);
      if (length >= text.size()) return;
      const std::uint8_t next = byte(text, length);
      begin = std::partition_point(
          begin, end, [&](const Entry& entry) { return byte(entry.text, length) < next; });
      end = std::partition_point(
          begin, end, [&](const Entry& entry) { return byte(entry.text, length) == next; });
    }
  }

 private:
  static std::uint8_t byte(std::string_view text, std::size_t at) {
    return static_cast<std::uint8_t>(text[at]);
  }

  std::vector<Entry> entries_;
  std::array<std::size_t, 257> begin_{};  ///< of the entries with this first byte
};

}  // namespace halftone::lm
