// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/glitches.h"

#include <algorithm>

namespace halftone::compress {
namespace {

constexpr std::size_t kFewest = 8;
constexpr double kLeastRatio = 256;

}  // namespace

std::vector<std::size_t> glitches(std::span<const float> sizes) {
  const auto is_zero = [](float size) { return size == 0; };
  const auto is_ordered = [](float a, float b) { return a < b || (a == a && b != b); };
  std::vector<float> sorted;
  std::ranges::remove_copy_if(sizes, std::back_inserter(sorted), is_zero);
  if (sorted.size() < kFewest) return {};
  std::ranges::sort(sorted, is_ordered);
  const std::size_t count = sorted.size();
  const double median = sorted[(count - 1) / 2];
  const double high = sorted[std::min((count - 1) * 19 / 20, count - 2)];
  const double spread = high / median;
  const double limit = median * std::max(kLeastRatio, spread * spread * spread * spread);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(double{sizes[i]} <= limit)) found.push_back(i);
  }
  return found;
}

}  // namespace halftone::compress
