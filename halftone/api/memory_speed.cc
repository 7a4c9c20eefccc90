// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/memory_speed.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/api/elapsed.h"
#include "halftone/base/parallel.h"

namespace halftone {
namespace {

constexpr std::size_t kWords = (std::size_t{256} << 20) / sizeof(std::uint64_t);
constexpr double kMinSeconds = 0.25;
constexpr int kMinPasses = 3;

/// Eight sums, so that additions do not wait for each other.
std::uint64_t sum_of(std::span<const std::uint64_t> words) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= words.size(); i += 8) {
    for (std::size_t k = 0; k < 8; ++k) sums[k] += words[i + k];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum += each;
  return sum;
}

}  // namespace

double memory_bytes_per_second() {
  const std::vector<std::uint64_t> words(kWords, 1);
  const auto parts = static_cast<std::size_t>(num_threads());
  std::vector<std::uint64_t> sums(parts);
  double fastest = 0;
  const Elapsed whole;
  for (int pass = 0; pass < kMinPasses || whole.seconds() < kMinSeconds; ++pass) {
    const Elapsed elapsed;
    parallel_for(parts, [&](std::size_t part) {
      const std::size_t first = kWords * part / parts;
      const std::size_t end = kWords * (part + 1) / parts;
      sums[part] += sum_of(std::span(words).subspan(first, end - first));
    });
    const double seconds = elapsed.seconds();
    // The sums are used, so that no compiler leaves them out.
    const bool is_read = std::ranges::all_of(sums, [](std::uint64_t sum) { return sum > 0; });
    if (is_read && seconds > 0) fastest = std::max(fastest, kWords * sizeof(words[0]) / seconds);
  }
  return fastest;
}

}  // namespace halftone
