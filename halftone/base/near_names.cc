// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/near_names.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace halftone {
namespace {

/// Levenshtein's distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string near_names(std::string_view wanted, std::span<const std::string> names,
                       std::size_t count) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (names.size() > count) {
    std::vector<std::size_t> distances;
    for (const std::string& name : names) distances.push_back(edit_distance(wanted, name));
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return distances[i]; });
    order.resize(count);
    std::ranges::sort(order);
  }
  std::string list;
  for (const std::size_t i : order) list += (list.empty() ? "" : ", ") + names[i];
  if (names.size() > count) list += " and " + std::to_string(names.size() - count) + " more";
  return list;
}

std::optional<std::string> nearest_name(std::string_view wanted,
                                        std::span<const std::string> names) {
  std::optional<std::string> nearest;
  std::size_t limit = (wanted.size() + 2) / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(wanted, name);
    if (distance >= limit) continue;
    limit = distance;
    nearest = name;
  }
  return nearest;
}

std::string meant_name(std::string_view wanted, std::span<const std::string> names) {
  const std::optional<std::string> nearest = nearest_name(wanted, names);
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

}  // namespace halftone
