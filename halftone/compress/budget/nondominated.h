// SPDX-License-Identifier: Apache-2.0
// Points that no other point dominates.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <vector>

namespace halftone::compress {

/// The indices of the points that no other point dominates, in ascending order of the points, the
/// first criterion first. A point dominates another if it is at most as large in each criterion. Of
/// equal points the one with the lowest index remains. Time: n log n.
/// @param points  of three criteria: arrays or tuples, which compare in their order; without NaN
/// Source: Kung, Luccio, Preparata, On finding the maxima of a set of vectors, J. ACM 22 (1975).
template <typename Point>
std::vector<std::size_t> nondominated(const std::vector<Point>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return points[a] != points[b] ? points[a] < points[b] : a < b;
  });
  // Of all points so far, the least third criterion for each second one: falls from key to key.
  std::map<std::remove_cvref_t<decltype(std::get<1>(points[0]))>,
           std::remove_cvref_t<decltype(std::get<2>(points[0]))>>
      steps;
  std::vector<std::size_t> kept;
  for (const std::size_t index : order) {
    const auto& [first, second, third] = points[index];
    auto next = steps.upper_bound(second);
    if (next != steps.begin() && std::prev(next)->second <= third) continue;
    while (next != steps.end() && next->second >= third) next = steps.erase(next);
    steps[second] = third;
    kept.push_back(index);
  }
  return kept;
}

}  // namespace halftone::compress
