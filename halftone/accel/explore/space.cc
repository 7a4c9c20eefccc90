// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "halftone/accel/explore/description.h"
#include "halftone/base/error.h"
#include "halftone/base/near_names.h"
#include "halftone/base/shell_pattern.h"

namespace halftone::accel {
namespace {

void check_matches(const std::string& pattern, const std::string& where,
                   std::span<const std::string> layers) {
  const auto matches = [&](const std::string& layer) { return matches_pattern(pattern, layer); };
  if (std::ranges::any_of(layers, matches)) return;
  fail(ErrorKind::kUsage, where + ": pattern '" + pattern +
                              "' matches no layer; the layers are: " + near_names(pattern, layers));
}

std::string text_of(const SettingValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return fmt::format("{}", std::get<double>(value));
}

}  // namespace

std::string to_string(const Setting& setting) {
  return setting.key + " = " + text_of(setting.value);
}

std::string to_string(std::span<const Setting> settings) {
  std::string list;
  for (const Setting& each : settings) list += (list.empty() ? "" : ", ") + to_string(each);
  return list;
}

std::size_t Space::num_hardware() const {
  std::size_t count = 1;
  for (const Parameter& each : parameters) count *= each.rows.size();
  return count;
}

std::vector<Setting> Space::settings(std::size_t hardware) const {
  std::vector<Setting> list;
  for (std::size_t i = parameters.size(); i-- > 0;) {
    const Parameter& parameter = parameters[i];
    const std::vector<SettingValue>& row = parameter.rows[hardware % parameter.rows.size()];
    hardware /= parameter.rows.size();
    for (std::size_t k = parameter.keys.size(); k-- > 0;) {
      list.push_back({parameter.keys[k], row[k]});
    }
  }
  std::ranges::reverse(list);
  return list;
}

Accelerator Space::hardware(std::size_t hardware) const {
  const std::vector<Setting> values = settings(hardware);
  Description description(accelerator_text, accelerator);
  for (const Setting& each : values) description.set(each);
  if (!area.empty()) {
    double sum = 0;
    for (const AreaTerm& term : area) {
      double part = term.mm2;
      for (const std::string& key : term.of) part *= description.number(key);
      sum += part;
    }
    description.set({"area_mm2", sum});
  }
  return with_context(accelerator + (values.empty() ? "" : " with " + to_string(values)),
                      [&] { return description.read(); });
}

std::vector<BitPair> Space::pairs_of(std::string_view layer) const {
  const std::vector<BitPair>* found = &pairs;
  for (const LayerBits& each : layers) {
    if (matches_pattern(each.pattern, layer)) found = &each.pairs;
  }
  return *found;
}

std::vector<BitPair> Space::pairs_of(std::span<const std::string> names) const {
  std::set<BitPair> all;
  for (const std::string& name : names) {
    for (const BitPair& pair : pairs_of(name)) all.insert(pair);
  }
  return {all.begin(), all.end()};
}

std::vector<std::size_t> Space::ties_of(std::span<const std::string> names) const {
  for (const LayerBits& each : layers) check_matches(each.pattern, each.where, names);
  std::vector<std::size_t> numbers(names.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  for (const Tie& tie : ties) {
    std::vector<std::size_t> members;
    for (const std::string& pattern : tie.patterns) {
      check_matches(pattern, tie.where, names);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (matches_pattern(pattern, names[i])) members.push_back(i);
      }
    }
    const std::size_t first = members.front();
    for (const std::size_t member : members) {
      if (pairs_of(names[member]) != pairs_of(names[first])) {
        fail(ErrorKind::kUsage, tie.where + ": tied layers '" + names[first] + "' and '" +
                                    names[member] +
                                    "' may have different bits: give them the same");
      }
      // Also joins what was tied to the member before.
      const std::size_t old = numbers[member];
      std::ranges::replace(numbers, old, numbers[first]);
    }
  }
  return numbers;
}

}  // namespace halftone::accel
